"""Weights of the features of a reference, written by bench/cognition/pronouns.py."""

from __future__ import annotations

from typing import Final

#: fitted on GAP (Apache-2.0, Google) and Friends (Apache-2.0, Emory NLP), development
BIAS: Final = -3.9302
WEIGHTS: Final = (
    0.6896,  # here
    0.9653,  # same_sentence
    0.3105,  # sentence_before
    -1.7247,  # sentences
    -0.2137,  # words
    0.7849,  # latest
    0.3799,  # first
    1.3360,  # mentions
    1.1209,  # share
    1.4780,  # subject
    -0.7222,  # subject_here
    1.0112,  # opens
    0.5813,  # owner
    -0.3993,  # after_preposition
    -1.5879,  # bound
    1.5526,  # parallel
    -0.1417,  # possessive_subject
    1.4909,  # later
    -0.3230,  # full_name
    0.8014,  # known
    0.5701,  # gender
    0.0885,  # rivals
    -0.6460,  # turns
    0.0605,  # turn_before
    0.3624,  # speaks
    -0.1887,  # addressed
    1.1109,  # latest_turn
    -0.1342,  # vocative
    0.1112,  # alone
    -0.3932,  # alone_here
    -0.5078,  # gender_here
    3.0377,  # gender_turns
    -0.6753,  # rivals_here
)

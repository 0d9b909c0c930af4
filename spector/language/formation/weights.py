"""Weights of the features of a reference, written by bench/cognition/pronouns.py."""

from __future__ import annotations

from typing import Final

__all__ = ["BIAS", "WEIGHTS"]

#: fitted on GAP (Apache-2.0, Google) and Friends (Apache-2.0, Emory NLP), development
BIAS: Final = -3.4694
WEIGHTS: Final = (
    0.0414,  # here
    1.2153,  # same_sentence
    0.4525,  # sentence_before
    -1.0251,  # sentences
    -0.2035,  # words
    0.8174,  # latest
    0.3934,  # first
    1.2867,  # mentions
    1.0904,  # share
    1.4298,  # subject
    -0.6983,  # subject_here
    1.0147,  # opens
    0.5500,  # owner
    -0.4206,  # after_preposition
    -1.5802,  # bound
    1.5426,  # parallel
    -0.1245,  # possessive_subject
    1.0357,  # later
    -0.3539,  # full_name
    0.8815,  # known
    0.5531,  # gender
    0.0881,  # rivals
    -0.9388,  # turns
    -0.1964,  # turn_before
    -0.0582,  # speaks
    -0.3534,  # addressed
    1.0001,  # latest_turn
    -0.5215,  # vocative
    0.0702,  # alone
    -0.3952,  # alone_here
    -0.5189,  # gender_here
    2.9922,  # gender_turns
    -0.7186,  # rivals_here
)

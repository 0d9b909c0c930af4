"""Weights of the features of a reference, written by bench/cognition/pronouns.py."""

from __future__ import annotations

from typing import Final

__all__ = ["BIAS", "WEIGHTS"]

#: fitted on GAP (Apache-2.0, Google) and Friends (Apache-2.0, Emory NLP), development
BIAS: Final = -3.4292
WEIGHTS: Final = (
    -0.0167,  # here
    1.1983,  # same_sentence
    0.4651,  # sentence_before
    -1.0510,  # sentences
    -0.2074,  # words
    0.7806,  # latest
    0.3721,  # first
    1.3263,  # mentions
    1.1924,  # share
    1.4304,  # subject
    -0.7269,  # subject_here
    1.1032,  # opens
    0.5235,  # owner
    -0.4211,  # after_preposition
    -1.5815,  # bound
    1.5637,  # parallel
    -0.1234,  # possessive_subject
    0.9845,  # later
    -0.3496,  # full_name
    0.8117,  # known
    0.6131,  # gender
    0.0944,  # rivals
    -0.9527,  # turns
    -0.2030,  # turn_before
    -0.0470,  # speaks
    -0.3513,  # addressed
    0.9801,  # latest_turn
    -0.5188,  # vocative
    0.0970,  # alone
    -0.4209,  # alone_here
    -0.5346,  # gender_here
    2.9651,  # gender_turns
    -0.7106,  # rivals_here
)

"""Weights of the features of a reference, written by bench/cognition/pronouns.py."""

from __future__ import annotations

from typing import Final

__all__ = ["BIAS", "WEIGHTS"]

#: fitted on GAP (Apache-2.0, Google) and Friends (Apache-2.0, Emory NLP), development
BIAS: Final = -3.9024
WEIGHTS: Final = (
    0.6985,  # here
    0.9547,  # same_sentence
    0.3077,  # sentence_before
    -1.7537,  # sentences
    -0.2072,  # words
    0.7943,  # latest
    0.4041,  # first
    1.3326,  # mentions
    1.0444,  # share
    1.4666,  # subject
    -0.7184,  # subject_here
    1.0072,  # opens
    0.5804,  # owner
    -0.3911,  # after_preposition
    -1.5762,  # bound
    1.5492,  # parallel
    -0.1377,  # possessive_subject
    1.4704,  # later
    -0.3323,  # full_name
    0.8143,  # known
    0.5788,  # gender
    0.0885,  # rivals
    -0.6674,  # turns
    0.0606,  # turn_before
    0.3568,  # speaks
    -0.1981,  # addressed
    1.1335,  # latest_turn
    -0.1403,  # vocative
    0.0791,  # alone
    -0.4011,  # alone_here
    -0.5077,  # gender_here
    2.9844,  # gender_turns
    -0.7115,  # rivals_here
)

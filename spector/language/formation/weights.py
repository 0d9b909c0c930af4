"""Weights of the features of a reference, written by bench/cognition/pronouns.py."""

from __future__ import annotations

from typing import Final

__all__ = ["BIAS", "WEIGHTS"]

#: fitted on GAP (Apache-2.0, Google) and Friends (Apache-2.0, Emory NLP), development
BIAS: Final = -3.3253
WEIGHTS: Final = (
    -0.8434,  # here
    0.9463,  # same_sentence
    0.3395,  # sentence_before
    -2.1946,  # sentences
    1.0135,  # latest
    0.3163,  # first
    1.3423,  # mentions
    1.4759,  # share
    1.3566,  # subject
    -0.7528,  # subject_here
    1.0169,  # opens
    -0.3386,  # after_preposition
    -1.4936,  # bound
    1.6025,  # parallel
    -0.3316,  # full_name
    0.6582,  # known
    0.8071,  # gender
    -0.7767,  # turns
    -0.0656,  # turn_before
    1.1263,  # latest_turn
    -0.2400,  # vocative
    -0.6233,  # gender_here
    2.7536,  # gender_turns
)

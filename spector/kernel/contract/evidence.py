"""Weights of the evidence that the read path adds to the kernel's score.

Every term is measured in standard deviations of the store's similarities, so that words, people and
vectors can be summed without normalising: nothing is divided by a maximum or an ideal. The
numbers were found on LoCoMo, BEAM, MADial and PrefEval at once, with folds held out (bench/log,
"Ranking research"); each term can be switched off by 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final, Literal

from spector.errors import InvalidInputError
from spector.messages import shown

__all__ = ["REACH", "Ranking"]

#: turns before and after one whose words count as its own, in part
REACH: Final = 4
_MOST: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Constants of the evidence that the read path adds; hashable, part of a profile.

    ``near`` is the share that the vectors of the turns before and after have in a memory's
    similarity. ``before`` and ``after`` are the shares of their words, nearest first, taken before
    BM25 saturates; a turn of more than ``long_words`` words gives less of each.

    What a cue is decides how much its words count: ``words_fact`` for a question about what was
    said, ``words_talk`` for a situation, ``words_request`` for a wish ("recommend me ...").
    """

    near: float = 0.3
    words_fact: float = 0.4
    words_talk: float = 0.2
    words_request: float = 0.15
    before: tuple[float, ...] = (0.6, 0.4, 0.25, 0.15)
    after: tuple[float, ...] = (0.3, 0.2, 0.15, 0.1)
    long_words: float = 20.0
    k1: float = 0.6
    b: float = 0.75
    #: the cue is about the memory's speaker
    about: float = 1.7
    #: "on 3 May 2024", "last week": memories of that time stand first, if there are any
    by_time: bool = True
    #: the memory states a preference of the user, and the cue is a request
    preference: float = 0.5
    #: taken from texts shorter than ``short_words``, by the logarithm of their share
    short: float = 0.8
    short_words: float = 30.0
    #: taken from short questions, which ask for what others answer
    question: float = 2.0
    question_words: float = 30.0
    #: given for each of up to two words of time
    time_words: float = 0.2
    #: share of the mean vector of the best three hits that is added to the cue's for another recall
    feedback: float = 0.0
    #: a cue that is a word or two and no question puts the few memories first that have them all;
    #: any cue those with an identifier of it (INC-2219)
    by_name: bool = True
    #: of two statements that answer one question about how things are the newer one comes first
    newer: bool = True
    #: "rrf": ranks by cosine and by words instead of the sum, 1 / (rrf_k + rank) each
    fusion: Literal["sum", "rrf"] = "sum"
    rrf_k: float = 60.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("before", "after"):
                _check_shares(each.name, value)
                object.__setattr__(self, each.name, tuple(map(float, value)))
            elif each.name in ("by_name", "by_time", "newer"):
                if not isinstance(value, bool):
                    raise InvalidInputError(
                        f"Ranking.{each.name} must be True or False, got {shown(value)}"
                    )
            elif each.name == "fusion":
                if value not in ("sum", "rrf"):
                    raise InvalidInputError(
                        f"Ranking.fusion is {shown(value)}", hint="choose sum or rrf"
                    )
            else:
                _check_number(each.name, value)

    def words(self, kind: str) -> float:
        """Weight of the words of a cue of this kind."""
        return float(getattr(self, f"words_{kind}"))


#: what a term is divided by
_POSITIVE: Final = frozenset({"long_words", "short_words", "question_words"})


def _check_number(name: str, value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= _MOST:  # type: ignore[arg-type,operator]
        raise InvalidInputError(
            f"Ranking.{name} must be a finite number in 0..{_MOST:g}, got {shown(value)}"
        )
    if value == 0 and name in _POSITIVE:
        raise InvalidInputError(f"Ranking.{name} is 0", hint="it divides; pass a positive number")


def _check_shares(name: str, value: object) -> None:
    if not isinstance(value, tuple) or len(value) > REACH:
        raise InvalidInputError(
            f"Ranking.{name} is {shown(value)}", hint=f"pass a tuple of up to {REACH} shares"
        )
    for share in value:
        _check_number(name, share)

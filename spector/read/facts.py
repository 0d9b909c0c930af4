"""What a text shows by its form, in the byte that the lexical index keeps of each: its mark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.lexical.source import Text
from spector.read.plain import plain
from spector.read.roles import may_instruct, poses
from spector.read.signs import asks, standing, terms_of_time

__all__ = ["MARK_VERSION", "Forms", "forms_of", "mark_of"]

#: another number whenever a text may get another mark: marks are kept in files
MARK_VERSION: Final = 2

_WORD: Final = re.compile(r"[^\W_]+")
_STANDING: Final = 1
_TIME_SHIFT, _TIME_MASK = 1, 3
_QUESTION_SHIFT: Final = 3
#: no question, or one so long that it is none to speak of
_NO_QUESTION: Final = 31


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """(n,) each: an instruction that holds; words of time, 0..2; words of a question, or inf."""

    standing: NDArray[np.bool_]
    time_words: NDArray[np.float32]
    questions: NDArray[np.float32]


def mark_of(memory: Text) -> int:
    """The form of a text as one byte, see `forms_of`; only what the user says instructs."""
    text = memory.text
    words, folded = _NO_QUESTION, plain(text)
    if asks(text):
        words = min(len(_WORD.findall(text.partition("[shares ")[0])), _NO_QUESTION)
    return (
        (standing(text, folded) and _may_instruct(memory)) * _STANDING
        | min(terms_of_time(text, 2, folded), 2) << _TIME_SHIFT
        | words << _QUESTION_SHIFT
    )


def _may_instruct(memory: Text) -> bool:
    if memory.role is None and poses(memory.text):  # nobody has vouched for what it says of itself
        return False
    name = None if memory.speaker == memory.role else memory.speaker
    return may_instruct(memory.role, name, memory.source)


def forms_of(marks: NDArray[np.int64]) -> Forms:
    """What marks (n,) say."""
    questions = (marks >> _QUESTION_SHIFT).astype(np.float32)
    questions[questions == _NO_QUESTION] = np.inf
    return Forms(
        (marks & _STANDING) != 0,
        (marks >> _TIME_SHIFT & _TIME_MASK).astype(np.float32),
        questions,
    )

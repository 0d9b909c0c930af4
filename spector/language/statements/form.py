"""The form of a text: marks, names, aspects, instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.statements.instructions import find_instruction
from spector.language.statements.roles import imitates_speaker, may_instruct
from spector.language.statements.speakers import (
    ends_with_question,
    states_preference,
    terms_of_time,
)
from spector.language.tables import pattern_rows
from spector.language.words import plain


def aspects_of(sentence: str) -> frozenset[str]:
    """The aspects of answers that a folded instruction sets."""
    rows = pattern_rows("instructions", "aspects")
    return frozenset(name for name, said in rows if said.search(sentence))


# Names in a cue, recognized by capitals.

#: a word of letters
_LETTERS: Final = re.compile(r"[^\W\d_]+")
#: text before the start of a sentence
_START: Final = re.compile(r"(?:^|[.!?\u2026:\n])[\s\"'“”‘’«»(\[*_-]*\Z")
#: words of German, where every noun has a capital; none of them is English
_GERMAN: Final = frozenset(
    "das der eine einen einer habe hatte ich ist mein meine nicht und wann warum welche welcher"
    " welches wer wie wurde".split()
)
#: share of capitalized words in a headline
_HEADLINE: Final = 0.7


def names_of(cue: str) -> list[str]:
    """Names in a cue: words with a capital that do not start a sentence.

    Returns none for headlines and German, where capitals do not mark names.
    """
    found = list(_LETTERS.finditer(cue))
    capitals = [word for word in found if _is_capital(word.group())]
    if len(capitals) > _HEADLINE * len(found) and len(found) > 2:
        return []
    if not _GERMAN.isdisjoint(word.group().lower() for word in found):
        return []
    return [
        word.group()
        for word in capitals
        if not _START.search(cue, max(0, word.start() - 8), word.start())
    ]


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[0].isupper() and word[1:].islower()


# The fields of a memory that its words are indexed from.


class MemoryText(NamedTuple):
    """The fields of a memory that its words are indexed from.

    ``seal`` changes when any other field does; None if unknown. ``speaker`` is the name in the
    metadata, else the ``role``. ``text`` does not start with that name. ``aliases`` are names that
    the memory is found by. A memory that ``has_no_text`` is not indexed. Words of the
    ``turn_before`` find it as its own do.
    """

    id: int
    segment_id: int
    slot: int
    event_ms: int
    session_id: str | None
    speaker: str | None
    text: str
    seal: int | None = None
    role: str | None = None
    source: str | None = None
    aliases: tuple[str, ...] = ()
    has_no_text: bool = False
    turn_before: str = ""
    user_id: str | None = None


#: bump when a text may get another mark, because marks are stored in files
MARK_VERSION: Final = 7

_WORD: Final = re.compile(r"[^\W_]+")
#: low bits: words of time (0 to 2), plus 3 for a preference; or an instruction, which is not
#: ranked by form
_FORM_MASK: Final = 7
_PREFERS: Final = 3
_INSTRUCTS_TOO: Final = 6
_INSTRUCTS: Final = 7
#: bits that only the mark of an instruction has
INSTRUCTS: Final = 6
#: bit of an instruction with a trusted role
_VOUCHED: Final = 0x80
_QUESTION_SHIFT: Final = 3
#: no question, or a very long one
_NO_QUESTION: Final = 31


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """The forms of n texts, as arrays (n,).

    Attributes:
        instructs: the text, or a part of it, is a standing instruction.
        wholly: the whole text is one.
        vouched: the role of the instruction is that of the user or the system.
        prefers: the text states a preference of its speaker.
        time_words: number of words of time, 0..2.
        questions: number of words of a question, or inf.
    """

    instructs: NDArray[np.bool_]
    wholly: NDArray[np.bool_]
    vouched: NDArray[np.bool_]
    prefers: NDArray[np.bool_]
    time_words: NDArray[np.float32]
    questions: NDArray[np.float32]


def mark_of(memory: MemoryText) -> int:
    """The form of a text as one byte, see `forms_of`; only the user's texts can instruct."""
    text = memory.text
    words, folded = _NO_QUESTION, plain(text)
    if ends_with_question(text):
        words = min(len(_WORD.findall(text.partition("[shares ")[0])), _NO_QUESTION)
    own = may_be_instruction(memory.text, memory.role, memory.speaker, memory.source)
    found = find_instruction(text, folded) if own else None
    if found is not None:
        form = _INSTRUCTS if found.whole else _INSTRUCTS_TOO
        return form | _VOUCHED * (memory.role is not None)
    form = min(terms_of_time(text, 2, folded), 2)
    form += _PREFERS * (own and states_preference(text, folded))
    return form | words << _QUESTION_SHIFT


def may_be_instruction(
    text: str, role: str | None, speaker: str | None, source: str | None
) -> bool:
    """True if the speaker of a text may instruct, see `roles`; ``speaker`` may be the role."""
    if role is None and imitates_speaker(text):  # its own claim about its speaker is not trusted
        return False
    return may_instruct(role, None if speaker == role else speaker, source)


def forms_of(marks: NDArray[np.int64]) -> Forms:
    """The forms of texts from their marks (n,)."""
    questions = (marks >> _QUESTION_SHIFT).astype(np.float32)
    questions[questions == _NO_QUESTION] = np.inf
    form = marks & _FORM_MASK
    instructs = form >= _INSTRUCTS_TOO
    questions[instructs] = np.inf
    return Forms(
        instructs,
        form == _INSTRUCTS,
        instructs & (marks & _VOUCHED != 0),
        (form >= _PREFERS) & ~instructs,
        np.where(instructs, 0, form % _PREFERS).astype(np.float32),
        questions,
    )

"""The instructions among the memories of a store."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector._types import I64
from spector.language.statements import (
    INSTRUCTS,
    USERS,
    aspects_of,
    find_instruction,
    forms_of,
    is_prohibition,
)
from spector.language.words import cue_terms, is_stop, plain
from spector.layout import CERTAIN_BYTE, Flag, TierCode
from spector.lexical import WordView
from spector.search.view import NOWHERE, Snapshot, header_column, places_of
from spector.store.catalog import StoredRow

__all__ = [
    "COLUMNS",
    "NO_INSTRUCTIONS",
    "Instruction",
    "InstructionTable",
    "instruction_in",
    "instructions_in",
]


#: tier of how something is done, which a cue asks for
_OF_METHODS: Final = int(TierCode.PROCEDURAL)
#: confidence, 0..255, from which on the user's words instruct
_BELIEVED: Final = 127
#: what repeats other memories
_DERIVED: Final = np.uint16(Flag.AUXILIARY)
#: what many instructions have in common, and none is about, folded
_COMMON: Final = frozenset(
    """add again allow allowed always answer any anymore are can don fine free give have include is
    longer may must need no never now please should start stop use using you your
    artik asla bundan gerek hep her kullan kullanabilirsin kullanabilirsiniz kullanma lutfen sonra
    tekrar yeniden yine yok zaman zorunda""".split()
)


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTable:
    """Columns of all instructions of a snapshot, (n,) each, newest first.

    Attributes:
        wholly: the text is nothing but the instruction. vouched: a role says that it is the user's.
    """

    ids: I64
    seals: I64
    event_ms: I64
    store: I64
    part: NDArray[np.uint32]
    slot: NDArray[np.uint32]
    wholly: NDArray[np.bool_]
    vouched: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: NDArray[Any] | slice) -> InstructionTable:
        return InstructionTable(*(getattr(self, name)[rows] for name in COLUMNS))


COLUMNS: Final = tuple(InstructionTable.__slots__)
_NUMBERS, _PLACES, _FLAGS = np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.bool_)
NO_INSTRUCTIONS: Final = InstructionTable(
    _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _PLACES, _PLACES, _FLAGS, _FLAGS
)


class Instruction(NamedTuple):
    """One instruction as it was read.

    Attributes:
        condition: None: it always applies. lifts: it only ends others. forbids: it says what not
            to do. about: the forms of each word for its subject; forms: of all of them. aspects:
            of answers that it sets. scope: the user, the agent, and whether the user said it.
    """

    condition: str | None = None
    lifts: bool = False
    forbids: bool = False
    about: tuple[frozenset[str], ...] = ()
    aspects: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    scope: tuple[str | None, str | None, bool] = (None, None, True)


def instructions_in(snap: Snapshot, n: int, view: WordView) -> InstructionTable:
    """The instructions of one store.

    What is in doubt never instructs. Words without a role must be certain to be the user's, and in
    the procedural tier they are how something is done ("always migrate before you deploy"), which a
    cue asks for. What is derived quotes instructions and is none: the user's own sentence counts.
    """
    rows = view.marked(INSTRUCTS)
    if not len(rows):
        return NO_INSTRUCTIONS
    part, slot = places_of(snap, n, view, rows)
    there = slot != NOWHERE
    rows, part, slot = rows[there], part[there], slot[there]
    confidence = header_column(snap, part, slot, "confidence")
    sure = forms_of(view.marks(rows)).vouched & (confidence >= _BELIEVED)
    sure |= (confidence >= CERTAIN_BYTE) & (header_column(snap, part, slot, "tier") != _OF_METHODS)
    sure &= (header_column(snap, part, slot, "flags") & _DERIVED) == 0
    rows, part, slot = rows[sure], part[sure], slot[sure]
    forms = forms_of(view.marks(rows))
    return InstructionTable(
        view.ids(rows),
        view.seals(rows),
        view.event_ms(rows),
        np.full(len(rows), n, np.int64),
        part,
        slot,
        forms.wholly,
        forms.vouched,
    )


def instruction_in(row: StoredRow) -> Instruction:
    """The instruction of a row; an empty one where its text is none."""
    found = find_instruction(row.text) if isinstance(row.text, str) else None
    if found is None:
        return Instruction()
    about = tuple(
        frozenset(term.forms)
        for term in cue_terms(found.sentence)
        if not is_stop(term.text) and _COMMON.isdisjoint(term.forms)
    )
    forms = frozenset(itertools.chain.from_iterable(about))
    own = row.role is None or plain(str(row.role).strip()) in USERS
    scope = (row.user_id, row.agent_id, own)
    forbids = is_prohibition(found.sentence)
    return Instruction(
        found.condition, found.lifts, forbids, about, aspects_of(found.sentence), forms, scope
    )

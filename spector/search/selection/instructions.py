"""Which memories of a store are instructions, what each says, and which a newer one revokes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.language.statements import INSTRUCTS, USERS, forbids, forms_of, instruction
from spector.language.words import cue_terms, is_stop, plain
from spector.layout import CERTAIN_BYTE, TierCode
from spector.lexical import WordView
from spector.search.view import NOWHERE, Snapshot, header_column, places_of
from spector.store.catalog import StoredRow

__all__ = ["COLUMNS", "Instruction", "InstructionTable", "instruction_in", "instructions_in",
           "revoked"]

I64 = NDArray[np.int64]

#: tier of how something is done, which a cue asks for
_OF_METHODS: Final = int(TierCode.PROCEDURAL)
#: what many instructions have in common, and none is about, folded
_COMMON: Final = frozenset(
    """again allow allowed always answer any anymore are can don fine free free give have is longer
    may must need no never now please should start stop use using you your
    artik asla bundan gerek hep her kullan kullanabilirsin kullanabilirsiniz kullanma lutfen sonra
    tekrar yeniden yine yok zaman zorunda""".split()
)


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTable:
    """All instructions of a snapshot, (n,) each: ids, seals, times, stores, places, whether the
    text is nothing but the instruction, and whether a role says whose; the newest first."""

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


class Instruction(NamedTuple):
    """What one says.

    Attributes:
        condition: None: it always holds. lifts: it gives leave again. forbids: it says what not to
            do. about: the forms of each word that says of what; forms: of all. who: the user, the
            agent, and whether the user said it.
    """

    condition: str | None = None
    lifts: bool = False
    forbids: bool = False
    about: tuple[frozenset[str], ...] = ()
    forms: frozenset[str] = frozenset()
    who: tuple[str | None, str | None, bool] = (None, None, True)


def instructions_in(snap: Snapshot, n: int, view: WordView) -> InstructionTable:
    """The instructions of one store.

    Words without a role must be certain to be the user's, and in the procedural tier they are
    how something is done ("always migrate before you deploy"), which a cue asks for.
    """
    rows = view.marked(INSTRUCTS)
    part, slot = places_of(snap, n, view, rows)
    there = slot != NOWHERE
    rows, part, slot = rows[there], part[there], slot[there]
    if len(rows):
        sure = forms_of(view.marks(rows)).vouched
        sure |= (header_column(snap, part, slot, "confidence") >= CERTAIN_BYTE) & (
            header_column(snap, part, slot, "tier") != _OF_METHODS
        )
        rows, part, slot = rows[sure], part[sure], slot[sure]
    return InstructionTable(
        view.ids(rows), view.seals(rows), view.event_ms(rows), np.full(len(rows), n, np.int64),
        part, slot, forms_of(view.marks(rows)).wholly, forms_of(view.marks(rows)).vouched,
    )


def instruction_in(row: StoredRow) -> Instruction:
    told = instruction(row.text) if isinstance(row.text, str) else None
    if told is None:
        return Instruction()
    about = tuple(
        frozenset(term.forms) for term in cue_terms(told.sentence)
        if not is_stop(term.text) and _COMMON.isdisjoint(term.forms)
    )
    forms = frozenset(itertools.chain.from_iterable(about))
    own = row.role is None or plain(str(row.role).strip()) in USERS
    who = (row.user_id, row.agent_id, own)
    return Instruction(told.condition, told.lifts, forbids(told.sentence), about, forms, who)


def revoked(told: Sequence[Instruction], vouched: Sequence[bool]) -> set[int]:
    """Which of some instructions, newest first, hold no more; what gives leave tells nothing.

    One is taken back by a newer one of the same user and agent and the same kind of speaker that
    says the opposite of nothing else: all that it is about, the older one is about. Words that
    nobody vouches for take back no others.
    """
    gone = {n for n, each in enumerate(told) if each.lifts}
    having: dict[str, list[int]] = defaultdict(list)
    for n, each in enumerate(told):
        for form in each.forms:
            having[form].append(n)
    for newer, each in enumerate(told):
        rarest: Iterable[str] = min(
            each.about, key=lambda word: sum(len(having[form]) for form in word), default=()
        )
        for older in {n for form in rarest for n in having[form]} - gone:
            other = told[older]
            if (
                older > newer and other.forbids != each.forbids and other.who == each.who
                and (vouched[newer] or not vouched[older])
                and not any(map(other.forms.isdisjoint, each.about))
            ):  # fmt: skip
                gone.add(older)
    return gone

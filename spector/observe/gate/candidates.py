"""What the gate compares: the new memory, and those that it may concern, with what they state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from spector.config import ObserveConfig
from spector.kernel.contract import dots, norm
from spector.knowledge import statement_of_fact
from spector.language.frames import BY_HEAD, Statement, extract, is_label
from spector.language.statements import (
    ASSISTANTS,
    USERS,
    person_of,
    reads_like_a_role,
    says_i,
    speaker_opening,
)
from spector.language.words import analyse, plain
from spector.language.worth import Wording
from spector.layout import Flag
from spector.process import keeps
from spector.records import MemoryRecord, notes_of, without_notes
from spector.search import Neighbour, Neighbours

#: statements of one text that are compared with those of another; a text of more hides nothing
MOST_STATEMENTS: Final = 64


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A memory that is about to be made.

    Attributes:
        text: as it would be kept. said: the same without annotations.
        statements: what it states.
        speaker: who speaks, as names are compared; "" for the user.
        data_source: the class of its origin. confidence: in it, 0..1. source: where it is from.
        event_ms: when it happened. valid_from_ms, valid_until_ms: when it holds.
        importance: 0..1, where it is known.
        turn_before: words that it answers or corrects. corrects: those whose one value it surely
            replaces; "" for none.
    """

    text: str
    said: str
    statements: tuple[Statement, ...] = ()
    speaker: str = ""
    data_source: str = "user_message"
    confidence: float = 1.0
    source: str | None = None
    event_ms: int = 0
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    importance: float = 0.5
    turn_before: str = ""
    corrects: str = ""

    @cached_property
    def words(self) -> Wording:
        """What it says, read for comparisons."""
        return Wording(self.said, self.event_ms)

    def made(self, record: MemoryRecord, said: str) -> Candidate:
        """The memory that was made of it, for those after it; ``said``: its whole words."""
        return Candidate(
            record=record,
            said=said,
            statements=self.statements,
            speaker=self.speaker,
            data_source=self.data_source,
        )


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A memory of the same scope that the new one may repeat, extend or contradict.

    Attributes:
        likeness: cosine to the new one, -1..1; None where one of them has no vector.
        is_knowledge: a fact, concept or other payload, whose words the memory does not own.
        is_dormant: kept, but not recalled; only its words are compared.
    """

    record: MemoryRecord
    said: str
    statements: Sequence[Statement] = ()
    speaker: str = ""
    data_source: str = "user_message"
    likeness: float | None = None
    is_knowledge: bool = False
    is_dormant: bool = False

    @property
    def id(self) -> int:
        """Of the memory."""
        return self.record.id

    @cached_property
    def words(self) -> Wording:
        """What it says, read for comparisons."""
        return Wording(self.said, self.record.event_ms)


class _Unread(Sequence[Statement]):
    """The statements of a text that is read when they are first asked for: most never are."""

    def __init__(self, read: Callable[[], tuple[Statement, ...]]) -> None:
        self._read = read
        self._found: tuple[Statement, ...] | None = None

    def _all(self) -> tuple[Statement, ...]:
        if self._found is None:
            self._found = self._read()
        return self._found

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, at: int) -> Statement: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Statement]: ...
    def __getitem__(self, at: int | slice) -> Statement | Sequence[Statement]:
        return self._all()[at]


def candidate_of(
    record: MemoryRecord,
    *,
    said: str | None = None,
    data_source: str | None = None,
    statements: tuple[Statement, ...] | None = None,
    likeness: float | None = None,
    is_knowledge: bool = False,
    is_dormant: bool = False,
    single_valued: Collection[str] = (),
) -> Candidate:
    """A memory as a candidate; what it states is read from its text unless it is known.

    Args:
        single_valued: predicates that callers registered as having one value at a time.
    """
    words = record.text if said is None else said
    stated: Sequence[Statement] = () if statements is None else statements
    if statements is None and not is_dormant:
        stated = _Unread(
            lambda: statements_in(
                words,
                role=record.role,
                speaker=record.speaker,
                event_ms=record.event_ms,
                single_valued=single_valued,
            )
        )
    return Candidate(
        record=record,
        said=words,
        statements=stated,
        speaker=speaker_of(words, record.role, record.speaker),
        data_source=data_source or data_source_of(record.role, record.source, record.speaker),
        likeness=likeness,
        is_knowledge=is_knowledge,
        is_dormant=is_dormant,
    )


def incoming_of(
    text: str,
    event_ms: int,
    *,
    role: str | None,
    speaker: str | None,
    source: str | None = None,
    single_valued: Collection[str] = (),
    **more: Any,
) -> Incoming:
    """A new memory, read: what it states, who says it, from where."""
    return Incoming(
        text=text,
        said=text,
        event_ms=event_ms,
        statements=statements_in(
            text, role=role, speaker=speaker, event_ms=event_ms, single_valued=single_valued
        ),
        speaker=speaker_of(text, role, speaker),
        data_source=data_source_of(role, source, speaker),
        source=source,
        **more,
    )


def statements_in(
    said: str,
    *,
    role: str | None,
    speaker: str | None,
    event_ms: int,
    single_valued: Collection[str] = (),
) -> tuple[Statement, ...]:
    """What a message states; "I" is its speaker where he has a name of his own."""
    name = name_of_speaker(said, role, speaker)
    return _read(said, name, role or "user", event_ms, frozenset(single_valued))


@keeps(512)
def _read(
    said: str, name: str | None, role: str, event_ms: int, single_valued: frozenset[str]
) -> tuple[Statement, ...]:
    """What a text states; memories of one topic are candidates again and again."""
    return extract(
        said, speaker=name, role=role, reference_time=event_ms, single_valued=single_valued
    )


# Who said something, and whether he may change what another said.

#: roles of a message -> the class of its origin
_SOURCES: Final = {
    "tool": "tool",
    "function": "tool",
    "tool_result": "tool",
    "system": "system",
    "developer": "system",
    "document": "document",
    "federation": "federation",
}


def data_source_of(role: str | None, source: str | None = None, speaker: str | None = None) -> str:
    """The class of an origin: ``user_message``, ``assistant_message``, ``tool``, ``system``,
    ``document`` or ``federation``.

    A message without a role is the user's; so is that of a person who is named by his role.

    Args:
        source: where the text is from; a text without a role that names a source is a document.
        speaker: who opens the text, where it has no role.
    """
    name = plain(role or "").strip()
    if name in _SOURCES:
        return _SOURCES[name]
    if not name and source and plain(source).strip() not in USERS:
        return "document"
    name = name or plain(speaker or "").strip()
    if name in USERS or not name:
        return "user_message"
    if name in ASSISTANTS:
        return "assistant_message"
    return "tool" if reads_like_a_role(name) else "user_message"


def name_of_speaker(text: str, role: str | None, speaker: str | None) -> str | None:
    """The name of the one who speaks, where it is not his role; a text may open with it.

    Args:
        speaker: as the metadata name him, or the role.
    """
    name = person_of(role, speaker)
    is_user = plain(role or "user").strip() in USERS
    opening = speaker_opening(text) if name is None and is_user else None
    if opening is None or opening.role or not opening.proper:
        return name
    if role is not None and not says_i(text[opening.start :]):
        return None
    return None if is_label(opening.name) else opening.name


def speaker_of(text: str, role: str | None, speaker: str | None) -> str:
    """The one who speaks, as names are compared; "" for the user himself."""
    name = plain(name_of_speaker(text, role, speaker) or speaker or role or "").strip()
    return "" if name in USERS else name


def may_supersede(new: tuple[str, str], old: tuple[str, str]) -> bool:
    """Whether one (origin, speaker) may take the place of what another said.

    Of one origin only; of two persons, the user himself may correct what another one said.
    """
    return new[0] == old[0] and new[1] in ("", old[1])


# Finds and reads what a new memory is compared with; the gate itself knows no store.

#: memories whose likeness calibrates a scale, and users whose scale is kept
_SAMPLE: Final = 200
_USERS: Final = 64
#: memories that are looked at where bands of likeness decide
_OF_BANDS: Final = 8


@dataclass(eq=False)
class Comparer:
    """Reads what a message states and finds the memories that it may concern."""

    neighbours: Neighbours
    config: ObserveConfig
    _samples: dict[str | None, Sequence[float]] = field(default_factory=dict, init=False)

    def registered(self) -> frozenset[str]:
        """Predicates that callers registered as having one value at a time."""
        return self.neighbours.predicates()

    def sample(self, user_id: str | None, now_ms: int) -> Sequence[float]:
        """How alike a user's memories are, for a calibrated scale; empty where none is asked for.

        It is read anew until there are as many as the scale is of.
        """
        if self.config.gate_by != "bands" or self.config.gate_scale != "calibrated":
            return ()
        known = self._samples.get(user_id, ())
        if len(known) < _SAMPLE:
            known = self.neighbours.likeness(user_id=user_id, now_ms=now_ms, count=_SAMPLE)
            if len(self._samples) >= _USERS:
                self._samples.clear()
            self._samples[user_id] = known
        return known

    def candidates(
        self,
        new: Incoming,
        vector: NDArray[np.float32] | None,
        *,
        user_id: str | None,
        now_ms: int,
        single_valued: Collection[str] = (),
    ) -> list[Candidate]:
        """The memories of the same scope that the gate compares with a new one."""
        bands = self.config.gate_by == "bands"
        count = _OF_BANDS if bands else self.config.gate_neighbours
        found = self._near(new, vector, user_id, now_ms, count)
        if bands:
            near = sorted(found, key=lambda each: (-(each.likeness or -1.0), each.id))
            found = near[:_OF_BANDS]
        return [_candidate(each, single_valued) for each in found]

    def _near(
        self,
        new: Incoming,
        vector: NDArray[np.float32] | None,
        user_id: str | None,
        now_ms: int,
        count: int,
    ) -> list[Neighbour]:
        """What was said: themes that nights made quote it, and would take its places. Facts that
        the head found decide nothing."""
        slots = [(each.subject, each.predicate) for each in new.statements]

        def find(count: int) -> list[Neighbour]:
            return self.neighbours.find(
                new.said, vector, user_id=user_id, now_ms=now_ms, slots=slots, count=count
            )

        found = find(count)
        others = sum(map(_is_aside, found))
        if others:
            found = find(count + others)
        return [each for each in found if not _is_aside(each)]


def _is_aside(near: Neighbour) -> bool:
    if near.fact is not None:
        return bool(near.fact["json"].get("by") == BY_HEAD)
    return Flag.AUXILIARY in near.record.flags


def _candidate(near: Neighbour, single_valued: Collection[str]) -> Candidate:
    observed = near.observed or {}
    return candidate_of(
        near.record,
        said=without_notes(near.record.text, notes_of(near.observed)),
        data_source=observed.get("data_source"),
        statements=None if near.fact is None else (statement_of_fact(near.fact),),
        likeness=near.likeness,
        is_knowledge=bool(near.sorts),
        is_dormant=Flag.DORMANT in near.record.flags,
        single_valued=single_valued,
    )


# The memories of one commit, which its further statements meet as candidates.

#: the nearest, and those with the most words in common, beside all of the same slot
_NEAREST, _OF_SLOT = 5, 12
_ROOM: Final = 64


class Made:
    """What a commit has made so far of one user's memories, nearest first."""

    def __init__(self) -> None:
        self._all: list[Candidate] = []
        #: (room, dim) f32, one row a candidate, and the lengths of the rows
        self._vectors: NDArray[np.float32] | None = None
        self._norms: list[float] = []
        self._of_slot: dict[tuple[str, str], list[int]] = {}
        self._of_word: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, made: Candidate, vector: NDArray[np.float32] | None) -> None:
        """Take in a memory with its vector as it is kept."""
        n = len(self._all)
        self._all.append(made)
        for each in {(one.subject, one.predicate) for one in made.statements}:
            self._of_slot.setdefault(each, []).append(n)
        for word in set(analyse(made.said).content()):
            self._of_word[word].append(n)
        if vector is None:
            return
        if self._vectors is None:
            self._vectors = np.zeros((_ROOM, len(vector)), np.float32)
        elif n >= len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[n] = vector
        self._norms.append(float(norm(vector)))

    def near(
        self, said: str, vector: NDArray[np.float32] | None, slots: Collection[tuple[str, str]]
    ) -> list[Candidate]:
        """Those nearest to a new memory, by its vector and its words, and those of its slots.

        All without a vector.
        """
        if vector is None or self._vectors is None:
            return self._all
        alike = cosines(self._vectors[: len(self._all)], vector, self._norms)
        # a later memory has a greater id, so the first of those that are as near comes first
        first = np.argsort(-np.array(alike), kind="stable")[:_NEAREST].tolist()
        found = dict.fromkeys((*first, *self._sharing(said, slots)))
        return [replace(self._all[n], likeness=alike[n]) for n in found]

    def sharing(self, said: str, slots: Collection[tuple[str, str]]) -> list[Candidate]:
        """Those with the most words in common, and the last of the slots."""
        return [self._all[n] for n in self._sharing(said, slots)]

    def _sharing(self, said: str, slots: Collection[tuple[str, str]]) -> dict[int, None]:
        """A word that few of them have counts more."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word in set(analyse(said).content()):
            places = self._of_word.get(word, ())
            for n in places:
                shared[n] += 1.0 / len(places)
        words = sorted(shared, key=lambda each: (-shared[each], each))[:_NEAREST]
        same = sorted(n for each in slots for n in self._of_slot.get(each, ()))
        return dict.fromkeys((*words, *same[-_OF_SLOT:]))


def cosines(
    vectors: NDArray[np.float32],
    vector: NDArray[np.float32],
    norms: Sequence[float] | None = None,
) -> list[float]:
    """Cosine of each of some vectors to one.

    Args:
        norms: lengths of the vectors, where they are known.
    """
    length = float(norm(vector))
    products = dots(np.ascontiguousarray(vectors), vector).tolist()
    sizes = [float(norm(each)) for each in vectors] if norms is None else norms
    return [
        max(-1.0, min(1.0, value / (size * length))) if size and length else 0.0
        for value, size in zip(products, sizes, strict=True)
    ]

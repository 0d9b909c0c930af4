"""What the gate compares: the new memory and those that it may concern, with what they state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, overload

from spector.language.frames import Statement, extract
from spector.language.worth import Wording
from spector.observe.gate.trust import data_source_of, name_of_speaker, speaker_of
from spector.process import keeps
from spector.records import MemoryRecord

__all__ = [
    "MOST_STATEMENTS",
    "Candidate",
    "Incoming",
    "candidate_of",
    "incoming_of",
    "statements_in",
]

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

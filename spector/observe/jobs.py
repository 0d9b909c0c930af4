"""Messages and their statements on the way to become memories, as the stages share them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from spector.arguments import check_metadata
from spector.config import Config
from spector.errors import InvalidMetadataError, StoreClosedError
from spector.knowledge import Reading, entity_uri
from spector.language.emotion import emotion_in
from spector.language.formation import Referents
from spector.layout import Category
from spector.observe.gate import Candidate, Incoming
from spector.observe.messages import Message
from spector.records import (
    Emotion,
    LLMUsage,
    MemoryRecord,
    Note,
    ObservedUnit,
    PairVerdict,
    Reference,
)
from spector.write import Ready

T = TypeVar("T")
#: places in a text with names in place of pronouns, and how far what is behind them was moved
Moves: TypeAlias = list[tuple[int, int]]

#: trust in an origin
_TRUST: Final = {
    "user_message": 0.9,
    "tool": 0.8,
    "document": 0.7,
    "assistant_message": 0.6,
    "federation": 0.5,
    "system": 0.9,
}
_HEDGED: Final = 0.7


@dataclass(slots=True, kw_only=True)
class Work:
    """One message on its way through the stages."""

    message: Message
    event_ms: int
    #: predicates that callers registered as having one value at a time
    single: Collection[str] = ()
    filter: str | None = None
    kind: str = "other"
    class_confidence: float = 0.0
    #: why it may be worth nothing; "" where it is surely worth a memory
    doubt: str = ""
    #: False: it does not mean what it says, so nothing of it is a fact or changes another
    states: bool = True
    category: Category = Category.OTHER
    entities: tuple[str, ...] = ()
    emotion: Emotion = field(default_factory=Emotion)
    alarm: float = 0.0
    is_hedged: bool = False
    #: a user asks that it be remembered, or says how to answer
    is_asked: bool = False
    #: what it answers or corrects: "asked" or "corrects", and these words
    turn_before: tuple[str, str] = ("", "")
    quarantined: bool = False
    units: list[Unit] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    #: who has been named, for the message after it
    referents: Referents = field(default_factory=Referents)
    #: what its session keeps of the wish not to be remembered
    off_record: str | None = None
    #: texts that rules have read
    known: dict[str, Reading] = field(default_factory=dict)
    session: SessionMemory | None = None
    entry_id: str = ""
    #: the message or memory that it corrects
    corrected: Work | int | None = None
    #: an earlier commit has kept what is attached to it
    is_attached: bool = False
    #: what asking the chat model cost
    llm: LLMUsage | None = None

    @property
    def confidence(self) -> float:
        """Trust in the origin, less under a hedge."""
        return _TRUST[self.message.data_source] * (_HEDGED if self.is_hedged else 1.0)


@dataclass(slots=True, kw_only=True)
class Unit:
    """One statement of a message, which may become a memory, and what became of it."""

    work: Work
    text: str
    said: str
    #: the words before a rewriting, where there was one
    raw: str | None = None
    notes: tuple[Note, ...] = ()
    references: tuple[Reference, ...] = ()
    #: of its message, where it is the first statement of it
    turn_before: tuple[str, str] = ("", "")
    category: Category = Category.OTHER
    reading: Reading
    incoming: Incoming
    #: the text as it is read, until the trained heads have seen it, and where its words stand in
    #: what was said; None where its facts are the caller's
    unnamed: str | None = None
    moves: Moves | None = None
    ready: Ready = field(init=False)
    #: one for each fact that it states
    facts: Sequence[Ready] = ()
    #: memories that it may concern, of the moment before the commit
    candidates: Sequence[Candidate] = ()
    #: likeness of the user's memories, ascending, for bands of a calibrated scale
    sample: Sequence[float] = ()
    #: importance by its words, of a head; by the caller's scorer; by a judge or chat model
    worth: float | None = None
    scored: float | None = None
    judged: float | None = None
    #: memory -> (kind, confidence) by a caller's detector; None where the rules relate
    relations: dict[int, tuple[str, float]] | None = None
    #: memory -> what a judge says of it
    verdicts: dict[int, PairVerdict] = field(default_factory=dict)
    #: words of an older memory -> probability that this changes it, by the offline model
    changes: dict[str, float] = field(default_factory=dict)
    #: what became of it, and why no memory did
    result: ObservedUnit = field(init=False)
    reason: str = ""
    captured: tuple[int, ...] = ()

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities that it names, as URIs."""
        return tuple(entity_uri(name, kind) for name, kind in self.reading.mentions)

    @property
    def user_id(self) -> str | None:
        """Whose memory it will be."""
        return self.ready.draft.user_id

    @property
    def is_new(self) -> bool:
        """Whether a memory was made."""
        return self.result.action in ("create", "supersede")


class SessionMemory(Protocol):
    """What the stages read of a session, and write to it."""

    referents: Any
    previous: tuple[int, ...]
    off_record: str | None
    #: speaker -> the last memory of what he said
    said: dict[str, int]

    @property
    def attention_vectors(self) -> Sequence[NDArray[np.float32]]: ...

    @property
    def tags(self) -> Any: ...

    @property
    def sensory(self) -> Any: ...

    def rest_of(
        self, text: str, dates: Collection[str] | None = None, *, loosely: bool = False
    ) -> str: ...
    def note_message(
        self, vector: NDArray[np.float32] | None, valence: float | None = None
    ) -> None: ...
    def note_stored(
        self,
        record: MemoryRecord,
        vector: NDArray[np.float32] | None = None,
        *,
        entry_id: str | None = None,
        tags: bool = True,
    ) -> bool: ...
    def note_skipped(self, text: str, importance: float) -> None: ...
    def erase(self, ids: Collection[int], texts: Collection[str]) -> int: ...


def asked(out: Work, stage: str, ask: Callable[[], T]) -> T | None:
    """What a model of others says; None, and a fallback, where it failed."""
    try:
        return ask()
    except StoreClosedError:
        raise
    except Exception:  # it may fail in any way: the rules decide, and it is reported
        if stage not in out.fallbacks:
            out.fallbacks.append(stage)
        return None


def fields_of(unit: Unit, config: Config) -> tuple[str, dict[str, Any]]:
    """Text and fields of ``remember`` of a statement."""
    work = unit.work
    message, arousal = work.message, work.emotion.arousal
    if len(work.units) > 1:  # a long message has more words of feeling than each of its parts
        own = emotion_in(unit.said, exclamation=config.observe.exclamation)
        arousal = min(arousal, own.arousal)
    fields: dict[str, Any] = {
        "confidence": work.class_confidence
        if config.observe.confidence == "class"
        else work.confidence,
        "valence": work.emotion.valence,
        "arousal": 0.0 if work.doubt else arousal,
        **{name: value for name, value in message.fields.items() if value is not None},
        "category": unit.category,
    }
    if message.role is not None:
        fields["role"] = message.role
    name, words = unit.turn_before
    if name:
        with suppress(InvalidMetadataError):  # it has no room
            about = {**(fields.get("metadata") or {}), name: words}
            fields["metadata"] = check_metadata(about, config)[0]
    return unit.text, fields


def facts_of(unit: Unit) -> list[tuple[str, dict[str, Any]]]:
    """Texts and fields of the facts that a statement states."""
    message, given = unit.work.message, unit.work.message.fields
    fields: dict[str, Any] = {
        "tier": "semantic",
        "category": Category.FACT,
        "confidence": unit.work.confidence,
        "user_id": given.get("user_id"),
        "agent_id": given.get("agent_id"),
        "event_time": given.get("event_time"),
        "role": message.role if message.speaker or message.data_source != "user_message" else None,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return [
        (each.text, kept if each.vector is None else {**kept, "vector": each.vector})
        for each in unit.reading.facts
    ]

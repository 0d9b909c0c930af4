"""A memory as users see it, and the names that a cue finds it by."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, Literal

from spector.clock import from_ms, iso_of_ms
from spector.layout import Category, Flag, Modality
from spector.records.details import AsJson, Described

if TYPE_CHECKING:
    from spector.records.details import Details


# What the prediction-error gate decided about a new memory, by which rule, with which numbers.

Action = Literal["create", "update", "supersede", "reinforce", "skip"]
Relation = Literal["elaborates", "contradicts"]
#: what a new memory does to an old one, from nothing new to nothing in common
Verdict = Literal["same", "adds", "may change", "changes", "ends", "apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(AsJson):
    """The action for one new memory, and what it does to those that exist."""

    #: ``update`` makes ``merged`` of ``nearest``
    action: Action = "create"
    #: ``elaborates`` or ``contradicts``: create, with this edge to ``nearest``
    relation: Relation | None = None
    #: the memory that decided, or else the most alike one
    nearest: int | None = None
    #: greatest cosine to a candidate, -1..1; None without vectors
    likeness: float | None = None
    #: ``same words``, ``value``, ``polarity``, ``said``, ``nothing new``, ``detail``, ``band``,
    #: ``change`` or ``new``
    rule: str = "new"
    #: only ``changes`` and ``ends`` supersede; ``may change`` sets an order and hides nothing
    verdict: Verdict = "apart"
    #: of the verdict, 0..1, where it is about an older memory
    confidence: float | None = None
    #: memories that the new one takes the place of
    superseded: tuple[int, ...] = ()
    #: memories that are kept beside it, tied by ``contradicts``
    contradicted: tuple[int, ...] = ()
    #: older memories that it may have changed: kept, and recalled right behind it
    may_change: tuple[int, ...] = ()
    #: the memory that is strengthened instead of a new one
    reinforced: int | None = None
    #: the text of ``nearest`` after an update
    merged: str | None = None
    #: why nothing is stored, or why a contradiction does not supersede
    reason: str = ""

    def __str__(self) -> str:
        parts: list[str] = [self.action, f"({self.verdict})"]
        if self.superseded:
            parts.append(f"of {', '.join(map(str, self.superseded))}")
        if self.relation:
            parts.append(f"which {self.relation} {self.nearest}")
        parts.append(f"by rule {self.rule!r}")
        if self.confidence is not None:
            parts.append(f"with confidence {self.confidence:.2f}")
        if self.likeness is not None:
            parts.append(f"at likeness {self.likeness:.2f}")
        return " ".join(parts) + (f": {self.reason}" if self.reason else "")


#: most aliases of one memory, and most characters of one alias
MOST_ALIASES: Final = 32
ALIAS_CHARS: Final = 120
#: metadata key that is False when the ``aliases`` come from a tool or document and name nothing
NOT_GIVEN: Final = "aliases_given"
#: metadata keys of the words that a memory answers or corrects, which are searched with it
TURNS_BEFORE: Final = ("asked", "corrects")
#: characters of a text in a repr: lists of hits are printed and logged
_SHOWN = 60


def shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def aliases_in(metadata: object) -> tuple[str, ...]:
    """The valid names in ``metadata["aliases"]``, at most 32.

    A valid name is a text of at most 120 characters. Names that a tool or document has brought
    itself do not count.
    """
    if not isinstance(metadata, Mapping) or metadata.get(NOT_GIVEN) is False:
        return ()
    names = metadata.get("aliases")
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, (list, tuple)):
        return ()
    found = (name for name in names if isinstance(name, str) and name.strip())
    return tuple(islice((name for name in found if len(name) <= ALIAS_CHARS), MOST_ALIASES))


def turn_before_in(metadata: object) -> tuple[str, str]:
    """What a memory answers or corrects: ``("asked", "How old are you?")``, ``("corrects", "I'm
    34.")``, or two empty texts."""
    if isinstance(metadata, Mapping):
        for name in TURNS_BEFORE:
            words = metadata.get(name)
            if isinstance(words, str) and words.strip():
                return name, words
    return "", ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord(Described):
    """One memory. Times are timezone-aware UTC datetimes, strengths are 0..1."""

    id: int
    text: str
    tier: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    event_ms: int = 0
    recorded_ms: int = 0
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    role: str | None = None
    source: str | None = None
    confidence: float = 1.0
    importance: float = 0.5
    valence: float = 0.0
    arousal: float = 0.0
    stability_days: float = 1.0
    utility: float = 0.5
    access_count: int = 0
    last_access_s: int = 0
    flags: Flag = Flag.NONE
    category: Category = Category.OTHER
    modality: Modality = Modality.TEXT
    parents: tuple[int, ...] = ()
    #: ids of memories that this one superseded, forgotten ones included
    supersedes: tuple[int, ...] = ()
    #: ids of living memories that superseded this one
    superseded_by: tuple[int, ...] = ()
    #: the end of validity it was given (None: none) if a successor has set another, else ()
    own_until_ms: tuple[int | None, ...] = ()
    #: what ``remember(supersedes="auto")`` decided; only on the record that it returns
    decision: Decision | None = field(default=None, compare=False)
    #: what few memories have; the properties below say it
    details: Details | None = field(default=None, repr=False)
    #: when it was read; None for a record that no memory has returned
    read_ms: int | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        words = f"text={shortened(self.text)!r}"
        if not self.text and self.attachment_bytes is not None:
            words = f"attachment_bytes={self.attachment_bytes}"
        return f"MemoryRecord(id={self.id}, tier={self.tier!r}, {words})"

    @property
    def event_time(self) -> datetime:
        return from_ms(self.event_ms)

    @property
    def recorded_at(self) -> datetime:
        return from_ms(self.recorded_ms)

    @property
    def valid_from(self) -> datetime | None:
        return None if self.valid_from_ms is None else from_ms(self.valid_from_ms)

    @property
    def valid_until(self) -> datetime | None:
        return None if self.valid_until_ms is None else from_ms(self.valid_until_ms)

    @property
    def last_access(self) -> datetime:
        return from_ms(self.last_access_s * 1000)

    @property
    def speaker(self) -> str | None:
        """Name in ``metadata["speaker"]``, given or read from the text, else the role."""
        named = self.metadata.get("speaker")
        return named if isinstance(named, str) and named else self.role

    @property
    def aliases(self) -> tuple[str, ...]:
        """Names that a cue finds this memory by, see ``remember(aliases=)``."""
        return aliases_in(self.metadata)

    @property
    def turn_before(self) -> tuple[str, str]:
        """What it answers or corrects: ``("asked", "How old are you?")`` or ``("corrects", ...)``;
        two empty texts for nothing."""
        return turn_before_in(self.metadata)

    @property
    def pinned(self) -> bool:
        return Flag.PINNED in self.flags

    @property
    def immutable(self) -> bool:
        return Flag.IMMUTABLE in self.flags

    @property
    def flashbulb(self) -> bool:
        return Flag.FLASHBULB in self.flags

    @property
    def unresolved(self) -> bool:
        return Flag.UNRESOLVED in self.flags

    @property
    def superseded(self) -> bool:
        """True when a newer memory has replaced it; recall skips it unless asked otherwise."""
        return Flag.SUPERSEDED in self.flags

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dict with ISO 8601 times, in the keys that ``import_`` reads back."""
        out: dict[str, Any] = {
            "id": self.id,
            "text": self.text,
            "tier": self.tier,
            "tags": list(self.tags),
            "metadata": dict(self.metadata),
            "event_time": iso_of_ms(self.event_ms),
            "recorded_at": iso_of_ms(self.recorded_ms),
            "valid_from": None if self.valid_from_ms is None else iso_of_ms(self.valid_from_ms),
            "valid_until": None if self.valid_until_ms is None else iso_of_ms(self.valid_until_ms),
            "session_id": self.session_id,
            "agent_id": self.agent_id,
            "user_id": self.user_id,
            "role": self.role,
            "source": self.source,
            "confidence": round(self.confidence, 6),
            "importance": round(self.importance, 6),
            "valence": round(self.valence, 6),
            "arousal": round(self.arousal, 6),
            "stability_days": round(self.stability_days, 6),
            "utility": round(self.utility, 6),
            "access_count": self.access_count,
            "last_access": iso_of_ms(self.last_access_s * 1000),
            "flags": [flag.name.lower() for flag in Flag if flag in self.flags and flag.name],
            "category": self.category.name.lower(),
            "modality": self.modality.name.lower(),
            "parents": list(self.parents),
            "supersedes": list(self.supersedes),
            "superseded_by": list(self.superseded_by),
        }
        for until_ms in self.own_until_ms:
            out["own_until"] = None if until_ms is None else iso_of_ms(until_ms)
        if self.key is not None:
            out |= {"key": self.key, "namespace": list(self.namespace), "revision": self.revision}
        if self.details is not None and self.details.expires_ms is not None:
            out["expires_at"] = iso_of_ms(self.details.expires_ms)
            if self.details.refresh_ms is not None:
                out["refresh_s"] = self.details.refresh_ms / 1000
        if self.attachment_bytes is not None:
            out["attachment_bytes"] = self.attachment_bytes
        if self.details is not None and (told := self.details.to_dict()):
            out["details"] = told
        return out


#: field -> setter of its slot, which bypasses the guard of the frozen class
_SETTERS: dict[str, Callable[[MemoryRecord, Any], None]] = {
    each.name: getattr(MemoryRecord, each.name).__set__ for each in fields(MemoryRecord)
}
_DEFAULTS = {each.name: each.default for each in fields(MemoryRecord)}


def complete(record: MemoryRecord, details: Details | None, read_ms: int | None) -> None:
    """Fill in what a record that was just made lacks still."""
    if details is not None:
        _SETTERS["details"](record, details)
    if read_ms is not None:
        _SETTERS["read_ms"](record, read_ms)


def make_records(columns: Mapping[str, Sequence[Any]]) -> list[MemoryRecord]:
    """Make records from columns, one per field; fields with a default may be missing.

    The result equals calling the class for every row, in a fifth of the time.
    """
    count = len(columns["id"])
    out = [object.__new__(MemoryRecord) for _ in range(count)]
    for name, put in _SETTERS.items():
        column = columns.get(name)
        if column is None:
            assert _DEFAULTS[name] is not MISSING, f"no column for {name}"
            deque(map(put, out, repeat(_DEFAULTS[name])), maxlen=0)
        else:
            assert len(column) == count, f"{len(column)} values of {name} for {count} records"
            deque(map(put, out, column), maxlen=0)
    return out

"""What is known of a memory beside its words and strengths: its sort, its origin, its notes."""

from __future__ import annotations

import json
import math
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Self

from spector.clock import from_ms, to_ms
from spector.errors import InvalidInputError, StoreClosedError
from spector.layout import Category, Flag
from spector.messages import shown


class AsJson:
    """Records whose fields are written one by one: times in ISO 8601, tuples as lists."""

    __slots__: tuple[str, ...] = ()
    #: what is written of the memory beside it
    _OF_RECORD: ClassVar[tuple[str, ...]] = ("user_id", "agent_id")

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it; of the memory beside it only what `_OF_RECORD` names."""
        out: dict[str, Any] = {}
        for name in self.__slots__:
            if name != "record":
                out[name] = _plain(getattr(self, name))
            else:
                record = getattr(self, name)
                out |= {each: getattr(record, each, None) for each in self._OF_RECORD}
        return out


def _plain(value: Any) -> Any:
    if isinstance(value, Note):
        return value.to_list()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, AsJson):
        return value.to_dict()
    return str(value) if isinstance(value, StrEnum) else value


# Kinds of memories within a tier, by origin, category and words (Cognitive Memory v9).

#: sub-tier -> factor of the score of a memory
SUB_TIERS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "personal": 1.1,
        "observed": 1.0,
        "vicarious": 0.9,
        "schematic": 1.1,
        "procedural": 1.05,
        "factual": 1.0,
    }
)
#: words of what holds always; suffixes of Turkish words may follow
_SCHEMATIC: Final = re.compile(
    r"\b(?:always|never|rules?|asla|her zaman|daima|kural\w*)\b", re.IGNORECASE
)
_PROCEDURAL: Final = re.compile(r"\b(?:how to|how do (?:i|we|you)|nas[ıi]l)\b", re.IGNORECASE)


def sub_tier_of(tier: str, category: Category, data_source: str, text: str) -> str:
    """The sub-tier of a memory; "" in tiers that have none."""
    judge = _JUDGES.get(tier)
    return "" if judge is None else judge(category, data_source, text)


def _by_source(category: Category, data_source: str, text: str) -> str:
    sources = {"user_message": "personal", "federation": "vicarious"}
    return sources.get(data_source, "observed")


def _by_words(category: Category, data_source: str, text: str) -> str:
    if category is Category.PATTERN or _SCHEMATIC.search(text):
        return "schematic"
    if category is Category.PROCEDURE or _PROCEDURAL.search(text):
        return "procedural"
    return "factual"


#: tier -> what tells its kinds apart; other tiers have none
_JUDGES: Final[Mapping[str, Callable[[Category, str, str], str]]] = MappingProxyType(
    {"episodic": _by_source, "semantic": _by_words}
)


# How well a memory is retained: curves for one memory, and its two strengths.
#
# The kernel has the same curves for many memories; tests compare the two.

#: FSRS-6: the default decay, and the factor that makes retention 0.9 after one stability
FSRS6_DECAY: Final = 0.1542
FSRS6_FACTOR: Final = 0.9 ** (-1.0 / FSRS6_DECAY) - 1.0
_LEAST_STABILITY_DAYS: Final = 1e-6
#: from which storage and below which retrieval something is on the tip of the tongue
_STORED: Final = 5.0
_HARD_TO_RETRIEVE: Final = 0.3


def retention_at(elapsed_days: float, stability_days: float, curve: Any = "fsrs") -> float:
    """The share of a memory that is retained, 0..1, some days after its last use.

    Args:
        curve: "fsrs" ``(1 + t / 9S)^-2``, "fsrs6" ``(1 + f t / S)^-0.1542``, "ebbinghaus"
            ``exp(-t / S)`` or "half_life" ``2^(-t / S)``.

    Raises:
        InvalidInputError: there is no such curve.
    """
    x = max(0.0, elapsed_days) / max(stability_days, _LEAST_STABILITY_DAYS)
    if curve == "fsrs":
        return float((1.0 + x / 9.0) ** -2.0)
    if curve == "fsrs6":
        return float((1.0 + FSRS6_FACTOR * x) ** -FSRS6_DECAY)
    if curve == "ebbinghaus":
        return math.exp(-x)
    if curve == "half_life":
        return float(2.0**-x)
    raise InvalidInputError(
        f"curve is {shown(curve)}", hint='pass "fsrs", "fsrs6", "ebbinghaus" or "half_life"'
    )


@dataclass(frozen=True, slots=True)
class DualStrength:
    """How well a memory is stored, which never decays, and how well it is retrieved.

    Source: Bjork's new theory of disuse, as in Cognitive Memory v9.
    """

    #: 1..10, by the number of accesses
    storage: float
    #: 0..1, by the time since the last use
    retrieval: float

    @property
    def tip_of_tongue(self) -> bool:
        """Well stored, and hard to retrieve."""
        return self.storage >= _STORED and self.retrieval < _HARD_TO_RETRIEVE


def dual_strength(accesses: int, elapsed_days: float, stability_days: float) -> DualStrength:
    """Storage ``min(10, 1 + 9 ln(1 + n) / ln 101)``, and retention by FSRS."""
    storage = min(10.0, 1.0 + 9.0 * math.log1p(max(0, accesses)) / math.log(101.0))
    return DualStrength(storage, retention_at(elapsed_days, stability_days))


#: stands behind each label of a stored namespace, and in none
NAMESPACE_END: Final = "\x1f"
#: how a label is stored that has what ends one, or the first character of this
_ESCAPED: Final = {"\x1e": "\x1e0", NAMESPACE_END: "\x1e1"}
#: most bytes of a key, and of a label of a namespace
KEY_BYTES: Final = 512

_TO_STORED: Final = str.maketrans(_ESCAPED)

#: sorts of payloads that say what a memory is, the first that it has
_SORTS: Final = ("fact", "procedure", "learning", "concept", "statistic")


@dataclass(frozen=True, slots=True)
class Note:
    """One annotation: the span of a text that was not said, and what it says."""

    start: int
    end: int
    #: ``reference``, ``subject`` or ``date``
    kind: str
    value: str

    def to_list(self) -> list[Any]:
        """As a row keeps it: start, end, kind, value."""
        return [self.start, self.end, self.kind, self.value]


def note_of(value: Any) -> Note:
    """A note as a row keeps it."""
    start, end, kind, said = value
    return Note(int(start), int(end), str(kind), str(said))


def notes_of(payload: Mapping[str, Any] | None) -> tuple[Note, ...]:
    """The notes in the details of an observed memory."""
    return () if payload is None else tuple(note_of(each) for each in payload.get("notes") or ())


def without_notes(text: str, notes: Iterable[Note]) -> str:
    """A text as it was said. Brackets that are no notes stay."""
    pieces: list[str] = []
    done = 0
    for note in sorted(notes, key=lambda one: one.start):
        if done <= note.start <= note.end <= len(text):
            pieces.append(text[done : note.start])
            done = note.end
    return "".join((*pieces, text[done:]))


class Attached(NamedTuple):
    """An attachment as it is stored: its form is "json" (UTF-8) or "bytes"."""

    form: str
    data: bytes

    @property
    def value(self) -> Any:
        """What was attached; tuples have become lists."""
        return json.loads(self.data) if self.form == "json" else self.data


class AttachmentReader:
    """Lets records read attachments from the memory that returned them, and does not keep it."""

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory: weakref.ref[Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:  # a copy in another process reads nothing
        return AttachmentReader, ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def serve(self, memory: object) -> None:
        """Read from a memory from now on."""
        self._memory = weakref.ref(memory)

    def read(self, record: Any) -> Any:
        """What is attached to the memory of a record now."""
        memory = None if self._memory is None else self._memory()
        if memory is None:
            raise StoreClosedError(
                f"the memory that returned record {record.id} is closed",
                hint="open the store again, and get the record anew",
            )
        return memory._attached_to(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What few memories have; a record without any has the defaults."""

    payload: str | None = None
    notes: tuple[Note, ...] = ()
    emotion: str | None = None
    write_source: str = "manual"
    data_source: str | None = None
    class_confidence: float | None = None
    summary: str | None = None
    raw: str | None = None
    rested_ms: int | None = None
    rested_by: str | None = None
    key: str | None = None
    namespace: tuple[str, ...] = ()
    revision: int = 0
    expires_ms: int | None = None
    refresh_ms: int | None = None
    attached_bytes: int | None = None
    reader: AttachmentReader | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it, without what is at its default, and what a record itself says."""
        out: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default and each.name not in _OF_ENTRY:
                out[each.name] = [n.to_list() for n in value] if each.name == "notes" else value
        return out


_NONE: Final = Details()
#: what comes of the entry of a memory
_OF_ENTRY: Final = (
    "key",
    "namespace",
    "revision",
    "expires_ms",
    "refresh_ms",
    "attached_bytes",
    "reader",
)


def details_of(
    payloads: Mapping[str, Mapping[str, Any]],
    entry: Mapping[str, Any] | None = None,
    reader: AttachmentReader | None = None,
) -> Details | None:
    """The details of a memory with these payloads; None where they say nothing.

    Args:
        payloads: sort -> fields; "fact" for a fact.
        entry: its key, where it has one.
        reader: reads what is attached to it.
    """
    observed, episode = payloads.get("observed", {}), payloads.get("episode", {})
    rest = payloads.get("rest", {})
    made = Details(
        payload=next((each for each in _SORTS if each in payloads), None),
        notes=notes_of(observed),
        emotion=observed.get("emotion"),
        write_source=observed.get("write_source") or "manual",
        data_source=observed.get("data_source"),
        class_confidence=observed.get("class_confidence"),
        summary=episode.get("summary"),
        raw=observed.get("raw"),
        rested_ms=rest.get("since_ms"),
        rested_by=rest.get("rule"),
    )
    if entry is not None:
        made = with_entry(made, entry, reader)
    return None if made == _NONE else made


def labels_of(namespace: str) -> tuple[str, ...]:
    """The labels of a namespace as it is stored."""
    labels = namespace.split(NAMESPACE_END)[:-1]
    if "\x1e" in namespace:
        for plain, escaped in reversed(_ESCAPED.items()):
            labels = [each.replace(escaped, plain) for each in labels]
    return tuple(labels)


def stored_namespace(labels: Iterable[str]) -> str:
    """A namespace as it is stored, of its labels."""
    return "".join(f"{each.translate(_TO_STORED)}{NAMESPACE_END}" for each in labels)


def with_entry(
    details: Details | None,
    entry: Mapping[str, Any] | None,
    reader: AttachmentReader | None = None,
) -> Details:
    """Details with what the entry of a memory says of it."""
    kept = _NONE if details is None else details
    if entry is None:
        return kept
    key = entry["record_key"]
    return replace(
        kept,
        key=key,
        namespace=labels_of(entry["namespace"]),
        revision=0 if key is None else entry["revision"],
        expires_ms=entry["expires_ms"],
        refresh_ms=entry["refresh_ms"],
        attached_bytes=entry["attached_bytes"],
        reader=None if entry["attached_bytes"] is None else reader,
    )


#: role of a memory -> where its words are from
_SOURCES: Final[Mapping[str | None, str]] = {
    None: "user_message",
    "user": "user_message",
    "assistant": "assistant_message",
    "tool": "tool",
}


def source_of_role(role: str | None) -> str:
    """Where the words of a memory with a role are from, if nothing else is known."""
    return _SOURCES.get(role, "system")


def is_user_said(role: str | None) -> bool:
    """Whether a message of a role is what a user said; no role means so."""
    return source_of_role(role) == "user_message"


class Described:
    """What a record says of its memory beside words, times, scopes and strengths."""

    __slots__: tuple[str, ...] = ()
    if TYPE_CHECKING:  # fields of the record
        id: int
        text: str
        tier: str
        role: str | None
        category: Category
        flags: Flag
        access_count: int
        stability_days: float
        last_access_s: int
        valid_until_ms: int | None
        details: Details | None
        read_ms: int | None

    @property
    def dormant(self) -> bool:
        """True when it rests, by ``retire`` or by sleep; recall skips it unless asked otherwise."""
        return Flag.DORMANT in self.flags

    @property
    def dormant_since(self) -> datetime | None:
        """When sleep put it to rest; None for what is awake, or was retired by name."""
        rest_ms = (self.details or _NONE).rested_ms
        is_of_now = rest_ms is not None and self.dormant and self.last_access_s < rest_ms // 1000
        return from_ms(rest_ms) if rest_ms is not None and is_of_now else None

    @property
    def dormant_rule(self) -> str | None:
        """The rule by which sleep put it to rest; None where `dormant_since` is None."""
        return None if self.dormant_since is None else (self.details or _NONE).rested_by

    @property
    def consolidated(self) -> bool:
        """True when sleep has compressed it, or made something of it and others."""
        return Flag.CONSOLIDATED in self.flags

    @property
    def key(self) -> str | None:
        """The name under which its user finds it, see ``remember(key=)``; None for most."""
        return (self.details or _NONE).key

    @property
    def namespace(self) -> tuple[str, ...]:
        """The labels of the namespace that its key is of."""
        return (self.details or _NONE).namespace

    @property
    def revision(self) -> int:
        """1 for a new memory with a key, one more whenever it changes; 0 without a key."""
        return (self.details or _NONE).revision

    @property
    def expires_at(self) -> datetime | None:
        """When no read returns it any more; None for most. See ``remember(expires_in=)``."""
        end_ms = (self.details or _NONE).expires_ms
        return None if end_ms is None else from_ms(end_ms)

    @property
    def attachment_bytes(self) -> int | None:
        """How large its attachment is, JSON as it is kept; None without one. Nothing is read."""
        return (self.details or _NONE).attached_bytes

    def attachment(self) -> Any:
        """What is attached to it, see ``remember(attachment=)``; None where nothing is.

        It is read now, from the store: bytes, or a JSON value whose tuples have become lists. One
        that was replaced since is the new one.

        Raises:
            UnknownRecordError: the memory has been forgotten, has expired, or is another user's.
            StoreClosedError: the memory that returned the record is closed.
            CatalogCorruptError: it is not what was written.
        """
        details = self.details or _NONE
        if details.attached_bytes is None:
            return None
        return (details.reader or AttachmentReader()).read(self)

    @property
    def payload(self) -> str | None:
        """ "fact", "procedure", "learning", "concept" or "statistic"; None for a plain memory."""
        return (self.details or _NONE).payload

    @property
    def notes(self) -> tuple[Note, ...]:
        """The spans of the text that are annotations, and what they say."""
        return (self.details or _NONE).notes

    @property
    def said(self) -> str:
        """The text without annotations: the words as they were said."""
        return without_notes(self.text, self.notes) if self.notes else self.text

    @property
    def raw(self) -> str | None:
        """The words before they were rewritten; None where they were not."""
        return (self.details or _NONE).raw

    @property
    def emotion(self) -> str | None:
        """joy, anger, fear, sadness, surprise or disgust; None where none was found."""
        return (self.details or _NONE).emotion

    @property
    def write_source(self) -> str:
        """What stored it: "manual", "observer", "formation" or "dream"."""
        return (self.details or _NONE).write_source

    @property
    def data_source(self) -> str:
        """Where its words are from: "user_message", "assistant_message", "system", "tool",
        "document" or "federation"; by its role where nothing else is known."""
        known = (self.details or _NONE).data_source
        return known or source_of_role(self.role)

    @property
    def class_confidence(self) -> float | None:
        """How sure the kind of its message was, 0..1; None for one that was not observed."""
        return (self.details or _NONE).class_confidence

    @property
    def summary(self) -> str | None:
        """What a context says of it where it has no room; None for most.

        Of a consolidated memory that is short its words are the summary.
        """
        stored = (self.details or _NONE).summary
        return stored or (self.said if self.consolidated else None)

    @property
    def sub_tier(self) -> str:
        """personal, observed or vicarious; schematic, procedural or factual; "" in other tiers."""
        return sub_tier_of(self.tier, self.category, self.data_source, self.text)

    @property
    def temporal_type(self) -> Literal["persistent", "time_bounded"]:
        """ "time_bounded" when its validity has an end."""
        return "persistent" if self.valid_until_ms is None else "time_bounded"

    def retention(self, at: datetime | str | None = None, curve: str = "fsrs") -> float:
        """The share of it that is retained, 0..1, at a moment.

        Args:
            at: None for the moment at which this record was read.
            curve: "fsrs", "fsrs6", "ebbinghaus" or "half_life".

        Raises:
            InvalidInputError: there is no such curve, or no moment.
        """
        return retention_at(self._idle_days(at), self.stability_days, curve)

    def dual_strength(self, at: datetime | str | None = None) -> DualStrength:
        """How well it is stored, by its accesses, and how well it is retrieved at a moment."""
        return dual_strength(self.access_count, self._idle_days(at), self.stability_days)

    def _idle_days(self, at: datetime | str | None) -> float:
        """Days since the last use, at least 0."""
        moment = self.read_ms if at is None else to_ms(at, name="at")
        if moment is None:
            raise InvalidInputError(
                f"record {self.id} was not read from a memory, so no moment is known",
                hint="pass at=",
            )
        return max(0.0, moment / 1000 - self.last_access_s) / 86_400

"""What stages exchange and what users receive: frozen dataclasses, no behaviour beyond views."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from spector.clock import from_ms, iso_of_ms
from spector.config import MAX_PROBLEMS
from spector.layout import Category, Flag, Modality
from spector.records.erasure import ErasureReceipt

__all__ = [
    "ALIAS_CHARS",
    "MAX_PROBLEMS",
    "MOST_ALIASES",
    "NOT_GIVEN",
    "CheckReport",
    "CompactionReport",
    "Explanation",
    "ForgetReport",
    "Hit",
    "HitList",
    "Loss",
    "MemoryRecord",
    "Problem",
    "ReflectReport",
    "RepairReport",
    "ScanStats",
    "Signals",
    "UserSummary",
    "aliases_in",
    "make_records",
]


#: names of one memory, and characters of one
MOST_ALIASES: Final = 32
ALIAS_CHARS: Final = 120
#: key of metadata whose ``aliases`` name nothing, as a tool or document has brought them; False
NOT_GIVEN: Final = "aliases_given"
#: characters of a text that a repr shows: lists of hits are printed, logged, put into notebooks
_SHOWN = 60


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def aliases_in(metadata: object) -> tuple[str, ...]:
    """The names in ``metadata["aliases"]``, the first 32; what is no text of at most 120 characters
    among them is none, and none is where a tool or document has brought them itself.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """One memory as the user sees it. Times are aware UTC datetimes, strengths are 0..1."""

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
    #: ids of memories that this one superseded, also when they have been forgotten since
    supersedes: tuple[int, ...] = ()
    #: ids of living memories that superseded this one
    superseded_by: tuple[int, ...] = ()
    #: its own end (None: none), where being superseded has set another; () when it was not
    own_until_ms: tuple[int | None, ...] = ()

    def __repr__(self) -> str:
        return f"MemoryRecord(id={self.id}, tier={self.tier!r}, text={_short(self.text)!r})"

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
        """Who said it: ``metadata["speaker"]``, given or read from the text, else the role."""
        named = self.metadata.get("speaker")
        return named if isinstance(named, str) and named else self.role

    @property
    def aliases(self) -> tuple[str, ...]:
        """Names that a cue finds it by, see ``remember(aliases=)``."""
        return aliases_in(self.metadata)

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
        """Something newer has taken its place; recall leaves it out unless asked for it."""
        return Flag.SUPERSEDED in self.flags

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready view with ISO 8601 times; the keys that ``import_`` reads back."""
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
        return out


#: field -> what sets its slot, past the guard of the frozen class
_SETTERS: dict[str, Callable[[MemoryRecord, Any], None]] = {
    each.name: getattr(MemoryRecord, each.name).__set__ for each in fields(MemoryRecord)
}
_DEFAULTS = {each.name: each.default for each in fields(MemoryRecord)}


def make_records(columns: Mapping[str, Sequence[Any]]) -> list[MemoryRecord]:
    """Records from one column a field; fields with a default may be left out.

    The same as calling the class for every row, in a fifth of the time.
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


#: evidence that is the cue's own words
_OF_WORDS: Final = frozenset({"words", "name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit has its score.

    ``terms`` are the weighted summands (weight x value), ``values`` the raw values before the
    weights, ``modifiers`` the factors; they make ``fused``, the score of the scan: ``sum(terms) *
    product(modifiers)`` for additive profiles, ``sim * (1 + sum(terms without sim)) *
    product(modifiers)`` for multiplicative ones. What the read path knows beyond that comes on
    top, on the same scale, each term by its name (words, name, near, about, ..., see
    ``Ranking``), and adds up to ``score``.
    """

    profile: str
    fusion: str
    values: Mapping[str, float]
    terms: Mapping[str, float]
    modifiers: Mapping[str, float]
    fused: float
    evidence: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The score of the hit, to the last bit: the ranking adds in this order, too (``sum`` does
        not, from Python 3.12 on)."""
        return functools.reduce(operator.add, self.evidence.values(), self.fused)

    @property
    def lexical(self) -> float:
        """What the words of the cue say: the part of ``evidence`` that is words and name."""
        return sum(value for name, value in self.evidence.items() if name in _OF_WORDS)

    def __str__(self) -> str:
        lines = [f"score {self.score:.4f}  profile {self.profile} ({self.fusion})"]
        for name, term in self.terms.items():
            lines.append(f"  {name:<11} {self.values[name]:>8.4f}  -> {term:+.4f}")
        for name, factor in self.modifiers.items():
            lines.append(f"  {name:<11} {'':>8}  x  {factor:.4f}")
        for name, term in self.evidence.items():
            lines.append(f"  {name:<11} {'':>8}  -> {term:+.4f}")
        return "\n".join(lines)


class Found(Protocol):
    """What a hit is made from: the record, or all that it takes to make it."""

    @property
    def id(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def tier(self) -> str: ...

    def record(self) -> MemoryRecord: ...


class _Lazy:
    """A slot beside the fields of a hit: it is no part of what a hit is."""

    __slots__ = ("_found",)
    _found: Found | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(_Lazy):
    """A recalled memory and its score. Attributes of the record are reachable directly."""

    record: MemoryRecord
    score: float
    explainer: Callable[[], Explanation] = field(repr=False, compare=False)
    #: ids of memories of its scope with equal words, which are no hits of their own
    also: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, found: Found, score: float, explainer: Callable[[], Explanation],
        also: tuple[int, ...] = (),
    ) -> Self:
        """A hit whose record is made when somebody asks for it; most callers want the text."""
        hit = cls.__new__(cls)
        fill = object.__setattr__
        fill(hit, "_found", found)
        fill(hit, "score", score)
        fill(hit, "explainer", explainer)
        fill(hit, "also", also)
        return hit

    if not TYPE_CHECKING:  # a checker shall not believe that a hit has any attribute

        def __getattr__(self, name: str) -> Any:
            """What is not there yet: the record of a hit that was found, or where one is from."""
            if name == "_found":
                return None
            if name != "record" or self._found is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            record = self._found.record()
            object.__setattr__(self, "record", record)
            return record

    def __repr__(self) -> str:
        return (
            f"Hit(id={self.id}, tier={self.tier!r}, score={self.score:.4f}, "
            f"text={_short(self.text)!r})"
        )

    @property
    def id(self) -> int:
        return (self._found or self.record).id

    @property
    def text(self) -> str:
        return (self._found or self.record).text

    @property
    def tier(self) -> str:
        return (self._found or self.record).tier

    @property
    def tags(self) -> tuple[str, ...]:
        return self.record.tags

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.record.metadata

    @property
    def event_time(self) -> datetime:
        return self.record.event_time

    @property
    def aliases(self) -> tuple[str, ...]:
        return self.record.aliases

    @property
    def importance(self) -> float:
        return self.record.importance

    @property
    def valence(self) -> float:
        return self.record.valence

    @property
    def arousal(self) -> float:
        return self.record.arousal

    @property
    def confidence(self) -> float:
        return self.record.confidence

    @property
    def role(self) -> str | None:
        return self.record.role

    @property
    def speaker(self) -> str | None:
        return self.record.speaker

    @property
    def pinned(self) -> bool:
        return self.record.pinned

    @property
    def session_id(self) -> str | None:
        return self.record.session_id

    @property
    def user_id(self) -> str | None:
        return self.record.user_id

    @property
    def agent_id(self) -> str | None:
        return self.record.agent_id

    @property
    def source(self) -> str | None:
        return self.record.source

    def explain(self) -> Explanation:
        """The terms of the score; they multiply out to it."""
        return self.explainer()

    def to_dict(self) -> dict[str, Any]:
        """The record's dictionary plus ``score``, ``also`` and ``explain``."""
        out = self.record.to_dict()
        out["score"] = round(self.score, 6)
        out["also"] = list(self.also)
        why = self.explain()
        out["explain"] = {
            "profile": why.profile,
            "fusion": why.fusion,
            "terms": {name: round(value, 6) for name, value in why.terms.items()},
            "modifiers": {name: round(value, 6) for name, value in why.modifiers.items()},
            "fused": round(why.fused, 6),
            "evidence": {name: round(value, 6) for name, value in why.evidence.items()},
        }
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanStats:
    """How many records each phase dropped in one recall."""

    scanned: int = 0
    dropped_state: int = 0
    dropped_tags: int = 0
    dropped_valence: int = 0
    dropped_strength: int = 0
    dropped_similarity: int = 0
    dropped_filter: int = 0
    #: records that no bound allowed into the answer, so that nobody looked at them closely
    skipped_bound: int = 0
    scored: int = 0
    partitions: int = 0
    partitions_skipped: int = 0
    backend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a recall noticed about its cue as a whole; what decides whether it says nothing.

    Attributes:
        kind: "fact", "talk" or "request".
        coverage: most of the cue's words that one memory and its neighbours account for: BM25
            with smeared frequencies over the sum of the words' weights, absent words included.
        cosine: highest likeness, raw; None without a vector of the cue.
        likeness: the same in deviations above the cosines that questions about something else have
            with this store's memories; None also where there are fewer than four of them, without
            an embedder, and of another than the offline one until a context or a selective recall
            has asked it.
        unknown_name: a word with a capital, not at the start of a sentence, that no memory has; of
            questions of fact only. known_name: there are such words, and memories have them all.
        memories: how many there are to answer from; None when nobody counted.
        measured: False when a filter leaves so little of a large store that a sample does not show
            what is in it; then nothing is withheld.

    With a filter all but ``unknown_name`` are those of what passes it, ``memories`` estimated where
    that is more than 256.
    """

    kind: str = "fact"
    coverage: float = 0.0
    cosine: float | None = None
    unknown_name: bool = False
    known_name: bool = False
    memories: int | None = None
    likeness: float | None = None
    measured: bool = True


class HitList(list[Hit]):
    """A list of hits that also carries the scan's statistics.

    Attributes:
        signals: what was noticed about the cue; None when nothing was measured.
        abstained: nothing was returned on purpose: no memory seems to answer, or the cue is small
            talk and nothing was looked for; ``reason`` says which.
        reason: why it is empty, when a decision made it so.
        standing: at most two instructions of the user that hold and fit the cue, the one that fits
            best first; they are no hits and not counted in k. Their score is the likeness of the
            cue to their condition, or the usual one where the cue asks for the instruction itself.
        request: what the list answers, for whoever has to ask more of the same.
        notes: how the cue was read, where that is not what was asked: a cue that was too long.
        is_survey: the cue asked for all there is ("what do you know about me?"); the strongest and
            most distinct memories are returned, and none of them stands out.
        outdated: id of a hit -> ids of newer hits that answer the cue anew, where it asks how
            things are.
    """

    def __init__(
        self, hits: list[Hit] | None = None, stats: ScanStats | None = None, *,
        signals: Signals | None = None, abstained: bool = False, reason: str = "",
        standing: tuple[Hit, ...] = (), notes: tuple[str, ...] = (), is_survey: bool = False,
        outdated: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(hits or [])
        self.outdated = outdated or {}
        self.standing = standing
        self.request: object = None
        self.stats = stats or ScanStats()
        self.signals = signals
        self.abstained = abstained
        self.reason = reason
        self.notes = notes
        self.is_survey = is_survey

    def _holding(
        self, hits: Iterable[Hit], *, abstained: bool | None = None, reason: str | None = None
    ) -> HitList:
        """Other hits, with all else that this list says unless it is given."""
        out = HitList(
            list(hits), self.stats, signals=self.signals,
            abstained=self.abstained if abstained is None else abstained,
            reason=self.reason if reason is None else reason,
            standing=self.standing, notes=self.notes, is_survey=self.is_survey,
            outdated=self.outdated,
        )  # fmt: skip
        out.request = self.request
        return out

    def __repr__(self) -> str:
        if not self.standing:
            return super().__repr__()
        return f"HitList({super().__repr__()}, standing={self.standing!r})"

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "request": None}  # it belongs to the memory that answered

    def by_session(self) -> dict[str | None, list[Hit]]:
        """The hits by session, sessions in the order of their best hit; None: without a session."""
        out: dict[str | None, list[Hit]] = {}
        for hit in self:
            out.setdefault(hit.session_id, []).append(hit)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """Which ids were forgotten, and which pinned or immutable ones were asked for and kept."""

    ids: tuple[int, ...] = ()
    protected: tuple[int, ...] = ()
    #: the words are in the files until the first ``reflect`` from this time on, or until
    #: ``compact``; None with ``purge=True``, and where nothing of them is in a file
    due: datetime | None = None
    #: with ``purge=True``: what was erased from the files, and what no library can reach
    receipt: ErasureReceipt | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSummary:
    """One user of a store: how many memories, and the event times of the first and the last."""

    id: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """What a compaction reclaimed, or with ``dry_run`` would reclaim."""

    dry_run: bool = False
    partitions_seen: int = 0
    partitions_compacted: int = 0
    partitions_removed: int = 0
    records_kept: int = 0
    records_reclaimed: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    #: False when forgotten bytes may be left; the receipt's ``pending`` says where and why
    erased: bool = True
    #: what was erased; None when nothing was due
    receipt: ErasureReceipt | None = None
    elapsed_ms: float = 0.0
    partitions: tuple[Mapping[str, Any], ...] = ()
    #: partitions that are damaged and were left as they are: their "path" and the "message"
    failed: tuple[Mapping[str, str], ...] = ()

    @property
    def bytes_reclaimed(self) -> int:
        """How much smaller the store is; 0 where what it wrote anew is larger than what went."""
        return max(0, self.bytes_before - self.bytes_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectReport:
    """What one sleep cycle did."""

    sealed: int = 0
    marked_reflectable: int = 0
    #: sealed partitions whose records were put in order, similar ones next to one another
    clustered: int = 0
    clustered_records: int = 0
    #: sealed partitions that are left for later cycles (``Config.cluster_records``)
    unclustered: int = 0
    compaction: CompactionReport = field(default_factory=CompactionReport)
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """A finished copy of a store, verified and in place."""

    #: where it is, without symbolic links, and what it is a copy of
    path: str
    source: str
    records: int = 0
    partitions: int = 0
    #: partitions that were taken over from the backup this one replaced; all, where nothing has
    #: changed and the older one was kept
    reused: int = 0
    #: bytes of the copy, and how many of them were written now; none where nothing has changed
    bytes: int = 0
    bytes_copied: int = 0
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One violated invariant, where, and what to do."""

    code: str
    where: str
    message: str
    #: file within the store, byte in it, slot of a partition, id of a memory, as far as known
    file: str | None = None
    offset: int | None = None
    slot: int | None = None
    id: int | None = None
    #: all memories concerned, of a problem that may concern more than one
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.code} {self.where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One memory, or part of the catalog, that a repair could not take over."""

    reason: str
    id: int | None = None
    file: str | None = None
    slot: int | None = None
    #: its words, where they are left
    text: str | None = None

    def __str__(self) -> str:
        at = " ".join(str(part) for part in (
            self.file, None if self.slot is None else f"slot {self.slot}",
            None if self.id is None else f"memory {self.id}") if part is not None)
        return f"{at}: {self.reason}" if at else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What ``spector.repair`` saved from a store, and what it could not."""

    path: str
    #: memories in the new store
    kept: int = 0
    #: of those, with the vector but without words: quarantined, so that recalls leave them out
    wordless: int = 0
    #: of those, with a strength or header that had to be taken from the other copy, or made anew
    mended: int = 0
    lost: tuple[Loss, ...] = ()
    #: damage that cost no memory
    notes: tuple[Loss, ...] = ()
    partitions: int = 0
    #: commits of the source cannot be read: memories, changes and words may be missing that nothing
    #: names, and ``notes`` say where
    commits_lost: bool = False
    elapsed_ms: float = 0.0

    @property
    def complete(self) -> bool:
        """True when every memory is in the new store with its words."""
        return not self.lost and not self.wordless and not self.commits_lost



@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The result of ``Memory.check()``."""

    problems: tuple[Problem, ...] = ()
    #: derived files that are of no use; they are made anew by themselves
    notes: tuple[Problem, ...] = ()
    partitions: int = 0
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    elapsed_ms: float = 0.0
    #: further problems, which ``limit`` kept from being listed
    unlisted: int = 0

    @property
    def count(self) -> int:
        """Problems, listed or not."""
        return len(self.problems) + self.unlisted

    @property
    def ok(self) -> bool:
        return not self.count

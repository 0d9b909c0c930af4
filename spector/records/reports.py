"""What the other verbs return: reports of forgetting, sleep, upkeep, backup, checks and repair."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from spector.messages import counted
from spector.records.details import AsJson
from spector.records.memory import MemoryRecord

# What a cycle of sleep reports: each step, and each change that a dry run proposes.

#: how an action reads after "would", where its name is no verb
_VERBS: Final = {
    "retired": "put to rest",
    "tier": "move to another tier",
    "consolidated": "gather",
    "rehearsed": "rehearse",
    "woken": "wake",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport(AsJson):
    """What one step of a cycle looked at and changed."""

    name: str
    #: memories that it looked at
    seen: int = 0
    #: memories that it changed or made
    changed: int = 0
    #: the first 1,000 of them
    ids: tuple[int, ...] = ()
    #: memories that were spared, and work that waits, by reason
    skipped: Mapping[str, int] = field(default_factory=dict)
    #: memories that it has put to rest, by the rule that named them
    rules: Mapping[str, int] = field(default_factory=dict)
    #: a model was to help and did not; rules did the work
    fallback: bool = False
    elapsed_ms: float = 0.0

    @property
    def did_something(self) -> bool:
        """Whether it saw, changed or spared any memory."""
        return bool(self.seen or self.changed or any(self.skipped.values()))

    @property
    def spared(self) -> str:
        """What was spared, and why: "4 protected or dormant"."""
        return ", ".join(f"{count} {why}" for why, count in self.skipped.items() if count)

    @property
    def ruled(self) -> str:
        """What was put to rest, by which rule: "2 faded, 1 useless"."""
        return ", ".join(f"{count} {rule}" for rule, count in self.rules.items())

    def __str__(self) -> str:
        return (
            f"{self.name:<12} {self.seen} seen, {self.changed} changed"
            + (f" ({self.ruled})" if self.rules else "")
            + (f"; {self.spared}" if self.spared else "")
            + (" (without the model)" if self.fallback else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return AsJson.to_dict(self) | {"elapsed_ms": round(self.elapsed_ms, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(AsJson):
    """One change that a dry run would make, and why."""

    step: str
    action: str
    ids: tuple[int, ...] = ()
    reason: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_of_strength(self) -> bool:
        """Whether only strengths change: nearly every memory of a night has such a proposal."""
        return self.action in ("strength", "rehearsed")

    def __str__(self) -> str:
        named = ", ".join(map(str, self.ids)) or str(self.after.get("text", ""))
        verb = _VERBS.get(self.action, self.action)
        return f"would {verb} ({self.step}): {named}; {self.reason}"


# Receipts of erasures: what was erased, what was proved, and what no library can erase.
#
# A receipt never repeats what was erased, nor does it hold a digest of it. Guesses reveal the text
# behind a plain hash of a short text, and a salted hash proves nothing without the text.

#: ids and places that ``print`` shows; ``to_dict`` has all
_MOST_SHOWN: Final = 20

#: places of copies that no library can reach; every receipt lists them
NOT_COVERED: Final = (
    "earlier backups, exports and copies of the store",
    "old partitions that readers in other processes still map, until they unmap them",
    "memory of running processes, swap and core dumps",
    "freed blocks of the file system (replaced partitions, the emptied log) until they are "
    "overwritten; journals and snapshots of the file system; spare cells of flash",
    "embedding services, logs and applications that received the text",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """One thing that was rewritten, emptied or removed, and its bytes."""

    #: a file of the store, or "embedding cache"
    where: str
    what: str
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """Bytes of an erased memory that are still there: where and of what kind, not the content."""

    where: str
    #: None for a word in the full-text index, which does not store words literally
    offset: int | None = None
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A byte-by-byte search of every file of the store for what was erased."""

    #: fragments that were searched for: texts in 32-byte fragments, metadata, tags, labels, vectors
    needles: int = 0
    #: words of the texts, which were searched for in the full-text index
    words: int = 0
    #: values below 6 bytes, or of one repeated byte: they occur anywhere, so they were not searched
    too_short: int = 0
    #: fragments that live memories contain too, so that finding them proves nothing; in files that
    #: do not belong to the store, exact matches only
    shared: int = 0
    #: live memories that contain what the caller named
    living: tuple[int, ...] = ()
    files: int = 0
    bytes: int = 0
    residue: tuple[Residue, ...] = ()
    #: forgotten memories that the residue may come from; not filled in for what the caller named
    left_of: tuple[int, ...] = ()
    #: what could not be searched, and why: links and pipes in the directory, unreadable files
    unsearched: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when every file was searched and no trace of forgotten memories was found."""
        return not self.residue and not self.unsearched

    @property
    def gone(self) -> bool:
        """True when, in addition, no live memory contains what the caller named."""
        return self.ok and not self.living


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What one erasure did. ``print`` it, or keep its ``to_json()``."""

    #: path of the store, and the end of the erasure in ISO 8601, UTC
    store: str = ""
    time: str = ""
    #: memories that are erased completely
    ids: tuple[int, ...] = ()
    #: forgotten memories, or earlier versions, of which bytes remain: ``pending`` says why. Where
    #: only a search has found them, only the receipt of a new search can say that they are gone
    not_yet: tuple[int, ...] = ()
    #: live memories of which an earlier version (text, tags, metadata or labels) was erased
    replaced: tuple[int, ...] = ()
    #: those of ``ids`` that no call named: facts and other memories made of the others alone
    derived_erased: tuple[int, ...] = ()
    #: live memories derived from an erased one: at any depth of ``parents``, and facts that have
    #: another source or were kept; they may repeat its content, and their words were not touched
    derived: tuple[int, ...] = ()
    #: number of further derived memories outside the scope of the call
    derived_elsewhere: int = 0
    #: memories that were to be erased and were kept, because they are pinned or immutable
    protected: tuple[int, ...] = ()
    purged: tuple[Purged, ...] = ()
    #: why bytes may remain, and what to do
    pending: tuple[str, ...] = ()
    #: files in the directory that do not belong to the store; they were not touched
    unknown_files: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = NOT_COVERED
    #: None when no search was asked for
    verification: Verification | None = None

    @property
    def complete(self) -> bool:
        """True when everything is erased, nothing is pending, and a search found no trace."""
        searched = self.verification is None or self.verification.ok
        return not self.pending and not self.protected and searched

    def to_dict(self) -> dict[str, Any]:
        """The receipt in plain JSON types."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if self.verification is not None:
            verdict = {"ok": self.verification.ok, "gone": self.verification.gone}
            found["verification"] |= verdict
        return {**found, "complete": self.complete}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def __str__(self) -> str:
        lines = [
            f"erasure {'complete' if self.complete else 'NOT complete'}: {self.store}, {self.time}",
            f"  memories erased: {_listed(self.ids)}",
        ]
        if self.not_yet:
            lines.append(f"  not erased yet: {_listed(self.not_yet)}")
        if self.replaced:
            lines.append(f"  earlier versions erased of: {_listed(self.replaced)}")
        if self.derived_erased:
            lines.append(f"  of these, made of the others alone: {_listed(self.derived_erased)}")
        if self.derived:
            lines.append(f"  derived from them and kept, please review: {_listed(self.derived)}")
        if self.derived_elsewhere:
            lines.append(f"  derived outside the scope and kept: {self.derived_elsewhere}")
        if self.protected:
            lines.append(f"  kept, because pinned or immutable: {_listed(self.protected)}")
        lines += [
            f"  {each.where}: {each.what}, {counted(each.bytes, 'byte', commas=True)}"
            for each in self.purged
        ]
        if self.verification is not None:
            lines += _searched(self.verification)
        lines += [f"  pending: {each}" for each in self.pending]
        lines += _first(
            [f"not part of the store, not touched: {each}" for each in self.unknown_files]
        )
        lines += [f"  not covered: {each}" for each in self.not_covered]
        return "\n".join(lines)


def _searched(found: Verification) -> list[str]:
    traces = len(found.residue)
    lines = [
        f"  searched {counted(found.files, 'file')}"
        f" ({counted(found.bytes, 'byte', commas=True)}) for"
        f" {counted(found.needles, 'fragment')}, and the full-text index for"
        f" {counted(found.words, 'word')}: {counted(traces, 'trace') if traces else 'no trace'}"
        " found",
    ]
    if found.living:
        lines.append(f"  live memories still contain what you named: {_listed(found.living)}")
    if found.shared:
        also = "also occurs" if found.shared == 1 else "also occur"
        lines.append(
            f"  not counted: {counted(found.shared, 'fragment')} that {also} in live memories"
        )
    if found.too_short:
        lines.append(f"  not counted: {counted(found.too_short, 'value')} too short to search for")
    lines += _first(
        [
            f"trace: {each.kind} in {each.where}"
            + ("" if each.offset is None else f" at byte {each.offset}")
            for each in found.residue
        ]
    )
    return lines + _first([f"not searched: {each}" for each in found.unsearched])


def _first(lines: list[str]) -> list[str]:
    """The first lines of a list, with a note where there are more."""
    shown = [f"  {line}" for line in lines[:_MOST_SHOWN]]
    if len(lines) > _MOST_SHOWN:
        shown.insert(0, f"  first {_MOST_SHOWN} of {len(lines)}; to_json() (--json) has all:")
    return shown


def _listed(ids: tuple[int, ...]) -> str:
    """The number of ids, and the first of them."""
    if not ids:
        return "none"
    some = f"first {_MOST_SHOWN} of {len(ids)}: " if len(ids) > _MOST_SHOWN else ""
    return f"{len(ids)} ({some}{', '.join(map(str, ids[:_MOST_SHOWN]))})"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A message that was left out, by its place among the others."""

    index: int
    #: what it has instead of a text: "tool call", "picture", "thoughts", or "no text"
    reason: str


class MemoryList(list[MemoryRecord]):
    """The memories that were stored or found, in their order.

    Attributes:
        skipped: messages without a text.
        outcomes: what became of each item: "new", "replaced" (a memory that had its key), "known"
            (that memory was kept), "forgotten" (its key was, so it is left out), "repeated" (a
            later item has its key, and stands for it), "skipped".
    """

    def __init__(
        self, records: Iterable[MemoryRecord] = (), skipped: Iterable[Skipped] = ()
    ) -> None:
        super().__init__(records)
        self.skipped = tuple(skipped)
        self.outcomes: list[str] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """Ids that were forgotten, and pinned or immutable ids that matched and were kept."""

    ids: tuple[int, ...] = ()
    protected: tuple[int, ...] = ()
    #: the texts stay in the files until ``compact``, or the first ``reflect`` after this time;
    #: None with ``purge=True``, and when no file has them
    due: datetime | None = None
    #: with ``purge=True``: what was erased from the files, and what no library can erase
    receipt: ErasureReceipt | None = None
    #: those of ``ids`` that were forgotten along: facts and other memories made of nothing else
    derived: tuple[int, ...] = ()
    #: memories that have lost their last source and stay: protected, or ``cascade=False``
    without_source: tuple[int, ...] = ()
    #: facts and other derived memories that have lost a source, and stay with those that are left
    lost_source: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __str__(self) -> str:
        lines = [f"forgot {counted(len(self.ids), 'memory', 'memories')}"]
        if self.derived:
            lines.append(f"  of these, made of the others alone: {len(self.derived)}")
        if self.protected:
            lines.append(f"  kept, because pinned or immutable: {len(self.protected)}")
        if self.without_source:
            lines.append(f"  kept, and without any source now: {len(self.without_source)}")
        if self.lost_source:
            lines.append(f"  kept with the sources that are left: {len(self.lost_source)}")
        if self.due is not None:
            lines.append(
                "  the words stay in the files until compact(), or the first reflect() after"
                f" {self.due.isoformat(timespec='seconds')}"
            )
        if self.receipt is not None:
            lines.append(str(self.receipt))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReport:
    """What the end of a session kept, and what it dropped."""

    session_id: str
    #: ids of the memories that entries of its buffer became
    promoted: tuple[int, ...] = ()
    #: entries that no memory had, and that were not worth one
    dropped: int = 0
    #: tags whose memories a strong one strengthened, and tags that expired before
    tags_captured: int = 0
    tags_expired: int = 0
    #: messages that were observed
    observed: int = 0
    #: how long it lasted, by the memory's clock
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSummary:
    """One user of a store: number of memories, first and last event time."""

    id: str
    count: int
    first: datetime
    last: datetime


class NamespaceSummary(NamedTuple):
    """One namespace: its labels, and the number of memories whose keys are of it."""

    namespace: tuple[str, ...]
    count: int  # type: ignore[assignment]  # a field in place of the method of tuples


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """What a compaction reclaimed, or would reclaim with ``dry_run``."""

    dry_run: bool = False
    partitions_seen: int = 0
    partitions_compacted: int = 0
    partitions_removed: int = 0
    #: partitions that are due and wait, and the erasure with them: the time was over
    partitions_left: int = 0
    #: memories that had expired and were forgotten first; their ids are among the receipt's
    expired: int = 0
    records_kept: int = 0
    records_reclaimed: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    #: False when forgotten bytes may remain; the receipt's ``pending`` says where and why
    erased: bool = True
    #: what was erased; None when no erasure was due
    receipt: ErasureReceipt | None = None
    elapsed_ms: float = 0.0
    partitions: tuple[Mapping[str, Any], ...] = ()
    #: damaged partitions, which were not touched: "path" and "message" of each
    failed: tuple[Mapping[str, str], ...] = ()

    @property
    def bytes_reclaimed(self) -> int:
        """Bytes by which the store has shrunk; 0 when the rewritten files are larger."""
        return max(0, self.bytes_before - self.bytes_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectReport:
    """What one sleep cycle did."""

    sealed: int = 0
    marked_reflectable: int = 0
    #: sealed partitions whose records were reordered, similar ones next to one another
    clustered: int = 0
    clustered_records: int = 0
    #: sealed partitions left to later cycles (``Config.cluster_records``)
    unclustered: int = 0
    compaction: CompactionReport = field(default_factory=CompactionReport)
    elapsed_ms: float = 0.0
    #: number of the cycle, for ``reflect_undo``; 0 for upkeep alone
    cycle: int = 0
    steps: tuple[StepReport, ...] = ()
    #: False when the time was over or an interrupt came; the next call goes on
    finished: bool = True
    #: it went on with a cycle that was cut short
    resumed: bool = False
    #: calls of a chat model
    llm_calls: int = 0
    #: what a dry run would change
    proposals: tuple[Proposal, ...] = ()
    #: memories before and after, and how many of them are dormant
    memories: tuple[int, int] = (0, 0)
    dormant: tuple[int, int] = (0, 0)
    #: of an undone cycle: memories that were changed or erased since, and stay as they are
    kept: tuple[int, ...] = ()

    @property
    def expired(self) -> int:
        """Memories that had expired, and were forgotten by upkeep."""
        return self.compaction.expired

    def step(self, name: str) -> StepReport | None:
        """The report of a step; None when it was not reached."""
        return next((each for each in self.steps if each.name == name), None)

    def telling(self, most: int) -> list[Proposal]:
        """The proposals that tell most: what a night would make, move and put to rest, then
        strengths; of each step only a share of ``most``."""
        taken: Counter[str] = Counter()
        share, told = -(-most // 3), []
        for each in sorted(self.proposals, key=lambda each: each.is_of_strength):
            taken[each.step] += 1
            if taken[each.step] <= share:
                told.append(each)
        return told[:most]

    @property
    def is_undoable(self) -> bool:
        """Whether it is a cycle on record, and not the undoing of one."""
        return bool(self.cycle) and self.step("undo") is None

    def __str__(self) -> str:
        lines = [self._summary()]
        lines += [f"  {each}" for each in self.steps if each.did_something]
        told = self.telling(_MOST_SHOWN)
        lines += [f"  {each}" for each in told]
        if len(self.proposals) > len(told):
            lines.append(f"  and {len(self.proposals) - len(told)} more proposals")
        if self.kept:
            lines.append(f"  changed since, and left: {', '.join(map(str, self.kept))}")
        if not self.finished:
            lines.append("  cut short; the next reflect() goes on")
        if self.is_undoable:
            lines.append(f"  reflect_undo({self.cycle}) takes it back")
        return "\n".join(lines)

    def _summary(self) -> str:
        """What kind of night it was, and how many memories there are after it."""
        what = f"cycle {self.cycle}" if self.cycle else "dry run" if self.proposals else "upkeep"
        counts = [
            f"{after} {name}" + (f" ({before} before)" if before != after else "")
            for name, (before, after) in (("memories", self.memories), ("dormant", self.dormant))
            if after or before
        ]
        return f"{what}: {', '.join([*counts, f'{self.elapsed_ms:.0f} ms'])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """A complete copy of a store, verified and in its place."""

    #: where the copy is, with symbolic links resolved, and what was copied
    path: str
    source: str
    records: int = 0
    partitions: int = 0
    #: partitions reused from the backup that this one replaced; all of them when nothing has
    #: changed and the older one was kept
    reused: int = 0
    #: bytes of the copy, and how many of them were written now (0 when nothing has changed)
    bytes: int = 0
    bytes_copied: int = 0
    elapsed_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One violated invariant: what is wrong, where, and what to do."""

    code: str
    where: str
    message: str
    #: file within the store, byte in the file, slot of a partition, id of a memory, where known
    file: str | None = None
    offset: int | None = None
    slot: int | None = None
    id: int | None = None
    #: all memories affected, for a problem that may affect several
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.code} {self.where}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One memory, or part of the catalog, that a repair could not save."""

    reason: str
    id: int | None = None
    file: str | None = None
    slot: int | None = None
    #: text of the memory, where it could be read
    text: str | None = None

    def __str__(self) -> str:
        at = " ".join(
            str(part)
            for part in (
                self.file,
                None if self.slot is None else f"slot {self.slot}",
                None if self.id is None else f"memory {self.id}",
            )
            if part is not None
        )
        return f"{at}: {self.reason}" if at else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What ``spector.repair`` saved from a store, and what it could not."""

    path: str
    #: memories in the new store
    kept: int = 0
    #: of those, memories with a vector but no text: quarantined, so that recall skips them
    wordless: int = 0
    #: of those, memories whose strengths or header came from the other copy, or were reset
    mended: int = 0
    lost: tuple[Loss, ...] = ()
    #: damage that lost no memory
    notes: tuple[Loss, ...] = ()
    partitions: int = 0
    #: True when commits of the source cannot be read. Memories, changes and texts may then be
    #: missing without being listed; ``notes`` say where
    commits_lost: bool = False
    elapsed_ms: float = 0.0

    @property
    def complete(self) -> bool:
        """True when the new store has every memory with its text."""
        return not self.lost and not self.wordless and not self.commits_lost


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The result of ``Memory.check()``."""

    problems: tuple[Problem, ...] = ()
    #: derived files that cannot be used; they are rebuilt automatically
    notes: tuple[Problem, ...] = ()
    partitions: int = 0
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    elapsed_ms: float = 0.0
    #: problems beyond ``limit``, which are counted but not listed
    unlisted: int = 0

    @property
    def count(self) -> int:
        """Number of problems, listed or not."""
        return len(self.problems) + self.unlisted

    @property
    def ok(self) -> bool:
        return not self.count

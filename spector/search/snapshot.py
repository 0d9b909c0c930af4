"""The snapshot of a recall: the views of all stores at one moment, as one table of the kernel."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import PartitionCorruptError
from spector.kernel.contract import RESERVED, Edit, Kernel, Part, PartTable, Query, lengths
from spector.language.words import wording_of
from spector.layout import HEADER_BYTES, RECORD_DTYPE
from spector.records import (
    Details,
    Explanation,
    Hit,
    MemoryRecord,
    complete,
)
from spector.store.catalog import StoredRow, decode_row, has_windows
from spector.store.core import Store, View, header_of, to_record
from spector.store.files import Bytes
from spector.store.partitions import Partition
from spector.store.payloads import DETAIL_TABLES, detail_tables

Partitions = tuple[Partition, ...]


class Moved(Exception):  # noqa: N818 - never leaves the read path
    """The catalog places a memory where the snapshot does not have it (yet)."""

    #: raised between statements, see ``connections.leaves_statements``
    is_between_statements = True


class _Seats(NamedTuple):
    """Segments, ascending, the position and the slots of each; the last is none, and has none."""

    segment: NDArray[np.int64]
    position: NDArray[np.uint32]
    room: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Views of all stores at one moment, as one table for the kernel, store after store."""

    kernel: Kernel
    stores: tuple[Store, ...]
    views: tuple[View, ...]
    table: PartTable
    #: per store: position of its first partition in the table
    offsets: tuple[int, ...]
    #: per store: segment id -> index in the view
    indexes: tuple[dict[int, int], ...]
    #: (store, are superseded ones asked for): has any a validity window; filled on demand
    validity: dict[tuple[int, bool], bool]
    _seats: dict[int, _Seats] = field(default_factory=dict)
    #: per store: tables of details that its catalog has; filled on demand
    _details: dict[int, frozenset[str]] = field(default_factory=dict)

    def seats(
        self, n: int, segments: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Of segment ids of a store: position in the table, and slots; 0 of what is not there."""
        found = self._seats.get(n)
        if found is None:
            seats = [
                (segment, self.offsets[n] + at, self.views[n].partitions[at].slots)
                for segment, at in sorted(self.indexes[n].items())
            ]
            columns = zip(*seats, (np.iinfo(np.int64).max, 0, 0), strict=True)
            segment, position, room = (np.array(each, np.int64) for each in columns)
            found = self._seats[n] = _Seats(segment, position.astype(np.uint32), room)
        at = np.searchsorted(found.segment, segments)
        there = found.segment[at] == segments
        return found.position[at] * there, found.room[at] * there

    def has_validity(self, n: int, *, superseded: bool) -> bool:
        """False when no memory of a store has a validity window; without ``superseded``, none but
        those that are superseded, which the scan leaves out anyway.

        A store on disk is asked once: its catalog is of the same moment as the view. A catalog in
        memory may be ahead of it.
        """
        found = self.validity.get((n, superseded))
        if found is None:
            store = self.stores[n]
            found = bool(self.views[n].partitions) and store.catalog.has_validity()
            if found and not superseded:
                found = has_windows(store.catalog)
            if store.files.durable:
                self.validity[n, superseded] = found
        return found

    @property
    def lasting(self) -> int:
        """The store on disk, or the only one: what has a key or is known of is in it."""
        for n, each in enumerate(self.stores):
            if each.files.durable:
                return n
        return 0

    def details(self, n: int) -> frozenset[str]:
        """Which tables of details the catalog of a store has.

        A store on disk is asked once, as for `has_validity`.
        """
        found = self._details.get(n)
        if found is None:
            store = self.stores[n]
            with store.catalog.reading() as db:
                found = detail_tables(db)
            if store.files.durable:
                self._details[n] = found
        return found

    def store_of(self, position: int) -> int:
        """Index of the store whose partition is at a position in the table."""
        return bisect_right(self.offsets, position) - 1

    def position(self, store: int, segment_id: int) -> int:
        """Position in the table of a partition of the view."""
        return self.offsets[store] + self.indexes[store][segment_id]

    def segment_at(self, position: int) -> int:
        """Id, in its own store, of the partition at a position in the table."""
        store = self.store_of(position)
        return self.views[store].partitions[position - self.offsets[store]].segment_id

    def position_of(self, store: int, segment_id: int, slot: int) -> int:
        """Position in the table of a place that the catalog names.

        Raises:
            Moved, PartitionCorruptError: the snapshot does not have it.
        """
        index = self.indexes[store].get(segment_id)
        # a damaged row may name anything
        if (
            index is None
            or type(slot) is not int
            or not (0 <= slot < self.views[store].partitions[index].slots)
        ):
            raise self.misplaced(store, f"slot {slot} of partition {segment_id} is not there")
        return self.offsets[store] + index

    def misplaced(self, store: int, message: str) -> Exception:
        """What it means that catalog and partitions disagree.

        A store on disk shows both at one moment, so there it is damage; one in memory does not.
        """
        if self.stores[store].files.durable:
            return PartitionCorruptError(message, hint="run: spector check PATH")
        return Moved(message)


@dataclass(slots=True)
class Candidate:
    """A record that may become a hit."""

    id: int
    #: index of its store in the snapshot
    store: int
    part: int
    slot: int
    #: the kernel's score; never overwritten
    fused: float
    similarity: float
    #: what the read path adds to it, by term
    evidence: Mapping[str, float] = field(default_factory=dict)
    #: the sum of both
    score: float = 0.0


def make_snapshot(stores: tuple[Store, ...], views: tuple[View, ...], kernel: Kernel) -> Snapshot:
    """One kernel table over all partitions of all views."""
    table = kernel.prepare([_part(p) for view in views for p in view.partitions])
    return Snapshot(
        kernel,
        stores,
        views,
        table,
        _offsets(views),
        tuple(_indexes(view.partitions) for view in views),
        {},
    )


def patch_snapshot(old: Snapshot, views: tuple[View, ...]) -> Snapshot:
    """The snapshot of other views of the same stores, made from an earlier (or later) one.

    Partitions are immutable, so those that are the same object in both are left alone: the work is
    that of the partitions which differ, not of all there are. ``old`` stays as it is.
    """
    edits: list[Edit] = []
    indexes = list(old.indexes)
    for n, (before, after) in enumerate(zip(old.views, views, strict=True)):
        offset, same_places = old.offsets[n], True
        for start, stop, new in differences(before.partitions, after.partitions):
            edits.append(Edit(offset + start, offset + stop, [_part(p) for p in new]))
            gone = [p.segment_id for p in before.partitions[start:stop]]
            same_places = same_places and gone == [p.segment_id for p in new]
        if not same_places:
            indexes[n] = _indexes(after.partitions)
    return Snapshot(
        old.kernel,
        old.stores,
        views,
        old.table.patched(edits) if edits else old.table,
        _offsets(views),
        tuple(indexes),
        {},
        _details=_kept(old, views),
    )


def _kept(old: Snapshot, views: tuple[View, ...]) -> dict[int, frozenset[str]]:
    """What holds in later views too: no commit takes a table away."""
    return {
        n: found
        for n, found in old._details.items()
        if len(found) == len(DETAIL_TABLES) and views[n].change_seq >= old.views[n].change_seq
    }


def differences(a: Partitions, b: Partitions) -> Iterator[tuple[int, int, list[Partition]]]:
    """Replacements (start, stop, new) that turn ``a`` into ``b``, in ascending order.

    Both are in the order of tier, day and sequence, so what is in both is in one order. A commit
    usually changes one place: what lies before and behind it is found by comparing tuples of
    objects without an ``__eq__``, which compares addresses, a few nanoseconds each.
    """
    start = _same(a, b)
    tail = _same(a[start:][::-1], b[start:][::-1])
    last = len(a) - tail
    where = {id(partition): n for n, partition in enumerate(a[start:last], start)}
    new: list[Partition] = []
    for partition in b[start : len(b) - tail]:
        found = where.get(id(partition), -1)
        if found < start:
            new.append(partition)
            continue
        if new or found > start:
            yield start, found, new
            new = []
        start = found + 1
    if new or start < last:
        yield start, last, new


def _same(a: Partitions, b: Partitions) -> int:
    """How many partitions at the start are the same objects in both."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:  # the first difference lies in [low, high)
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _part(partition: Partition) -> Part:
    return Part(partition.data, partition.slots, index=partition.index)


def _offsets(views: tuple[View, ...]) -> tuple[int, ...]:
    return tuple(accumulate((len(view.partitions) for view in views[:-1]), initial=0))


def _indexes(partitions: Partitions) -> dict[int, int]:
    return {partition.segment_id: n for n, partition in enumerate(partitions)}


# A hit of a recall as it was found: the bytes, the catalog's row, and why it has its score.

#: how reserved tags begin in the JSON text of a row's tags
_RESERVED_IN_JSON = json.dumps(RESERVED)[1:-1]
_SPEAKER_IN_JSON = '"speaker"'
_CONFIDENCE_AT = RECORD_DTYPE.fields["confidence"][1]  # type: ignore[index]


@dataclass(slots=True, eq=False)
class FoundRecord:
    """All that it takes to make a hit's record.

    Attributes:
        image: (stride,) u8. wording: of the text, where it is known, see `wording_in`.
        read_ms: the moment of the recall. details: what few memories have.
    """

    id: int
    text: str
    tier: str
    row: StoredRow
    image: Bytes
    newer: tuple[int, ...]
    candidate: Candidate
    wording: str | None
    read_ms: int
    details: Details | None = None

    @property
    def may_have_links(self) -> bool:
        """Whether the record may name other memories; most do not, and need not be made."""
        row = self.row
        return bool(self.newer or row.parents or (row.tags and _RESERVED_IN_JSON in row.tags))

    @property
    def speaker(self) -> str:
        """The speaker, or the role, as it was given; without a record being made."""
        row = self.row
        named = None
        if row.metadata and _SPEAKER_IN_JSON in row.metadata:
            named = json.loads(row.metadata).get("speaker")
        return named if isinstance(named, str) and named else row.role or ""

    @property
    def scope(self) -> tuple[str | None, str | None]:
        """User and agent."""
        return self.row.user_id, self.row.agent_id

    @property
    def source(self) -> str | None:
        return self.row.source

    @property
    def event_ms(self) -> int:
        return self.row.event_ms

    @property
    def certainty(self) -> int:
        """Confidence as it is stored, 0..255."""
        return int(self.image[_CONFIDENCE_AT])

    def record(self) -> MemoryRecord:
        made = to_record(decode_row(self.row), header_of(self.image), self.tier, self.newer)
        complete(made, self.details, self.read_ms)
        return made


def confine(hits: Sequence[Hit], within: Callable[[MemoryRecord], MemoryRecord]) -> None:
    """Have the records of hits be what ``within`` makes of them, where they may have links."""
    for hit in hits:
        if isinstance(hit._found, FoundRecord) and hit._found.may_have_links:
            object.__setattr__(hit, "record", within(hit.record))


def note_details(hit: Hit, details: Details) -> None:
    """Have the record of a hit say what is known of it beside its row."""
    found = found_of(hit)
    if found.details is None:
        found.details, made = details, hit.made_record
        if made is not None:
            complete(made, details, found.read_ms)


def found_of(hit: Hit) -> FoundRecord:
    """Where a hit of a recall is from."""
    found = hit._found
    assert isinstance(found, FoundRecord), "it is from a recall"
    return found


def wording_in(hit: Hit) -> str:
    """The words of a hit, whatever their case and the space between them."""
    found = hit._found
    known = found.wording if isinstance(found, FoundRecord) else None
    return wording_of(hit.text) if known is None else known


def candidate_of(hit: Hit) -> Candidate | None:
    """What a hit was ranked by; None for one that no recall has found."""
    return hit._found.candidate if isinstance(hit._found, FoundRecord) else None


def explain(
    image: Bytes, fused: float, similarity: float, evidence: Mapping[str, float], query: Query
) -> Explanation:
    """The terms of one score, those of the kernel computed by the reference formula."""
    from spector.kernel.reference import score_terms  # most recalls are not explained

    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    values = score_terms(header, np.array([similarity], dtype=np.float32), query)
    profile = query.profile
    weights = profile.weights()
    raw = {name: float(values[name][0]) for name, weight in weights.items() if weight}
    terms = {name: weights[name] * value for name, value in raw.items()}
    if profile.fusion == "multiplicative":
        terms["similarity"] = max(0.0, terms.get("similarity", 0.0))
    modifiers = {
        name: float(values[name][0])
        for name in ("confidence", "tier", "category", "mood", "unresolved", "consolidated")
        if float(values[name][0]) != 1.0
    }
    return Explanation(
        profile=profile.name,
        fusion=profile.fusion,
        values=raw,
        terms=terms,
        modifiers=modifiers,
        fused=fused,
        evidence=dict(evidence),
    )


def units_of(hits: Sequence[Hit]) -> NDArray[np.float32]:
    """The same made exactly of length 1, which their codes are but about; 0 of what has none."""
    vectors = vectors_of(hits)
    long = np.maximum(lengths(vectors), np.float32(1e-12))
    return np.asarray(vectors / long[:, None], np.float32)


def vectors_of(hits: Sequence[Hit]) -> NDArray[np.float32]:
    """(n, dim) float32 unit vectors of hits of the read path, as they are stored."""
    images: Bytes = np.stack([found_of(hit).image for hit in hits])
    headers = np.ascontiguousarray(images[:, :HEADER_BYTES]).view(RECORD_DTYPE)[:, 0]
    codes = np.ascontiguousarray(images[:, HEADER_BYTES:]).view(np.int8)
    return np.asarray(codes * headers["scale"][:, None], np.float32)

"""The snapshot of a recall: the views of all stores at one moment, as one table of the kernel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import PartitionCorruptError
from spector.kernel.contract import Edit, Kernel, Part, PartTable
from spector.store.catalog import has_windows
from spector.store.core import Store, View
from spector.store.partitions import Partition
from spector.store.payloads import DETAIL_TABLES, detail_tables

__all__ = ["Candidate", "Moved", "Snapshot", "make_snapshot", "patch_snapshot"]

Partitions = tuple[Partition, ...]
#: so many ids for each segment, and as many more, are worth a table with an entry for each
_NEAR: Final = 1024


class Moved(Exception):  # noqa: N818 - never leaves the read path
    """The catalog places a memory where the snapshot does not have it (yet)."""

    #: raised between statements, see ``connections.leaves_statements``
    is_between_statements = True


@dataclass(frozen=True, slots=True)
class _Seats:
    """Positions and slots of segments; the last entry is of those that are not there.

    Ids are counted, so they are few and lie close together, and lead to their entry. Where a
    damaged id is far from the others ``order`` has them ascending, to be searched.
    """

    position: NDArray[np.uint32]
    room: NDArray[np.int64]
    order: NDArray[np.int64] | None

    @classmethod
    def of(cls, ids: list[int], positions: list[int], slots: list[int]) -> _Seats:
        most = max(ids, default=-1)
        dense = most < _NEAR * (len(ids) + _NEAR)
        order = None if dense else np.sort(np.array(ids, np.int64))
        at = ids if order is None else np.searchsorted(order, ids)
        position = np.zeros((most + 1 if order is None else len(order)) + 1, np.uint32)
        room = np.zeros(len(position), np.int64)
        position[at], room[at] = positions, slots
        return cls(position, room, order)

    def find(self, segments: NDArray[np.int32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        absent = len(self.room) - 1
        at: NDArray[np.intp]
        if self.order is None:
            # as NumPy counts: it casts other numbers piece by piece, and crashes without memory
            at = np.minimum(segments, absent).astype(np.intp)
        else:
            at = np.searchsorted(self.order, segments)
            at[self.order[np.minimum(at, absent - 1)] != segments] = absent
        return self.position[at], self.room[at]


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
            found = self._seats[n] = _Seats.of(
                list(self.indexes[n]),
                [self.offsets[n] + at for at in self.indexes[n].values()],
                [self.views[n].partitions[at].slots for at in self.indexes[n].values()],
            )
        return found.find(segments)

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

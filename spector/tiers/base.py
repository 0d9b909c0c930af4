"""The protocol of a tier, and the three that are on disk."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spector.clock import MS_PER_DAY, day_of_ms, iso_of_day
from spector.config import Config
from spector.layout import PartitionState, TierCode, tier_magic
from spector.store.catalog import Row, SegmentRow
from spector.store.core import Store, TierFiles, Transaction
from spector.store.files import Bytes
from spector.store.partitions import Partition


@dataclass(frozen=True, slots=True)
class Placement:
    """Places of n records, and the ids of records that were evicted for them."""

    segment_ids: NDArray[np.int64]
    slots: NDArray[np.int64]
    evicted: tuple[int, ...] = ()


class TierStore(Protocol):
    """A memory tier. These methods are everything that differs between tiers."""

    name: str
    #: byte 1 of every record; 16..255 for tiers of your own. It is stored, so never change it
    code: int
    #: True if its records are lost when the process ends
    volatile: bool

    @property
    def files(self) -> TierFiles:
        """How its partition files are named and stamped."""

    @property
    def max_batch(self) -> int:
        """Most records that :meth:`place` accepts at once."""

    @property
    def compactable(self) -> bool:
        """False if tombstones are reused in place, so that partitions must not be rebuilt."""

    def attach(self, store: Store, config: Config) -> None:
        """Called once, after the store that keeps its bytes was opened."""

    @property
    def store(self) -> Store: ...

    def place(self, tx: Transaction, images: Bytes, event_ms: NDArray[np.int64]) -> Placement:
        """Stage records, (n, stride) u8, and return the place of each."""

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        """Stage new bytes, (1, stride) u8, of an existing memory; return its new place."""

    def may_hold(self, partition: Partition, min_ms: int, max_ms: int) -> bool:
        """False only if no record of the partition has an event time in [min_ms, max_ms)."""

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        """True for an ACTIVE partition that takes no more appends."""


@runtime_checkable
class PlacesByUser(Protocol):
    """A tier that places records by user, which their bytes do not contain."""

    def place_by_user(
        self, tx: Transaction, images: Bytes, users: Sequence[str | None]
    ) -> Placement:
        """Like :meth:`TierStore.place`, with the user of each record."""


class PartitionedTier:
    """A tier of rolling partitions; subclasses choose the group (day) of a record."""

    name: str
    code: int
    volatile = False

    def __init__(self, *, capacity: int | None = None) -> None:
        self._given_capacity = capacity
        #: weak, because the store refers to this tier
        self._attached: weakref.ref[Store] | None = None
        self.capacity = capacity or 0

    # -- what subclasses decide ---------------------------------------------------------------

    def default_capacity(self, config: Config) -> int:
        """Records per partition unless the constructor sets them."""
        return config.semantic_capacity

    def group_of(self, event_ms: int) -> int:
        """Day of the partition for a record; -1 for one group without a day."""
        return -1

    def path(self, day: int, sequence: int, generation: int) -> str:
        """File name of a partition; each generation has a name of its own."""
        return f"{self.name}/{self.name}-{sequence:03d}{_suffix(generation)}.mem"

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        return row.slots >= row.capacity

    def may_hold(self, partition: Partition, min_ms: int, max_ms: int) -> bool:
        return True

    # -- inherited ---------------------------------------------------------------------------

    @property
    def files(self) -> TierFiles:
        return TierFiles(self.code, self.name, tier_magic(self.name), self.path)

    @property
    def max_batch(self) -> int:
        return 1 << 20

    @property
    def compactable(self) -> bool:
        return True

    def attach(self, store: Store, config: Config) -> None:
        self._attached = weakref.ref(store)
        self.capacity = self._given_capacity or self.default_capacity(config)

    @property
    def store(self) -> Store:
        store = None if self._attached is None else self._attached()
        assert store is not None, f"tier {self.name} is not attached to an open store"
        return store

    def place(self, tx: Transaction, images: Bytes, event_ms: NDArray[np.int64]) -> Placement:
        count = len(images)
        segment_ids = np.empty(count, dtype=np.int64)
        slots = np.empty(count, dtype=np.int64)
        groups = np.array([self.group_of(int(ms)) for ms in event_ms], dtype=np.int64)
        for group in dict.fromkeys(groups.tolist()):  # in order of first appearance
            members = np.flatnonzero(groups == group)
            while len(members):
                row = self._open_partition(tx, group, len(members))
                part = members[: row.capacity - row.slots]
                first = tx.append(row.id, np.ascontiguousarray(images[part]))
                segment_ids[part] = row.id
                slots[part] = np.arange(first, first + len(part))
                members = members[len(part) :]
        return Placement(segment_ids, slots)

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        placed = self.place(tx, image, np.array([event_ms], dtype=np.int64))
        tx.tombstone(row.segment_id, row.slot, tombstone, later=True)
        return int(placed.segment_ids[0]), int(placed.slots[0])

    def _open_partition(self, tx: Transaction, group: int, wanted: int) -> SegmentRow:
        """The partition of the group that takes appends; a new one if it is full or sealed."""
        mine = tx.partitions_of(self.code, group)
        if mine:
            last = mine[-1]
            if last.state == PartitionState.ACTIVE:
                if last.slots < last.capacity:
                    return last
                tx.set_state(last.id, PartitionState.SEALED)
        return tx.create_segment(
            tier=self.code,
            day=group,
            sequence=mine[-1].sequence + 1 if mine else 0,
            capacity=self.capacity,
            slots=min(wanted, self.capacity),
        )


def _suffix(generation: int) -> str:
    return f".g{generation}" if generation else ""


# Episodic tier: events, in partitions by the UTC day of the event (not of the write).


class EpisodicTier(PartitionedTier):
    """Unbounded; a late event goes to its own day, into a new partition if that is sealed."""

    name = "episodic"
    code = int(TierCode.EPISODIC)

    def default_capacity(self, config: Config) -> int:
        return config.episodic_capacity

    def group_of(self, event_ms: int) -> int:
        return day_of_ms(event_ms)

    def path(self, day: int, sequence: int, generation: int) -> str:
        return f"{self.name}/{iso_of_day(day)}-{sequence:03d}{_suffix(generation)}.mem"

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        return row.slots >= row.capacity or row.day < day_of_ms(now_ms)

    def may_hold(self, partition: Partition, min_ms: int, max_ms: int) -> bool:
        start = partition.day * MS_PER_DAY
        return start < max_ms and start + MS_PER_DAY > min_ms


# Procedural tier: rules and learned procedures; append-only, small partitions.


class ProceduralTier(PartitionedTier):
    """Unbounded; forgotten records are compacted as in other tiers."""

    name = "procedural"
    code = int(TierCode.PROCEDURAL)

    def default_capacity(self, config: Config) -> int:
        return config.procedural_capacity


# Semantic tier: knowledge without a day, in partitions that roll when full.


class SemanticTier(PartitionedTier):
    """Unbounded, in ``semantic-NNN.mem`` files of a fixed capacity."""

    name = "semantic"
    code = int(TierCode.SEMANTIC)

"""Working tier: a volatile ring of the newest records per user; the oldest is overwritten."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.layout import MUTABLE_DTYPE, Flag, TierCode
from spector.store.catalog import Row, SegmentRow, ring_of, strength_of, users_by_age
from spector.store.core import Store, Transaction
from spector.store.files import Bytes
from spector.tiers.base import PartitionedTier, Placement

#: a slab with fewer records is read by the index of places; a larger one, by that of users
_FEW: Final = 1000


class WorkingTier(PartitionedTier):
    """One slab of slots with a ring of at most ``capacity`` per user; closing the store empties it.

    So the memories of one user never overwrite those of another. Memories without a user share one
    ring. At most ``users`` rings exist: a further one evicts the least recently written ring, which
    bounds the slab to ``users * capacity`` records.
    """

    name = "working"
    code = int(TierCode.WORKING)
    volatile = True

    def __init__(self, *, capacity: int | None = None, users: int | None = None) -> None:
        super().__init__(capacity=capacity)
        self._given_users = users
        self.users = users or 0
        # one per transaction: a batch may go round a ring, and a failed one must leave no trace
        self._slabs: WeakKeyDictionary[Transaction, _Slab] = WeakKeyDictionary()
        #: id -> user when it was written; needed for dead slots, whose user is stored nowhere else.
        #: ids of failed transactions are in no slot
        self._owners: dict[int, str | None] = {}

    @property
    def max_batch(self) -> int:
        # a record must not evict another of the same batch, because neither has a row yet
        return min(self.capacity, self.users)

    @property
    def compactable(self) -> bool:
        return False

    def default_capacity(self, config: Config) -> int:
        return config.working_capacity

    def attach(self, store: Store, config: Config) -> None:
        super().attach(store, config)
        self.users = self._given_users or config.working_users

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        return False

    def place(self, tx: Transaction, images: Bytes, event_ms: NDArray[np.int64]) -> Placement:
        return self.place_by_user(tx, images, [None] * len(images))

    def place_by_user(
        self, tx: Transaction, images: Bytes, users: Sequence[str | None]
    ) -> Placement:
        """Stage records, (n, stride) u8, each in the ring of its user; return the places."""
        mine = tx.partitions_of(self.code, -1)
        row = (
            mine[0]
            if mine
            else tx.create_segment(
                tier=self.code,
                day=-1,
                sequence=0,
                capacity=self.capacity * self.users,
                slots=self.capacity,
            )
        )
        slab = self._slabs.get(tx)
        if slab is None:
            # a proxy: the tier keeps the slab as long as the transaction lives
            slab = self._slabs[tx] = _Slab(
                weakref.proxy(tx), row, *self._dead(row), self.capacity, self.users
            )
        new_ids = images[:, 8:16].copy().view("<u8")[:, 0].tolist()
        slots, evicted = slab.place(images, new_ids, users)
        for record_id in slab.removed:  # a slot that was not overwritten is in no ring
            self._owners.pop(record_id, None)
        self._owners.update(zip(new_ids, users, strict=True))
        return Placement(
            np.full(len(images), row.id, dtype=np.int64),
            np.array(slots, dtype=np.int64),
            tuple(evicted),
        )

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        tx.evict(row.segment_id)
        tx.overwrite(row.segment_id, row.slot, image[0])
        return row.segment_id, row.slot

    def _dead(self, row: SegmentRow) -> tuple[dict[str | None, list[_Held]], list[int]]:
        """Dead slots as of the last commit: by user, those with a place in a ring, and free ones."""
        found: dict[str | None, list[_Held]] = {}
        free: list[int] = []
        segment = self.store.segments.get(row.id)
        if segment is None:
            return found, free
        headers = segment.partition().headers()
        if len(self._owners) > 2 * len(headers) + _FEW:
            held = set(headers["id"].tolist())
            self._owners = {i: user for i, user in self._owners.items() if i in held}
        if row.dead:
            for slot in np.flatnonzero(headers["flags"] & int(Flag.TOMBSTONE)).tolist():
                record_id = int(headers["id"][slot])
                if record_id in self._owners:
                    user = self._owners[record_id]
                    found.setdefault(user, []).append(_Held(record_id, slot, None))
                else:
                    free.append(slot)
        return found, free


class _Held(NamedTuple):
    """A slot of a ring with its record."""

    id: int
    slot: int
    #: mutable half of the header; None if the record is dead, b"" if it was just staged
    mutable: bytes | None = b""


@dataclass(eq=False)
class _Slab:
    """The slots of all users as one transaction sees them.

    The catalog has the owners of the slots: a memory that was moved counts for its new user.
    """

    _tx: Any
    _row: SegmentRow
    _dead: dict[str | None, list[_Held]]
    #: dead slots that belong to no ring any more
    _free: list[int]
    _capacity: int
    _users: int
    #: rings loaded so far, oldest record first
    _rings: dict[str | None, list[_Held]] = field(default_factory=dict)
    #: users written to, in order of their last write
    _written: dict[str | None, None] = field(default_factory=dict)
    #: evicted live records that have not been overwritten yet
    _released: list[_Held] = field(default_factory=list)
    _evicted: list[int] = field(default_factory=list)
    #: ids that were removed from a ring, dead or alive
    removed: list[int] = field(default_factory=list)

    def place(
        self, images: Bytes, new_ids: Sequence[int], users: Sequence[str | None]
    ) -> tuple[list[int], list[int]]:
        """Stage a batch; return the slot of each record, and the ids of evicted records."""
        self._evicted = []
        slots = [self._place(*each) for each in zip(images, new_ids, users, strict=True)]
        for held in self._released:
            self._tx.tombstone(self._row.id, held.slot, self._dead_block(held))
            self._free.append(held.slot)
        self._released = []
        return slots, self._evicted

    def _dead_block(self, held: _Held) -> bytes:
        """The mutable half of a record with the tombstone flag."""
        mutable = held.mutable
        if not mutable:  # staged by an earlier batch of this transaction
            found = strength_of(self._tx.connection, held.id)
            assert found is not None, "a memory of this transaction has a row"
            mutable = found[2]
        block = np.frombuffer(mutable, dtype=MUTABLE_DTYPE).copy()
        block["flags"] |= int(Flag.TOMBSTONE)
        return block.tobytes()

    def _place(self, image: Bytes, record_id: int, user: str | None) -> int:
        ring = self._ring(user)
        if all(held.mutable is None for held in ring):
            self._drop_rings(self._users - 1, user)
        while len(ring) >= self._capacity:  # longer if memories were moved to this user
            self._release(ring)
        if not self._has_room():
            self._make_room(user)
        slot = self._stage(image)
        ring.append(_Held(record_id, slot))
        self._written.pop(user, None)
        self._written[user] = None
        return slot

    def _has_room(self) -> bool:
        slots: int = self._tx.row(self._row.id).slots
        return bool(self._released or self._free) or slots < self._row.capacity

    def _make_room(self, user: str | None) -> None:
        """Take a dead slot of another ring. If there is none, moves between users have made too
        many rings or too long ones, so drop what exceeds the bounds.
        """
        dead = [
            (held, ring)
            for other in {*self._dead, *self._rings}
            if other != user
            for ring in [self._ring(other)]
            for held in ring
            if held.mutable is None
        ]
        if dead:
            held, ring = min(dead, key=lambda each: each[0].id)
            ring.remove(held)
            self._free.append(held.slot)
            return
        self._drop_rings(self._users, user)
        for other in self._order():
            while len(self._ring(other)) > self._capacity:
                self._release(self._ring(other))

    def _stage(self, image: Bytes) -> int:
        segment_id = self._row.id
        if self._released:
            slot = self._released.pop().slot
            self._tx.evict(segment_id)
        elif self._free:
            slot = self._free.pop()
        else:
            first: int = self._tx.append(segment_id, image[None, :])
            return first
        self._tx.overwrite(segment_id, slot, image)
        return slot

    def _release(self, ring: list[_Held]) -> None:
        """Remove the oldest record of a ring."""
        held = ring.pop(0)
        self.removed.append(held.id)
        if held.mutable is None:
            self._free.append(held.slot)
        else:
            self._released.append(held)
            self._evicted.append(held.id)

    def _ring(self, user: str | None) -> list[_Held]:
        ring = self._rings.get(user)
        if ring is None:
            few = user is None or self._row.live < _FEW
            found = ring_of(self._tx.connection, self._row.id, user, few=few)
            living = [_Held(*each) for each in found]
            ring = self._rings[user] = sorted(living + self._dead.pop(user, []))
        return ring

    def _order(self) -> list[str | None]:
        """Users with live records, least recently written first."""
        users = users_by_age(self._tx.connection, self._row.id)
        before = [user for user in users if user not in self._written]
        gone = {
            user for user, ring in self._rings.items() if all(held.mutable is None for held in ring)
        }
        return [user for user in (*before, *self._written) if user not in gone]

    def _drop_rings(self, most: int, keep: str | None) -> None:
        """Evict the least recently written rings until at most ``most`` are left."""
        if self._row.live + len(self._written) <= most:  # rings are never more than records
            return
        order = self._order()
        others = [user for user in order if user != keep]
        for user in others[: max(0, len(order) - most)]:
            ring = self._ring(user)
            while ring:
                self._release(ring)

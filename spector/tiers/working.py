"""Working tier: volatile rings of the newest records, one a user; the oldest is overwritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.config import Config
from spector.layout import MUTABLE_DTYPE, Flag, TierCode
from spector.store.catalog import Row, SegmentRow
from spector.store.files import Bytes
from spector.store.store import Store
from spector.store.transaction import Transaction
from spector.tiers.base import PartitionedTier, Placement

__all__ = ["WorkingTier"]

_MINE: Final = (
    "SELECT id, slot, mutable FROM record INDEXED BY {} WHERE segment_id = ? AND user_id {} ?"
    " ORDER BY id"
)
#: of a slab with few records the index of places leads to them; in a large one, that of users
_BY_PLACE: Final = _MINE.format("record_place", "IS")
_BY_USER: Final = _MINE.format("record_user", "=")
_FEW: Final = 1000
_RINGS: Final = (
    "SELECT user_id FROM record WHERE segment_id = ? GROUP BY user_id ORDER BY max(id)"
)


class WorkingTier(PartitionedTier):
    """One slab of slots, of which a user has ``capacity`` at most. Closing the store empties it.

    So what one user tells never overwrites what another one has at hand. Memories without a user
    share one ring. Of more than ``users`` rings the one that was written to longest ago makes room
    for the next, which bounds the slab: ``users * capacity`` records.
    """

    name = "working"
    code = int(TierCode.WORKING)
    volatile = True

    def __init__(self, *, capacity: int | None = None, users: int | None = None) -> None:
        super().__init__(capacity=capacity)
        self._given_users = users
        self.users = users or 0

    @property
    def max_batch(self) -> int:
        # no record of a batch may have to give way to another one of it: neither has a row yet
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
        """Stage records, (n, stride) u8, each in the ring of its user, and say where each went."""
        mine = tx.partitions_of(self.code, -1)
        row = mine[0] if mine else tx.create_segment(
            tier=self.code, day=-1, sequence=0, capacity=self.capacity * self.users,
            slots=self.capacity,
        )
        slab = _Slab(tx, row, self.capacity, self.users)
        new_ids = images[:, 8:16].copy().view("<u8")[:, 0].tolist()
        slots = [
            slab.place(image, new_id, user)
            for image, new_id, user in zip(images, new_ids, users, strict=True)
        ]
        slab.finish()
        return Placement(
            np.full(len(images), row.id, dtype=np.int64), np.array(slots, dtype=np.int64),
            tuple(slab.evicted),
        )

    def relocate(
        self, tx: Transaction, row: Row, image: Bytes, event_ms: int, tombstone: bytes
    ) -> tuple[int, int]:
        tx.evict(row.segment_id)
        tx.overwrite(row.segment_id, row.slot, image[0])
        return row.segment_id, row.slot


class _Held(NamedTuple):
    """A record of a ring. One of this batch has no mutable half yet, and needs none."""

    id: int
    slot: int
    mutable: bytes = b""


class _Slab:
    """The slots of all users as one batch of a transaction sees them.

    The catalog says which are taken, and by whom. So a transaction that fails leaves no trace, and
    what was forgotten, or moved to another user, counts as what it is now.
    """

    def __init__(self, tx: Transaction, row: SegmentRow, capacity: int, users: int) -> None:
        self._tx = tx
        self._row = row
        self._capacity = capacity
        self._users = users
        #: what users have, the oldest first, as far as it was asked for
        self._rings: dict[str | None, list[_Held]] = {}
        #: users of this batch, the last one last
        self._written: dict[str | None, None] = {}
        #: dead slots, read when the first is needed
        self._dead: list[int] | None = None if row.dead else []
        #: what gave way, and has not been overwritten yet
        self._released: list[_Held] = []
        #: ids of all that gave way
        self.evicted: list[int] = []

    def place(self, image: Bytes, record_id: int, user: str | None) -> int:
        """Stage one record in a slot, and say in which."""
        ring = self._ring(user)
        if not ring:
            self._drop_rings(self._users - 1, user)
        while len(ring) >= self._capacity:  # more than one when some were moved to this user
            self._release(ring)
        slots = self._tx.row(self._row.id).slots
        if not self._released and not self._dead_slots() and slots == self._row.capacity:
            # moves between users have made more rings, or longer ones, than writes may
            self._drop_rings(self._users, user)
            for other in self._order():
                while len(self._ring(other)) > self._capacity:
                    self._release(self._ring(other))
        slot = self._stage(image)
        ring.append(_Held(record_id, slot))
        self._written.pop(user, None)
        self._written[user] = None
        return slot

    def finish(self) -> None:
        """Mark as dead what gave way and was not overwritten."""
        for held in self._released:
            block = np.frombuffer(held.mutable, dtype=MUTABLE_DTYPE).copy()
            block["flags"] |= int(Flag.TOMBSTONE)
            self._tx.tombstone(self._row.id, held.slot, block.tobytes())

    def _stage(self, image: Bytes) -> int:
        segment_id = self._row.id
        if self._released:
            slot = self._released.pop().slot
            self._tx.evict(segment_id)
        elif dead := self._dead_slots():
            slot = dead.pop()
        else:
            return self._tx.append(segment_id, image[None, :])
        self._tx.overwrite(segment_id, slot, image)
        return slot

    def _release(self, ring: list[_Held]) -> None:
        self._released.append(ring.pop(0))
        self.evicted.append(self._released[-1].id)

    def _ring(self, user: str | None) -> list[_Held]:
        ring = self._rings.get(user)
        if ring is None:
            few = user is None or self._row.live < _FEW
            found = self._tx.connection.execute(
                _BY_PLACE if few else _BY_USER, (self._row.id, user)
            )
            ring = self._rings[user] = [_Held(*each) for each in found]
        return ring

    def _dead_slots(self) -> list[int]:
        """Slots that no memory had when the batch began, the last one first."""
        if self._dead is None:
            taken = {
                slot for (slot,) in self._tx.connection.execute(
                    "SELECT slot FROM record WHERE segment_id = ?", (self._row.id,)
                )
            }
            self._dead = [n for n in range(self._row.slots - 1, -1, -1) if n not in taken]
        return self._dead

    def _order(self) -> list[str | None]:
        """Every user who has any, the one who wrote longest ago first."""
        rows = self._tx.connection.execute(_RINGS, (self._row.id,))
        before = [user for (user,) in rows if user not in self._written]
        gone = {user for user, ring in self._rings.items() if not ring}
        return [user for user in (*before, *self._written) if user not in gone]

    def _drop_rings(self, most: int, keep: str | None) -> None:
        """Let rings give way until there are at most so many."""
        if self._row.live + len(self._written) <= most:  # there cannot be more rings than records
            return
        order = self._order()
        others = [user for user in order if user != keep]
        for user in others[: max(0, len(order) - most)]:
            ring = self._ring(user)
            while ring:
                self._release(ring)

"""What one recall looks at: the views of all stores at one moment, and the records it considers."""

from __future__ import annotations

from dataclasses import dataclass

from spector.errors import PartitionCorruptError
from spector.kernel.base import Kernel, Part, PartTable
from spector.store.store import Store, View

__all__ = ["Candidate", "Moved", "Snapshot", "make_snapshot"]


class Moved(Exception):  # noqa: N818 - never leaves the read path
    """The catalog places a memory where the snapshot does not have it (yet)."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Views of all stores at one moment, as one table for the kernel."""

    stores: tuple[Store, ...]
    views: tuple[View, ...]
    table: PartTable
    #: (index of the store, segment id) -> position in the table
    position: dict[tuple[int, int], int]
    #: position -> index of the store
    store_of: tuple[int, ...]

    def position_of(self, store: int, segment_id: int, slot: int) -> int:
        """Position in the table of a place that the catalog names.

        Raises:
            Moved, PartitionCorruptError: the snapshot does not have it.
        """
        position = self.position.get((store, segment_id))
        if position is None or slot >= self.table.counts[position]:
            raise self.misplaced(store, f"slot {slot} of partition {segment_id} is not there")
        return position

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
    part: int
    slot: int
    fused: float
    similarity: float
    lexical: float = 0.0

    def order(self) -> tuple[float, int, int, int]:
        return (-(self.fused + self.lexical), self.id, self.part, self.slot)


def make_snapshot(
    stores: tuple[Store, ...], views: tuple[View, ...], kernel: Kernel
) -> Snapshot:
    """One kernel table over all partitions of all views."""
    parts: list[Part] = []
    position: dict[tuple[int, int], int] = {}
    store_of: list[int] = []
    for n, view in enumerate(views):
        for partition in view.partitions:
            position[n, partition.segment_id] = len(parts)
            store_of.append(n)
            parts.append(Part(partition.data, partition.slots))
    return Snapshot(stores, views, kernel.prepare(parts), position, tuple(store_of))

"""What a change leaves behind, kept until no reader can still be looking at it.

A memory whose text changed leaves a slot, a compaction leaves a file. Both must go, and neither
while a recall goes on in a snapshot of the moment before: its scan finds the memory in the old slot
only, and its partition may not have been opened yet. Readers announce themselves nowhere, but each
snapshot holds a mark in SQLite's log, whatever process it is in. A passive checkpoint copies the
log up to the oldest mark and says how far it came: what was committed before that point is seen by
everybody, and what it left can go. So a reader never has to start over because a writer is busy.

What cannot go yet waits for the next checkpoint, or for the next opening: slots are still in the
journal, and an opening finds the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from spector.store.sqlite import UNKNOWN_MARKS, Marks

__all__ = ["LeftSlot", "RetireQueue"]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class LeftSlot:
    """A slot whose memory has moved: to be given ``block``, which has the tombstone."""

    journal_seq: int
    segment_id: int
    slot: int
    block: bytes


class RetireQueue(Generic[Item]):
    """Items in the order in which they were left."""

    def __init__(self) -> None:
        #: (frames of the log by which the item had been left, once that is known; the item)
        self._waiting: list[tuple[int | None, Item]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._waiting)

    def add(self, item: Item) -> None:
        """Note what a commit has left."""
        self._waiting.append((None, item))

    def keep(self, items: list[Item]) -> None:
        """Forget all others, with nothing to be done about them."""
        kept = {id(item) for item in items}
        self._waiting = [entry for entry in self._waiting if id(entry[1]) in kept]

    def take(self, marks: Marks | None) -> list[Item]:
        """Remove and return what nobody can look at any more; all of it without ``marks``.

        A log that is shorter than it was has been started anew, which needs all to have seen it.
        """
        if marks == UNKNOWN_MARKS:
            return []
        if marks is None:
            due = len(self._waiting)
        else:
            self._waiting = [
                (marks.frames if left is None else left, item) for left, item in self._waiting
            ]
            due = 0
            for left, _ in self._waiting:
                assert left is not None
                if not (marks.seen_by_all >= left or marks.frames < left):
                    break
                due += 1
        taken, self._waiting = self._waiting[:due], self._waiting[due:]
        return [item for _, item in taken]

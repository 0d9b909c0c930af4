"""Deferred reclamation of slots and files that commits have left behind.

A memory whose text changed leaves a slot, a compaction leaves a file. Neither may go while a recall
runs in a snapshot of the moment before: its scan finds the memory in the old slot only, and its
partition may not have been opened yet. Readers register nowhere, but each snapshot holds a mark in
SQLite's log, whatever process it is in. A passive checkpoint copies the log up to the oldest mark
and reports how far it came. Every snapshot sees the commits before that point, so what these left
can go. A reader therefore never has to start over because a writer is busy.

What cannot go yet waits for the next checkpoint or the next opening: slots are still in the
journal, and an opening finds the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from spector.store.sqlite import UNKNOWN_MARKS, Marks

__all__ = ["RetireQueue", "RetiredSlot"]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RetiredSlot:
    """A slot whose memory has moved, and the mutable block with its tombstone."""

    journal_seq: int
    segment_id: int
    slot: int
    block: bytes


class RetireQueue(Generic[Item]):
    """Items in the order in which commits left them."""

    def __init__(self) -> None:
        #: (frames of the log when the item had been left, once that is known; the item)
        self._waiting: list[tuple[int | None, Item]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._waiting)

    def add(self, item: Item) -> None:
        """Add what a commit has left."""
        self._waiting.append((None, item))

    def keep(self, items: list[Item]) -> None:
        """Drop every other item without reclaiming it."""
        kept = {id(item) for item in items}
        self._waiting = [entry for entry in self._waiting if id(entry[1]) in kept]

    def take(self, marks: Marks | None) -> list[Item]:
        """Remove and return what no snapshot can see any more; everything without ``marks``.

        A log that is shorter than before has started over, so every snapshot is past its old end.
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

"""Which memories a command is about, and the first of them: thin functions over ``Memory``."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spector.clock import to_ms

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import MemoryRecord

__all__ = ["Sample", "newest", "sample", "selected"]


@dataclass(slots=True)
class Sample:
    """What a selection leads to: how many, and some of them to look at."""

    count: int = 0
    first: list[MemoryRecord] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    #: pinned and immutable ones, which a selection leaves alone; not among the others
    protected: list[MemoryRecord] = field(default_factory=list)


def selected(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None = None
) -> Iterator[MemoryRecord]:
    """The memories of a selection, by ascending ids; of those the ones recorded before a moment."""
    if stored_before is None:
        yield from memory.records(**selection)
        return
    end_ms = to_ms(stored_before)
    # a walk over all proves first that damage hides no memory; one by tag or scope does not
    next(memory.records(), None)
    for record in memory.records(**selection):
        if record.recorded_ms < end_ms:
            yield record


def newest(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None, limit: int
) -> tuple[list[MemoryRecord], int]:
    """The memories that happened last, the last one first, and how many there are in all."""
    count = 0

    def counting() -> Iterator[MemoryRecord]:
        nonlocal count
        for record in selected(memory, selection, stored_before):
            count += 1
            yield record

    found = heapq.nlargest(limit, counting(), key=lambda record: (record.event_ms, record.id))
    return found, count


def sample(records: Iterable[MemoryRecord], size: int, *, with_protected: bool) -> Sample:
    """Count memories and keep the first of them, and the ids of all.

    ``with_protected``: pinned and immutable ones are to be forgotten like the others.
    """
    found = Sample()
    for record in records:
        if not with_protected and (record.pinned or record.immutable):
            found.protected.append(record)
            continue
        found.count += 1
        found.ids.append(record.id)
        if len(found.first) < size:
            found.first.append(record)
    return found

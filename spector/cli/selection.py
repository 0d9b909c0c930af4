"""The memories that a command selects: thin functions over ``Memory``."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spector.clock import to_ms

if TYPE_CHECKING:
    from spector.memory import Memory
    from spector.records import MemoryRecord

__all__ = ["Sample", "iter_selected", "newest", "sample"]


@dataclass(slots=True)
class Sample:
    """The result of a selection: count, ids, and some memories to show."""

    count: int = 0
    first: list[MemoryRecord] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    #: pinned and immutable ones, which a selection keeps; not counted with the others
    protected: list[MemoryRecord] = field(default_factory=list)


def iter_selected(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None = None
) -> Iterator[MemoryRecord]:
    """Memories of a selection by ascending id, optionally only those recorded before a time."""
    if stored_before is None:
        yield from memory.records(**selection)
        return
    end_ms = to_ms(stored_before)
    # a walk over all memories first proves that damage hides none; one by tag or scope does not
    next(memory.records(), None)
    for record in memory.records(**selection):
        if record.recorded_ms < end_ms:
            yield record


def newest(
    memory: Memory, selection: Mapping[str, Any], stored_before: str | None, limit: int
) -> tuple[list[MemoryRecord], int]:
    """The memories with the latest events, latest first, and the number of all."""
    count = 0

    def counting() -> Iterator[MemoryRecord]:
        nonlocal count
        for record in iter_selected(memory, selection, stored_before):
            count += 1
            yield record

    found = heapq.nlargest(limit, counting(), key=lambda record: (record.event_ms, record.id))
    return found, count


def sample(records: Iterable[MemoryRecord], size: int, *, with_protected: bool) -> Sample:
    """Count memories; keep all ids and the first ``size`` memories.

    ``with_protected``: count pinned and immutable memories like the others.
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

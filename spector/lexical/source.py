"""The part of a store that an index of words reads: partitions, and the texts in their slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from spector.language.statements import MemoryText

__all__ = ["Extent", "SlotEntry", "TextSource", "slot_ranges"]

#: two ranges of slots are one when the gap is at most this: reading it costs less than a query
_GAP: Final = 8


class Extent(Protocol):
    """The state of a partition that an index compares."""

    @property
    def segment_id(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def live(self) -> int: ...
    @property
    def overwrites(self) -> int: ...


class SlotEntry(NamedTuple):
    """A memory in a slot, without its text."""

    id: int
    slot: int
    seal: int | None = None


class TextSource(Protocol):
    """A catalog at the moment of the partitions that are followed."""

    def everything(self) -> Iterable[MemoryText]:
        """All memories by ascending id."""

    def texts(self, segment_id: int, first: int, stop: int) -> Iterable[MemoryText]:
        """Memories in slots ``first`` to ``stop - 1`` of a partition."""

    def known(self, segment_id: int) -> Iterable[SlotEntry]:
        """All memories of a partition that are indexed."""


def slot_ranges(slots: list[int]) -> Iterator[tuple[int, int]]:
    """(first, stop) of the ranges that cover ascending slots, small gaps included."""
    first = last = None
    for slot in slots:
        if first is None or last is None:
            first = slot
        elif slot > last + _GAP:
            yield first, last + 1
            first = slot
        last = slot
    if first is not None and last is not None:
        yield first, last + 1

"""Partitions in the form that every scan backend reads, and lists of allowed records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidInputError
from spector.layout import HEADER_BYTES

__all__ = ["PART_DTYPE", "AllowList", "Edit", "Part", "PartTable", "check_records"]

#: ``spector_part`` of native/spector.h; addresses as integers, 0 for none
PART_DTYPE: Final = np.dtype(
    [("data", "<u8"), ("allow", "<u8"), ("index", "<u8"), ("count", "<u4"), ("stride", "<u4")]
)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One partition's records.

    data: (rows, stride) uint8, C-contiguous; usually a view of a read-only map, from byte 64 on.
    count: rows to look at, tombstones included.
    allow: optional (ceil(count / 64),) uint64; bit i % 64 of word i // 64 admits slot i.
    index: optional image of the partition's scan index, see `spector.kernel.contract.index.layout`.
    """

    data: NDArray[np.uint8]
    count: int
    allow: NDArray[np.uint64] | None = None
    index: NDArray[np.uint8] | None = None


class Edit(NamedTuple):
    """Replaces the partitions [start, stop) of a table by ``parts``."""

    start: int
    stop: int
    parts: Sequence[Part]


class PartTable:
    """Partitions in the form that a backend reads, built once and used by many scans.

    It holds references to the parts, so their memory lives as long as the table. All partitions
    of a table have one stride. Results name a partition by its position here.
    """

    __slots__ = ("entries", "parts", "rows", "stride")

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts: tuple[Part, ...] = tuple(parts)
        self.entries: NDArray[Any] = np.zeros(len(self.parts), PART_DTYPE)
        self.stride: int = self.parts[0].data.shape[-1] if self.parts else 0
        #: rows that a scan of the whole table looks at
        self.rows = 0
        for i, part in enumerate(self.parts):
            self.entries[i] = self._entry(i, part)
            self.rows += part.count

    def __len__(self) -> int:
        return len(self.parts)

    def patched(self, edits: Sequence[Edit]) -> PartTable:
        """A table with some partitions replaced; this one does not change.

        Only the new parts are read one by one. The rest is copied as one block of memory, so a
        commit that touches one partition of thousands costs microseconds. A scan may still use this
        table.

        Args:
            edits: places that do not overlap, in ascending order.
        """
        if not self.parts:
            return PartTable([part for edit in edits for part in edit.parts])
        out = PartTable.__new__(PartTable)
        out.stride = self.stride
        parts = list(self.parts)
        # as bytes: NumPy copies structured arrays entry by entry, twenty times slower
        old, size = self.entries.view(np.uint8), PART_DTYPE.itemsize
        pieces: list[NDArray[np.uint8]] = []
        kept, grown = 0, 0
        for edit in edits:
            start = edit.start + grown
            parts[start : start + edit.stop - edit.start] = edit.parts
            grown += len(edit.parts) - (edit.stop - edit.start)
            fresh = np.zeros(len(edit.parts), PART_DTYPE)
            for i, part in enumerate(edit.parts):
                fresh[i] = out._entry(start + i, part)
            pieces += (old[kept * size : edit.start * size], fresh.view(np.uint8))
            kept = edit.stop
        out.parts = tuple(parts)
        out.entries = np.concatenate([*pieces, old[kept * size :]]).view(PART_DTYPE)
        out.rows = int(out.entries["count"].sum(dtype=np.int64))
        return out

    def room(self, k: int) -> int:
        """The most hits that a scan for k can have."""
        return min(k, self.rows)

    @property
    def counts(self) -> NDArray[np.uint32]:
        """Rows that a scan looks at, per partition (do not write)."""
        return self.entries["count"]

    def _entry(self, index: int, part: Part) -> tuple[int, int, int, int, int]:
        data = part.data
        if data.dtype != np.uint8 or data.ndim != 2 or not data.flags.c_contiguous:
            raise InvalidInputError(f"part {index}: data must be (rows, stride) uint8, contiguous")
        if data.shape[1] != self.stride or data.shape[1] < HEADER_BYTES or data.shape[1] % 64:
            raise InvalidInputError(
                f"part {index}: stride {data.shape[1]} where the table has {self.stride}"
            )
        if part.allow is not None and (
            part.allow.dtype != np.uint64 or not part.allow.flags.c_contiguous
        ):
            raise InvalidInputError(f"part {index}: allow must be contiguous uint64")
        self._check_count(index, part, part.count)
        address = _address(data)
        if address % 8:
            raise InvalidInputError(f"part {index}: records must be aligned to 8 bytes")
        allow = 0 if part.allow is None else _address(part.allow)
        index_address = 0 if part.index is None else _address(part.index)
        if index_address % 64:
            raise InvalidInputError(f"part {index}: its scan index must be aligned to 64 bytes")
        return address, allow, index_address, part.count, self.stride

    @staticmethod
    def _check_count(index: int, part: Part, count: int) -> None:
        if not 0 <= count <= len(part.data):
            raise InvalidInputError(f"part {index}: count {count} of {len(part.data)} rows")
        if part.allow is not None and part.allow.size * 64 < count:
            raise InvalidInputError(f"part {index}: allow has too few words for {count} rows")


class AllowList:
    """Records that a scan may return, one bit a slot; made from a filter resolved elsewhere.

    A scan with it looks at no partition that has none of the records. It replaces the parts' own
    ``allow``. Slots appended to a partition later are not in the list.
    """

    __slots__ = ("counts", "offsets", "select", "words")

    def __init__(
        self,
        words: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        counts: NDArray[np.uint32],
        select: NDArray[np.uint32],
    ) -> None:
        self.words = words
        self.offsets = offsets
        self.counts = counts
        self.select = select

    @classmethod
    def from_records(cls, table: PartTable, parts: ArrayLike, slots: ArrayLike) -> AllowList:
        """Bitmaps that admit the given (part, slot) pairs; order and repeats do not matter."""
        part_ids, slot_ids = check_records(table, parts, slots)
        counts = table.counts.copy()
        sizes = (counts.astype(np.int64) + 63) // 64
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)[: len(table)]
        bits = np.zeros(int(sizes.sum()) * 64, np.bool_)
        if len(part_ids):
            bits[offsets[part_ids] * 64 + slot_ids] = True
        words = np.packbits(bits, bitorder="little").view("<u8")
        select = np.flatnonzero(np.bincount(part_ids, minlength=len(table))).astype(np.uint32)
        return cls(words, offsets, counts, select)

    def admits(self, parts: NDArray[Any], slots: NDArray[Any]) -> NDArray[np.bool_]:
        """(n,) whether each place is in the list; False for a slot that its partition lacks."""
        there = slots < self.counts[parts]
        at = self.offsets[parts] * 64 + np.where(there, slots, 0)
        bits = np.unpackbits(self.words.view(np.uint8), bitorder="little")
        return there & (bits[at] > 0) if len(bits) else np.zeros(len(at), np.bool_)

    def bitmap(self, part: int) -> NDArray[np.uint64]:
        """The words of one partition."""
        start = int(self.offsets[part])
        return self.words[start : start + (int(self.counts[part]) + 63) // 64]

    def entries(self, table: PartTable) -> NDArray[Any]:
        """The table's entries with these bitmaps in place of its own."""
        entries = table.entries.copy()
        entries["count"] = np.minimum(entries["count"], self.counts)
        base = _address(self.words) if self.words.size else 0
        entries["allow"] = self.offsets.astype(np.uint64) * np.uint64(8) + np.uint64(base)
        return entries


def check_records(
    table: PartTable, parts: ArrayLike, slots: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Places of records as (n,) arrays of uint32 or int64; raises unless all are in the table."""
    part_ids, slot_ids = _numbers(parts), _numbers(slots)
    if part_ids.size != slot_ids.size:
        raise InvalidInputError(f"{part_ids.size} parts but {slot_ids.size} slots")
    if part_ids.size:
        if int(part_ids.min()) < 0 or int(part_ids.max()) >= len(table):
            raise InvalidInputError(f"a part is outside 0..{len(table) - 1}")
        if int(slot_ids.min()) < 0 or (slot_ids >= table.counts[part_ids]).any():
            raise InvalidInputError("a slot is beyond its partition's count")
    return part_ids, slot_ids


def _numbers(values: ArrayLike) -> NDArray[Any]:
    """Numbers as int64; uint32 is not converted, because thousands of places come in it."""
    if isinstance(values, np.ndarray) and values.dtype == np.uint32:
        return values.ravel()
    return np.asarray(values, np.int64).ravel()


def _address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)

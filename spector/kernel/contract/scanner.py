"""What every scan backend takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import DimensionMismatchError, InvalidInputError
from spector.kernel.contract.lexical import LexicalKernel
from spector.layout import HEADER_BYTES

if TYPE_CHECKING:
    from spector._types import F32, I32, I64, U8, U32
    from spector.kernel.contract.query import Query


# Partitions in the form that every scan backend reads, and lists of allowed records.

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
    index: optional image of the partition's scan index, see `spector.kernel.contract.index`.
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
        if not 0 <= part.count <= len(data):
            raise InvalidInputError(f"part {index}: count {part.count} of {len(data)} rows")
        if part.allow is not None and part.allow.size * 64 < part.count:
            raise InvalidInputError(f"part {index}: allow has too few words for {part.count} rows")
        address = _address(data)
        if address % 8:
            raise InvalidInputError(f"part {index}: records must be aligned to 8 bytes")
        allow = 0 if part.allow is None else _address(part.allow)
        index_address = 0 if part.index is None else _address(part.index)
        if index_address % 64:
            raise InvalidInputError(f"part {index}: its scan index must be aligned to 64 bytes")
        return address, allow, index_address, part.count, self.stride


@dataclass(frozen=True, slots=True, eq=False)
class AllowList:
    """Records that a scan may return, one bit a slot; made from a filter resolved elsewhere.

    A scan with it looks at no partition that has none of the records. It replaces the parts' own
    ``allow``. Slots appended to a partition later are not in the list.
    """

    words: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    counts: NDArray[np.uint32]
    select: NDArray[np.uint32]

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


# The calls of every backend about neighbours: rows before and after one in its session.
#
# Term frequencies include a share from neighbouring turns of the same session. BM25 is computed from
# these blended frequencies. The additions have one order, so that every backend gives the same bits:
# of one term first what other rows give, by their numbers, then the row's own count, then the extra
# ones; sums are float64. Terms are added up in their order, in float32.
#
# Lengths of blended vectors are computed from products of the stored codes, which are exact, in
# float64 and one order. So their bits do not depend on the backend either.
#
# The public methods check their arguments once, for all backends; a backend implements the bare calls
# below them.

#: of the arrays of `TermSpread`
_TYPES: Final = (np.float32, np.uint32, np.float64)

#: ``spector_around`` of native/spector.h; addresses as integers
SPREAD_DTYPE: Final = np.dtype(
    [(name, "<u8") for name in ("share", "target", "factor")]
    + [(name, "<u4") for name in ("rows", "ranked", "reach", "reserved")]
)


@dataclass(frozen=True, eq=False)
class TermSpread:
    """How term frequency spreads from each row to its neighbours.

    share: (m,) float32, what a row gives of each of its terms.
    target: (m, reach) uint32, the rows that receive it; ``ranked`` and above for none.
    factor: (reach,) float64, how much of it, by the place of the target.
    ranked: the first so many rows are ranked; the others only give.
    """

    share: F32
    target: U32
    factor: NDArray[np.float64]
    ranked: int

    def __post_init__(self) -> None:
        rows = len(self.share)
        arrays = (self.share, self.target, self.factor)
        if (
            [each.dtype for each in arrays] != [np.dtype(t) for t in _TYPES]
            or self.target.shape != (rows, len(self.factor))
            or not all(each.flags.c_contiguous for each in arrays)
            or not 0 <= self.ranked <= rows
        ):
            raise InvalidInputError(
                "share, target and factor must be C-contiguous float32, uint32, float64 with"
                " matching rows"
            )

    @cached_property
    def entry(self) -> NDArray[Any]:
        """(1,) `SPREAD_DTYPE`."""
        out = np.zeros(1, SPREAD_DTYPE)
        addresses = [int(each.ctypes.data) for each in (self.share, self.target, self.factor)]
        out[0] = (*addresses, len(self.share), self.ranked, len(self.factor), 0)
        return out


class NeighbourKernel(ABC):
    """What a backend computes of rows and their neighbours."""

    def blended_bm25(
        self, spread: TermSpread, counts: U8, extra: U8 | None, weight: F32, length_norm: F32
    ) -> F32:
        """BM25 of the ranked rows, (n,) float32.

        Args:
            counts: (t, m) uint8, how often each row has each term.
            extra: (t, n) uint8, what to add for ranked rows; it does not spread.
            weight: (t,) float32, what a term is worth: ``idf * (k1 + 1)``.
            length_norm: (n,) float32, above 0: ``k1 (1 - b + b length / mean length)`` of each row.

        Returns:
            Sum over terms of ``weight * (tf / (tf + length_norm))``.
        """
        _check_counts(spread, counts, extra, weight, length_norm)
        out = np.zeros(spread.ranked, np.float32)
        self._add_bm25(
            spread,
            np.ascontiguousarray(counts),
            None if extra is None else np.ascontiguousarray(extra),
            np.ascontiguousarray(weight),
            np.ascontiguousarray(length_norm),
            out,
        )
        return out

    def blended_norms(
        self,
        table: PartTable,
        parts: U32,
        slots: U32,
        at: U32,
        before: U32,
        after: U32,
        share: float,
    ) -> F32:
        """Lengths (n,) float32 of vectors blended with shares of their neighbours'.

        Args:
            parts, slots: (m,) uint32, places of records.
            at: (n,) uint32, which of them are asked for.
            before, after: (n,) uint32, which of them are their neighbours; m and above for none.
            share: of each neighbour's vector.

        Returns:
            ``|v + share (b + a)|``, at least 1e-9; 1 for one without neighbours.
        """
        part, slot = check_records(table, parts, slots)
        _check_neighbours(len(part), at, before, after)
        places = [np.ascontiguousarray(each, np.uint32) for each in (part, slot, at, before, after)]
        out = np.empty(len(at), np.float32)
        self._fill_norms(table, places, share, out)
        return out

    def walk_chains(
        self, before: I32, after: I32, alive: NDArray[np.bool_] | None, rows: I64, reach: int
    ) -> I64:
        """What comes before and after rows in their chains, (n, 2 * reach) int64.

        Args:
            before, after: (rows,) int32, the links; -1, and rows that do not exist, end a chain.
            alive: (rows,) bool, dead rows are passed over; None when all are alive. A chain that
                leads in a circle of dead rows has no next row.
            rows: (n,) int64, at least -1.

        Returns:
            1 before, 2 before, ..., ``reach`` before, 1 after, ..., ``reach`` after; -1 for none.
        """
        count = len(before)
        if len(after) != count or (alive is not None and len(alive) != count):
            raise InvalidInputError("before, after and alive must have one entry a row each")
        if len(rows) and not -1 <= int(rows.min()) <= int(rows.max()) < count:
            raise InvalidInputError(f"a row is outside -1..{count - 1}")
        out = np.full((len(rows), 2 * reach), -1, np.int64)
        self._walk(
            np.ascontiguousarray(before, np.int32),
            np.ascontiguousarray(after, np.int32),
            None if alive is None else np.ascontiguousarray(alive).view(np.uint8),
            np.ascontiguousarray(rows, np.int64),
            out,
        )
        return out

    @abstractmethod
    def _add_bm25(
        self,
        spread: TermSpread,
        counts: U8,
        extra: U8 | None,
        weight: F32,
        length_norm: F32,
        out: F32,
    ) -> None:
        """Adds to ``out``."""

    @abstractmethod
    def _fill_norms(self, table: PartTable, places: list[U32], share: float, out: F32) -> None:
        """``places``: parts, slots, at, before, after."""

    @abstractmethod
    def _walk(self, before: I32, after: I32, alive: U8 | None, rows: I64, out: I64) -> None:
        """Fills ``out``, which is -1."""


def _check_counts(
    spread: TermSpread, counts: U8, extra: U8 | None, weight: F32, length_norm: F32
) -> None:
    terms, rows, ranked = len(weight), len(spread.share), spread.ranked
    if counts.shape != (terms, rows) or counts.dtype != np.uint8:
        raise InvalidInputError(f"counts must be ({terms}, {rows}) uint8")
    if extra is not None and (extra.shape != (terms, ranked) or extra.dtype != np.uint8):
        raise InvalidInputError(f"extra counts must be ({terms}, {ranked}) uint8")
    if length_norm.shape != (ranked,) or length_norm.dtype != np.float32:
        raise InvalidInputError(f"length_norm must be ({ranked},) float32")
    if weight.dtype != np.float32:
        raise InvalidInputError(f"weight must be ({terms},) float32")


def _check_neighbours(places: int, at: U32, before: U32, after: U32) -> None:
    # a negative number would become a large one when it is made one of these
    if any(each.dtype != np.uint32 or each.ndim != 1 for each in (at, before, after)):
        raise InvalidInputError("at, before and after must be (n,) uint32")
    if not len(at) == len(before) == len(after):
        raise InvalidInputError(f"{len(at)} rows, {len(before)} before and {len(after)} after them")
    if len(at) and int(at.max()) >= places:
        raise InvalidInputError(f"a row is beyond the {places} places")


#: entries of ``ScanResult.drops``, in the order of the phases
DROP_PHASES: Final = ("state", "filter", "tags", "valence", "strength", "similarity", "bound")

#: ``spector_hit`` of native/spector.h
HIT_DTYPE: Final = np.dtype(
    [("id", "<u8"), ("score", "<f4"), ("similarity", "<f4"), ("part", "<u4"), ("slot", "<u4")]
)


@dataclass(frozen=True, slots=True, eq=False)
class ScanResult:
    """The best records, best first: score descending, then id, part and slot ascending.

    A record whose header is so damaged that its score is not finite has score -inf.

    Attributes:
        hits: (m,) `HIT_DTYPE`, m <= k. ``part`` is the position in the scanned table.
        drops: (7,) uint64, records dropped per phase, see `DROP_PHASES`; the last counts records
            that a bound ruled out unread. A record that several phases would drop may be counted
            for a later one by a scan over an index than by a straight scan.
        scanned: records looked at; equals ``drops.sum() + scored``.
        scored: records that reached phase 6.
    """

    hits: NDArray[Any]
    drops: NDArray[np.uint64]
    scanned: int
    scored: int

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def ids(self) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self.hits["id"])

    @property
    def scores(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.hits["score"])

    @property
    def similarity(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self.hits["similarity"])

    @property
    def part(self) -> NDArray[np.uint32]:
        return np.ascontiguousarray(self.hits["part"])

    @property
    def slot(self) -> NDArray[np.uint32]:
        return np.ascontiguousarray(self.hits["slot"])


Partitions = PartTable | Sequence[Part]
#: positions in the table to scan, in ascending order or not; None for all
Select = Sequence[int] | NDArray[Any]


class Scanner(ABC):
    """Scans partitions. All scanners return the same records in the same order.

    The public methods check their arguments; a backend implements the bare calls below them, which
    trust theirs.
    """

    name: str

    def prepare(self, parts: Sequence[Part]) -> PartTable:
        """Build the table that scans read; keep it as long as the partitions stay the same."""
        return PartTable(parts)

    def scan(
        self,
        partitions: Partitions,
        query: Query,
        k: int,
        *,
        allow: AllowList | None = None,
        select: Select | None = None,
    ) -> ScanResult:
        """The k best records over the (selected) partitions, through all six phases."""
        table = partitions if isinstance(partitions, PartTable) else PartTable(partitions)
        return self._scan(table, query, k, allow, check_scan(table, query, k, allow, select))

    def score(
        self,
        partitions: Partitions,
        query: Query,
        parts: ArrayLike,
        slots: ArrayLike,
        *,
        similarity: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Scores (n,) float32 of given records by the scan's formula.

        Records that a phase drops get -inf. ``similarity``, when given, is a contiguous (n,)
        float32 array that receives the cosines (0 for records dropped before phase 5).
        """
        table = partitions if isinstance(partitions, PartTable) else PartTable(partitions)
        part, slot, cosines = check_score(table, query, parts, slots, similarity)
        return self._score(table, query, part, slot, cosines)

    @abstractmethod
    def crc32c(self, data: bytes | memoryview | NDArray[np.uint8], crc: int = 0) -> int:
        """CRC-32C of bytes, continuing from ``crc``."""

    @abstractmethod
    def crc32c_rows(self, rows: NDArray[np.uint8], out: NDArray[np.uint32], crc: int) -> None:
        """Checksums of records (n, stride), see `spector.kernel.checksum.crc32c_rows`."""

    @abstractmethod
    def _scan(
        self, table: PartTable, query: Query, k: int, allow: AllowList | None, select: U32 | None
    ) -> ScanResult:
        """``select``: positions in the table, None for all."""

    @abstractmethod
    def _score(
        self, table: PartTable, query: Query, parts: U32, slots: U32, similarity: F32
    ) -> F32:
        """Fills ``similarity`` too."""


class Kernel(Scanner, LexicalKernel, NeighbourKernel):
    """A scan backend.

    The ``index_`` operations fill the image of a scan index (contiguous bytes, aligned to 64);
    they trust their arguments, which `spector.kernel.contract.index.ScanIndex` checks.
    """

    #: whether scans use ``Part.index``; otherwise there is no need to build one
    indexes: bool

    def gather(
        self, table: PartTable, parts: ArrayLike, slots: ArrayLike, offset: int, size: int
    ) -> NDArray[np.uint8]:
        """(n, size) uint8: bytes from ``offset`` on of the records at (n,) given places."""
        part, slot = check_records(table, parts, slots)
        if len(table) and not 0 <= offset <= offset + size <= table.stride:
            raise InvalidInputError(
                f"bytes {offset} to {offset + size} are outside a record of {table.stride} bytes"
            )
        out = np.empty((len(part), size), np.uint8)
        self._gather(table, _u32(part), _u32(slot), offset, out)
        return out

    @abstractmethod
    def _gather(
        self, table: PartTable, parts: U32, slots: U32, offset: int, out: NDArray[np.uint8]
    ) -> None:
        """Fills ``out`` (n, size)."""

    @abstractmethod
    def index_init(
        self, image: NDArray[np.uint8], dim: int, room: int, centre: NDArray[np.float32] | None
    ) -> None:
        """Make the image one without rows; ``centre`` is (dim,) or None for the origin."""

    @abstractmethod
    def index_append(self, image: NDArray[np.uint8], records: NDArray[np.uint8], n: int) -> None:
        """Index the next n slots; ``records`` (slots, stride) begins with slot 0."""

    @abstractmethod
    def index_update(
        self, image: NDArray[np.uint8], records: NDArray[np.uint8], slots: NDArray[np.uint32]
    ) -> None:
        """Copy the mutable header bytes of indexed slots; extremes widen."""

    @abstractmethod
    def index_refresh(self, image: NDArray[np.uint8], records: NDArray[np.uint8]) -> None:
        """Copy the mutable header bytes of all indexed slots; extremes become tight."""


def check_scan(
    table: PartTable, query: Query, k: int, allow: AllowList | None, select: Select | None
) -> NDArray[np.uint32] | None:
    """Validate a scan's arguments; returns the positions to scan, None for all."""
    if k < 0:
        raise InvalidInputError(f"k must be at least 0, got {k}")
    check_stride(table, query)
    if allow is not None and len(allow.counts) != len(table):
        raise InvalidInputError("allow belongs to another table; make it from this one")
    if select is None:
        return None if allow is None else allow.select
    chosen = np.ascontiguousarray(select, np.int64)
    if chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(table):
        raise InvalidInputError(f"select names a partition outside 0..{len(table) - 1}")
    positions = chosen.astype(np.uint32)
    return positions if allow is None else np.intersect1d(positions, allow.select)


def check_stride(table: PartTable, query: Query) -> None:
    if query.vector_bytes and table.stride and table.stride != HEADER_BYTES + query.vector_bytes:
        raise DimensionMismatchError(
            f"the cue's vector has {query.vector_bytes} bytes, those of the store have "
            f"{table.stride - HEADER_BYTES}",
            hint="use the embedder that the store was made with",
        )


def check_score(
    table: PartTable,
    query: Query,
    parts: ArrayLike,
    slots: ArrayLike,
    similarity: NDArray[np.float32] | None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float32]]:
    """Validate a score's arguments; returns parts, slots and the array for similarities."""
    check_stride(table, query)
    part_ids, slot_ids = check_records(table, parts, slots)
    if similarity is None:
        similarity = np.zeros(part_ids.size, np.float32)
    elif (
        similarity.dtype != np.float32
        or similarity.shape != (part_ids.size,)
        or not similarity.flags.c_contiguous
        or not similarity.flags.writeable
    ):
        raise InvalidInputError(f"similarity must be writable ({part_ids.size},) float32")
    return _u32(part_ids), _u32(slot_ids), similarity


def _u32(values: NDArray[Any]) -> U32:
    return np.ascontiguousarray(values, np.uint32)


def empty_result(drops: NDArray[np.uint64], scanned: int, scored: int) -> ScanResult:
    return ScanResult(np.zeros(0, HIT_DTYPE), drops, scanned, scored)

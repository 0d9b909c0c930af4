"""What every scan backend takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import DimensionMismatchError, InvalidInputError
from spector.kernel.contract.lexical import LexicalKernel
from spector.kernel.contract.neighbours import NeighbourKernel
from spector.kernel.contract.partitions import (
    PART_DTYPE,
    AllowList,
    Edit,
    Part,
    PartTable,
    check_records,
)
from spector.layout import HEADER_BYTES

if TYPE_CHECKING:
    from spector._types import F32, U32
    from spector.kernel.contract.query import Query

__all__ = [
    "DROP_PHASES",
    "HIT_DTYPE",
    "PART_DTYPE",
    "AllowList",
    "Edit",
    "Kernel",
    "Part",
    "PartTable",
    "Partitions",
    "ScanResult",
    "Scanner",
    "Select",
    "empty_result",
]


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
    they trust their arguments, which `spector.kernel.contract.index.image.ScanIndex` checks.
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

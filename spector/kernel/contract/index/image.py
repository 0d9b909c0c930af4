"""The scan index of a partition: its records' headers and vectors, arranged for scanning.

One image of bytes, derived from the records and disposable: header bits as bit-slices, the columns
that gates and bounds read, extremes per 512 slots, and a one-bit sketch
of every vector with the factors that turn it into an estimate of the cosine (RaBitQ; Gao and
Long, SIGMOD 2024). The bytes are those of `spector.kernel.contract.index.layout`;
`spector.kernel.reference.index` defines what the numbers mean.

An image can make a scan miss a record but never change a score: what reaches the end of a scan goes
through gate, product and score on the record itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.index.layout import (
    BLOCK_ROWS,
    INDEX_DTYPE,
    INDEX_HEADER_BYTES,
    Checksum,
    header_of,
    image_layout,
    sections_of,
)
from spector.kernel.contract.products import squared, weighted_sum
from spector.kernel.contract.scanner import Kernel
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, stride_of

__all__ = ["Centre", "ScanIndex", "centre_of"]

_CENTRE_SAMPLE: Final = 4096


class Centre(NamedTuple):
    """The centre that an index subtracts from its vectors, in the space of its codes."""

    id: int
    #: (D,) float32, rotated
    rotated: NDArray[np.float32]
    norm2: float

    def distance2(self, other: Centre) -> float:
        """Squared distance of two centres."""
        apart = self.rotated.astype(np.float64) - other.rotated
        return squared(apart)


class ScanIndex:
    """The scan index of one partition, in writable memory aligned to 64 bytes.

    Allows one writer at a time. Scans may read the image meanwhile: `append` publishes its slots
    last, extremes only widen, and `grow` leaves the old image alone.
    """

    __slots__ = ("_header", "_kernel", "dim", "image", "room")

    def __init__(self, kernel: Kernel, image: NDArray[np.uint8]) -> None:
        self._kernel = kernel
        self._header = image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE)
        self.image: NDArray[np.uint8] = image
        self.dim: int = int(self._header["dim"][0])
        self.room: int = int(self._header["room"][0])

    @classmethod
    def create(
        cls, kernel: Kernel, dim: int, room: int, centre: NDArray[np.float32] | None = None
    ) -> ScanIndex:
        """An index without rows.

        Args:
            kernel: fills it.
            dim: floats of a vector, at most `INDEX_MAX_DIM`.
            room: slots it can take; rounded up to a multiple of 64.
            centre: (dim,) float32, subtracted from the vectors, see `centre_of`; None is the
                origin. Indexes of one centre share the preparation of a cue (`use_centre`).
        """
        room = -(-room // 64) * 64
        image = _aligned(image_layout(dim, room).nbytes)
        if centre is not None:
            centre = np.ascontiguousarray(centre, np.float32)
            if centre.shape != (dim,) or not np.isfinite(centre).all():
                raise InvalidInputError(f"a centre must be ({dim},) finite floats")
        kernel.index_init(image, dim, room, centre)
        return cls(kernel, image)

    @classmethod
    def attach(cls, kernel: Kernel, image: NDArray[np.uint8]) -> ScanIndex:
        """An index over a loaded image for which `problem_of` found no problem.

        The memory must be writable and this process's own.
        """
        if image.dtype != np.uint8 or image.ndim != 1 or not image.flags.c_contiguous:
            raise InvalidInputError("an image must be contiguous bytes")
        if image.ctypes.data % 64 or not image.flags.writeable:
            raise InvalidInputError("an image must be writable and aligned to 64 bytes")
        return cls(kernel, image)

    @property
    def rows(self) -> int:
        """Slots indexed so far; scans read later ones straight."""
        return int(self._header["rows"][0])

    @property
    def nbytes(self) -> int:
        return self.image.nbytes

    @property
    def centre(self) -> Centre:
        """A copy of the centre."""
        header, rotated = self._header, sections_of(self.image).centre.copy()
        return Centre(int(header["centre_id"][0]), rotated, float(header["centre_norm2"][0]))

    def use_centre(self, centre: Centre) -> None:
        """Use the centre of another index of as many dimensions; only without rows."""
        assert not self.rows, "codes of rows are relative to the centre they were made with"
        sections_of(self.image).centre[:] = centre.rotated
        self._header["centre_id"], self._header["centre_norm2"] = centre.id, centre.norm2

    def append(self, records: NDArray[np.uint8]) -> None:
        """Index the slots from `rows` to the last of ``records`` (slots, stride) uint8."""
        self._check(records)
        rows = self.rows
        if len(records) > self.room:
            raise InvalidInputError(f"{len(records)} records; the index has room for {self.room}")
        if len(records) > rows:
            self._kernel.index_append(self.image, records, len(records) - rows)

    def update(self, records: NDArray[np.uint8], slots: NDArray[Any]) -> None:
        """Copy the mutable header bytes of these slots; slots not indexed yet are skipped."""
        self._check(records)
        chosen = np.ascontiguousarray(slots, np.int64).ravel()
        if chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(records):
            raise InvalidInputError(f"a slot is outside 0..{len(records) - 1}")
        known = chosen[chosen < self.rows].astype(np.uint32)
        if known.size:
            self._kernel.index_update(self.image, records, known)

    def refresh(self, records: NDArray[np.uint8]) -> None:
        """Copy all mutable header bytes and make the blocks' extremes tight again."""
        self._check(records)
        if len(records) < self.rows:
            raise InvalidInputError(f"{len(records)} records, but {self.rows} are indexed")
        self._kernel.index_refresh(self.image, records)

    def bytes_of(self, rows: int) -> int:
        """Size of the saved image with so many rows."""
        return image_layout(self.dim, -(-rows // 64) * 64).nbytes

    def grow(self, room: int) -> ScanIndex:
        """A copy with room for at least ``room`` slots."""
        room = max(-(-room // 64) * 64, -(-self.rows // 64) * 64)
        return ScanIndex(self._kernel, self._copy(room))

    def stamp(
        self, *, uuid: bytes, segment_id: int, generation: int, change_seq: int, checksum: Checksum
    ) -> bytes:
        """The image to save: no spare room, with checksums and the partition that it reflects."""
        image = self._copy(-(-self.rows // 64) * 64)
        header = header_of(image)
        header["uuid"] = np.frombuffer(uuid, np.uint8)
        header["change_seq"] = change_seq
        header["segment_id"] = segment_id
        header["generation"] = generation
        header["body_crc"] = checksum(image[INDEX_HEADER_BYTES:])
        header["header_crc"] = checksum(image[: INDEX_HEADER_BYTES - 4])
        return image.tobytes()

    def _copy(self, room: int) -> NDArray[np.uint8]:
        rows = self.rows
        image = _aligned(image_layout(self.dim, room).nbytes)
        image[:INDEX_HEADER_BYTES] = self.image[:INDEX_HEADER_BYTES]
        header_of(image)["rows"], header_of(image)["room"] = rows, room
        old, new = sections_of(self.image), sections_of(image)
        words, blocks = -(-rows // 64), -(-rows // BLOCK_ROWS)
        new.centre[:] = old.centre
        new.whole[:] = old.whole
        new.blocks[:blocks] = old.blocks[:blocks]
        new.flags[:, :words] = old.flags[:, :words]
        new.tags[:, :words] = old.tags[:, :words]
        for name, column in new.columns.items():
            column[:rows] = old.columns[name][:rows]
        new.sketch[:rows] = old.sketch[:rows]
        new.fine[:rows] = old.fine[:rows]
        return image

    def _check(self, records: NDArray[np.uint8]) -> None:
        if records.dtype != np.uint8 or records.ndim != 2 or not records.flags.c_contiguous:
            raise InvalidInputError("records must be (slots, stride) uint8, contiguous")
        if records.shape[1] != stride_of(self.dim):
            raise InvalidInputError(
                f"records have a stride of {records.shape[1]} bytes; an index of {self.dim}"
                f" dimensions needs {stride_of(self.dim)}"
            )


def centre_of(records: NDArray[np.uint8], dim: int) -> NDArray[np.float32]:
    """Mean of the dequantised vectors of a sample of live records: (n, stride) u8 -> (dim,) f32.

    Zero when there are none. The sample is spread evenly, so equal records give an equal centre.
    """
    step = max(1, len(records) // _CENTRE_SAMPLE)
    sample = np.ascontiguousarray(records[::step])
    headers = sample[:, :HEADER_BYTES].view(RECORD_DTYPE)[:, 0]
    scale = headers["scale"]
    # a unit vector's scale is at most 1/127; what is beyond 1, or NaN, is damage
    live = (headers["flags"] & int(Flag.TOMBSTONE) == 0) & (scale > 0) & (scale <= 1)
    if not live.any():
        return np.zeros(dim, np.float32)
    codes = sample[live, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
    weights = scale[live].astype(np.float64) / np.count_nonzero(live)
    return np.asarray(weighted_sum(weights, codes.astype(np.float64)), np.float32)


def _aligned(nbytes: int) -> NDArray[np.uint8]:
    """Zeroed bytes at a multiple of 64."""
    memory = np.zeros(nbytes + 63, np.uint8)
    # not .ctypes, which imports: a store may be closed while the interpreter goes down
    first = -int(memory.__array_interface__["data"][0]) % 64
    return memory[first : first + nbytes]

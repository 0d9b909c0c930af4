"""The scan index of a partition: its bytes, and how they are filled and grown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract.scanner import Kernel
from spector.layout import HEADER_BYTES, RECORD_DTYPE, Flag, stride_of, vector_bytes

# Products of float arrays that cannot end the process.
#
# NumPy hands ``@``, ``dot`` and ``linalg.norm`` of floats to a BLAS library. OpenBLAS, which its
# wheels bring along, takes tens of megabytes for a buffer at its first product in a thread, after a
# fork starts threads, and calls ``exit(1)`` when it gets none. A library inside an agent may only
# raise MemoryError, so these products are computed without a buffer; the arrays here are small
# enough for that.

#: ``vecdot`` asks BLAS for one short product at a time, which needs no buffer. From 10,000 numbers
#: on OpenBLAS would share such a product out to threads, which do
_LONGEST: Final = 8192


def squared(vector: NDArray[Any]) -> float:
    """Sum of the squares of (dim,) floats, in their precision."""
    return float(_vecdot(vector, vector))


def norm(vector: NDArray[Any]) -> float:
    """Euclidean length of (dim,) floats."""
    return math.sqrt(squared(vector))


def lengths(rows: NDArray[Any]) -> NDArray[Any]:
    """(n, dim) floats -> (n,): the Euclidean length of each row."""
    out: NDArray[Any] = np.sqrt(_vecdot(rows, rows))
    return out


def dots(rows: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """(n, dim) and (dim,) floats -> (n,): ``rows @ vector``."""
    return _vecdot(rows, vector)


def cosine_table(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, dim) and (k, dim) unit rows -> (n, k): ``rows @ others.T``."""
    return _vecdot(rows[:, None, :], others[None, :, :])


def weighted_sum(weights: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """(n,) and (n, dim) floats -> (dim,): ``weights @ rows``."""
    out: NDArray[Any] = np.einsum("n,nd->d", weights, rows)
    return out


def _vecdot(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Dot products along the last axis; the others are broadcast."""
    out: NDArray[Any]
    if one.shape[-1] <= _LONGEST:
        out = np.vecdot(one, other)
    else:
        out = np.einsum("...d,...d->...", one, other)
    return out


# Where each byte of a scan index lies, and when a loaded image may be trusted.
#
# The image is one array of bytes per partition: a header, the centre, extremes per 512 slots,
# bit-slices, columns, sketches and fine codes. native/FORMAT.md has the same table.

#: CRC-32C of contiguous bytes
Checksum = Callable[[NDArray[np.uint8]], int]

INDEX_MAX_DIM: Final = 4096
INDEX_HEADER_BYTES: Final = 128
BLOCK_ROWS: Final = 512
#: coordinates whose signs fit into a sketch
SKETCH_BITS: Final = 224
#: values of a sketch's slope and importance that mean: no estimate, read the record
NO_SLOPE: Final = 0xFFF
NO_IMPORTANCE: Final = 0xFF
#: factor of a slope in a sketch, and the factor above `WIDE` rotated coordinates: slopes grow with
#: the square root of their number
SLOPE_SCALE: Final = 2.0**13
WIDE: Final = 2048
WIDE_SLOPE_SCALE: Final = 2.0**12
_MAGIC: Final = 0x58444953  # "SIDX"
_VERSION: Final = 3
_FACTOR_BYTES: Final = 12  # A, B and E at the end of a fine row


def packed_dtype(size: int, fields: Sequence[tuple[Any, str]], **offsets: int) -> np.dtype[Any]:
    """A struct of ``size`` bytes: fields by their format, one after the other.

    ``offsets``: of fields that do not begin where the one before ends.
    """
    names, formats, places, end = list[str](), list[Any](), list[int](), 0
    for kind, named in fields:
        for name in named.split():
            names.append(name)
            formats.append(kind)
            places.append(offsets.get(name, end))
            end = places[-1] + np.dtype(kind).itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": places, "itemsize": size})


INDEX_DTYPE: Final = packed_dtype(
    INDEX_HEADER_BYTES,
    (
        ("<u4", "magic version dim rotated rows room fine_bytes body_crc"),
        ("<u8", "centre_id"),
        (("u1", (16,)), "uuid"),
        ("<i8", "change_seq"),
        ("<u4", "segment_id generation"),
        ("<f4", "centre_norm2"),
        ("<u4", "records_crc header_crc"),
    ),
    header_crc=124,
)

#: extremes over 512 slots; all zero while the block has no rows
BLOCK_DTYPE: Final = packed_dtype(
    128,
    (
        ("<i8", "event_min event_max used_max"),
        ("<u8", "tags_or"),
        ("<f4", "importance_max importance_min stability_max utility_max"),
        ("<f4", "norm_max sketch_error_max sketch_slope_max"),
        ("<u4", "uses_max categories modalities tiers"),
        ("<u2", "flags_or"),
        ("i1", "valence_min valence_max"),
        ("u1", "confidence_max confidence_min arousal_max"),
    ),
)

#: 12 bits of A and 12 of the slope B, then the importance in 254ths, rounded up
SKETCH_DTYPE: Final = np.dtype(
    [("signs", "u1", (28,)), ("factors", "u1", (3,)), ("importance", "u1")]
)

#: one value a slot, in the image's order
_COLUMNS: Final = (
    ("valence", "i1"),
    ("confidence", "u1"),
    ("uses", "<u2"),
    ("importance", "<f4"),
    ("last_access_s", "<u4"),
    ("stability_days", "<f4"),
    ("event_ms", "<i8"),
)


#: in the image's order
SECTIONS: Final = (
    *("centre", "whole", "blocks", "flags", "tags"),
    *(name for name, _ in _COLUMNS),
    *("sketch", "fine"),
)


class ImageLayout(NamedTuple):
    """Sizes of an image, and the byte offset of each section, a multiple of 64."""

    rotated: int
    words: int
    fine_bytes: int
    at: Mapping[str, int]
    nbytes: int


@lru_cache(maxsize=1024)
def image_layout(dim: int, room: int) -> ImageLayout:
    """Where everything lies in the image of ``room`` slots (a multiple of 64) of ``dim`` floats."""
    if not 1 <= dim <= INDEX_MAX_DIM or room < 0 or room % 64:
        raise InvalidInputError(
            f"a scan index needs 1..{INDEX_MAX_DIM} dimensions and room for a multiple of 64 rows,"
            f" got {dim} and {room}"
        )
    rotated, words, blocks = vector_bytes(dim), room // 64, -(-room // BLOCK_ROWS)
    fine_bytes = 0
    if rotated > SKETCH_BITS:
        fine_bytes = -(-((rotated - SKETCH_BITS) // 8 + _FACTOR_BYTES) // 32) * 32
    sizes = [
        4 * rotated,
        BLOCK_DTYPE.itemsize,
        BLOCK_DTYPE.itemsize * blocks,
        16 * 8 * words,
        64 * 8 * words,
        *(np.dtype(kind).itemsize * room for _, kind in _COLUMNS),
        SKETCH_DTYPE.itemsize * room,
        fine_bytes * room,
    ]
    *offsets, end = accumulate(sizes, initial=INDEX_HEADER_BYTES)
    at = dict(zip(SECTIONS, offsets, strict=True))
    return ImageLayout(rotated, words, fine_bytes, at, end)


@dataclass(frozen=True, slots=True, eq=False)
class Sections:
    """Views of an image's sections, to read or write.

    Shapes, with room slots, W = room / 64 words, D rotated coordinates: header (), centre (D,),
    whole (1,), blocks (ceil(room / 512),), flags (16, W), tags (64, W), columns and sketch (room,),
    fine (room, fine_bytes).
    """

    header: NDArray[Any]
    centre: NDArray[np.float32]
    whole: NDArray[Any]
    blocks: NDArray[Any]
    flags: NDArray[np.uint64]
    tags: NDArray[np.uint64]
    columns: dict[str, NDArray[Any]]
    sketch: NDArray[Any]
    fine: NDArray[np.uint8]


def sections_of(image: NDArray[np.uint8]) -> Sections:
    """The sections that the image's own header describes."""
    header = header_of(image)
    layout = image_layout(int(header["dim"]), int(header["room"]))
    ends = pairwise((*layout.at.values(), layout.nbytes))  # each ends where the next begins
    spans = [image[first:last] for first, last in ends]
    columns = {
        name: span.view(kind) for (name, kind), span in zip(_COLUMNS, spans[5:12], strict=True)
    }
    return Sections(
        header=header,
        centre=spans[0].view("<f4"),
        whole=spans[1].view(BLOCK_DTYPE),
        blocks=spans[2].view(BLOCK_DTYPE),
        flags=spans[3].view("<u8").reshape(16, layout.words),
        tags=spans[4].view("<u8").reshape(64, layout.words),
        columns=columns,
        sketch=spans[12].view(SKETCH_DTYPE),
        fine=spans[13].reshape(int(header["room"]), layout.fine_bytes),
    )


def problem_of(
    image: NDArray[np.uint8],
    *,
    dim: int,
    uuid: bytes,
    segment_id: int,
    generation: int,
    change_seq: int,
    rows: int,
    verify: bool,
    checksum: Checksum,
) -> str | None:
    """The reason why a loaded image cannot be used, or None.

    Args:
        image: what was loaded, (n,) uint8; any bytes.
        dim, uuid, segment_id, generation, change_seq: what the image must reflect.
        rows: slots in use in the partition; an image of fewer is fine, one of more is not.
        verify: check the body's checksum too, which reads all of it.
        checksum: CRC-32C of bytes.
    """
    if image.size < INDEX_HEADER_BYTES:
        return f"only {image.size} bytes"
    header = header_of(np.array(image[:INDEX_HEADER_BYTES]))
    if int(header["magic"]) != _MAGIC:
        return "not a scan index"
    if int(header["version"]) != _VERSION:
        return f"version {header['version']}"
    if int(header["header_crc"]) != checksum(image[: INDEX_HEADER_BYTES - 4]):
        return "its header is damaged"
    if int(header["dim"]) != dim or header["uuid"].tobytes() != bytes(uuid):
        return "made for another store"
    if (int(header["segment_id"]), int(header["generation"])) != (segment_id, generation):
        return "made for another partition"
    if int(header["change_seq"]) != change_seq:
        return f"reflects change {header['change_seq']} of {change_seq}"
    room = int(header["room"])
    if room % 64 or not int(header["rows"]) <= min(rows, room):
        return f"{header['rows']} rows of {rows}, room for {room}"
    layout = image_layout(dim, room)
    if (int(header["rotated"]), int(header["fine_bytes"])) != (layout.rotated, layout.fine_bytes):
        return "another arrangement"
    if image.size != layout.nbytes:
        return f"{image.size} bytes instead of {layout.nbytes}"
    if verify and int(header["body_crc"]) != checksum(image[INDEX_HEADER_BYTES:]):
        return "its bytes are damaged"
    return None


def write_header(image: NDArray[np.uint8], dim: int, room: int) -> None:
    """The header of an index without rows or centre, over an image of zeros."""
    layout, header = image_layout(dim, room), header_of(image)
    header["magic"], header["version"] = _MAGIC, _VERSION
    header["dim"], header["rotated"] = dim, layout.rotated
    header["room"], header["fine_bytes"] = room, layout.fine_bytes


def header_of(image: NDArray[np.uint8]) -> NDArray[Any]:
    """The header as a writable 0-d record."""
    return image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE).reshape(())


# The scan index of a partition: its records' headers and vectors, arranged for scanning.
#
# One image of bytes, derived from the records and disposable: header bits as bit-slices, the columns
# that gates and bounds read, extremes per 512 slots, and a one-bit sketch
# of every vector with the factors that turn it into an estimate of the cosine (RaBitQ; Gao and
# Long, SIGMOD 2024). The bytes are those of `spector.kernel.contract.index`;
# `spector.kernel.reference.index` defines what the numbers mean.
#
# An image can make a scan miss a record but never change a score: what reaches the end of a scan goes
# through gate, product and score on the record itself.

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

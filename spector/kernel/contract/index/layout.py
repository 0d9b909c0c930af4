"""Where each byte of a scan index lies, and when a loaded image may be trusted.

The image is one array of bytes per partition: a header, the centre, extremes per 512 slots,
bit-slices, columns, sketches and fine codes. native/FORMAT.md has the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.layout import vector_bytes

__all__ = [
    "BLOCK_DTYPE",
    "BLOCK_ROWS",
    "INDEX_DTYPE",
    "INDEX_HEADER_BYTES",
    "INDEX_MAX_DIM",
    "NO_IMPORTANCE",
    "NO_SLOPE",
    "SKETCH_BITS",
    "SKETCH_DTYPE",
    "SLOPE_SCALE",
    "WIDE",
    "WIDE_SLOPE_SCALE",
    "Checksum",
    "ImageLayout",
    "Sections",
    "header_of",
    "image_layout",
    "problem_of",
    "sections_of",
    "write_header",
]

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

INDEX_DTYPE: Final = np.dtype(
    {
        "names": [
            "magic",
            "version",
            "dim",
            "rotated",
            "rows",
            "room",
            "fine_bytes",
            "body_crc",
            "centre_id",
            "uuid",
            "change_seq",
            "segment_id",
            "generation",
            "centre_norm2",
            "records_crc",
            "header_crc",
        ],
        "formats": [
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u8",
            ("u1", (16,)),
            "<i8",
            "<u4",
            "<u4",
            "<f4",
            "<u4",
            "<u4",
        ],
        "offsets": [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 56, 64, 68, 72, 76, 124],
        "itemsize": INDEX_HEADER_BYTES,
    }
)

#: extremes over 512 slots; all zero while the block has no rows
BLOCK_DTYPE: Final = np.dtype(
    {
        "names": [
            "event_min",
            "event_max",
            "used_max",
            "tags_or",
            "importance_max",
            "importance_min",
            "stability_max",
            "utility_max",
            "norm_max",
            "sketch_error_max",
            "sketch_slope_max",
            "uses_max",
            "categories",
            "modalities",
            "tiers",
            "flags_or",
            "valence_min",
            "valence_max",
            "confidence_max",
            "confidence_min",
            "arousal_max",
        ],
        "formats": [
            "<i8",
            "<i8",
            "<i8",
            "<u8",
            "<f4",
            "<f4",
            "<f4",
            "<f4",
            "<f4",
            "<f4",
            "<f4",
            "<u4",
            "<u4",
            "<u4",
            "<u4",
            "<u2",
            "i1",
            "i1",
            "u1",
            "u1",
            "u1",
        ],
        "offsets": [
            0,
            8,
            16,
            24,
            32,
            36,
            40,
            44,
            48,
            52,
            56,
            60,
            64,
            68,
            72,
            76,
            78,
            79,
            80,
            81,
            82,
        ],
        "itemsize": 128,
    }
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


class ImageLayout(NamedTuple):
    """Sizes and byte offsets of an image, all offsets multiples of 64."""

    rotated: int
    words: int
    blocks: int
    fine_bytes: int
    centre_at: int
    whole_at: int
    blocks_at: int
    flags_at: int
    tags_at: int
    valence_at: int
    confidence_at: int
    uses_at: int
    importance_at: int
    last_access_s_at: int
    stability_days_at: int
    event_ms_at: int
    sketch_at: int
    fine_at: int
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
    offsets = [INDEX_HEADER_BYTES]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    return ImageLayout(rotated, words, blocks, fine_bytes, *offsets)


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
    ends = layout[4:]  # each section ends where the next begins
    spans = [image[first:last] for first, last in pairwise(ends)]
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

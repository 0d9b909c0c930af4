"""The bytes on disk: the definition of the partition header and the record header.

``native/spector.h`` declares the same structs for C and ``native/FORMAT.md`` prints the same
tables; ``tests/test_format.py`` packs and unpacks with all three. Everything is little-endian.

The kernel, which scans records, and the store, which writes them, both import this module.
"""

from __future__ import annotations

import enum
import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: steps from one format to the next: ``spector.store.rewriting``
FORMAT_VERSION: Final = 1
RECORD_VERSION: Final = 1
PARTITION_HEADER_BYTES: Final = 64
HEADER_BYTES: Final = 64
#: bytes 0..35 of a record, and its padded vector, are covered by the checksum at 36
CRC_SPAN: Final = 36
MUTABLE_OFFSET: Final = 40
MUTABLE_BYTES: Final = 24
MAX_DIM: Final = 65_536
#: minimum confidence at which a text without a trusted role counts as its speaker's own words, and
#: the same as the byte of a record
CERTAIN: Final = 0.5
CERTAIN_BYTE: Final = int(CERTAIN * 255)
#: a vector is padded with zeros to a multiple of this, so records keep cache-line alignment
VECTOR_ALIGN: Final = 64


class TierCode(enum.IntEnum):
    """Byte 1 of a record. Custom tiers use 16..255."""

    WORKING = 0
    EPISODIC = 1
    SEMANTIC = 2
    PROCEDURAL = 3


class PartitionState(enum.IntEnum):
    """Life cycle of a partition; ``LEGAL_TRANSITIONS`` lists all transitions."""

    ACTIVE = 0
    SEALED = 1
    REFLECTABLE = 2
    TOMBSTONED = 3
    COMPACTED = 4


#: A partition takes these steps one at a time. COMPACTED is the end of an old generation; the file
#: that replaces it is created ACTIVE or SEALED.
LEGAL_TRANSITIONS: Final[frozenset[tuple[PartitionState, PartitionState]]] = frozenset(
    {
        (PartitionState.ACTIVE, PartitionState.SEALED),
        (PartitionState.SEALED, PartitionState.REFLECTABLE),
        (PartitionState.REFLECTABLE, PartitionState.TOMBSTONED),
        (PartitionState.TOMBSTONED, PartitionState.COMPACTED),
    }
)


class Flag(enum.IntFlag):
    """Bits of the record's flags, offset 40."""

    NONE = 0
    TOMBSTONE = 1 << 0
    PINNED = 1 << 1
    IMMUTABLE = 1 << 2
    FLASHBULB = 1 << 3
    CONSOLIDATED = 1 << 4
    UNRESOLVED = 1 << 5
    SUPERSEDED = 1 << 6
    DORMANT = 1 << 7
    QUARANTINED = 1 << 8
    AUXILIARY = 1 << 9
    NO_TEXT = 1 << 10


class Category(enum.IntEnum):
    """Byte 2 of a record: kind of statement."""

    OTHER = 0
    FACT = 1
    PREFERENCE = 2
    DECISION = 3
    CORRECTION = 4
    ENTITY = 5
    PLAN = 6
    PROCEDURE = 7
    PATTERN = 8
    EVENT = 9
    SUMMARY = 10


class Modality(enum.IntEnum):
    """Byte 3 of a record: what the text represents."""

    TEXT = 0
    CODE = 1
    IMAGE = 2
    AUDIO = 3
    VIDEO = 4
    TOOL = 5
    DOCUMENT = 6


#: field -> its format; fields follow one another without a gap, here and below
PARTITION_DTYPE: Final = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("count", "<u4"),
        ("tombstone_count", "<u4"),
        ("capacity", "<u4"),
        ("state", "<u4"),
        ("stride", "<u4"),
        ("dim", "<u4"),
        ("day", "<i4"),
        ("sequence", "<u4"),
        ("store_uuid", "u1", (16,)),
        ("generation", "<u4"),
        ("crc", "<u4"),
    ]
)

#: the last 24 bytes of a record header, rewritten in one write
_MUTABLE: Final = [
    ("flags", "<u2"),
    ("valence", "i1"),
    ("arousal", "u1"),
    ("importance", "<f4"),
    ("stability_days", "<f4"),
    ("utility", "<f4"),
    ("access_count", "<u4"),
    ("last_access_s", "<u4"),
]
MUTABLE_DTYPE: Final = np.dtype(_MUTABLE)
RECORD_DTYPE: Final = np.dtype(
    [
        ("version", "u1"),
        ("tier", "u1"),
        ("category", "u1"),
        ("modality", "u1"),
        ("scale", "<f4"),
        ("id", "<u8"),
        ("event_ms", "<i8"),
        ("tags", "<u8"),
        ("centroid", "<u2"),
        ("confidence", "u1"),
        ("reserved", "u1"),
        ("crc", "<u4"),
        *_MUTABLE,
    ]
)
assert (PARTITION_DTYPE.itemsize, RECORD_DTYPE.itemsize, MUTABLE_DTYPE.itemsize) == (
    PARTITION_HEADER_BYTES,
    HEADER_BYTES,
    MUTABLE_BYTES,
)


#: (tier, id, crc, mutable half) of a record header, which recall compares for every hit; faster
#: than a NumPy struct
RECORD_PROOF: Final = struct.Struct("<xB6xQ20xI24s")


def headers_of(images: NDArray[np.uint8]) -> NDArray[np.void]:
    """(n,) view of the headers of record images (n, stride), for reading and writing."""
    if not len(images):
        return np.zeros(0, RECORD_DTYPE)
    return np.ndarray((len(images),), RECORD_DTYPE, images, strides=(images.shape[1],))


def vector_bytes(dim: int) -> int:
    """Bytes of an int8 vector of ``dim`` components, padded to a multiple of 64."""
    return -(-dim // VECTOR_ALIGN) * VECTOR_ALIGN


def stride_of(dim: int) -> int:
    """Bytes of one record: header plus padded vector."""
    return HEADER_BYTES + vector_bytes(dim)


def tier_magic(name: str) -> int:
    """Magic number of a tier's partitions: the first four letters, "EPIC" for episodic.

    The bytes of the u32 read as the letters from the most significant byte down.
    """
    letters = "EPIC" if name == "episodic" else name.upper().ljust(4, "_")[:4]
    return int.from_bytes(letters.encode("ascii"), "big")

"""Files of scan indexes: their names, their seals, and when one may be used.

The kernel's contract defines the layout of the bytes; this module ties them to a partition.
"""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from spector.errors import StoreError, StoreNotFoundError
from spector.kernel import crc32c
from spector.kernel.contract import (
    INDEX_DTYPE,
    INDEX_HEADER_BYTES,
    INDEX_MAX_DIM,
    ScanIndex,
    image_layout,
    problem_of,
)
from spector.messages import counted
from spector.store.catalog import SegmentRow
from spector.store.files import Bytes, Files, first_bytes, is_of_disk, read_file
from spector.store.partitions.derived_files import TEMPORARY

__all__ = [
    "IDX",
    "LoadedImage",
    "idx_of",
    "is_idx",
    "own_header",
    "problem_of_file",
    "read_image",
    "remove_idx",
    "seal_image",
]

#: suffix of an index; its partition's is ``.mem``
IDX: Final = ".idx"

_MAGIC: Final = b"SIDX"
assert INDEX_DTYPE.fields is not None
_ROWS_AT, _CHANGE_SEQ_AT, _RECORDS_CRC_AT, _HEADER_CRC_AT = (
    INDEX_DTYPE.fields[name][1] for name in ("rows", "change_seq", "records_crc", "header_crc")
)
_RECORD_CRC: Final = slice(36, 40)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedImage:
    """A whole image in private memory, and the change counter of its row."""

    image: Bytes
    change_seq: int


def idx_of(path: str) -> str:
    """Name of the index of the partition ``path``."""
    return path.removesuffix(".mem") + IDX


def seal_image(index: ScanIndex, row: SegmentRow, *, uuid: bytes, records: Bytes) -> bytearray:
    """The bytes of an index file; the index must match ``row`` and (n, stride) records."""
    image = bytearray(
        index.stamp(
            uuid=uuid,
            segment_id=row.id,
            generation=row.generation,
            change_seq=row.change_seq,
            checksum=crc32c,
        )
    )
    struct.pack_into("<I", image, _RECORDS_CRC_AT, _records_crc(records[: index.rows]))
    struct.pack_into("<I", image, _HEADER_CRC_AT, crc32c(image[:_HEADER_CRC_AT]))
    return image


def read_image(
    files: Files, row: SegmentRow, *, dim: int, uuid: bytes, records: Bytes
) -> LoadedImage | None:
    """The image in the index file of a partition; None when it cannot be used.

    The page of its header is copied. A private map shows another program's writes to the file until
    the page is written to, and a scan takes the size of every section from the header.

    If its ``change_seq`` is not the row's, the mutable halves have to be read again.
    """
    try:
        image = files.map_private(idx_of(row.path), most=_most_bytes(row, dim))
    except StoreError:
        return None
    if image is None or len(image) < INDEX_HEADER_BYTES:
        return None
    own_header(image)
    change_seq = _number(image, _CHANGE_SEQ_AT, "<i8")
    problem = problem_of(
        image,
        dim=dim,
        uuid=uuid,
        segment_id=row.id,
        generation=row.generation,
        change_seq=change_seq,
        rows=min(row.slots, len(records)),
        verify=True,
        checksum=crc32c,
    )
    if problem is not None:
        return None
    if change_seq != row.change_seq:
        rows = _number(image, _ROWS_AT, "<u4")
        if _records_crc(records[:rows]) != _number(image, _RECORDS_CRC_AT, "<u4"):
            return None
    return LoadedImage(image, change_seq)


def _most_bytes(row: SegmentRow, dim: int) -> int:
    """The largest possible size of a partition's index file; a larger one is not read."""
    room = -(-max(row.slots, row.capacity) // 64) * 64
    return image_layout(dim, room).nbytes if dim <= INDEX_MAX_DIM else 0


def own_header(image: Bytes) -> Bytes:
    """Copy the header page of a private map by writing to it; returns the header."""
    image[0] = image[0]
    return image[:INDEX_HEADER_BYTES]


def problem_of_file(files: Files, row: SegmentRow, *, dim: int, uuid: bytes) -> str | None:
    """Return why the index file is unusable; None when it is usable or absent.

    It is read by calls, because a bad sector in a map would end the process.
    """
    if not files.durable:
        return None
    try:
        most = _most_bytes(row, dim)
        image = np.frombuffer(read_file(files, idx_of(row.path), most=most), np.uint8)
    except StoreNotFoundError:
        return None
    except StoreError as error:
        return error.message
    if len(image) < INDEX_HEADER_BYTES:
        return f"only {counted(len(image), 'byte')}" if len(image) else None
    change_seq = _number(image, _CHANGE_SEQ_AT, "<i8")
    return problem_of(
        image,
        dim=dim,
        uuid=uuid,
        segment_id=row.id,
        generation=row.generation,
        change_seq=change_seq,
        rows=row.slots,
        verify=True,
        checksum=crc32c,
    )


def remove_idx(files: Files, path: str) -> None:
    """Remove the index of the partition ``path``, if any: it has codes of forgotten vectors."""
    with contextlib.suppress(StoreNotFoundError):
        files.remove(idx_of(path))


def is_idx(files: Files, name: str) -> bool:
    """True for an index file, finished or not."""
    if not name.endswith((IDX, IDX + TEMPORARY)) or "/" not in name:
        return False
    try:
        head = first_bytes(files, name, 4)
    except StoreNotFoundError:  # it has just been replaced or removed
        return True
    except StoreError as error:  # where the disk cannot read it, the name decides
        return is_of_disk(error)
    return not head or head in (_MAGIC, bytes(4))


def _number(image: Bytes, offset: int, kind: str) -> int:
    return int(image[offset : offset + int(kind[2])].view(kind)[0])


def _records_crc(records: Bytes) -> int:
    """CRC-32C of the checksums of records (n, stride): equal for equal vectors in equal order."""
    return crc32c(np.ascontiguousarray(records[:, _RECORD_CRC]))

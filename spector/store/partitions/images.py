"""Many records at once: their bytes, ids and checksums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.kernel import crc32c_rows
from spector.layout import HEADER_BYTES
from spector.store.files import Bytes

__all__ = ["image_rows", "record_ids", "wrong_checksums"]


def image_rows(headers: NDArray[np.void], codes: NDArray[np.int8], stride: int) -> Bytes:
    """Whole records from their headers and int8 codes; (n, stride) u8, checksum not yet set."""
    images = np.zeros((len(headers), stride), dtype=np.uint8)
    images[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(len(headers), HEADER_BYTES)
    images[:, HEADER_BYTES : HEADER_BYTES + codes.shape[1]] = codes.view(np.uint8)
    return images


def record_ids(images: Bytes) -> NDArray[np.uint64]:
    found: NDArray[np.uint64] = images[:, 8:16].copy().view("<u8")[:, 0]
    return found


def wrong_checksums(images: Bytes, uuid: bytes) -> NDArray[np.intp]:
    """Indices of records (n, stride) whose checksum does not match their bytes."""
    expected = np.empty(len(images), dtype=np.uint32)
    if len(images):
        crc32c_rows(images, expected, uuid)
    stored = images[:, 36:40].copy().view("<u4")[:, 0] if len(images) else expected
    return np.flatnonzero(stored != expected)

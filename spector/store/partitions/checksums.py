"""Checksums and ids of many records at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spector.kernel import crc32c_rows
from spector.store.files import Bytes

__all__ = ["record_ids", "wrong_checksums"]


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

"""Partition headers with changes that are valid in the format."""

from __future__ import annotations

import numpy as np

from spector.kernel.checksum import crc32c
from spector.layout import PARTITION_DTYPE, PARTITION_HEADER_BYTES

__all__ = ["with_header"]


def with_header(raw: bytes, **fields: int) -> bytes:
    """A partition with other numbers in its header, whose checksum holds."""
    header = np.frombuffer(raw[:PARTITION_HEADER_BYTES], PARTITION_DTYPE).copy()
    for name, value in fields.items():
        header[name] = value
    header["crc"] = crc32c(header.tobytes()[:60])
    return header.tobytes() + raw[PARTITION_HEADER_BYTES:]

"""CRC-32C (Castagnoli), computed by the chosen kernel.

The checksum of a record covers the store's uuid as well: ``crc32c(uuid || bytes 0..35 || vector)``,
with the vector's padding. A record copied from another store therefore fails its check.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract import Kernel
from spector.kernel.dispatch import get_kernel
from spector.layout import HEADER_BYTES

Bytes = bytes | bytearray | memoryview | NDArray[np.uint8]


def crc32c(data: Bytes, seed: int | bytes = 0) -> int:
    """CRC-32C of ``data`` as RFC 3720 defines it; ``crc32c(b"123456789") == 0xE3069283``.

    Args:
        data: any contiguous bytes.
        seed: the checksum of the preceding bytes, so that pieces can be chained, or those bytes.
    """
    return _backend().crc32c(_flat(data), _register(seed))


def crc32c_rows(
    rows: NDArray[np.uint8],
    out: NDArray[np.uint32] | None = None,
    seed: int | bytes = b"",
) -> NDArray[np.uint32]:
    """Checksums of records: of ``seed``, then bytes 0..35, then bytes 64..stride of each row.

    Args:
        rows: (n, stride) uint8, C-contiguous, stride >= 64.
        out: (n,) uint32, C-contiguous, filled in place; None makes one.
        seed: the store's 16-byte uuid (or its checksum).

    Returns:
        ``out``.
    """
    if rows.dtype != np.uint8 or rows.ndim != 2 or not rows.flags.c_contiguous:
        raise InvalidInputError("rows must be (n, stride) uint8, contiguous")
    if rows.shape[1] < HEADER_BYTES:
        raise InvalidInputError(f"a record has at least {HEADER_BYTES} bytes")
    if out is None:
        out = np.empty(len(rows), np.uint32)
    elif out.dtype != np.uint32 or out.shape != (len(rows),) or not out.flags.c_contiguous:
        raise InvalidInputError(f"out must be ({len(rows)},) uint32, contiguous")
    _backend().crc32c_rows(rows, out, _register(seed))
    return out


@cache
def _backend() -> Kernel:
    """The kernel of the first call, for good: every backend computes the same checksums."""
    return get_kernel()


def _flat(data: Bytes) -> bytes | memoryview:
    if isinstance(data, bytes):
        return data
    view = memoryview(data)  # type: ignore[arg-type]
    return view.cast("B") if view.nbytes else b""  # of nothing there is no cast


def _register(seed: int | bytes) -> int:
    if isinstance(seed, int):
        return seed & 0xFFFF_FFFF
    return _backend().crc32c(seed) if seed else 0

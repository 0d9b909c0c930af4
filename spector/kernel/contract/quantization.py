"""Unit vectors and their int8 codes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.errors import InvalidVectorError

__all__ = ["MAX_CODE", "MIN_NORM", "dequantize", "normalize", "quantize"]

#: codes lie in -127..127; -128 is never written, so a code can always be negated
MAX_CODE: Final = 127
#: rows handled at once: keeps the temporaries inside the cache
_CHUNK: Final = 512
#: a norm below this has lost its direction to rounding
MIN_NORM: Final = 1e-20


def normalize(vectors: ArrayLike) -> NDArray[np.float32]:
    """Scale each row to length 1: (n, dim) float -> (n, dim) float32, C-contiguous.

    Norms are taken in float64, so values up to the float32 limit do not overflow, and a row's
    result does not depend on the other rows.

    Raises:
        InvalidVectorError: wrong shape, or a row with NaN, infinity or (nearly) no length; the
            message names the row.
    """
    rows = _matrix(vectors)
    out = np.empty(rows.shape, np.float32)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", chunk, chunk))
        bad = np.flatnonzero(~(np.isfinite(norms) & (norms >= MIN_NORM)))
        if bad.size:
            _refuse(start + int(bad[0]), chunk[bad[0]])
        np.divide(chunk, norms[:, None], out=out[start : start + _CHUNK], casting="same_kind")
    return out


def quantize(vectors: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """int8 codes and one scale per row, so that ``value ~ code * scale``.

    ``scale = max|x| / 127`` uses the whole range; rounding is half to even. The error of a
    component is at most scale / 2 (plus float32 rounding). A row of zeros gets scale 0.

    Args:
        vectors: (n, dim) finite floats, usually unit rows.

    Returns:
        codes (n, dim) int8 in -127..127 and scales (n,) float32.
    """
    rows = np.asarray(_matrix(vectors), np.float32)
    codes = np.empty(rows.shape, np.int8)
    scales = np.empty(len(rows), np.float32)
    limit = np.float32(MAX_CODE)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        scale = np.maximum(chunk.max(axis=1), -chunk.min(axis=1)) / limit
        scales[start : start + _CHUNK] = scale
        steps = chunk / np.where(scale > 0, scale, np.float32(1))[:, None]
        np.rint(steps, out=steps)
        np.clip(steps, -limit, limit, out=steps)
        codes[start : start + _CHUNK] = steps
    return codes, scales


def dequantize(codes: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Codes (n, dim) int8 and scales (n,) float32 back to (n, dim) float32."""
    return codes.astype(np.float32) * np.asarray(scales, np.float32)[:, None]


def _matrix(vectors: ArrayLike) -> NDArray[Any]:
    try:
        rows = np.asarray(vectors)
        if rows.dtype.kind not in "fiu":
            rows = rows.astype(np.float32)
    except (TypeError, ValueError):
        raise InvalidVectorError("vectors must be a rectangular array of numbers") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InvalidVectorError(
            f"expected vectors of shape (n, dim), got {rows.shape}",
            hint="wrap a single vector as vector[None, :]",
        )
    return rows


def _refuse(row: int, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InvalidVectorError(
            f"vector {row} holds {values[at]} at component {at}",
            hint="a failed embedding must raise, not return NaN",
        )
    raise InvalidVectorError(
        f"vector {row} has no direction: all components are (nearly) zero or its norm overflows",
        hint="pass vector=None for a memory without a vector",
    )

"""Products of float arrays that cannot end the process.

NumPy hands ``@``, ``dot`` and ``linalg.norm`` of floats to a BLAS library. OpenBLAS, which its
wheels bring along, takes tens of megabytes for a buffer at its first product in a thread, after a
fork starts threads, and calls ``exit(1)`` when it gets none. A library inside an agent may only
raise MemoryError, so these products are computed without a buffer; the arrays here are small
enough for that.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosine_table", "dots", "lengths", "norm", "squared", "weighted_sum"]

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

"""An order of records in which similar ones are neighbours: spherical k-means and a chain.

Of a block of records a scan measures few, those most similar to its cue. The records of a sealed
partition are written in this order within their blocks, so that those few lie together. The order
never changes a result. It does not let whole blocks be skipped: sentence embeddings have no groups
that tight (bench/log).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import InvalidInputError
from spector.kernel.contract import cosine_table

#: records per centroid. A block of the scan index, 512, then holds about four clusters; twice or
#: four times as many records per centroid leave blocks as tight and smaller groups looser
_PER_CENTROID: Final = 128
#: the chain compares every centroid with every other
_MAX_CENTROIDS: Final = 1024
_STEPS: Final = 16
_BATCH: Final = 1024
#: rows handled at once: 384 dimensions in float32 are 1.5 MiB
_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """``order`` (n,) intp: rows, similar ones next to one another. ``ids`` (n,) u16: by row, the
    number of its cluster, from 1 on in the order of the chain; 0 is left to mean "none"."""

    order: NDArray[np.intp]
    ids: NDArray[np.uint16]


def cluster(
    codes: NDArray[np.int8], *, per_centroid: int = _PER_CENTROID, seed: int = 0
) -> Clustering:
    """Group rows by direction and line the groups up.

    Mini-batch k-means (Sculley, WWW 2010) on the sphere: centroids are means of unit rows, scaled
    back to length 1, and a row belongs to the centroid with the largest cosine. The centroids then
    form a greedy chain of nearest neighbours, and rows are sorted along the chain and, within a
    cluster, from the most typical to the least. Ties keep the order of the rows, so the result
    is a function of the input and the seed (on one machine: processors round differently).

    Args:
        codes: (n, dim) int8, any strides. The length of a row does not matter; rows of zeros have
            no direction and go where any row may go.
        per_centroid: records that share a centroid, on average.
        seed: of the random start and of the batches.

    Returns:
        a permutation of the rows and a cluster number for each. Memory beyond them is bounded by
        one batch, whatever n.
    """
    if codes.ndim != 2 or codes.dtype != np.int8:
        raise InvalidInputError("codes must be (n, dim) int8")
    count = len(codes)
    if not count:
        return Clustering(np.zeros(0, np.intp), np.zeros(0, np.uint16))
    k = max(1, min(_MAX_CENTROIDS, round(count / per_centroid)))
    centroids = _chained(_centroids(codes, k, seed))
    nearest = np.empty(count, np.uint16)
    similarity = np.empty(count, np.float32)
    for start in range(0, count, _CHUNK):
        part = slice(start, start + _CHUNK)
        nearest[part], similarity[part] = _assign(_unit(codes[part]), centroids)
    return Clustering(np.lexsort((-similarity, nearest)), nearest + np.uint16(1))


def _centroids(codes: NDArray[np.int8], k: int, seed: int) -> NDArray[np.float32]:
    """(k, dim) float32 unit centroids, after a fixed number of batches."""
    rng = np.random.default_rng(seed)
    batch = min(len(codes), max(_BATCH, 8 * k))
    turns = _batches(len(codes), batch, rng)
    centroids = _unit(codes[np.sort(rng.choice(len(codes), k, replace=False))])
    weight = np.zeros(k, np.float32)
    for _ in range(_STEPS):
        rows = _unit(codes[next(turns)])
        nearest, _ = _assign(rows, centroids)
        sums, counts = _sums(rows, nearest, k)
        weight += counts
        met = counts > 0
        # the step of a centroid shrinks with the rows it has seen, so that it becomes their mean
        centroids[met] *= (weight[met] - counts[met])[:, None]
        centroids[met] += sums[met]
        _scale_to_one(centroids)
    return centroids


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Endless batches of row numbers; a row returns only after all others."""
    while True:
        rows = rng.permutation(count)
        for start in range(0, count - size + 1, size):
            yield np.sort(rows[start : start + size])


def _assign(
    rows: NDArray[np.float32], centroids: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Of each unit row: its nearest centroid, and the cosine of the two."""
    cosines = cosine_table(rows, centroids)
    nearest = cosines.argmax(axis=1)
    return nearest, cosines[np.arange(len(rows)), nearest]


def _sums(
    rows: NDArray[np.float32], nearest: NDArray[np.intp], k: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Sum and number of the rows of each centroid."""
    order = np.argsort(nearest, kind="stable")
    counts = np.bincount(nearest, minlength=k)
    met = np.flatnonzero(counts)
    sums = np.zeros((k, rows.shape[1]), np.float32)
    sums[met] = np.add.reduceat(rows[order], (np.cumsum(counts) - counts)[met], axis=0)
    return sums, counts.astype(np.float32)


def _chained(centroids: NDArray[np.float32]) -> NDArray[np.float32]:
    """Centroids in a greedy chain: each is followed by the nearest that is left."""
    cosines = cosine_table(centroids, centroids)
    at = int(cosines.sum(axis=1).argmin())  # begin at the rim, not in the middle
    chain = [at]
    for _ in range(len(centroids) - 1):
        cosines[:, at] = -np.inf
        at = int(cosines[at].argmax())
        chain.append(at)
    return np.ascontiguousarray(centroids[chain])


def _unit(codes: NDArray[np.int8]) -> NDArray[np.float32]:
    rows = codes.astype(np.float32)
    _scale_to_one(rows)
    return rows


def _scale_to_one(rows: NDArray[np.float32]) -> None:
    """In place; a row without a length stays as it is."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows /= np.where(norms > 0, norms, np.float32(1))[:, None]

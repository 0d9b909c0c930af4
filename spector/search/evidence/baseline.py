"""The similarity baseline: mean and deviation of a store's cosines with unrelated questions.

Counted in deviations from this baseline (`probes`), a cosine means the same in every store and for
every model, however similar the memories are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import cosine_table
from spector.lexical import WordView
from spector.search.view import NOWHERE, Snapshot, places_of, unit_vectors

__all__ = [
    "SAMPLE",
    "SimilarityBaseline",
    "evenly_spaced",
    "in_order",
    "level_of",
    "z_score",
]

#: memories whose cosines represent all, and up to an eighth more
SAMPLE: Final = 256
#: fewer memories give no baseline
_FEWEST: Final = 4
#: the smallest deviation: probes with equal cosines measure nothing
_LEAST: Final = 0.02
#: beyond ``SAMPLE`` memories the sample is of a number that grows by one in so many
_STEP: Final = 8
#: a stored vector is of length 1, or all zeros where nothing was embedded
_SOME: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    views: tuple[WordView, ...]
    #: per view, those of the sample
    rows: list[NDArray[np.int64]]
    #: ids and places of the sample: a vector never changes at its place
    sample: bytes
    #: by the probes' bytes, which are those of a language
    found: dict[bytes, tuple[float, float] | None]


class SimilarityBaseline:
    """Mean and deviation of cosines with probes: a function of which memories there are.

    The same memories give the same baseline, whatever was recalled before: in a writer, in a reader
    and after opening the store again. Measured anew when the sample has changed. Thread-safe: what
    it keeps is replaced as a whole.
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def drop_caches(self) -> None:
        self._kept = None

    def deviations(
        self,
        snap: Snapshot,
        views: tuple[WordView, ...],
        cosine: float | None,
        probes: NDArray[np.float32] | None,
    ) -> float | None:
        """The z-score of a cosine among those of the probes; None with too few memories."""
        if cosine is None or probes is None:
            return None
        kept = self._kept
        if kept is None or kept.views != views:
            rows = _sample(views)
            found = [
                (view.ids(mine), *view.places(mine)) for view, mine in zip(views, rows, strict=True)
            ]
            mark = b"".join([part.tobytes() for each in found for part in each])
            same = kept is not None and kept.sample == mark
            kept = self._kept = _Kept(views, rows, mark, kept.found if same and kept else {})
        key = probes[:, 0].tobytes()
        if key not in kept.found:
            kept.found[key] = level_of(_vectors(snap, views, kept.rows), probes)
        return z_score(cosine, kept.found[key])


def z_score(cosine: float | None, level: tuple[float, float] | None) -> float | None:
    """Deviations that a cosine lies above a mean, see `level_of`; None without either."""
    if cosine is None or level is None:
        return None
    mean, deviation = level
    return (cosine - mean) / max(deviation, _LEAST)


def level_of(
    vectors: NDArray[np.float32], probes: NDArray[np.float32] | None
) -> tuple[float, float] | None:
    """Mean and standard deviation of the cosines of (n, dim) f32 unit rows with those of probes,
    (p, dim) f32.

    Rows of zeros are left out. None for fewer than four rows and without probes. O(n p dim).
    """
    some = vectors[np.einsum("nd,nd->n", vectors, vectors) > _SOME]
    if probes is None or len(some) < _FEWEST:
        return None
    cosines = cosine_table(probes, some[:, : probes.shape[1]])  # stored ones are padded
    return float(cosines.mean(dtype=np.float64)), float(cosines.std(dtype=np.float64))


def in_order(views: Sequence[WordView]) -> list[NDArray[np.int64]]:
    """Per view (n,) rows of all memories by ascending id; rows are numbered as they came."""
    out = []
    for view in views:
        rows = np.flatnonzero(view.alive)
        ids = view.ids(rows)
        sorted_ = (ids[1:] > ids[:-1]).all()
        out.append(rows if sorted_ else rows[np.argsort(ids, kind="stable")])
    return out


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced positions below ``count``: all of them, or ``most``."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def _sample(views: Sequence[WordView]) -> list[NDArray[np.int64]]:
    """Per store, evenly spaced rows in the order of their ids over all stores.

    Up to ``SAMPLE`` memories: all. Beyond, the number of memories that are sampled grows in steps
    of an eighth, so that memories added after a step change nothing until the next.
    """
    total = max(SAMPLE, _step(sum(view.n_rows for view in views)))
    found = []
    for rows in in_order(views):
        share = (_step(len(rows)) * SAMPLE + total - 1) // total
        found.append(rows[np.arange(share) * total // SAMPLE])
    return found


def _step(count: int) -> int:
    step = min(count, SAMPLE)
    while step >= SAMPLE and step + step // _STEP <= count:
        step += step // _STEP
    return step


def _vectors(
    snap: Snapshot, views: Sequence[WordView], rows: Sequence[NDArray[np.int64]]
) -> NDArray[np.float32]:
    """(n, dim) f32 vectors of some rows of each store."""
    found = []
    for n, (view, mine) in enumerate(zip(views, rows, strict=True)):
        if len(mine):
            part, slot = places_of(snap, n, view, mine)
            there = slot != NOWHERE
            found.append(unit_vectors(snap, part[there], slot[there]))
    return np.concatenate(found)

"""How alike the memories of a store are to each other: what a cue's likeness is measured by.

A cosine of 0.35 is much among remarks about everything and little among messages of one project,
and every model has a range of its own. In deviations of the cosines that memories of this store
have to each other, it says the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.lexical.view import WordView
from spector.read.ground import NOWHERE, places_of, unit_vectors
from spector.read.snapshot import Snapshot

__all__ = ["Usual", "likeness_of"]

#: memories whose cosines stand for those of all
_SAMPLE: Final = 256
#: of fewer memories nothing can be said
_FEWEST: Final = 4
#: the smallest deviation: memories that are all the same are no measure
_LEAST: Final = 0.02
#: a sample is taken anew when a store has grown or shrunk by one in so many
_DRIFT: Final = 8
#: a stored vector is of length 1, or all zeros where nothing was embedded
_SOME: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Kept:
    rows: tuple[int, ...]
    found: tuple[float, float] | None


class Usual:
    """Mean and deviation of the cosines between memories, kept until the store has changed much.

    Thread-safe: what it keeps is replaced as a whole.
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def let_go(self) -> None:
        self._kept = None

    def deviations(
        self, snap: Snapshot, views: Sequence[WordView], cosine: float | None
    ) -> float | None:
        """How far a cosine is above the usual one; None where there are too few memories."""
        if cosine is None:
            return None
        rows = tuple(view.n_rows for view in views)
        kept = self._kept
        if kept is None or _drifted(kept.rows, rows):
            kept = self._kept = _Kept(rows, likeness_of(_sample(snap, views)))
        if kept.found is None:
            return None
        mean, deviation = kept.found
        return (cosine - mean) / max(deviation, _LEAST)


def likeness_of(vectors: NDArray[np.float32]) -> tuple[float, float] | None:
    """Mean and standard deviation of the cosines between different ones of (n, dim) f32 unit rows.

    Rows of zeros are left out. None for fewer than four rows. O(n^2 dim).
    """
    some = vectors[np.einsum("nd,nd->n", vectors, vectors) > _SOME]
    if len(some) < _FEWEST:
        return None
    cosines = (some @ some.T)[~np.eye(len(some), dtype=np.bool_)]
    return float(cosines.mean(dtype=np.float64)), float(cosines.std(dtype=np.float64))


def _drifted(before: tuple[int, ...], now: tuple[int, ...]) -> bool:
    if len(before) != len(now):
        return True
    return any(abs(a - b) * _DRIFT > a for a, b in zip(before, now, strict=True))


def _sample(snap: Snapshot, views: Sequence[WordView]) -> NDArray[np.float32]:
    """(n, dim) f32 vectors of memories at even distances over all stores."""
    share = max(1.0, sum(view.n_rows for view in views) / _SAMPLE)
    found = []
    for n, view in enumerate(views):
        if not view.n_rows:
            continue
        alive = np.flatnonzero(view.alive)
        rows = alive[(np.arange(int(len(alive) / share)) * share).astype(np.int64)]
        part, slot = places_of(snap, n, view, rows)
        there = slot != NOWHERE
        found.append(unit_vectors(snap, part[there], slot[there]))
    return np.concatenate(found)

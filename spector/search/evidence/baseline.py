"""How like a store's memories are to questions about something else: what a cue is measured by.

In deviations of the cosines that its memories have with unrelated questions (`probes`), a cosine
says the same in every store and of every model, however alike the memories are.
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
    "SAMPLE", "SimilarityBaseline", "evenly_spaced", "in_order", "level_of", "z_score",
]  # fmt: skip

#: memories whose cosines stand for those of all, and up to an eighth more
SAMPLE: Final = 256
#: of fewer memories nothing can be said
_FEWEST: Final = 4
#: the smallest deviation: probes that are all as like are no measure
_LEAST: Final = 0.02
#: beyond ``SAMPLE`` memories the sample is of a number that grows by one in so many
_STEP: Final = 8
#: a stored vector is of length 1, or all zeros where nothing was embedded
_SOME: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    views: tuple[WordView, ...]
    #: ids and places of the sample: a vector never changes at its place
    sample: bytes
    #: by the probes' bytes, which are those of a language
    found: dict[bytes, tuple[float, float] | None]


class SimilarityBaseline:
    """Mean and deviation of cosines with probes: a function of which memories there are.

    Whoever recalls from the same memories finds the same, whatever was recalled before: a writer, a
    reader, a store that was opened again. Measured anew when the sample has changed. Thread-safe:
    what it keeps is replaced as a whole.
    """

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    def drop_caches(self) -> None:
        self._kept = None

    def deviations(
        self, snap: Snapshot, views: tuple[WordView, ...], cosine: float | None,
        probes: NDArray[np.float32] | None,
    ) -> float | None:
        """How far a cosine is above those of probes; None where there are too few memories."""
        if cosine is None or probes is None:
            return None
        kept = self._kept
        if kept is None or kept.views != views:
            rows = _sample(views)
            mark = b"".join(
                part.tobytes() for view, mine in zip(views, rows, strict=True)
                for part in (view.ids(mine), *view.places(mine))
            )  # fmt: skip
            same = kept is not None and kept.sample == mark
            kept = self._kept = _Kept(views, mark, kept.found if same and kept else {})
        key = probes[:, 0].tobytes()
        if key not in kept.found:
            kept.found[key] = level_of(_vectors(snap, views, _sample(views)), probes)
        return z_score(cosine, kept.found[key])


def z_score(cosine: float | None, level: tuple[float, float] | None) -> float | None:
    """How many deviations a cosine is above a mean, see `level_of`; None without either."""
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


def in_order(view: WordView) -> NDArray[np.int64]:
    """(n,) rows of all memories by ascending id; the order of rows is that in which they came."""
    rows = np.flatnonzero(view.alive)
    ids = view.ids(rows)
    return rows if (ids[1:] > ids[:-1]).all() else rows[np.argsort(ids, kind="stable")]


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """Positions at even distances among ``count``: all of them, or ``most``."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def _sample(views: Sequence[WordView]) -> list[NDArray[np.int64]]:
    """Per store, rows at even distances in the order of their ids over all stores.

    Of all memories up to ``SAMPLE``. Beyond, of so many of the first as the last step of an eighth
    has: what is added after it changes nothing until the next one.
    """
    total = max(SAMPLE, _step(sum(view.n_rows for view in views)))
    found = []
    for view in views:
        rows = in_order(view)
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

"""An order in which similar rows are neighbours.

Mechanism: mini-batch k-means on the sphere, centroids in a chain, rows sorted along it. Damage
without it: a row that is lost or doubled loses a memory; an order that groups nothing costs a
rewrite of every partition and gains nothing.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.ordering import cluster


def bunches(
    rng: np.random.Generator, bunch_count: int, each: int, dim: int = 48
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """(n, dim) codes of narrow bunches, shuffled, and the bunch of each row."""
    centres = rng.standard_normal((bunch_count, dim))
    bunch = rng.permutation(np.repeat(np.arange(bunch_count), each))
    noise = rng.standard_normal((len(bunch), dim)) * 0.2
    return quantize(normalize(centres[bunch] + noise))[0], bunch


def spread(codes: NDArray[np.int8], block: int) -> float:
    """Mean distance of unit rows to the mean of their block."""
    rows = normalize(codes)
    parts = [rows[i : i + block] for i in range(0, len(rows), block)]
    return float(np.mean([np.linalg.norm(p - p.mean(axis=0), axis=1).mean() for p in parts]))


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_every_row_comes_once_and_clusters_are_runs_numbered_from_one(
    count: int, dim: int, per_centroid: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-2, 3, (count, dim), dtype=np.int8)  # many duplicates, some rows of zeros
    found = cluster(codes, per_centroid=per_centroid, seed=seed)
    assert sorted(found.order.tolist()) == list(range(count))
    along = found.ids[found.order]
    assert (np.diff(along.astype(int)) >= 0).all(), "a cluster is torn apart"
    assert found.ids.dtype == np.uint16
    assert not count or 1 <= found.ids.min() <= found.ids.max() <= max(1, count)


def test_the_same_rows_and_seed_give_the_same_order_and_another_seed_another() -> None:
    codes, _ = bunches(np.random.default_rng(1), 30, 100)
    first, again, other = (cluster(codes, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(first.order, again.order)
    assert np.array_equal(first.ids, again.ids)
    assert not np.array_equal(first.order, other.order)


def test_blocks_become_tight_where_the_rows_have_bunches(rng: np.random.Generator) -> None:
    codes, _ = bunches(rng, 16, 128)
    found = cluster(codes)
    assert spread(codes[found.order], 128) < 0.6 * spread(codes, 128)


def test_neighbouring_clusters_are_similar_too(rng: np.random.Generator) -> None:
    """Two far groups of near bunches: the chain visits one group, then the other."""
    far = np.repeat(rng.standard_normal((2, 48)) * 4, 8, axis=0)
    centres = far + rng.standard_normal((16, 48))
    group = np.repeat([0, 1], 8)
    bunch = rng.permutation(np.repeat(np.arange(16), 64))
    codes, _ = quantize(normalize(centres[bunch] + rng.standard_normal((1024, 48)) * 0.1))
    found = cluster(codes, per_centroid=64)
    groups_along = group[bunch][found.order]
    assert int((np.diff(groups_along) != 0).sum()) <= 1

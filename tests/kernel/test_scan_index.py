"""Mechanism: a second copy of what records say, arranged for scanning.

Damage: a copy that differs from the records, or belongs to others, hides memories.
Guard: three implementations fill it alike, pieces and updates give what a fresh build gives, the
estimates keep their promise, and no image is used that is not exactly what it has to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.kernel.base import Kernel
from spector.kernel.choose import load_kernel
from spector.kernel.index_reference import rotate
from spector.kernel.scan_index import (
    BLOCK_DTYPE,
    ScanIndex,
    centre_of,
    layout_of,
    sections_of,
)
from spector.layout import Flag
from tests.kernel.blocks import damage, headers_of, kernel_or_skip, make_rows

DIMS = (1, 3, 64, 96, 384, 768)
STAMP: dict[str, Any] = {
    "uuid": bytes(range(16)), "segment_id": 7, "generation": 2, "change_seq": 99,
}  # fmt: skip


@pytest.fixture(params=["native", "numba", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def built(
    kernel: Kernel, rows: NDArray[np.uint8], dim: int, room: int = 0, centred: bool = True
) -> ScanIndex:
    centre = centre_of(rows, dim) if centred else None
    index = ScanIndex.create(kernel, dim, max(room, len(rows)), centre)
    index.append(rows)
    return index


def assert_alike(want: ScanIndex, got: ScanIndex) -> None:
    """Equal in every bit, but for sums of floats (equal to rounding) and signs of next to zero."""
    a, b = sections_of(want.image), sections_of(got.image)
    assert want.rows == got.rows
    np.testing.assert_array_equal(a.flags, b.flags)
    np.testing.assert_array_equal(a.tags, b.tags)
    np.testing.assert_array_equal(a.centre, b.centre)
    for name, column in a.columns.items():
        assert column.tobytes() == b.columns[name].tobytes(), name
    used = -(-want.rows // 512)
    for name in BLOCK_DTYPE.names or ():
        sums = name in ("norm_max", "sketch_error_max", "sketch_slope_max")
        tolerance = {"rtol": 1e-4} if sums else {"rtol": 0}
        np.testing.assert_allclose(
            a.blocks[name][:used], b.blocks[name][:used], **tolerance, err_msg=name
        )
    np.testing.assert_array_equal(a.sketch["signs"], b.sketch["signs"])
    np.testing.assert_allclose(a.sketch["a"].astype(int), b.sketch["a"], atol=1)
    np.testing.assert_allclose(a.sketch["b"].astype(int), b.sketch["b"], atol=1)
    if a.fine.size:
        np.testing.assert_array_equal(a.fine[:, :-12], b.fine[:, :-12])
        floats = [np.ascontiguousarray(s.fine[:, -12:]).view("<f4") for s in (a, b)]
        np.testing.assert_allclose(*floats, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("dim", DIMS)
def test_kernels_fill_an_index_alike(kernel: Kernel, dim: int) -> None:
    rng = np.random.default_rng(dim)
    rows = make_rows(rng, 1100, dim)
    want = built(load_kernel("reference"), rows, dim)
    assert_alike(want, built(kernel, rows, dim))
    damage(rng, rows)
    for centred in (True, False):
        want = built(load_kernel("reference"), rows, dim, centred=centred)
        assert_alike(want, built(kernel, rows, dim, centred=centred))


def test_appended_in_pieces_equals_appended_at_once(kernel: Kernel) -> None:
    rows = make_rows(np.random.default_rng(1), 1300, 96)
    damage(np.random.default_rng(2), rows)
    centre = centre_of(rows, 96)
    whole = ScanIndex.create(kernel, 96, 1300, centre)
    whole.append(rows)
    pieces = ScanIndex.create(kernel, 96, 64, centre)
    for end in (1, 2, 63, 64, 65, 500, 511, 512, 513, 1024, 1299, 1300):
        if end > pieces.room:
            pieces = pieces.grown(end)
        pieces.append(rows[:end])
        assert pieces.rows == end
    assert pieces.stamped(**STAMP) == whole.stamped(**STAMP)


def test_refresh_after_changed_headers_equals_a_fresh_build(kernel: Kernel) -> None:
    rng = np.random.default_rng(3)
    rows, others = make_rows(rng, 1100, 40), make_rows(rng, 1100, 40)
    damage(rng, others)
    index = built(kernel, rows, 40)
    centre = centre_of(rows, 40)
    slots = rng.permutation(1100)[:400]
    rows[slots, 40:64] = others[slots, 40:64]
    fresh = ScanIndex.create(kernel, 40, index.room, centre)
    fresh.append(rows)
    index.update(rows, slots)
    a, b = sections_of(fresh.image), sections_of(index.image)
    np.testing.assert_array_equal(a.flags, b.flags)
    for name, column in a.columns.items():
        assert column.tobytes() == b.columns[name].tobytes(), name
    for name in ("importance_max", "uses_max", "valence_max", "used_max", "stability_max"):
        assert (b.blocks[name] >= a.blocks[name]).all(), "an update may only widen"
    index.refresh(rows)
    assert index.image.tobytes() == fresh.image.tobytes()


def test_an_update_of_a_slot_named_twice_takes_the_last_header(kernel: Kernel) -> None:
    rows = make_rows(np.random.default_rng(4), 70, 8)
    index = built(kernel, rows, 8)
    headers_of(rows)["flags"][65] = Flag.TOMBSTONE
    headers_of(rows)["flags"][3] = 0
    index.update(rows, np.array([65, 3, 65, 3]))
    flags = sections_of(index.image).flags
    assert flags[0, 1] >> np.uint64(1) & np.uint64(1) == 1
    assert not any(int(word) >> 3 & 1 for word in flags[:, 0])


@pytest.mark.parametrize("dim", [64, 128, 192, 256, 320, 384, 768, 1536, 4096])
def test_the_rotation_keeps_lengths_and_angles(dim: int) -> None:
    x = np.random.default_rng(dim).standard_normal((20, dim)).astype(np.float32)
    turned = rotate(x)
    np.testing.assert_allclose(turned @ turned.T, x @ x.T, rtol=1e-4, atol=1e-2)
    assert np.abs(turned - x).max() > 1


@pytest.mark.parametrize("dim", [64, 96, 192, 320, 384, 512, 768, 1536])
def test_the_rotation_spreads_single_coordinates(dim: int) -> None:
    rotated = layout_of(dim, 64).rotated
    turned = rotate(np.eye(rotated, dtype=np.float32)[:dim])
    # a Gaussian's largest of D squares is near 2 ln D / D; 320, 20 rows of 16, is the worst
    assert (turned**2).max() < max(7 * np.log(rotated) / rotated, 0.16)

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

from spector.kernel.checksum import crc32c
from spector.kernel.contract.index import (
    BLOCK_DTYPE,
    NO_SLOPE,
    ScanIndex,
    centre_of,
    image_layout,
    problem_of,
    sections_of,
)
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.scanner import Kernel
from spector.kernel.dispatch import load_kernel
from spector.kernel.reference.index import factors, rotate, slope_scale
from spector.layout import HEADER_BYTES
from tests.kernel.blocks import damage, headers_of, kernel_or_skip, make_rows

DIMS = (1, 3, 64, 96, 384, 768)
STAMP: dict[str, Any] = {
    "uuid": bytes(range(16)),
    "segment_id": 7,
    "generation": 2,
    "change_seq": 99,
}


@pytest.fixture(params=["native", "reference"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return kernel_or_skip(request.param)


def built(
    kernel: Kernel, rows: NDArray[np.uint8], dim: int, room: int = 0, centred: bool = True
) -> ScanIndex:
    centre = centre_of(rows, dim) if centred else None
    index = ScanIndex.create(kernel, dim, max(room, len(rows)), centre)
    index.append(rows)
    return index


def factors_of(sketch: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """A in 1,024ths and B by its scale, as they lie in the three bytes behind the signs."""
    low, middle, high = sketch["factors"].astype(np.int32).T
    a = low | (middle & 0xF) << 8
    return np.where(a >= 2048, a - 4096, a), middle >> 4 | high << 4


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
    for want_factor, got_factor in zip(factors_of(a.sketch), factors_of(b.sketch), strict=True):
        np.testing.assert_allclose(want_factor, got_factor, atol=1)
        np.testing.assert_array_equal(want_factor == NO_SLOPE, got_factor == NO_SLOPE)
    np.testing.assert_array_equal(a.sketch["importance"], b.sketch["importance"])
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
            pieces = pieces.grow(end)
        pieces.append(rows[:end])
        assert pieces.rows == end
    assert pieces.stamp(**STAMP, checksum=crc32c) == whole.stamp(**STAMP, checksum=crc32c)


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


def estimates_of(index: ScanIndex, dim: int, cue: Any) -> dict[str, Any]:
    """Estimates of the cosines by the formulas that the module's docstring states, in float64."""
    s, rotated = sections_of(index.image), image_layout(dim, 64).rotated
    centre = np.asarray(s.centre, np.float64)
    padded = np.zeros((1, rotated), np.float32)
    padded[0, :dim] = cue
    turned = rotate(padded)[0].astype(np.float64)
    y = turned - centre
    bits = min(rotated, 224)
    signs = np.unpackbits(s.sketch["signs"][: index.rows], axis=1, bitorder="little")[:, :bits]
    base = turned @ centre - centre @ centre
    a, b = factors_of(s.sketch[: index.rows])
    sketch = b / slope_scale(rotated) * ((2.0 * signs - 1) @ y[:bits]) + a / 2**10 + base
    out = {"sketch": sketch, "length": float(np.linalg.norm(y)), "block": s.blocks}
    if s.fine.size:
        fine = s.fine[: index.rows]
        tail = np.ascontiguousarray(fine[:, -12:]).view("<f4").astype(np.float64)
        more = np.unpackbits(fine, axis=1, bitorder="little")[:, : rotated - bits]
        both = 2.0 * np.hstack([signs, more]) - 1
        out["fine"] = tail[:, 1] * (both @ y) + tail[:, 0] + base
        out["error"] = tail[:, 2]
    return out


def vectors_like_embeddings(rng: np.random.Generator, count: int, dim: int) -> NDArray[Any]:
    """Off centre, in clusters, and with a few coordinates that are far larger than the others."""
    scale = np.where(np.arange(dim) % 97 == 5, 6.0, 1.0)
    middles = rng.standard_normal((20, dim)) * scale + 0.5 * scale
    noise = rng.standard_normal((count, dim)) * scale
    return np.asarray(middles[rng.integers(0, 20, count)] + 0.7 * noise, np.float64)


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [64, 96, 192, 384, 768])
@pytest.mark.parametrize("like", ["gaussian", "embeddings"])
def test_estimates_are_unbiased_and_err_as_stated(kernel: Kernel, dim: int, like: str) -> None:
    rng = np.random.default_rng([dim, len(like)])
    rows = make_rows(rng, 2000, dim)
    if like == "embeddings":
        unit = normalize(vectors_like_embeddings(rng, 2000, dim))
        codes, headers_of(rows)["scale"] = quantize(unit)
        rows[:, HEADER_BYTES : HEADER_BYTES + dim] = codes.view(np.uint8)
    codes = rows[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
    vectors = codes * headers_of(rows)["scale"][:, None].astype(np.float64)
    index = built(kernel, rows, dim)
    beyond = cases = 0
    for at in rng.integers(0, 2000, 8):
        cue = vectors[at] + 0.5 * rng.standard_normal(dim) / np.sqrt(dim)
        got = estimates_of(index, dim, cue / np.linalg.norm(cue))
        off = got["sketch"] - vectors @ (cue / np.linalg.norm(cue))
        stated = got["block"]["sketch_error_max"][:4].max() * got["length"]
        # errors of one cue with a cluster go together, so these are wider than for 2000 strangers
        assert abs(off.mean()) < 0.4 * stated
        assert 0.3 * stated < off.std() < 1.3 * stated
        beyond += int((off < -4 * stated - 9.2e-4 * got["length"] - 5e-4).sum())
        cases += off.size
        if "fine" in got:
            off = got["fine"] - vectors @ (cue / np.linalg.norm(cue))
            relative = off / (got["error"] * got["length"])
            assert abs(relative.mean()) < 0.4
            assert 0.7 < relative.std() < 1.4
            beyond += int((relative < -4).sum())
            cases += off.size
    assert beyond <= cases * 1e-4, "a bound of four standard errors holds"


@pytest.fixture
def saved() -> tuple[bytearray, ScanIndex]:
    rows = make_rows(np.random.default_rng(20), 130, 300)
    index = built(load_kernel("reference"), rows, 300, room=640)
    return bytearray(index.stamp(**STAMP, checksum=crc32c)), index


def problem(image: bytes | bytearray, **changed: Any) -> str | None:
    asked = {**STAMP, "dim": 300, "rows": 130, "verify": True, **changed}
    return problem_of(np.frombuffer(image, np.uint8), **asked, checksum=crc32c)


def test_a_saved_index_comes_back(saved: tuple[bytearray, ScanIndex]) -> None:
    image, index = saved
    assert problem(image) is None
    assert problem(image, rows=131) is None, "slots behind it are scanned straight"
    loaded = np.zeros(len(image) + 64, np.uint8)
    loaded = loaded[-loaded.ctypes.data % 64 :][: len(image)]
    loaded[:] = np.frombuffer(image, np.uint8)
    back = ScanIndex.attach(load_kernel("reference"), loaded)
    assert (back.rows, back.room, back.dim) == (130, 192, 300)
    assert len(image) == image_layout(300, 192).nbytes
    assert back.stamp(**STAMP, checksum=crc32c) == bytes(image)
    assert_alike(index, back.grow(640))


@pytest.mark.parametrize("at", range(128))
def test_a_flipped_header_byte_is_noticed(saved: tuple[bytearray, ScanIndex], at: int) -> None:
    image, _ = saved
    for bit in (1, 128):
        image[at] ^= bit
        assert problem(image, verify=True)
        assert problem(image, verify=False)
        image[at] ^= bit


def test_a_flipped_body_byte_is_noticed(saved: tuple[bytearray, ScanIndex]) -> None:
    image, _ = saved
    for at in [128, len(image) - 1, *np.random.default_rng(21).integers(128, len(image), 60)]:
        image[at] ^= 4
        assert problem(image) == "its bytes are damaged"
        image[at] ^= 4


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"uuid": bytes(16)}, "another store"),
        ({"dim": 301}, "another store"),
        ({"segment_id": 8}, "another partition"),
        ({"generation": 3}, "another partition"),
        ({"change_seq": 100}, "change 99 of 100"),
        ({"rows": 129}, "130 rows of 129"),
    ],
)
def test_an_index_of_something_else_is_refused(
    saved: tuple[bytearray, ScanIndex], changed: dict[str, Any], reason: str
) -> None:
    assert reason in str(problem(saved[0], **changed))


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [1536, 4096])
def test_slopes_at_the_end_of_their_bits_are_alike(kernel: Kernel, dim: int) -> None:
    """Mechanism: one kernel rounded before it compared, the other behind it."""
    rng = np.random.default_rng(13)
    rows = make_rows(rng, 400, dim)
    codes = rows[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8).astype(np.float32)
    slopes = factors(rotate(codes), 224)[0] * slope_scale(dim)
    # of vectors as long as no store has them, a few on either side of the last code
    wanted = np.linspace(4092.0, 4097.0, 400)
    headers_of(rows)["scale"] = wanted / slopes
    settled = np.abs(wanted % 1 - 0.5) > 0.05
    want = built(load_kernel("reference"), rows, dim, centred=False)
    got = built(kernel, rows, dim, centred=False)
    (a, b), (_, other) = (factors_of(sections_of(index.image).sketch) for index in (want, got))
    np.testing.assert_array_equal(b[:400][settled], np.minimum(np.rint(wanted), 4095)[settled])
    np.testing.assert_array_equal(other[:400][settled], b[:400][settled])
    assert not a[:400].any(), "the centre is the origin"


def test_importance_is_in_the_sketch_rounded_up(kernel: Kernel) -> None:
    values = [
        -np.inf,
        -1.0,
        -0.0,
        0.0,
        1e-30,
        0.3,
        1.0,
        np.nextafter(np.float32(1), 2),
        40.0,
        np.inf,
        np.nan,
    ]
    rows = make_rows(np.random.default_rng(3), 128, 64)
    index = built(kernel, rows, 64)
    for how in ("append", "update", "refresh"):
        headers_of(rows)["importance"][: len(values)] = values
        if how == "append":
            index = built(kernel, rows, 64)
        elif how == "update":
            index.update(rows, np.arange(len(values)))
        else:
            index.refresh(rows)
        found = sections_of(index.image).sketch["importance"][: len(values)].tolist()
        assert found == [0, 0, 0, 0, 1, 77, 254, 255, 255, 255, 255], how
        headers_of(rows)["importance"] = 0.5
        index.refresh(rows)
        assert set(sections_of(index.image).sketch["importance"][:128].tolist()) == {127}

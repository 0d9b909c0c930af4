"""Mechanism: a scan leaves out what an index says cannot be among the best.

Damage: a bound that is too tight, or an index that lags behind, hides memories without a trace.
Guard: without estimates the answer is the reference's over every kind of record, filter and
profile; with them the promised share of it; and every record is accounted for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spector.errors import KernelUnavailableError
from spector.kernel.contract.index import BLOCK_ROWS, ScanIndex, centre_of
from spector.kernel.contract.profile import PROFILES, ScoringProfile
from spector.kernel.contract.quantization import normalize, quantize
from spector.kernel.contract.query import Query, make_query
from spector.kernel.contract.scanner import AllowList, Kernel, Part, PartTable, ScanResult
from spector.kernel.dispatch import load_kernel
from spector.layout import HEADER_BYTES, Flag
from tests.kernel.blocks import (
    DAY_MS,
    NOW_MS,
    damage,
    headers_of,
    instruction_sets,
    kernel_or_skip,
    make_parts,
    make_rows,
    profile_pool,
    random_query,
)

DIMS = (1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 96, 384, 768, 1536)


def backends() -> list[str]:
    """C under every instruction set: the only backend that reads an index."""
    try:
        load_kernel("native")
    except KernelUnavailableError:
        return ["native-0"]
    return [f"native-{caps:x}" for caps in dict.fromkeys(instruction_sets())]


@pytest.fixture(params=backends())
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    name, _, caps = request.param.partition("-")
    try:
        found = load_kernel(name)
    except KernelUnavailableError as error:
        pytest.skip(str(error))
    from spector.kernel.native import set_caps

    set_caps(int(caps, 16))
    yield found
    set_caps()


def indexed(kernel: Kernel, part: Part, dim: int, share: float = 1.0) -> Part:
    """The partition with an index over a share of its slots."""
    rows = int(len(part.data) * share)
    if not rows:
        return part
    centre = centre_of(part.data, dim) if len(part.data) % 3 else None
    index = ScanIndex.create(kernel, dim, rows, centre)
    index.append(part.data[:rows])
    return replace(part, index=index.image)


def assert_same_answer(
    kernel: Kernel, table: PartTable, query: Query, k: int, context: str, **options: Any
) -> ScanResult:
    want = load_kernel("reference").scan(table, query, k, **options)
    got = kernel.scan(table, query, k, **options)
    for name in ("ids", "part", "slot", "scores", "similarity"):
        # as bytes, because of damaged records that are not a number
        if getattr(got, name).tobytes() != getattr(want, name).tobytes():
            pytest.fail(f"{context}: {name}\n{want}\n{got}\n{query}")
    assert got.scanned == want.scanned
    assert int(got.drops.sum()) + got.scored == got.scanned, context
    return got


def world(seed: int, kernel: Kernel, dim: int, damaged: bool) -> PartTable:
    """Partitions with and without index or bitmap, the largest of more than one block."""
    rng = np.random.default_rng([dim, seed])
    rows = make_rows(rng, 1500 if dim < 700 else 900, dim)
    rows[600:640] = rows[5]  # equal vectors, other ids
    headers_of(rows)["id"][600:640] = np.arange(40) + 9
    if damaged:
        damage(rng, rows)
    parts = make_parts(rng, rows)
    shares = rng.choice([1.0, 1.0, 0.7, 0.0], len(parts))
    return kernel.prepare(
        [indexed(kernel, part, dim, share) for part, share in zip(parts, shares, strict=True)]
    )


def test_numba_leaves_an_index_unread() -> None:
    numba = kernel_or_skip("numba")
    table = world(0, numba, 64, damaged=False)
    query = make_query(now_ms=NOW_MS, vector=np.ones(64), recall_confidence=6.0)
    got = assert_same_answer(numba, table, query, 10, "numba")
    assert any(part.index is not None for part in table.parts)
    assert got.drops[-1] == 0, "no record was ruled out unread"


@pytest.mark.sampled
@pytest.mark.parametrize("dim", DIMS)
def test_without_estimates_the_answer_is_the_references(kernel: Kernel, dim: int) -> None:
    dropped = scored = 0
    for seed in range(2):
        rng = np.random.default_rng([dim, seed, 1])
        table = world(seed, kernel, dim, damaged=seed == 1)
        headers = headers_of(max((part.data for part in table.parts), key=len))
        profiles = profile_pool(rng, 12)
        for number in range(25):
            query = random_query(rng, dim, profiles, headers)
            k = int(rng.choice([0, 1, 3, 10, 50, 4000]))
            got = assert_same_answer(kernel, table, query, k, f"dim {dim} {seed} {number} k {k}")
            dropped += int(got.drops.sum())
            scored += got.scored
    assert dropped > 1000
    assert scored > 1000


def test_blocks_that_cannot_reach_the_heap_are_not_read(kernel: Kernel) -> None:
    rng = np.random.default_rng(6)
    rows = make_rows(rng, 2048, 64)
    header = headers_of(rows)
    header["flags"], header["utility"] = 0, 0
    header["importance"] = np.where(np.arange(2048) < 512, 1, 0.01)
    table = kernel.prepare([indexed(kernel, Part(rows, 2048), 64)])
    profile = ScoringProfile(w_similarity=0.3, w_importance=1.0)
    for cue in (rng.standard_normal(64), None):
        # exact scans without a filter go straight, so here an estimate rules out nothing by itself
        query = make_query(now_ms=NOW_MS, vector=cue, profile=profile, recall_confidence=100.0)
        got = assert_same_answer(kernel, table, query, 10, "blocks")
        assert got.drops[-1] >= 1024


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_keeps_its_answer(kernel: Kernel, name: str) -> None:
    rng = np.random.default_rng(7)
    table = world(3, kernel, 64, damaged=False)
    for cue in (True, False):
        for mood in (0, 50):
            query = make_query(
                now_ms=NOW_MS,
                vector=rng.standard_normal(64) if cue else None,
                profile=name,
                mood=mood,
                overlap_mask=0xFF00FF,
            )
            assert_same_answer(kernel, table, query, 10, f"{name} {cue} {mood}")


@pytest.mark.parametrize(
    "weights",
    [
        {"w_similarity": 0.0},
        {"w_similarity": 0.0, "w_importance": 1.0},
        {"w_utility": 0.5},
        {"w_arousal": 1.0, "w_tags": 1.0},
        {"fusion": "multiplicative"},
        {"fusion": "multiplicative", "w_similarity": 0.0, "w_recency": 1.0},
        {"tier_factors": {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0}},
        {"min_similarity": 0.9},
        {"category_factors": {3: 50.0}, "w_retention": 1.0},
        {"consolidated_factor": 0.0},
    ],
)
def test_extreme_profiles_keep_their_answer(kernel: Kernel, weights: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    table = world(4, kernel, 17, damaged=False)
    for cue in (rng.standard_normal(17), None):
        query = make_query(now_ms=NOW_MS, vector=cue, profile=ScoringProfile(**weights))
        for k in (1, 10, 300):
            assert_same_answer(kernel, table, query, k, f"{weights} {k}")


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [64, 768])
@pytest.mark.parametrize("ratio", [99.0, 101.0, 1e7, 1e30])
def test_importance_beside_next_to_no_similarity_keeps_the_answer(
    kernel: Kernel, ratio: float, dim: int
) -> None:
    """Mechanism: a sketch's sum of cosine and importance loses the cosine's digits."""
    rng = np.random.default_rng(11)
    cue = normalize(rng.standard_normal((1, dim)).astype(np.float32))[0]
    # cosines on either side of the least one that is asked for, and some far off
    noise = rng.standard_normal((3000, dim)) / dim**0.5
    near = cue + noise * rng.choice([0.6, 1.0, 3.0], (3000, 1))
    rows = make_rows(rng, 3000, dim)
    codes, headers_of(rows)["scale"] = quantize(normalize(near.astype(np.float32)))
    rows[:, HEADER_BYTES : HEADER_BYTES + dim] = codes.view(np.uint8)
    headers_of(rows)["importance"] = rng.random(3000)
    index = ScanIndex.create(kernel, dim, 3000, centre_of(rows, dim))
    index.append(rows)
    table = kernel.prepare([Part(rows, 3000, index=index.image)])
    for similar in (-1.0, 0.7):
        profile = ScoringProfile(
            w_similarity=min(1.0, 1 / ratio), w_importance=min(1.0, ratio), min_similarity=similar
        )
        for k in (1, 10, 40):
            query = make_query(
                now_ms=NOW_MS,
                vector=cue,
                profile=profile,
                recall_confidence=100.0,
                index_from_rows=0,
            )
            got = assert_same_answer(kernel, table, query, k, f"{ratio} {similar} {k}")
            assert len(got) == k


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [384, 2048, 2049, 4096])
def test_roundings_of_sketches_are_within_their_margin(kernel: Kernel, dim: int) -> None:
    """Mechanism: of vectors that hardly differ from their centre an estimate errs by its roundings
    alone, and the steps of slopes depend on the number of dimensions."""
    rng = np.random.default_rng([dim, 1])
    middle, other = rng.standard_normal((2, dim))
    rows = make_rows(rng, 600, dim)
    near = np.where(rng.random((600, 1)) < 0.7, middle, other)
    near = near + 0.02 * rng.standard_normal((600, dim))
    codes, headers_of(rows)["scale"] = quantize(normalize(near.astype(np.float32)))
    rows[:, HEADER_BYTES : HEADER_BYTES + dim] = codes.view(np.uint8)
    headers_of(rows)["importance"] = 0.5
    index = ScanIndex.create(kernel, dim, 600, centre_of(rows, dim))
    index.append(rows)
    table = kernel.prepare([Part(rows, 600, index=index.image)])
    for n in range(6):
        cue = (middle, other)[n % 2] + 0.3 * rng.standard_normal(dim)
        query = make_query(
            now_ms=NOW_MS,
            vector=cue,
            profile="similarity",
            recall_confidence=3.0,
            index_from_rows=0,
        )
        got = assert_same_answer(kernel, table, query, 10, f"{dim} {n}")
        assert got.drops[-1] > 50, "nothing was ruled out"


def test_allow_lists_and_selections_keep_their_answer(kernel: Kernel) -> None:
    rng = np.random.default_rng(9)
    table = world(5, kernel, 32, damaged=False)
    parts = np.repeat(np.arange(len(table)), table.counts)
    slots = np.concatenate([np.arange(count) for count in table.counts])
    for share in (0.9, 0.1, 0.003):
        chosen = rng.random(len(parts)) < share
        allow = AllowList.from_records(table, parts[chosen], slots[chosen])
        query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(32))
        assert_same_answer(kernel, table, query, 10, f"share {share}", allow=allow)
        assert_same_answer(kernel, table, query, 10, f"share {share}", allow=allow, select=[1, 2])
        assert_same_answer(kernel, table, query, 10, f"share {share}", select=[2, 0])


def filters() -> dict[str, dict[str, Any]]:
    return {
        "rare tags": {"tags_all": 0b1011},
        "absent tags": {"tags_all": 1 << 63},
        "any of tags": {"any_masks": [0b110, 0b11000, 1 << 63]},
        "any of nothing": {"any_masks": [0]},
        "valence": {"valence_min": -3, "valence_max": 3},
        "nobody's valence": {"valence_min": 5, "valence_max": 4},
        "event": {"event_min_ms": NOW_MS - 20 * DAY_MS, "event_max_ms": NOW_MS - 10 * DAY_MS},
        "before all": {"event_max_ms": 0},
        "importance": {"importance_floor": 0.9},
        "retention": {"retention_floor": 0.5},
        "both floors": {"importance_floor": 1.0, "retention_floor": 1.0},
        "codes": {"modality_mask": 0b1010, "category_mask": 0b10},
        "high codes": {"modality_mask": 1 << 31, "category_mask": 0xFFFF_FFFF},
        "the dead too": {"drop_flags": 0},
        "no pinned": {"drop_flags": int(Flag.PINNED | Flag.FLASHBULB)},
    }


@pytest.mark.parametrize("name", filters())
@pytest.mark.parametrize("recall_confidence", [0.0, 100.0])
def test_every_filter_keeps_its_answer(kernel: Kernel, name: str, recall_confidence: float) -> None:
    """At a hundred standard errors an estimate rules nothing out that matters."""
    rng = np.random.default_rng(10)
    table = world(6, kernel, 65, damaged=False)
    table_of_odd = world(7, kernel, 65, damaged=True)
    for choice in (table, table_of_odd):
        for k in (1, 20):
            query = make_query(
                now_ms=NOW_MS,
                vector=rng.standard_normal(65),
                recall_confidence=recall_confidence,
                **filters()[name],
            )
            assert_same_answer(kernel, choice, query, k, name)


def clustered(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.uint8]:
    rows = make_rows(rng, count, dim)
    middles = rng.standard_normal((60, dim)) + 0.3
    vectors = middles[rng.integers(0, 60, count)] + 0.6 * rng.standard_normal((count, dim))
    codes, headers_of(rows)["scale"] = quantize(normalize(vectors))
    rows[:, HEADER_BYTES : HEADER_BYTES + dim] = codes.view(np.uint8)
    return rows


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [16, 96, 384, 768])
@pytest.mark.parametrize("cues", [40, pytest.param(60, marks=pytest.mark.slow)])
def test_estimates_find_what_they_promise(kernel: Kernel, cues: int, dim: int) -> None:
    rows, asked = _asked_of_the_reference(dim, cues)
    part = indexed(kernel, Part(rows, len(rows)), dim)
    table = kernel.prepare([part])
    found = wanted = looked = 0
    for query, want in asked:
        got = kernel.scan(table, query, 10)
        assert int(got.drops.sum()) + got.scored == got.scanned
        found += len(set(got.ids.tolist()) & want)
        wanted += len(want)
        looked += got.scored
    assert found / wanted >= 0.99
    assert looked < len(asked) * len(rows) * 0.5, "nothing is gained"


@lru_cache(maxsize=2)
def _asked_of_the_reference(
    dim: int, cues: int
) -> tuple[NDArray[np.uint8], list[tuple[Query, set[int]]]]:
    """Records, and the ten that the reference finds for each of so many queries."""
    rng = np.random.default_rng(dim)
    rows = clustered(rng, 4000, dim)
    reference = load_kernel("reference")
    table, asked = reference.prepare([Part(rows, len(rows))]), []
    for number in range(cues):
        near = rows[rng.integers(len(rows)), HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
        cue = near + rng.standard_normal(dim) * 20
        profile = list(PROFILES)[number % len(PROFILES)]
        query = make_query(now_ms=NOW_MS, vector=cue, profile=profile, recall_confidence=3.0)
        asked.append((query, set(reference.scan(table, query, 10).ids.tolist())))
    return rows, asked


@pytest.mark.parametrize("dim", [64, 384])
def test_each_block_has_a_threshold_of_its_own(kernel: Kernel, dim: int) -> None:
    """Important blocks between others cost no more than as partitions of their own."""
    rng = np.random.default_rng(dim)
    rows = clustered(rng, 8 * BLOCK_ROWS, dim)
    header = headers_of(rows)
    header["flags"], header["utility"] = 0, 0
    header["importance"] = np.where(np.arange(len(rows)) // BLOCK_ROWS % 2, 0.2, 1.0)

    def table(step: int) -> PartTable:
        parts = []
        for start in range(0, len(rows), step):
            data = rows[start : start + step].copy()
            index = ScanIndex.create(kernel, dim, step, None)
            index.append(data)
            parts.append(Part(data, step, index=index.image))
        return kernel.prepare(parts)

    whole, blocks = table(len(rows)), table(BLOCK_ROWS)
    profile = ScoringProfile(w_similarity=1.0, w_importance=0.4)
    for _ in range(10):
        near = rows[rng.integers(len(rows)), HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
        cue = near + rng.standard_normal(dim) * 20
        query = make_query(now_ms=NOW_MS, vector=cue, profile=profile, recall_confidence=2.5)
        one, many = kernel.scan(whole, query, 10), kernel.scan(blocks, query, 10)
        assert (one.scored, one.drops.tolist()) == (many.scored, many.drops.tolist())
        assert one.scores.tobytes() == many.scores.tobytes()


def test_a_hundred_equal_answers_are_ordered_by_id(kernel: Kernel) -> None:
    rng = np.random.default_rng(11)
    rows = clustered(rng, 1500, 96)
    headers_of(rows)["flags"] = 0
    rows[200:1200:10] = rows[3]
    headers_of(rows)["id"][200:1200:10] = rng.permutation(100) + 1
    table = kernel.prepare([indexed(kernel, Part(rows, len(rows)), 96)])
    cue = rows[3, HEADER_BYTES : HEADER_BYTES + 96].view(np.int8).astype(np.float32)
    for recall_confidence in (0.0, 3.0):
        query = make_query(
            now_ms=NOW_MS, vector=cue, profile="similarity", recall_confidence=recall_confidence
        )
        assert_same_answer(kernel, table, query, 10, "equal")
        assert_same_answer(kernel, table, query, 150, "equal")


@pytest.mark.parametrize("rows_indexed", [64, 65, 511, 512, 513, 1099])
def test_slots_behind_the_index_are_scanned_straight(kernel: Kernel, rows_indexed: int) -> None:
    rng = np.random.default_rng(12)
    rows = make_rows(rng, 1100, 40)
    part = indexed(kernel, Part(rows, 1100), 40, rows_indexed / 1100 + 1e-9)
    for count in (1100, rows_indexed, rows_indexed - 7):
        table = kernel.prepare([replace(part, count=count)])
        query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(40))
        assert_same_answer(kernel, table, query, 10, f"{count} rows")


def test_who_died_after_the_index_was_made_is_not_found(kernel: Kernel) -> None:
    rng = np.random.default_rng(13)
    rows = make_rows(rng, 900, 32)
    headers_of(rows)["flags"] = 0
    part = indexed(kernel, Part(rows, 900), 32)
    query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(32))
    first = kernel.scan([part], query, 20)
    headers_of(rows)["flags"][first.slot[::2]] = Flag.TOMBSTONE
    headers_of(rows)["importance"][first.slot[1]] = 0
    got = assert_same_answer(kernel, kernel.prepare([part]), query, 20, "stale")
    assert not set(first.ids[::2].tolist()) & set(got.ids.tolist())


def test_an_updated_index_keeps_its_answer(kernel: Kernel) -> None:
    rng = np.random.default_rng(14)
    rows, others = make_rows(rng, 900, 32), make_rows(rng, 900, 32)
    centre = centre_of(rows, 32)
    index = ScanIndex.create(kernel, 32, 900, centre)
    index.append(rows)
    slots = rng.permutation(900)[:300]
    rows[slots, 40:64] = others[slots, 40:64]
    index.update(rows, slots)
    profiles = profile_pool(rng, 8)
    for turn in range(2):
        table = kernel.prepare([Part(rows, 900, None, index.image)])
        for number in range(20):
            query = random_query(rng, 32, profiles, headers_of(rows))
            assert_same_answer(kernel, table, query, 10, f"{turn} {number}")
        index.refresh(rows)


def test_records_without_a_vector_are_found(kernel: Kernel) -> None:
    rng = np.random.default_rng(15)
    rows = make_rows(rng, 700, 48)
    headers_of(rows)["flags"] = 0
    rows[::3, HEADER_BYTES:] = 0
    headers_of(rows)["scale"][::3] = 0
    headers_of(rows)["importance"][::3] += 5
    table = kernel.prepare([indexed(kernel, Part(rows, 700), 48)])
    profile = ScoringProfile(w_similarity=0.5, w_importance=0.35)  # a product has nothing of them
    for recall_confidence in (0.0, 3.0):
        query = make_query(
            now_ms=NOW_MS,
            vector=rng.standard_normal(48),
            profile=profile,
            recall_confidence=recall_confidence,
        )
        got = assert_same_answer(kernel, table, query, 10, "no vector")
        assert (got.slot % 3 == 0).all()


def test_an_index_filled_by_another_kernel_serves(kernel: Kernel) -> None:
    rng = np.random.default_rng(16)
    rows = make_rows(rng, 800, 96)
    other = load_kernel("reference")
    part = Part(rows, 800)
    table = kernel.prepare([indexed(other, part, 96), indexed(kernel, part, 96)])
    query = make_query(now_ms=NOW_MS, vector=rng.standard_normal(96), recall_confidence=4.0)
    assert_same_answer(kernel, table, query, 10, "mixed")


@pytest.mark.sampled
@pytest.mark.parametrize("fusion", ["additive", "multiplicative"])
def test_a_bound_that_overflows_rules_nothing_out(kernel: Kernel, fusion: str) -> None:
    """Mechanism: what may score at most more than a float holds was taken for not a number."""
    profile = ScoringProfile(fusion=fusion, w_similarity=3.0, w_importance=1.0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = make_rows(rng, 1500, 64)
        header = headers_of(rows)
        header["flags"] = 0
        header["importance"][750] = 3.2e38
        table = kernel.prepare([indexed(kernel, Part(rows, 1500), 64)])
        query = make_query(
            now_ms=NOW_MS, vector=rng.standard_normal(64), profile=profile, recall_confidence=3.0
        )
        want = load_kernel("reference").scan(table, query, 10)
        assert want.ids[0] in kernel.scan(table, query, 10).ids, f"seed {seed}"


@pytest.mark.sampled
@pytest.mark.parametrize("dim", [3, 16, 64, 96])
def test_damaged_records_and_any_fusion_are_ranked_like_the_reference(
    kernel: Kernel, dim: int
) -> None:
    for seed in range(2):
        rng = np.random.default_rng([dim, seed, 9])
        table = world(seed, kernel, dim, damaged=True)
        for number in range(20):
            profile = ScoringProfile(
                fusion="multiplicative",
                w_similarity=float(rng.choice([0.5, 1, 3])),
                w_importance=float(rng.choice([0, 0.5, 1])),
            )
            query = make_query(
                now_ms=NOW_MS,
                vector=rng.standard_normal(dim),
                profile=profile,
                recall_confidence=100.0,
            )
            k = int(rng.choice([1, 3, 10]))
            assert_same_answer(kernel, table, query, k, f"dim {dim} {seed} {number} k {k}")

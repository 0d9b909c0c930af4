"""Mechanism: three implementations of one formula, in C, Numba and NumPy.

Damage: a store would rank differently on a machine without a compiler, or with another CPU.
Guard: thousands of random scans give the same records in the same order with the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spector.kernel.contract.query import Query, make_query
from spector.kernel.contract.scanner import AllowList, Part, PartTable, ScanResult
from spector.kernel.dispatch import load_kernel
from tests.kernel.blocks import (
    NOW_MS,
    damage,
    everywhere,
    headers_of,
    kernels,
    make_parts,
    make_rows,
    profile_pool,
    random_query,
)

DIMS = (1, 2, 31, 64, 65, 128, 384, 768, 1536)
WORLDS = 6
REFERENCE = load_kernel("reference")
#: x dims x worlds = 10,260 scans by each backend, and a sample of them
QUERIES = (pytest.param(190, id="all", marks=pytest.mark.slow), pytest.param(40, id="some"))


def image(result: ScanResult) -> list[bytes | int]:
    """Everything a scan returns, as bytes: equal images are bit-identical results."""
    arrays = (
        result.ids,
        result.part,
        result.slot,
        result.scores,
        result.similarity,
        result.drops,
    )
    return [*(array.tobytes() for array in arrays), result.scanned, result.scored]


@pytest.fixture(autouse=True)
def _several_backends() -> None:
    if len(kernels()) < 2:
        pytest.skip("only the reference backend loads here")


def scan_everywhere(
    table: PartTable, query: Query, k: int, context: str, **options: Any
) -> ScanResult:
    """Scan with all backends, C also on fewer instruction sets; returns the reference's."""
    want = REFERENCE.scan(table, query, k, **options)
    for kernel, name in everywhere():
        if image(want) != image(got := kernel.scan(table, query, k, **options)):
            pytest.fail(f"{context}, {name}:\n{want}\n{got}")
    return want


@pytest.mark.sampled
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("queries", QUERIES)
def test_all_backends_rank_alike(queries: int, dim: int) -> None:
    some_hits = some_drops = 0
    for world in range(WORLDS):
        rng = np.random.default_rng([dim, world])
        rows = make_rows(rng, [0, 1, 7, 64, 70, 150][world], dim)
        if world % 2:
            damage(rng, rows)
        table = REFERENCE.prepare(make_parts(rng, rows))
        profiles = profile_pool(rng, 24)
        for number in range(queries):
            query = random_query(rng, dim, profiles, headers_of(rows))
            k = int(rng.integers(1, 51))
            context = f"dim {dim} world {world} query {number}"
            result = scan_everywhere(table, query, k, context)
            some_hits += len(result)
            some_drops += int(result.drops.sum())
    assert some_hits > 10 * queries
    assert some_drops > 10 * queries


def test_gathered_scores_equal_scanned_ones() -> None:
    rng = np.random.default_rng(1)
    rows = make_rows(rng, 200, 48)
    damage(rng, rows)
    table = REFERENCE.prepare(make_parts(rng, rows))
    profiles = profile_pool(rng, 24)
    parts = np.repeat(np.arange(len(table)), table.counts)
    slots = np.concatenate([np.arange(count) for count in table.counts])
    for number in range(150):
        query = random_query(rng, 48, profiles, headers_of(rows))
        scan = REFERENCE.scan(table, query, 10_000)
        # any order, some records twice, whole blocks and a rest
        order = rng.permutation(np.concatenate([np.arange(len(parts)), [0, 7, 7]]))
        order = order[: int(rng.integers(1, len(order) + 1))]
        scores = np.full((len(table), 200), -np.inf, np.float32)
        scores[scan.part, scan.slot] = scan.scores
        sims = np.zeros((len(table), 200), np.float32)
        sims[scan.part, scan.slot] = scan.similarity
        asked = parts[order], slots[order]
        scored = np.isin(asked[0] * 200 + asked[1], scan.part.astype(np.int64) * 200 + scan.slot)
        first = None
        for kernel, name in everywhere():
            got_sims = np.full(len(order), 9, np.float32)
            got = kernel.score(table, query, *asked, similarity=got_sims)
            np.testing.assert_array_equal(got, scores[asked], f"{number} {name}")
            np.testing.assert_array_equal(got_sims[scored], sims[asked][scored], f"{number} {name}")
            first = got_sims if first is None else first
            np.testing.assert_array_equal(got_sims, first, f"{number} {name}")


def test_select_and_allow_lists_restrict_alike() -> None:
    rng = np.random.default_rng(2)
    rows = make_rows(rng, 300, 20)
    profiles = profile_pool(rng, 8)
    for number in range(150):
        table = REFERENCE.prepare(make_parts(rng, rows))
        query = random_query(rng, 20, profiles, headers_of(rows))
        parts = np.repeat(np.arange(len(table)), table.counts)
        slots = np.concatenate([np.arange(count) for count in table.counts])
        chosen = rng.random(len(parts)) < rng.random()
        allow = AllowList.from_records(table, parts[chosen], slots[chosen])
        select = np.flatnonzero(rng.random(len(table)) < 0.6)
        options = [
            {"allow": allow},
            {"select": select},
            {"allow": allow, "select": select.tolist()},
        ]
        for option in options:
            result = scan_everywhere(table, query, 40, f"round {number}", **option)
            if "allow" in option:
                admitted = set(zip(parts[chosen].tolist(), slots[chosen].tolist(), strict=True))
                got = set(zip(result.part.tolist(), result.slot.tolist(), strict=True))
                assert got <= admitted
            if "select" in option:
                assert set(result.part.tolist()) <= set(select.tolist())


def test_no_partitions_and_no_records_give_nothing() -> None:
    rng = np.random.default_rng(3)
    query = random_query(rng, 8, profile_pool(rng, 0), headers_of(make_rows(rng, 1, 8)))
    for kernel in kernels():
        for parts in ([], make_parts(rng, make_rows(rng, 0, 8))):
            result = kernel.scan(parts, query, 10)
            assert (len(result), result.scanned, result.scored) == (0, 0, 0)
        assert len(kernel.score([], query, [], [])) == 0


@pytest.mark.parametrize("k", [0, 1, 3, 1000, 10_000])
def test_k_best_are_the_head_of_the_full_ranking(k: int) -> None:
    rng = np.random.default_rng(4)
    rows = make_rows(rng, 3000, 16)
    damage(rng, rows)
    table = REFERENCE.prepare(make_parts(rng, rows))
    query = random_query(rng, 16, profile_pool(rng, 0), headers_of(rows))
    full = REFERENCE.scan(table, query, 1 << 30)
    assert len(full) == full.scored
    for kernel in kernels():
        np.testing.assert_array_equal(kernel.scan(table, query, k).ids, full.ids[:k])


def test_equal_scores_order_by_id_then_place() -> None:
    rng = np.random.default_rng(5)
    rows = np.repeat(make_rows(rng, 1, 4), 40, axis=0)
    headers_of(rows)["flags"] = 0
    headers_of(rows)["id"] = rng.permutation(np.repeat(np.arange(20), 2))
    parts = [Part(rows[:13], 13), Part(rows[13:], 27)]
    for kernel in kernels():
        result = kernel.scan(parts, make_query(now_ms=NOW_MS, vector=[1, 2, 3, 4]), 17)
        places = list(
            zip(result.ids.tolist(), result.part.tolist(), result.slot.tolist(), strict=True)
        )
        assert len(places) == 17
        assert len(set(result.scores.tolist())) == 1
        assert places == sorted(places)

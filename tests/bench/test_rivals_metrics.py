"""How rivals are judged.

Mechanism: exact answers in float32, recall against them, the re-ranking of fetched neighbours.
Damage if wrong: a comparison that flatters somebody. Guard: answers worked out by hand or by brute
force, and the engine's own score beside the line that stands for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.data import Corpus
from bench.rivals import workload
from bench.rivals.contenders import spector_store
from bench.rivals.metrics import (
    NOBODY,
    Ranking,
    exact_top,
    mean_recall,
    paired_ratio,
    recall,
    reranked,
    times_ms,
)
from spector.kernel.dispatch import get_kernel


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_recall_counts_true_answers_once_and_placeholders_never() -> None:
    assert recall([1, 2, 3], [1, 2, 3]) == 1
    assert recall([3, 3, 3], [1, 2, 3]) == pytest.approx(1 / 3)
    assert recall([], [1, 2]) == 0
    assert recall([1, NOBODY], [1, NOBODY]) == 1
    assert recall([NOBODY, 5], [1, NOBODY]) == 0
    assert recall([], [NOBODY, NOBODY]) == 1, "nothing to find"


def test_mean_recall_is_over_the_cues_that_were_asked() -> None:
    truth = np.array([[0, 1], [2, 3], [4, 5]])
    assert mean_recall([[0, 1], [2, 9]], truth) == 0.75
    with pytest.raises(ValueError, match="no cue"):
        mean_recall([], truth)


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_exact_top_equals_sorting_everything(chunk: int) -> None:
    rng = np.random.default_rng(5)
    vectors, cues = unit(rng.standard_normal((200, 9))), unit(rng.standard_normal((4, 9)))
    members = rng.random(200) < 0.3
    base, slope = rng.random((2, 200)).astype(np.float32)
    rankings = {
        "cosine": Ranking(),
        "gated": Ranking(members),
        "fused": Ranking(None, base, slope),
        "both": Ranking(members, base, slope),
    }
    found = exact_top(vectors, cues, 10, rankings, chunk=chunk)
    sims = cues @ vectors.T
    for name, ranking in rankings.items():
        scores = sims if ranking.base is None else base + slope * sims
        if ranking.members is not None:
            scores = np.where(members, scores, -np.inf)
        np.testing.assert_array_equal(found[name], np.argsort(-scores, axis=1)[:, :10])


def test_exact_top_says_nobody_where_a_filter_keeps_fewer_than_k() -> None:
    vectors = np.eye(6, dtype=np.float32)
    members = np.array([False, True, False, False, True, False])
    (row,) = exact_top(vectors, vectors[4:5], 3, {"x": Ranking(members)}, chunk=2)["x"]
    assert row.tolist() == [4, 1, NOBODY]


def test_reranking_finds_the_important_one_only_when_it_was_fetched() -> None:
    base = np.array([0.0, 0.0, 0.0, 0.9], np.float32)
    ranking = Ranking(base=base, slope=np.ones(4, np.float32))
    sims = np.array([0.9, 0.8, 0.7, 0.1], np.float32)
    assert reranked([0, 1, 2, 3], sims, ranking, 2) == [3, 0]
    assert reranked([0, 1], sims[:2], ranking, 2) == [0, 1], "row 3 was truncated away"
    assert reranked([], np.zeros(0, np.float32), ranking, 2) == []


def test_times_are_nearest_rank_percentiles_in_milliseconds() -> None:
    figures = times_ms([n / 1000 for n in range(100, 0, -1)])
    assert figures == pytest.approx(
        {"p50_ms": 50.0, "p99_ms": 99.0, "best_ms": 1.0, "samples": 100}
    )


def test_a_paired_ratio_divides_within_rounds_and_not_between_them() -> None:
    # the machine was ten times slower in the second half: medians of each alone would hide it
    slow, fast = [2.0, 4.0, 20.0, 40.0], [1.0, 1.0, 10.0, 10.0]
    assert paired_ratio(slow, fast) == {"ratio": 2.0, "ratio_p25": 2.0, "ratio_p75": 4.0}


def test_a_filter_keeps_exactly_its_share_and_at_least_one() -> None:
    kept = workload.draw_members(20_000).sum(axis=1)
    assert kept.tolist() == [20_000, 2_000, 200, 20, 2]
    assert workload.draw_members(50).sum(axis=1).tolist() == [50, 5, 1, 1, 1]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> workload.Workload:
    """Four hundred records in a store of their own, with the truth about them."""
    rng = np.random.default_rng(11)
    base, cues = unit(rng.standard_normal((40, 24))), unit(rng.standard_normal((8, 24)))
    texts = tuple(f"turn {n}" for n in range(40))
    corpus = Corpus("made up", texts, ("Ana",) * 40, base, ("what?",) * 8, cues)
    monkeypatch.setattr(workload, "load_corpus", lambda: corpus)
    monkeypatch.setattr(spector_store, "_CORPUS", [corpus])
    workload.prepare(tmp_path, 400)
    work = workload.load(tmp_path)
    spector_store.SpectorStore().build(work, tmp_path / "store")
    spector_store.write_formula(work, tmp_path / "store")
    workload.find_truth(work)
    return work


def test_the_line_that_stands_for_the_fused_score_is_the_engines_score(
    small: workload.Workload,
) -> None:
    for profile, formula in small.formulas().items():
        store = spector_store.SpectorStore(profile)
        store.open(small, small.folder / "store", 1)
        answer = store.ask(small.cues[0], 400, workload.SHARES[0])()
        rows = np.array(store.rows(answer, workload.SHARES[0]))
        assert sorted(rows.tolist()) == list(range(400))
        expected = formula.scores(rows, answer.similarity)
        np.testing.assert_allclose(answer.scores, expected, atol=2e-6)
        store.close()


@pytest.mark.parametrize(
    "asked",
    [{"gate": "tags"}, {"gate": "bitmap"}, {"exact": True}, {"exact": True, "straight": True}],
)
def test_spector_finds_the_truth_behind_every_filter(
    small: workload.Workload, asked: dict[str, Any]
) -> None:
    truth = small.truth()
    store = spector_store.SpectorStore("balanced", **asked)
    store.open(small, small.folder / "store", 1)
    for share in workload.SHARES:
        kept = small.kept(share)
        found = []
        for cue in small.cues:
            rows = store.rows(store.ask(cue, 10, share)(), share)[:10]
            assert kept is None or kept[rows].all(), "strangers of the Bloom gate are dropped"
            found.append(rows)
        right = truth[workload.truth_name("balanced", share)]
        assert mean_recall(found, right) >= 0.95, "int8 against float32"
    store.close()


def test_recall_end_to_end_names_the_same_rows(small: workload.Workload) -> None:
    store = spector_store.SpectorRecall("importance")
    store.open(small, small.folder / "store", 1)
    share = workload.SHARES[1]
    rows = store.rows(store.ask(small.cues[1], 10, share)(), share)
    right = small.truth()[workload.truth_name("importance", share)][1]
    assert recall(rows, right) >= 0.9
    store.close()


def test_scans_are_of_the_table_that_recall_scans(small: workload.Workload) -> None:
    store = spector_store.SpectorStore()
    store.open(small, small.folder / "store", 1)
    assert store.table.counts.sum() == 400
    if get_kernel().indexes:
        assert all(part.index is not None for part in store.table.parts)
    assert store.memory._parts.searcher._scanner is store.scanned.kernel, "the spy is gone"
    store.close()
    straight = spector_store.SpectorStore(exact=True, straight=True)
    straight.open(small, small.folder / "store", 1)
    assert all(part.index is None for part in straight.table.parts)
    straight.close()

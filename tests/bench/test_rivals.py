"""The page about rivals.

Mechanism: reports of steps become tables. Damage if wrong: a lost row, a rival beaten by a case that
it was never asked. Guard: hand-made runs in, known lines out. No engine is imported and nothing is
timed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import results
from bench.data import Corpus
from bench.rivals import page
from bench.rivals.metrics import NOBODY, Ranking, exact_top, recall
from bench.rivals.registry import entry_named


def a_contender(name: str, p50_ms: float = 2.0, **changes: Any) -> dict[str, Any]:
    entry = entry_named(name)
    cell = {"p50_ms": p50_ms, "p99_ms": p50_ms * 2, "best_ms": 1.0, "samples": 9, "recall": 0.99}
    trap = {"fetch_p50_ms": 3.0, "cues": 9, "balanced": 0.5, "importance": 0.25}
    return {
        "name": name,
        "title": entry.title,
        "about": entry.about,
        "ranking": entry.ranking,
        "build": {"build_s": 4.0, "bytes_per_record": 400.0, "peak_bytes": 1 << 20},
        "query": {
            "open_s": 0.01,
            "first_answer_s": 0.02,
            "peak_bytes": 1 << 21,
            "filters": {label: dict(cell) for label in page.LABELS},
            "trap": {times: dict(trap) for times in ("1", "10", "100")},
        },
    } | changes


def a_pair(ratio: float = 13.0) -> dict[str, Any]:
    times = {"p50_ms": 1.0, "p99_ms": 2.0, "best_ms": 0.5, "samples": 9}
    way = {
        **times,
        "ratio": ratio,
        "ratio_p25": 1.0,
        "ratio_p75": 30.0,
        "recall": 0.99,
        "recall_of_exact": 0.999,
        "ratio_best": 12.0,
        "ratio_cpu": 11.0,
    }
    filters = {label: {"faiss-sq8": times, "default": way} for label in page.LABELS}
    filters["0.01 %"]["as recall asks"] = way
    return {"yardstick": "faiss-sq8", "profile": "balanced", "k": 10, "filters": filters}


def a_run(*contenders: dict[str, Any], **changes: Any) -> dict[str, Any]:
    run = {
        "schema": results.SCHEMA,
        "mode": "rivals",
        "started": "2026-11-22T03:00:00Z",
        "elapsed_s": 60.0,
        "commit": "0123456789abcdef",
        "dirty": False,
        "records": 1_000_000,
        "dim": 384,
        "data": "made up",
        "cell_s": 1.0,
        "kernel": "native (avx2)",
        "load_average": [0.1, 1.0],
        "machine": {
            "cpu": "A CPU",
            "cores": 2,
            "ram_gb": 24.0,
            "stream_gb_per_s": 22.5,
            "cpu_flags": ["avx2"],
            "l3_cache": "1K",
            "system": "Linux",
        },
        "versions": {"python": "3.11.7", "spector": "0.1.0"},
        "contenders": list(contenders),
        "pair": a_pair(),
    }
    return run | changes


def line_with(text: str, lines: list[str]) -> str:
    (found,) = [line for line in lines if text in line]
    return found


def test_a_promise_is_judged_by_its_ratio_and_only_at_its_size() -> None:
    lines = page.promises(a_run())
    assert line_with("at least 12 x", lines).endswith("13, kept.")
    assert line_with("at least 20 x", lines).endswith("13, **missed**.")
    assert line_with("at most 50 us", lines).endswith("1 ms, **missed**.")
    assert "| 13 x (1 to 30) | 12 x | 11 x | 0.990 | 0.999 |" in line_with("| 10 % |", lines)
    small = page.promises(a_run(records=100_000))
    assert "not judged here" in line_with("at least 20 x", small)


def test_every_contender_has_a_row_even_with_nothing_to_show() -> None:
    failed = a_contender("chroma", build={"reason": "no wheel"}, query={})
    run = a_run(a_contender("spector"), a_contender("hnswlib"), failed)
    text = page.docs_page(run)
    for each in run["contenders"]:
        assert line_with(f"| {each['title']} |", page.neighbours(run))
        assert line_with(f"| {each['title']} |", page.facts(run))
    assert "- Chroma, float32, build: no wheel" in text


def test_a_faster_rival_is_a_loss_unless_it_finds_less() -> None:
    faster, careless = a_contender("hnswlib", 1.0), a_contender("faiss-rabitq-sq8", 1.0)
    for cell in careless["query"]["filters"].values():
        cell["recall"] = 0.7
    run = a_run(a_contender("spector"), faster, careless, a_contender("faiss-sq8", 3.0))
    lines = [line for line in page.losses(run) if line.startswith("- Filter")]
    assert len(lines) == len(page.LABELS)
    for line in lines:
        assert "hnswlib, float32 (1 ms, recall 0.990)" in line
        assert "RaBitQ" not in line
        assert "SQ8" not in line


def test_the_largest_run_is_taken_and_of_those_the_newest(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="bench-rivals"):
        page.newest(tmp_path)
    for name in (
        "rivals-20260103T0000-c-100k.json",
        "rivals-20260101T0000-a-1000k.json",
        "rivals-20260102T0000-b-1000k.json",
        "20270101T0000-d-full.json",
    ):
        (tmp_path / name).touch()
    assert page.newest(tmp_path).name == "rivals-20260102T0000-b-1000k.json"


def test_the_published_page_is_that_of_the_largest_newest_run() -> None:
    try:
        run = results.load(page.newest())
    except FileNotFoundError:
        pytest.skip("no run of rivals is committed yet")
    assert page.PAGE.read_text(encoding="utf-8") == page.docs_page(run), (
        "run: python -m bench.rivals report"
    )


# -- How rivals are judged -------------------------------------------------------------------------
#
# Mechanism: exact answers in float32, recall against them, the re-ranking of fetched neighbours.
# Damage if wrong: a comparison that flatters somebody. Guard: answers worked out by hand or by
# brute force, and the engine's own score beside the line that stands for it.


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_recall_counts_true_answers_once_and_placeholders_never() -> None:
    assert recall([1, 2, 3], [1, 2, 3]) == 1
    assert recall([3, 3, 3], [1, 2, 3]) == pytest.approx(1 / 3)
    assert recall([], [1, 2]) == 0
    assert recall([1, NOBODY], [1, NOBODY]) == 1
    assert recall([NOBODY, 5], [1, NOBODY]) == 0
    assert recall([], [NOBODY, NOBODY]) == 1, "nothing to find"


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


# -- Input of the benchmarks: the same on every run, of the promised shape, and not degenerate -----


@pytest.fixture
def corpus() -> Corpus:
    rng = np.random.default_rng(3)
    base = rng.standard_normal((7, 48), dtype=np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    texts = tuple(f"turn {n}" for n in range(7))
    return Corpus("made up", texts, ("Ana",) * 7, base, ("what?",), base[:1])


def test_vectors_do_not_depend_on_how_they_are_asked_for(corpus: Corpus) -> None:
    whole = corpus.vectors(0, 20_050)
    assert whole.shape == (20_050, 48)
    for start, stop in [(0, 1), (9_990, 10_010), (5, 20_050), (10_000, 20_000), (20_000, 20_001)]:
        np.testing.assert_array_equal(corpus.vectors(start, stop), whole[start:stop])
    assert corpus.vectors(5, 5).shape == (0, 48)

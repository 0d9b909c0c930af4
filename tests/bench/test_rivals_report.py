"""The page about rivals, the plan of a run, and the guard around its steps.

Mechanism: reports of steps become tables; a plan says what runs, in which order, and needs what.
Damage if wrong: a lost row, a rival beaten by a case that it was never asked, a run that eats the
machine. Guard: hand-made runs in, known lines out. No engine is imported and nothing is timed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import results
from bench.rivals import report, tables
from bench.rivals.contenders import entry_named


def a_contender(name: str, p50_ms: float = 2.0, **changes: Any) -> dict[str, Any]:
    entry = entry_named(name)
    cell = {"p50_ms": p50_ms, "p99_ms": p50_ms * 2, "best_ms": 1.0, "samples": 9, "recall": 0.99}
    trap = {"fetch_p50_ms": 3.0, "cues": 9, "balanced": 0.5, "importance": 0.25}
    return {
        "name": name,
        "title": entry.title,
        "about": entry.about,
        "ranking": entry.ranking,
        "sits_out": entry.why_not_more,
        "build": {"build_s": 4.0, "bytes_per_record": 400.0, "peak_bytes": 1 << 20},
        "query": {
            "open_s": 0.01,
            "first_answer_s": 0.02,
            "peak_bytes": 1 << 21,
            "filters": {label: dict(cell) for label in tables.LABELS},
            "trap": {times: dict(trap) for times in ("1", "10", "100")},
        },
        "query2": {},
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
    filters = {label: {"faiss-sq8": times, "default": way} for label in tables.LABELS}
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
    lines = tables.promises(a_run())
    assert line_with("at least 12 x", lines).endswith("13, kept.")
    assert line_with("at least 20 x", lines).endswith("13, **missed**.")
    assert line_with("at most 50 us", lines).endswith("1 ms, **missed**.")
    assert "| 13 x (1 to 30) | 12 x | 11 x | 0.990 | 0.999 |" in line_with("| 10 % |", lines)
    small = tables.promises(a_run(records=100_000))
    assert "not judged here" in line_with("at least 20 x", small)


def test_every_contender_has_a_row_even_with_nothing_to_show() -> None:
    failed = a_contender("chroma", build={"reason": "no wheel"}, query={}, query2={})
    run = a_run(a_contender("spector"), a_contender("hnswlib"), failed)
    page = report.docs_page(run)
    for each in run["contenders"]:
        assert line_with(f"| {each['title']} |", tables.neighbours(run))
        assert line_with(f"| {each['title']} |", tables.facts(run))
    assert "- Chroma, float32, build: no wheel" in page


def test_a_faster_rival_is_a_loss_unless_it_finds_less() -> None:
    faster, careless = a_contender("hnswlib", 1.0), a_contender("faiss-rabitq", 1.0)
    for cell in careless["query"]["filters"].values():
        cell["recall"] = 0.7
    run = a_run(a_contender("spector"), faster, careless, a_contender("faiss-sq8", 3.0))
    lines = [line for line in tables.losses(run) if line.startswith("- Filter")]
    assert len(lines) == len(tables.LABELS)
    for line in lines:
        assert "hnswlib, float32 (1 ms, recall 0.990)" in line
        assert "RaBitQ" not in line
        assert "SQ8" not in line


def test_the_largest_run_is_taken_and_of_those_the_newest(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="bench-rivals"):
        report.newest(tmp_path)
    for name in (
        "rivals-20260103T0000-c-100k.json",
        "rivals-20260101T0000-a-1000k.json",
        "rivals-20260102T0000-b-1000k.json",
        "20270101T0000-d-full.json",
    ):
        (tmp_path / name).touch()
    assert report.newest(tmp_path).name == "rivals-20260102T0000-b-1000k.json"


def test_the_published_page_is_that_of_the_largest_newest_run() -> None:
    try:
        run = results.load(report.newest())
    except FileNotFoundError:
        pytest.skip("no run of rivals is committed yet")
    assert report.PAGE.read_text(encoding="utf-8") == report.docs_page(run), (
        "run: python -m bench.rivals report"
    )

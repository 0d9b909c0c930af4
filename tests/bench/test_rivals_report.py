"""The page about rivals, the plan of a run, and the guard around its steps.

Mechanism: reports of steps become tables; a plan says what runs, in which order, and needs what.
Damage if wrong: a lost row, a rival beaten by a case that it was never asked, a run that eats the
machine. Guard: hand-made runs in, known lines out. No engine is imported and nothing is timed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench import results
from bench.rivals import child, guard, report, tables
from bench.rivals.contenders import ENTRIES, entry_named
from bench.rivals.plan import Limits, plan

LIMITS = Limits.of(100_000, None, None, 14.0)


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


def test_a_pair_that_could_not_be_measured_says_why() -> None:
    assert tables.promises(a_run(pair={"reason": "no room"})) == ["Not measured: no room."]


def test_every_contender_has_a_row_even_with_nothing_to_show() -> None:
    failed = a_contender("chroma", build={"reason": "no wheel"}, query={}, query2={})
    run = a_run(a_contender("spector"), a_contender("hnswlib"), failed)
    page = report.docs_page(run)
    for each in run["contenders"]:
        assert line_with(f"| {each['title']} |", tables.neighbours(run))
        assert line_with(f"| {each['title']} |", tables.facts(run))
    assert "- Chroma, float32, build: no wheel" in page


def test_a_filter_that_a_rival_lacks_is_empty_and_explained() -> None:
    rival = a_contender("usearch-hnsw")
    rival["query"]["filters"]["1 %"] = {"reason": "no filter"}
    rival["query"]["filters"]["0.1 %"] = {"reason": "no filter"}
    run = a_run(a_contender("spector"), rival)
    row = line_with(f"| {rival['title']} |", tables.neighbours(run))
    assert row.split("|")[4].strip() == "-"
    assert row.split("|")[2].strip() == "2 / 4, 0.990"
    assert line_with("no filter", tables.missing(run)) == (
        f"- {rival['title']}, filter 1 %, filter 0.1 %: no filter"
    )


def test_who_sits_out_says_why() -> None:
    rival = a_contender("qdrant-local", build={}, query={}, query2={})
    assert "20,000 points" in line_with("Qdrant", tables.missing(a_run(rival)))


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


def with_efforts(name: str, **efforts: tuple[float, float]) -> dict[str, Any]:
    rival = a_contender(name, 9.0, effort_name="ef")
    rival["query"]["filters"]["100 %"]["recall"] = 0.5
    rival["query"]["efforts"] = {
        effort.strip("_"): {"p50_ms": p50_ms, "p99_ms": 9.0, "recall": recall}
        for effort, (p50_ms, recall) in efforts.items()
    } | {"999": {"reason": "too much"}}
    return rival


def test_a_rival_is_shown_at_every_effort_and_beats_us_with_the_best_of_them() -> None:
    rival = with_efforts("hnswlib", _64=(0.5, 0.6), _128=(1.0, 0.985), _256=(1.5, 0.99))
    run = a_run(a_contender("spector"), rival, a_contender("faiss-sq8"))
    rows = [line for line in tables.efforts(run) if line.startswith("|")][2:]
    assert rows == [
        "| spector kernel, cosine only | - | 2 ms | 0.990 |",
        "| hnswlib, float32 | ef 64 | 0.5 ms | 0.600 |",
        "| hnswlib, float32 | ef 128 | 1 ms | 0.985 |",
        "| hnswlib, float32 | ef 256 | 1.5 ms | 0.990 |",
    ]
    assert "hnswlib, float32 (1 ms, recall 0.985, ef 128)" in line_with(
        "- Filter 100 %", tables.losses(run)
    )
    assert not [line for line in tables.losses(run) if line.startswith("- Filter 10 %")]
    assert tables.efforts(a_run(a_contender("spector"))) == ["Not measured in this run."]


def test_only_who_has_efforts_is_asked_at_some_and_then_as_usual_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def filtered(contender: Any, *_: Any) -> dict[str, Any]:
        asked.append(contender.effort)
        return {"p50_ms": 1.0}

    monkeypatch.setattr(child, "_filtered", filtered)
    contender, entry = SimpleNamespace(effort=32), entry_named("faiss-ivf-rabitq")
    told = child._efforts(contender, entry, *[None] * 3)  # type: ignore[arg-type]
    assert asked == list(entry.efforts)
    assert list(told) == [str(effort) for effort in entry.efforts]
    assert contender.effort == 32
    for each in ENTRIES:
        assert bool(each.efforts) == bool(each.effort_name)


def test_a_smaller_or_sooner_built_rival_is_a_loss() -> None:
    small = a_contender("faiss-rabitq", 9.0)
    small["build"] = {"build_s": 1.0, "bytes_per_record": 57.0}
    lines = tables.losses(a_run(a_contender("spector"), small))
    assert line_with("Bytes a record", lines).endswith("less: faiss RaBitQ (57).")
    assert "less: faiss RaBitQ (1 s)" in line_with("Build", lines).replace("1,000 ms", "1 s")
    assert tables.losses(a_run(a_contender("spector"))) == ["In no column of this run."]


def test_the_trap_shows_rivals_by_fetch_and_spector_by_one_call() -> None:
    fused = a_contender("spector-fused")
    del fused["query"]["trap"]
    fused["query"]["direct"] = {"balanced": {"p50_ms": 1.0, "recall": 0.998}}
    lines = tables.trap(a_run(fused, a_contender("hnswlib")))
    assert line_with("one call", lines).endswith("| 0.998 (1 ms) | | |")
    rows = [line for line in lines if line.startswith("| hnswlib")]
    assert rows == [
        "| hnswlib, float32 | 0.500 (3 ms) | 0.500 (3 ms) | 0.500 (3 ms) |",
        "| hnswlib, float32 | 0.250 (3 ms) | 0.250 (3 ms) | 0.250 (3 ms) |",
    ]


def test_a_shared_machine_is_named() -> None:
    assert "shared with other work" not in report.docs_page(a_run())
    assert "load 0.1 to 7.5" in report.docs_page(a_run(load_average=[0.1, 7.5]))


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "rivals.md"
    report.write_page(a_run(a_contender("spector")), page)
    assert page.read_text(encoding="utf-8") == report.docs_page(a_run(a_contender("spector")))


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


def test_no_run_of_rivals_is_taken_for_a_run_of_the_benchmarks(tmp_path: Path) -> None:
    (tmp_path / "rivals-20260102T0000-b-1000k.json").touch()
    with pytest.raises(FileNotFoundError):
        results.newest_full(tmp_path)


def test_the_published_page_is_that_of_the_largest_newest_run() -> None:
    try:
        run = results.load(report.newest())
    except FileNotFoundError:
        pytest.skip("no run of rivals is committed yet")
    assert report.PAGE.read_text(encoding="utf-8") == report.docs_page(run), (
        "run: python -m bench.rivals report"
    )


def test_a_plan_prepares_before_it_asks_and_builds_a_shared_store_once() -> None:
    steps = plan(ENTRIES, 100_000, LIMITS)
    keys = [step.key for step in steps]
    assert len(keys) == len(set(keys))
    for n, step in enumerate(steps):
        assert set(step.needs) <= set(keys[:n]), step.key
    assert [key for key in keys if key.startswith("build-spector")] == ["build-spector"]
    assert keys.index("pair") < min(n for n, key in enumerate(keys) if key.startswith("query"))


def test_one_contender_brings_what_it_needs() -> None:
    keys = {step.key for step in plan([entry_named("hnswlib")], 100_000, LIMITS)}
    assert {"prepare", "build-spector", "formula", "truth", "pair", "query-hnswlib"} <= keys
    assert "query-chroma" not in keys


def test_who_cannot_take_a_million_is_not_asked_to() -> None:
    keys = {step.key for step in plan(ENTRIES, 1_000_000, LIMITS)}
    assert "query-hnswlib" in keys
    assert not any("qdrant" in key for key in keys)


def test_an_unknown_contender_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="faiss-sq8"):
        entry_named("faiss")


def test_naming_the_contenders_imports_none_of_their_engines() -> None:
    engines = {"faiss", "usearch", "hnswlib", "sqlite_vec", "lancedb", "chromadb", "qdrant_client"}
    assert not engines & set(sys.modules)


def run_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, **limits: Any) -> Any:
    monkeypatch.setattr(guard, "python", lambda *_: [sys.executable, "-c", code])
    limits = {"seconds": 60.0, "memory_bytes": 1 << 33} | limits
    return guard.run_step([], cores=2, log=tmp_path / "log", **limits)


def test_a_steps_last_line_is_its_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = run_child(monkeypatch, tmp_path, 'print("{chatter"); print(\'{"open_s": 1}\')')
    assert told["open_s"] == 1
    assert "reason" not in told


@pytest.mark.parametrize(
    ("code", "limits", "reason"),
    [
        ("raise ValueError('too bad')", {}, "failed: ValueError: too bad"),
        ("import os; os._exit(3)", {}, "failed: exit code 3"),
        ("import time; time.sleep(60)", {"seconds": 0.5}, "stopped: not done within 0.5 s"),
        (
            "import time; held = bytearray(b'x') * (200 << 20); time.sleep(60)",
            {"memory_bytes": 100 << 20},
            "stopped: needed more than 0.1 GiB",
        ),
    ],
)
def test_a_step_that_fails_or_takes_too_much_becomes_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, limits: dict[str, Any], reason: str
) -> None:
    if "memory_bytes" in limits and not Path("/proc/self/status").is_file():
        pytest.skip("this system does not tell what a process owns")
    told = run_child(monkeypatch, tmp_path, code, **limits)
    assert told["reason"] == reason
    json.dumps(told)

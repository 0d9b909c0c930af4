"""The tables of the README and the docs.

Mechanism: pytest-benchmark's JSON becomes rows, rows become tables. Damage if wrong: a published
figure that nobody measured, or a missed promise that nobody sees. Guard: hand-made reports in,
known tables out. Nothing here measures a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import report, results
from tests.cases import Cases

cases = Cases(__file__)

BEGIN, END = report.marks("bench")


def a_benchmark(**changes: Any) -> dict[str, Any]:
    """One entry of a pytest-benchmark report: ten samples, 1 to 10 ms."""
    info = {
        "id": "recall.vector.1000000",
        "group": "recall",
        "title": "recall by vector",
        "unit": "ms",
        "params": {"records": 1_000_000, "dim": 384, "threads": 1},
        "target": None,
        "extra": {},
    }
    return {"extra_info": info | changes, "stats": {"data": [n / 1000 for n in range(10, 0, -1)]}}


def a_row(**changes: Any) -> dict[str, Any]:
    (row,) = results.convert({"benchmarks": [a_benchmark(**changes)]})
    return row


def a_run(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    run = {
        "schema": results.SCHEMA,
        "mode": "full",
        "started": "2026-11-21T23:00:00Z",
        "elapsed_s": 600.0,
        "commit": "0123456789abcdef",
        "dirty": False,
        "data": "two made-up turns",
        "kernel": "native (avx2)",
        "load_average": [0.1, 0.2],
        "machine": {"cpu": "A CPU", "cores": 2, "ram_gb": 24.0, "stream_gb_per_s": 22.5},
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "sqlite": "3.40.1"},
        "rows": list(rows),
        "failed": [],
    }
    return run | changes


def test_times_come_in_their_unit_with_nearest_rank_percentiles() -> None:
    stats = a_row()["stats"]
    assert stats == {"best": 1.0, "p50": 5.0, "p99": 10.0, "worst": 10.0, "mean": 5.5}


@cases("target", "kept")
def test_a_promise_is_judged_by_the_figure_it_names(target: dict[str, Any], kept: bool) -> None:
    row = a_row(target=target, extra={"times_stream": 1.51, "per_second": 500.0})
    assert row["met"] is kept
    word = "kept" if kept else "**missed**"
    assert word in report.readme_block(a_run(row))
    assert ("Missed:" in report.docs_block(a_run(row))) is not kept


def test_the_page_has_every_row_and_the_readme_ten_at_most() -> None:
    rows = [
        a_row(
            id=f"recall.{kind}.{size}", title=f"{kind} {size}", params={"records": size, "dim": 8}
        )
        for kind in ("vector", "hybrid")
        for size in (10_000, 100_000, 1_000_000)
    ]
    page, block = report.docs_block(a_run(*rows)), report.readme_block(a_run(*rows))
    for row in rows:
        assert row["title"] in page
        assert (f"| {row['title']} |" in block) == (row["params"]["records"] == 1_000_000)


def test_only_the_marked_block_of_the_readme_changes(tmp_path: Path) -> None:
    readme, page = tmp_path / "README.md", tmp_path / "performance.md"
    page.write_text(f"# Performance\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    report.write_all(a_run(a_row(title=r"back\1slash")), readme, page)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n|what|")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert r"back\1slash" in text
    assert "\n## Benchmarks\n" in page.read_text(encoding="utf-8")
    report.write_all(a_run(a_row(title=r"back\1slash")), readme, page)
    assert readme.read_text(encoding="utf-8") == text, "a second run must change nothing"


def test_the_newest_full_run_is_taken_and_quick_ones_are_not(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="--full"):
        results.newest_full(tmp_path)
    for name in (
        "20260102T0000-a-full.json",
        "20260103T0000-b-full.json",
        "20270101T0000-c-quick.json",
    ):
        (tmp_path / name).touch()
    assert results.newest_full(tmp_path).name == "20260103T0000-b-full.json"


def test_the_published_tables_are_those_of_the_newest_full_run() -> None:
    try:
        run = results.load(results.newest_full())
    except FileNotFoundError:
        pytest.skip("no full run is committed yet")
    readme = report.README.read_text(encoding="utf-8")
    assert report.replace_block(readme, "bench", report.readme_block(run)) == readme, (
        "run: python -m bench report"
    )
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.replace_block(page, "bench", report.docs_block(run)) == page

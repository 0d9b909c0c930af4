"""The page of large stores: the newest run of each of its sizes, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import large, report, results


def run_of(records: int, day: int, *, slept: bool = False) -> dict[str, Any]:
    measured = {
        "reader": "sum",
        "streamed_bytes": 448 * records,
        "recall_at_10": 1.0,
        "seconds": {name: [0.002, 0.004, 0.006] for name in (*large.QUESTIONS, large.STRAIGHT)},
        "opened": [{"open_s": 0.1, "first_recall_s": 0.2, "rss_open": {"anon": 4e7}}],
    }
    measured["seconds"][large.STRAIGHT] = [0.016]
    run = {
        "schema": results.SCHEMA,
        "records": records,
        "started": f"2026-11-{day}T08:00:00Z",
        "source": "turns",
        "machine": {"cpu": "a processor", "load_average": [0.5]},
        "commit": f"{day}abcdef",
        "built": None,
        "bytes": {"derived": records},
        **measured,
    }
    if slept:
        run["slept"] = {"seconds": 3.0, "partitions": 2, "records": records, "left": 0}
        run["after"] = measured
    return run


def keep(folder: Path, *runs: dict[str, Any]) -> None:
    for run in runs:
        results.save(run, folder / f"large-{run['started']}-{run['records']}.json")


def test_the_page_tells_of_the_newest_run_of_each_of_its_sizes(tmp_path: Path) -> None:
    keep(
        tmp_path,
        run_of(10_000_000, 21),
        run_of(10_000_000, 22),
        run_of(1_000_000, 23, slept=True),
        run_of(20_000, 24),
    )
    told = large.block(large.newest(tmp_path))
    assert [line for line in told.splitlines() if line.startswith("#")] == [
        "## Large stores",
        "### 1,000,000 memories",
        "#### 1,000,000 after sleep",
        "### 10,000,000 memories",
    ]
    assert "23abcde" in told
    assert "22abcde" in told
    assert "21abcde" not in told
    assert told.count("takes 25.0% of the streaming read") == 3


@pytest.mark.sampled
@pytest.mark.parametrize(("records", "written"), [(300, False), (1_000_000, True)])
def test_a_run_of_another_size_leaves_the_page_as_it_is(
    records: int, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = run_of(records, 25)
    page, marks = tmp_path / "page.md", "\n".join(report.marks("large"))
    page.write_text(marks)
    monkeypatch.setattr(large, "PAGE", page)
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(large, "load_corpus", lambda: type("Corpus", (), {"source": "turns"}))
    monkeypatch.setattr(large, "_ensure", lambda *_: None)
    monkeypatch.setattr(large, "bytes_by_kind", lambda _: measured["bytes"])
    monkeypatch.setattr(large, "openings", lambda *_: measured["opened"])
    names = ("reader", "streamed_bytes", "recall_at_10", "seconds")
    monkeypatch.setattr(large, "measure", lambda *_: {name: measured[name] for name in names})
    assert large.main([str(records)]) == 0
    assert len(list(tmp_path.glob("large-*.json"))) == 1
    assert (page.read_text() != marks) == written


def test_the_published_page_is_that_of_the_newest_runs() -> None:
    page = large.PAGE.read_text(encoding="utf-8")
    block = large.block(large.newest(results.RESULTS))
    assert report.replace_block(page, "large", block) == page

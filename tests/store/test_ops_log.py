"""The operations log: what its lines say, that it never fails a call, and that erasure covers it.

Damage without it: a full disk for a log ends a recall, a log that grows without end, or a line that
still names a memory whose erasure was attested.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import InvalidInputError, StoreFullError
from spector.store.files import DiskFile
from tests.conftest import NOW, REPO
from tests.fakes import FakeEmbedder

KEYS = {"ts", "op", "input", "output", "model", "latency_ms", "success", "fallback"}
Open = Callable[..., spector.Memory]


@pytest.fixture
def at(store_path: Path) -> Iterator[Open]:
    opened: list[spector.Memory] = []

    def make(**given: Any) -> spector.Memory:
        kept = {"embedder": FakeEmbedder(), "clock": ManualClock(NOW), "ops_log": True, **given}
        opened.append(spector.open(store_path, **kept))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_says_what_was_given_and_found_by_ids_and_counts(at: Open, store_path: Path) -> None:
    memory = at()
    record = memory.remember("Ada moved to Kars.", user_id="u")
    memory.recall("Where is Ada?", user_id="u")
    memory.context("Ada moved to Kars.", user_id="u", always=True)
    with pytest.raises(InvalidInputError):
        memory.recall("Ada", k=-1)
    memory.close()
    first, second, third = lines(store_path / "ops-log.jsonl")
    assert first.keys() == KEYS | {"intent", "avg_relevance", "result_count"}
    assert (first["op"], first["ts"], first["success"]) == ("recall", "2026-11-21T12:00:00Z", True)
    assert first["input"] == {"user_id": "u", "chars": 13}
    assert (first["output"], first["result_count"]) == ({"ids": [record.id]}, 1)
    assert first["latency_ms"] > 0
    assert first["avg_relevance"] > 0
    assert (second["op"], second["output"]["ids"]) == ("context", [record.id])
    assert (third["success"], third["output"]) == (False, {"error": "InvalidInputError"})
    assert "Ada" not in (store_path / "ops-log.jsonl").read_text(encoding="utf-8")


def test_texts_are_quoted_only_when_asked_for(at: Open, store_path: Path) -> None:
    memory = at(ops_log_text=True)
    memory.remember("Ada moved to Kars. " + "x" * 300)
    memory.recall("Where is Ada? " + "y" * 300)
    memory.close()
    (line,) = lines(store_path / "ops-log.jsonl")
    assert line["input"]["text"] == ("Where is Ada? " + "y" * 300)[:200]
    assert line["output"]["text"] == ("Ada moved to Kars. " + "x" * 300)[:200]


def test_the_intent_of_a_recall_is_noted(at: Open, store_path: Path) -> None:
    memory = at()
    memory.remember("Ada moved to Kars.")
    memory.recall("Why did Ada move?", intent="causal")
    memory.close()
    assert lines(store_path / "ops-log.jsonl")[0]["intent"] == "causal"


def test_a_full_disk_fails_no_call(at: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, write = at(), DiskFile.write_at

    def full(self: DiskFile, offset: int, data: bytes) -> None:
        if "ops-log" in self._path:
            raise StoreFullError("no space left")
        write(self, offset, data)

    monkeypatch.setattr(DiskFile, "write_at", full)
    memory.remember("Ada moved to Kars.")
    assert len(memory.recall("Ada")) == 1
    memory.close()
    found = memory._parts.operations.stats()
    assert found is not None
    assert found["errors"] > 0
    assert "no space left" in found["last_error"]


def test_a_log_that_cannot_be_written_fails_no_call(at: Open, tmp_path: Path) -> None:
    memory = at(ops_log=tmp_path)  # a directory
    memory.remember("Ada moved to Kars.")
    assert len(memory.recall("Ada")) == 1
    memory._parts.operations.close()
    assert memory.stats()["ops_log"]["errors"] > 0


def test_a_full_file_is_rolled_by_day(at: Open, store_path: Path) -> None:
    memory = at()
    memory.remember("Ada moved to Kars.")
    log = store_path / "ops-log.jsonl"
    log.write_text("{}\n" * 4_000_000, encoding="utf-8")  # 12 MB
    memory.recall("Ada")
    memory.close()
    log.rename(store_path / "ops-log-2026-11-21-1.jsonl")  # as if it had been rolled again
    assert sorted(path.name for path in store_path.glob("ops-log*")) == [
        "ops-log-2026-11-21-1.jsonl",
        "ops-log-2026-11-21.jsonl",
    ]
    again = at()
    log.write_text("x" * 10_000_000, encoding="utf-8")
    again.recall("Ada")
    assert again.check().problems == ()
    again.close()
    assert (store_path / "ops-log-2026-11-21-2.jsonl").stat().st_size == 10_000_000
    assert len(lines(log)) == 1


# -- erasure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [False, True])
def test_a_purge_leaves_no_line_that_names_the_memory(
    at: Open, store_path: Path, texts: bool
) -> None:
    memory = at(ops_log_text=texts)
    gone = memory.remember("Ada moved to Kars.", user_id="u")
    kept = memory.remember("It rained in Izmir.", user_id="u")
    memory.recall("Ada moved to Kars.", user_id="u")
    memory.recall("It rained in Izmir.", user_id="u", k=1)
    memory._parts.operations.close()
    (store_path / "ops-log-2026-11-20.jsonl").write_bytes(
        (store_path / "ops-log.jsonl").read_bytes()
    )
    report = memory.forget(gone.id, purge=True, verify=True)
    assert report.receipt is not None
    assert report.receipt.complete
    assert report.receipt.unknown_files == ()
    assert "ops-log.jsonl" in [each.where for each in report.receipt.purged]
    for name in ("ops-log.jsonl", "ops-log-2026-11-20.jsonl"):
        (line,) = lines(store_path / name)
        assert line["output"]["ids"] == [kept.id]


def test_a_line_that_waits_while_its_memory_goes_is_left_out(
    at: Open, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = at()
    gone = memory.remember("Ada moved to Kars.")
    sink: Any = memory._parts.operations
    monkeypatch.setattr(sink, "_thread", object())  # it does not write yet
    memory.recall("Ada")
    memory.forget(gone.id)
    monkeypatch.setattr(sink, "_thread", None)
    memory.recall("Ada")
    memory.close()
    assert [line["output"]["ids"] for line in lines(store_path / "ops-log.jsonl")] == [[]]


def test_purging_a_user_leaves_no_line_of_the_user(at: Open, store_path: Path) -> None:
    memory = at()
    memory.remember("Ada moved to Kars.", user_id="u")
    memory.remember("It rained in Izmir.", user_id="v")
    memory.recall("nothing of this", user_id="u", tags=["none"])
    memory.recall("rain", user_id="v")
    memory._parts.operations.close()
    memory.forget(user_id="u", purge=True)
    assert [line["input"]["user_id"] for line in lines(store_path / "ops-log.jsonl")] == ["v"]


def test_a_log_outside_is_covered_while_it_is_open(at: Open, tmp_path: Path) -> None:
    memory = at(ops_log=tmp_path / "log.jsonl")
    record = memory.remember("Ada moved to Kars.")
    memory.recall("Ada")
    memory._parts.operations.close()
    assert len(lines(tmp_path / "log.jsonl")) == 1
    memory.forget(record.id, purge=True)
    assert not (tmp_path / "log.jsonl").exists()


# -- where -----------------------------------------------------------------------------------------


def test_a_reader_writes_outside_of_the_store_only(
    at: Open, store_path: Path, tmp_path: Path
) -> None:
    at().close()
    inside = at(mode="r")
    inside.recall("Ada")
    inside.close()
    assert not (store_path / "ops-log.jsonl").exists()
    outside = at(mode="r", ops_log=tmp_path / "log.jsonl")
    outside.recall("Ada")
    outside.close()
    assert len(lines(tmp_path / "log.jsonl")) == 1


@pytest.mark.parametrize("wrong", [None, 5, "", "a\0b"])
def test_what_is_no_path_is_refused(at: Open, wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="ops_log is"):
        at(ops_log=wrong)


def test_another_file_of_the_store_is_refused(at: Open, store_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="in the store's directory"):
        at(ops_log=store_path / "catalog.db")
    at(ops_log=store_path / "ops-log.jsonl").close()


def test_a_memory_without_a_directory_needs_a_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="pass the path of a file"):
        spector.open(":memory:", embedder=FakeEmbedder(), ops_log=True)
    with spector.open(":memory:", embedder=FakeEmbedder(), ops_log=tmp_path / "x") as memory:
        memory.recall("Ada")
    assert len(lines(tmp_path / "x")) == 1


def test_the_exit_of_the_interpreter_writes_what_waits_and_says_nothing(tmp_path: Path) -> None:
    code = (
        "import spector; from tests.fakes import FakeEmbedder;"
        f"memory = spector.open({str(tmp_path / 'mind')!r}, embedder=FakeEmbedder(), ops_log=True);"
        "memory.remember('Ada moved to Kars.'); memory.recall('Ada')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", code],
        cwd=REPO,
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(REPO)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines(tmp_path / "mind" / "ops-log.jsonl")) == 1

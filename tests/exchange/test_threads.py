"""An export while others write: no line of a fact without its fact, no tie into nowhere.

Mechanism: memories are walked in batches, and what is known of a batch is read in one moment.
Damage without it: a fact that is forgotten between the two reads leaves a line without a payload,
and its import makes a plain text of it. Guard: exports while another thread states and forgets.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import spector
from spector import Memory
from tests.exchange.travels import lines_of
from tests.fakes import FakeEmbedder


def _churn(memory: Memory, stop: threading.Event, errors: list[BaseException]) -> None:
    made: list[int] = []
    n = 0
    try:
        while not stop.is_set():
            n += 1
            source = memory.remember(f"source {n}", user_id="u")
            fact = memory.facts.add(f"subject {n}", "likes", "tea", source=source)
            memory.graph.link(source, fact.id, "causes")
            made += [source.id]
            if len(made) > 20:
                memory.forget(made.pop(0), purge=n % 5 == 0)
    except BaseException as error:
        errors.append(error)
        raise


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_export_shows_memory_and_payload_together(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        for n in range(300):  # more than one batch
            memory.remember(f"old {n}", user_id="u")
        stop, errors = threading.Event(), list[BaseException]()
        writer = threading.Thread(target=_churn, args=(memory, stop, errors))
        writer.start()
        try:
            for round_ in range(12):
                file = tmp_path / f"{round_}.jsonl"
                memory.export(file)
                lines = lines_of(file)
                facts = [line for line in lines if line.get("category") == "fact"]
                assert all("fact" in line.get("payload", {}) for line in facts)
                with spector.open(":memory:", embedder=FakeEmbedder()) as other:
                    other.import_(file)
                    report = other.check()
                    assert report.ok, (report, json.dumps(lines)[:2000])
        finally:
            stop.set()
            writer.join()
        assert errors == []


def test_two_imports_at_once_make_each_fact_once(tmp_path: Path) -> None:
    """Both have looked before either has stored: the second look decides."""
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        for n in range(40):
            source = memory.remember(f"source {n}", user_id="u")
            memory.facts.add(f"subject {n}", "likes", "tea", source=source)
            memory.concepts.find_or_create(f"concept {n}", user_id="u")
        memory.export(tmp_path / "a.jsonl")
    with spector.open(
        tmp_path / "other", embedder=FakeEmbedder(), config=spector.Config(batch_records=7)
    ) as other:
        errors: list[BaseException] = []

        def load() -> None:
            try:
                other.import_(tmp_path / "a.jsonl")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=load) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert errors == []
        facts = other.facts.query()
        assert len(facts) == 40
        assert {len(each.sources) for each in facts} == {3}
        assert len(other.concepts.find()) == 40
        assert other.check().ok

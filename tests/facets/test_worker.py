"""A worker takes episodes over as concepts, and no write waits for it.

Mechanism: a bounded queue fed after commits, a cursor that says what has been taken over. Damage
without it: a write that waits for a model, episodes that are lost when the queue is full, concepts
of what was purged. Guard: a model that stands still, a queue that overflows, closing in between.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, InvalidInputError, KnowledgeConfig, Memory
from spector.sleep import worker as working
from tests.fakes import FakeEmbedder

WORKING = Config(knowledge=KnowledgeConfig(extract="worker"))


class Gate(FakeEmbedder):
    """An embedder that stands still on single words, as names of concepts are, while it is shut."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.fails = False

    def embed(self, texts: Sequence[str]) -> Any:
        if threading.current_thread().name == "spector-concepts":
            assert self.open.wait(60)
            if self.fails:
                raise RuntimeError("the model is out of order")
        return super().embed(texts)


def opened(path: Path, embedder: Any = None, config: Config = WORKING, **more: Any) -> Memory:
    return spector.open(path / "mind", embedder=embedder or FakeEmbedder(), config=config, **more)


def store(memory: Memory, name: str, **more: Any) -> int:
    return memory.layers["episodes"].store(f"I saw {name}", episode={"objects": [name]}, **more)


def names(memory: Memory) -> set[str]:
    return {each.name for each in memory.concepts.find(limit=10_000)}


def _await_taken(memory: Memory) -> None:
    """Until the worker has taken everything from the queue."""
    deadline = time.monotonic() + 30
    while memory.concepts.stats()["queue"] and time.monotonic() < deadline:
        time.sleep(0.01)


def test_episodes_become_concepts_by_themselves(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert memory.concepts.stats()["running"]
        ids = [store(memory, "mug"), store(memory, "pot", user_id="u"), store(memory, "mug")]
        assert memory.concepts.flush(60)
        assert names(memory) == {"mug", "pot"}
        mug = memory.concepts.of("mug")
        assert mug is not None
        assert mug.memory_refs == {"episodes": (ids[0], ids[2])}
        found = memory.concepts.stats()
        assert (found["queue"], found["overflows"], found["last_error"]) == (0, 0, None)
        assert memory.check().ok


def test_no_write_waits_for_the_worker_and_an_overflow_is_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "MOST_WAITING", 10)
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.open.clear()
        store(memory, "thing0")
        _await_taken(memory)  # the worker is stuck with it all the while
        for n in range(1, 40):
            store(memory, f"thing{n}")
        assert not memory.concepts.flush(0.05)
        found = memory.concepts.stats()
        assert (found["queue"], found["overflows"]) == (10, 29)
        gate.open.set()
        assert memory.concepts.flush(60)
        assert names(memory) == {f"thing{n}" for n in range(40)}
        assert memory.concepts.stats()["queue"] == 0


def test_what_is_purged_leaves_the_queue(tmp_path: Path) -> None:
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.open.clear()
        first = store(memory, "first")
        _await_taken(memory)
        doomed = store(memory, "zebulon")
        kept = store(memory, "kept")
        receipt = memory.forget([first, doomed], purge=True, verify=True).receipt
        assert memory.concepts.stats()["queue"] == 1
        gate.open.set()
        assert memory.concepts.flush(60)
        assert receipt is not None
        assert receipt.complete
        assert names(memory) == {"kept"}
        assert memory.get(kept).text == "I saw kept"
        assert memory.check().ok


def test_what_was_stored_without_a_worker_is_caught_up_once(tmp_path: Path) -> None:
    with opened(tmp_path, config=Config()) as memory:
        ids = [store(memory, f"thing{n % 7}") for n in range(250)]
        assert names(memory) == set()
    with opened(tmp_path) as memory:
        assert memory.concepts.flush(60)
        assert names(memory) == {f"thing{n}" for n in range(7)}
        assert memory._parts.extractor.cursor() >= ids[-1]
        assert memory.concepts.stats()["extracted"] == 250
    with opened(tmp_path) as memory:
        assert memory.concepts.flush(60)
        assert memory.concepts.stats()["extracted"] == 0
        store(memory, "thing8")
        assert memory.concepts.flush(60)
        assert memory.concepts.stats()["extracted"] == 1
        assert memory.check().ok


def test_flush_does_the_work_of_sleep_where_there_is_no_worker(tmp_path: Path) -> None:
    with opened(tmp_path, config=Config()) as memory:
        store(memory, "mug")
        assert not memory.concepts.stats()["running"]
        assert memory.concepts.flush()
        assert names(memory) == {"mug"}
    with opened(tmp_path, config=Config(knowledge=KnowledgeConfig(extract="off"))) as memory:
        store(memory, "pot")
        assert memory.concepts.flush()
        assert names(memory) == {"mug"}
        for wrong in (-1, float("nan"), "1"):
            with pytest.raises(InvalidInputError):
                memory.concepts.flush(wrong)  # type: ignore[arg-type]


def test_a_model_that_fails_is_tried_again_and_costs_nothing(tmp_path: Path) -> None:
    gate = Gate()
    with opened(tmp_path, gate) as memory:
        assert memory.concepts.flush(60)
        gate.fails = True
        store(memory, "mug")
        deadline = time.monotonic() + 60
        while memory.concepts.stats()["last_error"] is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "out of order" in memory.concepts.stats()["last_error"]
        assert not memory.concepts.flush(0.0)
        gate.fails = False
        assert memory.concepts.flush(60)
        assert names(memory) == {"mug"}


def test_writers_and_the_worker_lose_nothing_together(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:

        def write(who: int) -> None:
            for n in range(25):
                store(memory, f"thing{n % 5}", user_id=f"u{who}")

        threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert memory.concepts.flush(60)
        for who in range(4):
            found = [
                each for each in memory.concepts.find(limit=100) if each.record.user_id == f"u{who}"
            ]
            assert {each.name: each.reinforcement_count for each in found} == {
                f"thing{n}": 5 for n in range(5)
            }
        assert memory.check().ok

"""Closing a memory while many threads are at work in it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import spector
from spector import Config, StoreClosedError
from tests.crash.harness import scratch
from tests.fakes import FakeEmbedder

__all__ = ["rounds"]

_CONFIG = Config(index_min_rows=8, episodic_capacity=64, erase_after_s=0)
#: a store is looked through after so many rounds, and when it has grown to so many memories
_LOOK_EVERY = 20
_MOST = 400
_Job = tuple[spector.Memory, int]


def rounds(*, count: int, threads: int, seed: int) -> dict[str, Any]:
    """Open, work in many threads, close beside them; JSON-ready counts and faults."""
    rng, counts, faults = random.Random(seed), Counter[str](), list[str]()
    acknowledged: dict[int, str] = {}
    with scratch() as folder:
        root, place = Path(folder) / "mind", Path(folder) / "copy"
        workers = [_Worker(n, place, acknowledged) for n in range(threads)]
        for turn in range(count):
            if len(acknowledged) > _MOST:
                root, acknowledged = Path(folder) / f"mind{turn}", {}
                for worker in workers:
                    worker.acknowledged = acknowledged
            memory = spector.open(
                root,
                embedder=FakeEmbedder(),
                config=_CONFIG,
                durability=rng.choice(["strict", "relaxed"]),
            )
            if rng.random() < 0.3:
                memory.daemon.start()
            for worker in workers:
                worker.jobs.put((memory, rng.randrange(1 << 30)))
            time.sleep(rng.random() * 0.02)
            started = time.perf_counter()
            memory.close()
            counts["slowest_close_ms"] = max(
                counts["slowest_close_ms"], round(1000 * (time.perf_counter() - started))
            )
            for worker in workers:
                calls, fault = worker.ended.get(timeout=60)
                counts["calls"] += calls
                if fault:
                    faults.append(fault)
            counts["closings"] += 1
            if turn % _LOOK_EVERY == 0:
                faults += _faults_of(root, acknowledged)
        faults += _faults_of(root, acknowledged)
        for worker in workers:
            worker.jobs.put(None)
    return {**counts, "faulty": len(faults), "faults": faults[:20]}


def _faults_of(root: Path, acknowledged: dict[int, str]) -> list[str]:
    try:
        with spector.open(root, embedder=FakeEmbedder(), config=_CONFIG) as memory:
            lost = [n for n, text in acknowledged.items() if memory.get(n).text != text]
            report = memory.check()
            return [f"lost {lost}"] * bool(lost) + [str(p) for p in report.problems]
    except BaseException as error:
        return [f"opening again: {type(error).__name__}: {error}"]


class _Worker(threading.Thread):
    """Calls verbs until it is told that the memory is closed."""

    def __init__(self, number: int, place: Path, acknowledged: dict[int, str]) -> None:
        super().__init__(daemon=True)
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.ended: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self.acknowledged = acknowledged
        self._number = number
        self._place = place
        self.start()

    def run(self) -> None:
        while (job := self.jobs.get()) is not None:
            memory, seed = job
            calls, fault = 0, ""
            rng, verbs = random.Random(seed), self._verbs(memory)
            try:
                while True:
                    rng.choice(verbs)(rng)
                    calls += 1
            except StoreClosedError:
                pass
            except BaseException as error:
                fault = f"{type(error).__name__}: {error}"
            del memory, job, verbs
            self.ended.put((calls, fault))

    def _verbs(self, memory: spector.Memory) -> list[Callable[[random.Random], object]]:
        def remember(rng: random.Random) -> None:
            record = memory.remember(f"heron {rng.randrange(99)} seen by {self._number}")
            self.acknowledged[record.id] = record.text

        def many(rng: random.Random) -> None:
            day = f"2026-05-{rng.randrange(1, 28):02d}T08:00:00Z"
            for record in memory.remember_many(["an egret", "a spoonbill"], event_time=day):
                self.acknowledged[record.id] = record.text

        def backup(rng: random.Random) -> None:
            if rng.random() < 0.1:
                # there may be one of another store, or another thread makes one just now
                with suppress(spector.StoreLockedError, spector.StoreExistsError):
                    memory.backup(f"{self._place}-{self._number}", force=True)

        return [
            remember,
            many,
            backup,
            lambda rng: memory.recall("which heron?", k=3),
            lambda rng: memory.context("which heron was seen?"),
            lambda rng: [memory.get(each) for each in list(self.acknowledged)[-3:]],
            lambda rng: list(memory.records(tags=["none"])),
            lambda rng: next(iter(memory), None),
            lambda rng: memory.stats(),
            lambda rng: rng.random() < 0.2 and memory.reflect(),
            lambda rng: rng.random() < 0.1 and memory.check(),
            lambda rng: rng.random() < 0.1 and memory.compact(),
            lambda rng: memory.remember("soon gone", tier="working"),
            lambda rng: memory.forget(memory.remember("a fly").id),
            lambda rng: len(memory),
        ]

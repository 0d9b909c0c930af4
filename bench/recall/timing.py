"""How long a recall takes, and when what was written can be read."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import spector
from bench import machine
from bench.recall.metrics import K
from bench.recall.product import remember_texts, told_until
from bench.recall.shape import DataSet, Item, Store
from bench.recall.vectors import Matrix, Vectors, vectors_of
from bench.results import round_to, statistics
from spector.clock import ManualClock
from spector.embed import Embedder

#: the size that the time of a recall is promised for
TURNS: Final = 6000
_CUES: Final = 300
#: first cues, which load the model and build the index
_WARM: Final = 20
_WRITES: Final = 100


def timings(sets: Sequence[DataSet], embedder: Embedder, folder: Path) -> dict[str, Any]:
    """p50 and p95 of a recall over 6,000 turns on disk, with and without embedding the cue, and
    the time from ``remember`` to the recall that returns it. Empty without LoCoMo's turns."""
    data = next((each for each in sets if each.name == "locomo"), None)
    if data is None:
        return {}
    vectors = vectors_of(data, embedder, folder, "plain")
    store, rows = _grown(data, vectors, TURNS)
    clock = ManualClock(told_until(store))
    with (
        tempfile.TemporaryDirectory(dir=machine.scratch_root()) as place,
        spector.open(f"{place}/mind", embedder=embedder, clock=clock, threads=1) as memory,
    ):
        remember_texts(memory, store.items, rows, "plain")
        given, whole, context = _Laps(), _Laps(), _Laps()
        for question in data.questions[: _CUES + _WARM]:
            given.run(partial(memory.recall, question.cue, vector=vectors.cues[question.id], k=K))
            # nobody asked exactly this before, so no cached vector answers
            whole.run(partial(memory.recall, f"{question.cue} ?", k=K))
            context.run(
                partial(memory.context, question.cue, vector=vectors.cues[question.id])
            )
        lag, late = _lag(memory, rows)
    return {
        "turns": len(store.items),
        "recall_ms": _short(given.wall_ms[_WARM:]),
        "recall_cpu_ms": _short(given.cpu_ms[_WARM:]),
        "recall_with_embedding_ms": _short(whole.wall_ms[_WARM:]),
        "recall_with_embedding_cpu_ms": _short(whole.cpu_ms[_WARM:]),
        "context_ms": _short(context.wall_ms[_WARM:]),
        "write_to_readable_ms": _short(lag),
        "not_in_the_first_recall": late,
    }


def _grown(data: DataSet, vectors: Vectors, count: int) -> tuple[Store, Matrix]:
    """One store with the turns of all conversations, as often as it takes."""
    turns = [
        (f"{store.name}/{item.id}", item, row)
        for store in data.stores
        for item, row in zip(store.items, vectors.items[store.name], strict=True)
    ]
    items, rows = [], []
    for n in range(count):
        name, item, row = turns[n % len(turns)]
        turn = n // len(turns)
        items.append(
            Item(f"{name}/{turn}", item.text, item.speaker, f"{name[:7]}-{item.session}-{turn}",
                 item.time, n)
        )  # fmt: skip
        rows.append(row)
    return Store("grown", tuple(items)), np.stack(rows)


def _lag(memory: spector.Memory, rows: Matrix) -> tuple[list[float], int]:
    """Milliseconds from the call of ``remember`` to the end of the recall that has it; and how
    many memories the very first recall did not have."""
    times, late = [], 0
    for n in range(_WRITES):
        text = f"marker {n} of the written word"
        # a direction that no text has, so that only visibility decides
        vector = rows[n] - rows[-n - 1]
        start = time.perf_counter()
        record = memory.remember(text, vector=vector)
        for attempt in range(1000):
            found = memory.recall(text, vector=vector, k=K)
            if any(hit.id == record.id for hit in found):
                times.append((time.perf_counter() - start) * 1e3)
                late += attempt > 0
                break
        else:
            raise AssertionError(f"memory {record.id} never came back")
    return times, late


class _Laps:
    """Times of calls, by the clock and by the processor: the latter hardly sees other programs."""

    def __init__(self) -> None:
        self.wall_ms: list[float] = []
        self.cpu_ms: list[float] = []

    def run(self, call: Callable[[], object]) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        self.wall_ms.append((time.perf_counter() - wall) * 1e3)
        self.cpu_ms.append((time.process_time() - cpu) * 1e3)


def _short(samples: Sequence[float]) -> dict[str, float]:
    told = statistics(samples)
    told["p95"] = sorted(samples)[max(0, round(0.95 * len(samples)) - 1)]
    return {name: round_to(told[name], 4) for name in ("best", "p50", "p95", "p99")}

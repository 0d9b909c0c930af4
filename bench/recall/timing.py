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
from bench.recall.product import remember_texts
from bench.recall.shape import DataSet, Item, Store
from bench.recall.stages import stages_of
from bench.recall.vectors import Matrix, Row, Vectors, vectors_of
from bench.results import round_to, statistics
from spector.clock import ManualClock
from spector.providers import Embedder

#: the size that the time of a recall is promised for
TURNS: Final = 6000
_CUES: Final = 300
#: first cues, which load the model and build the index
_WARM: Final = 20
_WRITES: Final = 100
#: records of the store whose recall by vector alone is timed, and how often
_FEW: Final = 1000
_PLAIN: Final = 1000
#: cues whose stages are told apart
_STAGED: Final = 40


def timings(sets: Sequence[DataSet], embedder: Embedder, folder: Path) -> dict[str, Any]:
    """p50 and p95 of a recall over 6,000 turns on disk, with and without embedding the cue, and
    the time from ``remember`` to the recall that returns it. Empty without LoCoMo's turns."""
    data = next((each for each in sets if each.name == "locomo"), None)
    if data is None:
        return {}
    vectors = vectors_of(data, embedder, folder, "plain")
    store, rows = _grown(data, vectors, TURNS)
    clock = ManualClock(store.until())
    opened = partial(spector.open, embedder=embedder, clock=clock, threads=1)
    with tempfile.TemporaryDirectory(dir=machine.scratch_root()) as place:
        with opened(f"{place}/mind") as memory:
            remember_texts(memory, store.items, rows, "plain")
        first = {
            "first_recall_without_words_ms": _first(opened(f"{place}/mind"), rows[0]),
            "first_recall_ms": _first(opened(f"{place}/mind"), rows[0]),
        }
        with opened(f"{place}/mind") as memory:
            times = _of_a_talk(memory, data, vectors, rows)
        with opened(f"{place}/few", durability="relaxed") as memory:
            remember_texts(memory, store.items[:_FEW], rows[:_FEW], "plain")
            few = _Laps()
            for n in range(_PLAIN + _WARM):
                few.run(partial(_texts_of, memory, rows[-n % len(rows)]))
    return {
        "turns": len(store.items),
        **times,
        **first,
        "few": min(_FEW, len(store.items)),
        "recall_of_few_by_vector_ms": _short(few.wall_ms[_WARM:]),
    }


def of_store(path: str, cues: Sequence[tuple[str, Row]], clock: ManualClock) -> dict[str, Any]:
    """The same recalls of a store that is there; each cue is asked once, as in life."""
    dim = len(cues[0][1])
    with spector.open(path, mode="r", embedder=None, dim=dim, clock=clock, threads=1) as memory:
        for cue, vector in cues[:_WARM]:
            memory.recall(cue, vector=vector, k=K)
        words, plain = _Laps(), _Laps()
        for cue, vector in cues[_WARM:]:
            words.run(partial(memory.recall, cue, vector=vector, k=K))
        for _, vector in cues[_WARM:]:
            plain.run(partial(memory.recall, vector=vector, k=K))
        stages = stages_of(
            [partial(memory.recall, cue, vector=vector, k=K) for cue, vector in cues[-_STAGED:]]
        )
        return {
            "turns": memory.stats()["records"],
            "recall_ms": _short(words.wall_ms),
            "recall_cpu_ms": _short(words.cpu_ms),
            "recall_by_vector_ms": _short(plain.wall_ms),
            "recall_by_vector_cpu_ms": _short(plain.cpu_ms),
            "stages_us": stages,
        }


def _first(opening: spector.Memory, vector: Row) -> dict[str, float]:
    """The first recall after an opening."""
    with opening as memory:
        laps = _Laps()
        laps.run(partial(memory.recall, "who has been to the lake", vector=vector, k=K))
    return _short(laps.wall_ms)


def _texts_of(memory: spector.Memory, vector: Row) -> list[str]:
    return [hit.text for hit in memory.recall(vector=vector, k=K)]


def _of_a_talk(
    memory: spector.Memory, data: DataSet, vectors: Vectors, rows: Matrix
) -> dict[str, Any]:
    """What a store of a long talk answers in which time."""
    given, whole, context = _Laps(), _Laps(), _Laps()
    for question in data.questions[: _CUES + _WARM]:
        vector = vectors.cues[question.id]
        given.run(partial(memory.recall, question.cue, vector=vector, k=K))
        # nobody asked exactly this before, so no cached vector answers
        whole.run(partial(memory.recall, f"{question.cue} ?", k=K))
        context.run(partial(memory.context, question.cue, vector=vector))
    stages = stages_of(
        [
            partial(memory.recall, each.cue, vector=vectors.cues[each.id], k=K)
            for each in data.questions[:_STAGED]
        ]
    )
    lag, late = _lag(memory, rows)
    return {
        "recall_ms": _short(given.wall_ms[_WARM:]),
        "recall_cpu_ms": _short(given.cpu_ms[_WARM:]),
        "recall_with_embedding_ms": _short(whole.wall_ms[_WARM:]),
        "recall_with_embedding_cpu_ms": _short(whole.cpu_ms[_WARM:]),
        "context_ms": _short(context.wall_ms[_WARM:]),
        "write_to_readable_ms": _short(lag),
        "not_in_the_first_recall": late,
        "stages_us": stages,
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
            Item(
                f"{name}/{turn}",
                item.text,
                item.speaker,
                f"{name[:7]}-{item.session}-{turn}",
                item.time,
                n,
            )
        )
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

"""How long a night of a large store is, and who waits for it.

    python -m bench.cognition.night [memories] [--new 2000] [--users 1] [--forget 0]
                                    [--store DIR] [--paced] [--profile] [--keep]

A store is filled, sleeps until nothing is left to do, observes new messages a day later and sleeps
again: that cycle is timed, step by step. In a second one, a day and as many messages later, one
thread writes and one recalls: reported are how long writers wait at most, and the recalls' median
time beside that of recalls next to the same writer before it, and of recalls alone. Before that the
same with a night that makes no room for others. Vectors are hashed words: no model takes part.

On a machine that others load, seconds of the clock say little: CPU seconds and the longest times
for which a night holds the lock of the store, with the line that took it, are reported as well.
``--store`` keeps the filled store and begins from a copy of it; ``--forget`` leaves old memories
for upkeep to erase in each night.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import os
import pstats
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np

import spector
from bench.data import NOW
from bench.results import RESULTS
from spector import ManualClock, Memory

__all__ = ["Hashed", "fill", "message", "nights"]

SEED: Final = 20261126
FILE: Final = RESULTS / "sleep-night.json"
_BATCH: Final = 5_000
#: seconds in which writers and recalls are measured beside each other, before the night
_AWAKE_S: Final = 5.0
_PEOPLE: Final = ("Ada", "Berk", "Ceren", "Deniz", "Emre", "Fatma", "Gul", "Hakan", "Ipek", "Jale")
_PLACES: Final = ("Kars", "Lisbon", "Oslo", "Izmir", "Quito", "Bergen", "Lyon", "Kyoto")
_SAID: Final = (
    "{who} told me about {noun} {n} in {where} yesterday",
    "I prefer {noun} {m} over {noun2} {n}",
    "We decided to move the {noun} {n} to {where} next week",
    "The {noun} service {m} listens on port {n}",
    "My {noun} {m} broke again and {who} repaired it",
    "ok thanks {n}",
    "I live in {where} and work with {who} on {noun} {m}",
    "Remember that {who} likes {noun2} number {n}",
)
_NOUNS: Final = tuple(
    f"{first}{second}"
    for first in ("garden", "engine", "paper", "river", "ticket", "letter", "market", "signal")
    for second in ("", "house", "book", "plan", "desk")
)


class Hashed:
    """Vectors of 64 signs by the words of a text: alike where words are shared, and cheap."""

    model_id = "hashed-words"
    dim = 64
    fingerprint = "hashed-words-1"

    def __init__(self) -> None:
        self._known: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Sums of a vector for each word, of length 1."""
        out = np.zeros((len(texts), self.dim), np.float32)
        for n, text in enumerate(texts):
            for word in text.lower().split() or [""]:
                out[n] += self._of(word)
        found: np.ndarray[Any, np.dtype[np.float32]] = (
            out / np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        )
        return found

    def _of(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        if word not in self._known:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
            self._known[word] = (
                np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
            )
        return self._known[word]


def message(n: int, chance: np.random.Generator) -> str:
    """The nth of many messages, no two alike."""
    kinds = chance.integers(0, 1 << 30, 6)
    return _SAID[kinds[0] % len(_SAID)].format(
        who=_PEOPLE[kinds[1] % len(_PEOPLE)],
        where=_PLACES[kinds[2] % len(_PLACES)],
        noun=_NOUNS[kinds[3] % len(_NOUNS)],
        noun2=_NOUNS[kinds[4] % len(_NOUNS)],
        m=int(kinds[5]) % 97,
        n=n,
    )


def fill(memory: Memory, clock: ManualClock, count: int, *, users: int, days: int = 365) -> None:
    """Remember messages over a year, ten of a session."""
    chance = np.random.default_rng(SEED)
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        clock.advance(days=days * size / count)
        memory.remember_many(
            [
                {
                    "text": message(n, chance),
                    "session_id": f"s{n // 10}",
                    "user_id": f"u{n // 10 % users}" if users > 1 else None,
                }
                for n in range(start, start + size)
            ]
        )


def observe(memory: Memory, first: int, count: int, *, users: int) -> None:
    """Observe new messages."""
    chance = np.random.default_rng(SEED + first)
    for start in range(first, first + count, 200):
        memory.observe_many(
            [message(n, chance) for n in range(start, min(start + 200, first + count))],
            user_id=f"u{start // 200 % users}" if users > 1 else None,
            session_id=f"n{start}",
        )


class Held:
    """A lock that notes for how long one thread holds it, and where it took it."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._depth = 0
        self._since = self._worked = 0.0
        self._where = ""
        #: the thread whose holds count; None for all of them
        self.thread: int | None = None
        #: where it was taken -> the longest hold, in seconds of the clock and of the processor
        self.longest: dict[str, tuple[float, float]] = {}

    def acquire(self, *how: Any, **named: Any) -> bool:
        taken: bool = self._lock.acquire(*how, **named)
        if taken:
            self._depth += 1
            if self._depth == 1:
                self._since, self._worked = time.perf_counter(), time.thread_time()
                self._where = _caller()
        return taken

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self.thread in (None, threading.get_ident()):
            held = time.perf_counter() - self._since, time.thread_time() - self._worked
            self.longest[self._where] = max(self.longest.get(self._where, (0.0, 0.0)), held)
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def worst(self, count: int = 6) -> dict[str, list[float]]:
        """The places that held it longest: milliseconds of the clock, and of the processor."""
        ordered = sorted(self.longest.items(), key=lambda each: -each[1][0])[:count]
        return {where: [round(1000 * each, 1) for each in held] for where, held in ordered}


def _caller() -> str:
    """The functions of the package that took a lock, the innermost first."""
    frame, found = sys._getframe(2), list[str]()
    while frame is not None and len(found) < 4:
        name = frame.f_code.co_filename.rpartition("/spector/")[2]
        if not name.startswith("/") and not name.startswith("store/core/") and "lib" not in name:
            found.append(f"{name}:{frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(found)


def filled(
    memories: int, users: int, kept: Path | None, place: Path, out: dict[str, Any]
) -> ManualClock:
    """A store at a place that has nothing left to do, a copy of one that was kept before."""
    clock = ManualClock(NOW)
    if kept is None or not kept.exists():
        with spector.open(place, embedder=Hashed(), clock=clock) as memory:
            began = time.perf_counter()
            fill(memory, clock, memories, users=users)
            out["fill_s"] = round(time.perf_counter() - began, 1)
            clock.advance(days=1)
            began, cpu = time.perf_counter(), time.process_time()
            first = memory.reflect()
            out["first"] = _steps(first, time.perf_counter() - began, time.process_time() - cpu)
        print(json.dumps(out), flush=True)
        if kept is not None:
            shutil.copytree(place, kept)
    else:
        shutil.copytree(kept, place)
        clock.advance(days=366)
    return clock


def nights(
    memories: int,
    new: int,
    users: int,
    *,
    forget: int = 0,
    profile: bool = False,
    folder: str | None = None,
    kept: Path | None = None,
    rests: bool = True,
) -> dict[str, Any]:
    """Every figure of a store of so many memories."""
    out: dict[str, Any] = {
        "memories": memories,
        "new": new,
        "users": users,
        "forget": forget,
        "cores": os.cpu_count(),
    }
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place, "mind")
        clock = filled(memories - new, users, kept, path, out)
        with spector.open(path, embedder=Hashed(), clock=clock) as memory:
            store = memory._parts.store
            store.lock = held = Held(store.lock)
            day(memory, clock, memories - new, new, users, forget)
            held.longest.clear()
            meter = cProfile.Profile() if profile else None
            began, cpu = time.perf_counter(), time.process_time()
            with meter or nullcontext():
                report = memory.reflect()
            out["cycle"] = _steps(report, time.perf_counter() - began, time.process_time() - cpu)
            out["cycle"]["held_ms"] = held.worst()
            if meter:
                pstats.Stats(meter).sort_stats("cumulative").print_stats(60)
                pstats.Stats(meter).sort_stats("tottime").print_stats(30)
            print(json.dumps(out["cycle"]), flush=True)
            pace = memory._parts.sleeper._pace
            for n, (name, rest) in enumerate((("unpaced", 0.0), ("beside", pace._rest))):
                if rest or rests:
                    day(memory, clock, memories + n * new, new, users, forget)
                    pace._rest = rest
                    out[name] = beside(memory, memories, held)
                    print(json.dumps({name: out[name]}), flush=True)
            out["ok"] = memory.check().ok
    return out


def day(memory: Memory, clock: ManualClock, first: int, new: int, users: int, forget: int) -> None:
    """New messages, and old ones that are forgotten and due to be erased, three days later."""
    clock.advance(days=1)
    observe(memory, first, new, users=users)
    if forget:
        chance = np.random.default_rng(first)
        ids = memory._parts.sleeper._survey.all().rows["id"]
        memory.forget(chance.choice(ids, forget, replace=False).tolist())
    clock.advance(days=3)


def _steps(report: Any, seconds: float, cpu: float = 0.0) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "finished": report.finished,
        "steps": {
            each.name: [round(each.elapsed_ms / 1000, 2), each.seen, each.changed]
            for each in report.steps
        },
    }


def beside(memory: Memory, last: int, held: Held) -> dict[str, Any]:
    """A cycle while one thread writes and one recalls."""
    chance = np.random.default_rng(SEED + 7)
    cues = [message(int(n), chance) for n in chance.integers(0, last, 200)]
    done = threading.Event()
    before = list(_recalls(memory, cues, 300))
    waits: list[float] = []
    #: the step that goes on, by its last unit, and the longest wait of a writer in each
    where, worst = [""], dict[str, float]()
    during: list[float] = []
    #: recalls beside the same writer, without a night
    awake: list[float] = []

    def write() -> None:
        n = 0
        while not done.is_set():
            began = time.perf_counter()
            memory.remember(f"while it sleeps {n} {message(last + n, chance)}")
            waits.append(time.perf_counter() - began)
            worst[where[0]] = max(worst.get(where[0], 0.0), waits[-1])
            n += 1
            time.sleep(0.02)

    def recall() -> None:
        while not done.is_set():
            (during if where[0] else awake).extend(_recalls(memory, cues, 5))
            time.sleep(0.02)

    alone = [_timed(memory.remember, f"before it sleeps {n}") for n in range(100)]
    threads = [threading.Thread(target=each) for each in (write, recall)]
    for each in threads:
        each.start()
    time.sleep(_AWAKE_S)
    waits_awake, where[0] = list(waits), "begin"
    waits.clear()
    held.longest.clear()
    held.thread = threading.get_ident()
    began, cpu = time.perf_counter(), time.thread_time()
    report = memory.reflect(progress=lambda step, seen, total: where.__setitem__(0, step))
    seconds, cpu = time.perf_counter() - began, time.thread_time() - cpu
    done.set()
    for each in threads:
        each.join()
    held.thread = None
    after = list(_recalls(memory, cues, 300))
    quiet = [*before, *after]
    return {
        **_steps(report, seconds, cpu),
        "held_ms": held.worst(),
        "writes": len(waits),
        "worst_after_ms": {name: round(1000 * s, 1) for name, s in worst.items()},
        "write_alone_ms": _ms(alone),
        "write_awake_ms": _ms(waits_awake),
        "write_ms": _ms(waits),
        "recalls": len(during),
        "recall_quiet_ms": _ms(quiet),
        "recall_awake_ms": _ms(awake),
        "recall_ms": _ms(during),
        "recall_slower": round(statistics.median(during) / statistics.median(awake), 3),
        "recall_slower_than_alone": round(statistics.median(during) / statistics.median(quiet), 3),
    }


def _recalls(memory: Memory, cues: list[str], count: int) -> Iterator[float]:
    for n in range(count):
        yield _timed(memory.recall, cues[n % len(cues)])


def _timed(call: Callable[[str], object], text: str) -> float:
    began = time.perf_counter()
    call(text)
    return time.perf_counter() - began


def _ms(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    at = {"p50": 0.5, "p99": 0.99, "worst": 1.0}
    return {
        name: round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)
        for name, share in at.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("memories", type=int, nargs="?", default=100_000)
    parser.add_argument("--new", type=int, default=2_000)
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--forget", type=int, default=0, help="memories to erase in each night")
    parser.add_argument("--store", type=Path, help="where the filled store is kept")
    parser.add_argument("--paced", action="store_true", help="only beside others as it is")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--keep", action="store_true", help="write bench/results")
    options = parser.parse_args()
    found = nights(
        options.memories,
        options.new,
        options.users,
        forget=options.forget,
        profile=options.profile,
        kept=options.store,
        rests=not options.paced,
    )
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

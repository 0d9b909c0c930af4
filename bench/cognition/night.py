"""How long a night of a large store is, and who waits for it.

    python -m bench.cognition.night [memories] [--new 2000] [--users 1] [--profile] [--keep]

A store is filled, sleeps until nothing is left to do, observes new messages a day later and sleeps
again: that cycle is timed, step by step. In a second one, a day and as many messages later, one
thread writes and one recalls: reported are how long writers wait at most, and the recalls' median
time beside that of recalls next to the same writer before it, and of recalls alone. Before that the
same with a night that makes no room for others. Vectors are hashed words: no model takes part.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import os
import pstats
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
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
            self._known[word] = np.random.default_rng(seed).standard_normal(self.dim).astype(
                np.float32
            )
        return self._known[word]


def message(n: int, chance: np.random.Generator) -> str:
    """The nth of many messages, no two alike."""
    kinds = chance.integers(0, 1 << 30, 6)
    return _SAID[kinds[0] % len(_SAID)].format(
        who=_PEOPLE[kinds[1] % len(_PEOPLE)], where=_PLACES[kinds[2] % len(_PLACES)],
        noun=_NOUNS[kinds[3] % len(_NOUNS)], noun2=_NOUNS[kinds[4] % len(_NOUNS)],
        m=int(kinds[5]) % 97, n=n,
    )  # fmt: skip


def fill(memory: Memory, clock: ManualClock, count: int, *, users: int, days: int = 365) -> None:
    """Remember messages over a year, ten of a session."""
    chance = np.random.default_rng(SEED)
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        clock.advance(days=days * size / count)
        memory.remember_many([
            {"text": message(n, chance), "session_id": f"s{n // 10}",
             "user_id": f"u{n // 10 % users}" if users > 1 else None}
            for n in range(start, start + size)
        ])  # fmt: skip


def observe(memory: Memory, first: int, count: int, *, users: int) -> None:
    """Observe new messages."""
    chance = np.random.default_rng(SEED + first)
    for start in range(first, first + count, 200):
        memory.observe_many(
            [message(n, chance) for n in range(start, min(start + 200, first + count))],
            user_id=f"u{start // 200 % users}" if users > 1 else None, session_id=f"n{start}",
        )  # fmt: skip


def nights(
    memories: int, new: int, users: int, *, profile: bool = False, folder: str | None = None
) -> dict[str, Any]:
    """Every figure of a store of so many memories."""
    out: dict[str, Any] = {"memories": memories, "new": new, "users": users,
                           "cores": os.cpu_count()}  # fmt: skip
    clock = ManualClock(NOW)
    with tempfile.TemporaryDirectory(dir=folder) as place, spector.open(
        Path(place, "mind"), embedder=Hashed(), clock=clock
    ) as memory:
        began = time.perf_counter()
        fill(memory, clock, memories - new, users=users)
        out["fill_s"] = round(time.perf_counter() - began, 1)
        clock.advance(days=1)
        began = time.perf_counter()
        first = memory.reflect()
        out["first"] = _steps(first, time.perf_counter() - began)
        print(json.dumps(out), flush=True)
        clock.advance(days=1)
        observe(memory, memories - new, new, users=users)
        clock.advance(days=3)
        meter = cProfile.Profile() if profile else None
        began, cpu = time.perf_counter(), time.process_time()
        report = meter.runcall(memory.reflect) if meter else memory.reflect()
        out["cycle"] = _steps(report, time.perf_counter() - began, time.process_time() - cpu)
        if meter:
            pstats.Stats(meter).sort_stats("cumulative").print_stats(60)
            pstats.Stats(meter).sort_stats("tottime").print_stats(30)
        print(json.dumps(out["cycle"]), flush=True)
        pace = memory._parts.sleeper._pace
        for n, (name, rest) in enumerate((("unpaced", 0.0), ("beside", pace._rest))):
            observe(memory, memories + n * new, new, users=users)
            clock.advance(days=3)
            pace._rest = rest
            out[name] = beside(memory, memories)
            print(json.dumps({name: out[name]}), flush=True)
        out["ok"] = memory.check().ok
    return out


def _steps(report: Any, seconds: float, cpu: float = 0.0) -> dict[str, Any]:
    return {
        "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "finished": report.finished,
        "steps": {each.name: [round(each.elapsed_ms / 1000, 2), each.seen, each.changed]
                  for each in report.steps},
    }  # fmt: skip


def beside(memory: Memory, last: int) -> dict[str, Any]:
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
    began = time.perf_counter()
    report = memory.reflect(progress=lambda step, seen, total: where.__setitem__(0, step))
    seconds = time.perf_counter() - began
    done.set()
    for each in threads:
        each.join()
    after = list(_recalls(memory, cues, 300))
    quiet = [*before, *after]
    return {
        **_steps(report, seconds), "writes": len(waits),
        "worst_after_ms": {name: round(1000 * s, 1) for name, s in worst.items()},
        "write_alone_ms": _ms(alone), "write_awake_ms": _ms(waits_awake), "write_ms": _ms(waits),
        "recalls": len(during),
        "recall_quiet_ms": _ms(quiet), "recall_awake_ms": _ms(awake), "recall_ms": _ms(during),
        "recall_slower": round(statistics.median(during) / statistics.median(awake), 3),
        "recall_slower_than_alone": round(statistics.median(during) / statistics.median(quiet), 3),
    }  # fmt: skip


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
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--keep", action="store_true", help="write bench/results")
    options = parser.parse_args()
    found = nights(options.memories, options.new, options.users, profile=options.profile)
    if options.keep:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

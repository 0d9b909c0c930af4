"""Who may write, contended for; and one memory in the hands of many threads."""

from __future__ import annotations

import mmap
import os
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.errors import StoreLockedError
from tests.crash.harness import die, run_and_exit, scratch
from tests.crash.workload import open_tiny, texts_of, vector_of, warm_up


def contend(processes: int = 4, grants: int = 40) -> dict[str, Any]:
    """Processes fight for a store until it has been granted so often; every third holder is
    killed, the others close. Never do two have it, and nothing acknowledged is lost."""
    warm_up()
    cells: NDArray[np.int64] = np.frombuffer(mmap.mmap(-1, 8 * (3 + processes)), dtype=np.int64)
    inside, overlaps, granted = cells[0:1], cells[1:2], cells[3:]

    def fight(path: str, number: int) -> None:
        """Contend until there are enough grants; a killed holder is replaced."""
        while granted.sum() < grants:
            try:
                memory = open_tiny(path)
            except StoreLockedError:
                cells[2] += 1  # counted roughly: several do at once
                continue
            inside[0] += 1
            overlaps[0] += inside[0] != 1
            text = f"p{number} n{granted[number]}"
            memory.remember(text, vector=vector_of(text))
            granted[number] += 1
            overlaps[0] += inside[0] != 1
            inside[0] -= 1
            if granted[number] % 3 == 0:
                die()
            memory.close()

    with scratch() as root:
        path = os.path.join(root, "mind")
        open_tiny(path).close()
        running = {
            _start(lambda n=n: fight(path, n)): n  # type: ignore[misc]
            for n in range(processes)
        }
        killed, wrong = 0, []
        while running:
            pid, status = os.wait()
            number, code = running.pop(pid), os.waitstatus_to_exitcode(status)
            if code < 0:
                killed += 1
                running[_start(lambda n=number: fight(path, n))] = number  # type: ignore[misc]
            elif code:
                wrong.append(f"process {number} ended with {code}")
        with open_tiny(path) as memory:
            found = sorted(texts_of(memory).values())
            expected = sorted(f"p{n} n{m}" for n in range(processes) for m in range(granted[n]))
            if found != expected:
                wrong.append(f"lost {set(expected) - set(found)}, new {set(found) - set(expected)}")
            wrong += [f"check: {problem}" for problem in memory.check().problems]
    return {
        "grants": int(granted.sum()),
        "overlaps": int(overlaps[0]),
        "refused": int(cells[2]),
        "killed": killed,
        "wrong": wrong,
    }


def _start(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        run_and_exit(work)
    return pid


# -- threads ------------------------------------------------------------------------------------


class Hand:
    """A thread that changes memories of its own, and finds exactly those."""

    def __init__(self, memory: spector.Memory, number: int, rounds: int) -> None:
        self.memory, self.number, self.rounds = memory, number, rounds
        self.rng = np.random.default_rng(number)
        self.mine: dict[int, str] = {}
        self.operations = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        """All rounds, or until something was wrong."""
        try:
            for n in range(self.rounds):
                self._step(n)
                self.operations += 1
        except BaseException:
            self.wrong.append(traceback.format_exc()[-1500:])

    def _step(self, n: int) -> None:
        dice, memory = self.rng.random(), self.memory
        if dice < 0.35 or not self.mine:
            text = f"hand{self.number} n{n} v0"
            tier = ("episodic", "semantic", "procedural")[n % 3]
            found = memory.remember(
                text, vector=vector_of(text), tags=[f"h{self.number}"], tier=tier
            )
            self.mine[found.id] = text
            return
        record_id = list(self.mine)[self.rng.integers(len(self.mine))]
        if dice < 0.50:
            text = f"hand{self.number} n{n} v1"
            memory.update(record_id, text=text, vector=vector_of(text))
            self.mine[record_id] = text
        elif dice < 0.60:
            memory.forget(record_id)
            del self.mine[record_id]
        elif dice < 0.65:
            memory.reinforce(record_id)
        elif dice < 0.70:
            if memory.get(record_id).text != self.mine[record_id]:
                self.wrong.append(f"get: {memory.get(record_id).text!r}")
        elif dice < 0.92:
            self._recall(record_id)
        elif dice < 0.95:
            (lambda: memory.reflect("upkeep"), memory.compact, memory.checkpoint)[n % 3]()
        elif sum(r.text.startswith(f"hand{self.number} ") for r in memory) != len(self.mine):
            self.wrong.append("a walk found another number of memories")

    def _recall(self, record_id: int) -> None:
        query = vector_of(self.mine[record_id])
        hits = self.memory.recall(vector=query, k=500, tags=[f"h{self.number}"])
        found = {hit.id: hit.text for hit in hits}
        if found != self.mine:
            self.wrong.append(f"recall: {set(found.items()) ^ set(self.mine.items())}")


def hammer(threads: int = 8, rounds: int = 60, path: str | None = None) -> dict[str, Any]:
    """Threads use every verb of one memory at once; each sees its own work and loses none."""
    warm_up()
    with scratch() as root, open_tiny(path or os.path.join(root, "mind")) as memory:
        memory.daemon._interval_s = 0.02
        memory.daemon.start()
        hands = [Hand(memory, n, rounds) for n in range(threads)]
        running = [threading.Thread(target=hand.run) for hand in hands]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        memory.daemon.stop()
        wrong = [line for hand in hands for line in hand.wrong]
        expected = {i: text for hand in hands for i, text in hand.mine.items()}
        if not wrong and texts_of(memory) != expected:
            wrong.append("the memories are not those of the threads together")
        wrong += [f"check: {problem}" for problem in memory.check().problems]
    return {"operations": sum(hand.operations for hand in hands), "wrong": wrong[:10]}

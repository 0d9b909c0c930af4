"""What the writer and the readers of a soak do, and what the readers hold against the store."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

import spector
from spector.config import Config
from spector.errors import UnknownRecordError
from tests.crash.workload import DIM, vector_of
from tests.soak.board import RING, STABLE, Board, timed

__all__ = ["Looker", "Writer", "open_soak"]

#: partitions fill, seal and are compacted within seconds
CONFIG = Config(
    episodic_capacity=512,
    semantic_capacity=256,
    checkpoint_bytes=256 * 1024,
    min_extent_bytes=16 * 1024,
    cluster_min_records=128,
    index_min_rows=64,
    reflect_interval_s=2.0,
    reflect_after_writes=300,
    # ids that wait to be erased are rows of the catalog, and every connection has it in memory
    erase_after_s=60.0,
)
COSINE_ERROR = 0.03
_TIERS = ("episodic", "semantic")


def open_soak(path: str, mode: Any = "rw") -> spector.Memory:
    """The store of a soak."""
    return spector.open(path, embedder=None, dim=DIM, mode=mode, config=CONFIG, threads=1)


def stable_text(n: int, version: int) -> str:
    return f"stable{n} version {version}"


class Writer:
    """Remembers, updates, reinforces and forgets, at a store that keeps its size."""

    def __init__(self, memory: spector.Memory, board: Board, seed: int, target: int) -> None:
        self.memory, self.board, self.target = memory, board, target
        self.rng = np.random.default_rng(seed)
        self._alive: deque[tuple[int, int]] = deque()  # (id, place in the ring)
        self._serial = 0

    def fill(self) -> None:
        """The memories that stay, then as many as the store shall have."""
        texts = [stable_text(n, 0) for n in range(STABLE)]
        found = self.memory.remember_many(
            [
                {"text": t, "vector": vector_of(t), "tags": ["stable"], "tier": _TIERS[n % 2]}
                for n, t in enumerate(texts)
            ]
        )
        self.board.ids[:] = [record.id for record in found]
        while len(self._alive) < self.target:
            self._remember(50)

    def step(self) -> None:
        """One change, of the kind that is due or at random."""
        board = self.board
        with timed(board.changes, board.changes_own, board.changes_work):
            self._change()
        self.board["operations"] += 1

    def _change(self) -> None:
        dice = self.rng.random()
        if len(self._alive) > 1.1 * self.target:
            self._forget(20)
        elif len(self._alive) < self.target or dice < 0.30:
            self._remember(10 if dice < 0.03 else 1)
        elif dice < 0.55:
            self._update()
        elif dice < 0.90:
            self._forget(1)
        elif dice < 0.99:
            self.memory.reinforce(int(self.board.ids[self.rng.integers(STABLE)]))
        else:
            self.memory.checkpoint()

    def _remember(self, count: int) -> None:
        texts = []
        for _ in range(count):
            self._serial += 1
            texts.append(f"churn{self._serial} version 0 " + "word " * int(self.rng.integers(20)))
        self.board["begun"] += count
        tier = _TIERS[self._serial % 4 == 0]
        found = self.memory.remember_many(
            [{"text": t, "vector": vector_of(t), "tags": ["churn"], "tier": tier} for t in texts]
        )
        self.board["here"] += count
        self.board["texts_bytes"] += sum(len(t) for t in texts)
        for n, record in enumerate(found):
            place = (self._serial - count + n) % RING
            self._alive.append((record.id, place))
            self.board.ring[place] = record.id

    def _update(self) -> None:
        n, board = int(self.rng.integers(STABLE)), self.board
        version = int(board.acked[n]) + 1
        board.started[n] = version
        text = stable_text(n, version)
        self.memory.update(int(board.ids[n]), text=text, vector=vector_of(text))
        board.acked[n] = version

    def _forget(self, count: int) -> None:
        going = [self._alive.popleft() for _ in range(min(count, len(self._alive)))]
        for record_id, place in going:
            if self.board.ring[place] == record_id:
                self.board.ring[place] = 0
        self.board["going"] += len(going)
        self.memory.forget([record_id for record_id, _ in going])
        self.board["gone"] += len(going)


class Looker:
    """One reading process: looks in every way there is and writes down what cannot be."""

    def __init__(self, memory: spector.Memory, board: Board, number: int, seed: int) -> None:
        self.memory, self.board, self.number = memory, board, number
        self.rng = np.random.default_rng([seed, number])
        self.wrong: list[str] = []
        self._seen = np.zeros(STABLE, np.int64)
        self.times = board.alone[number], board.alone_own[number], board.alone_work[number]

    def run(self, phase: int) -> None:
        """Look until the board is in another phase."""
        beside = phase == 2
        board, n = self.board, self.number
        self.times = (
            (board.beside[n], board.beside_own[n], board.beside_work[n])
            if beside
            else (board.alone[n], board.alone_own[n], board.alone_work[n])
        )
        looks: list[tuple[float, Callable[[], None]]] = [
            (0.70, self._near),
            (0.80, self._word),
            (0.88, self._all_stable),
            (0.96, self._here),
            (1.0, self._count),
        ]
        while self.board["phase"] == phase:
            dice = self.rng.random()
            look = next(each for upto, each in looks if dice < upto)
            try:
                look()
            except Exception:
                lines = traceback.format_exc().splitlines()
                self._say(f"{look.__name__}: " + " | ".join(lines[-5:]))
            (self.board.looks if beside else self.board.alone_looks)[self.number] += 1

    def _say(self, message: str) -> None:
        self.board.wrong[self.number] += 1
        if len(self.wrong) < 20:
            self.wrong.append(message)

    def _recall(self, cue: str | None, text: str, **more: Any) -> dict[int, str]:
        query = vector_of(text)
        with timed(*self.times):
            hits = self.memory.recall(cue, vector=query, **more)
        for hit in hits[:10]:
            similarity = hit.explain().values.get("similarity", 0.0)
            if abs(similarity - float(query @ vector_of(hit.text))) > COSINE_ERROR:
                self._say(f"{hit.text!r} is beside the vector of another text")
        found = {hit.id: hit.text for hit in hits}
        if len(found) != len(hits):
            self._say("a memory came twice")
        return found

    def _near(self) -> None:
        found = self._recall(None, f"anything {self.rng.integers(1 << 30)}", k=10)
        if len(found) != 10:
            self._say(f"{len(found)} of 10")

    def _word(self) -> None:
        n = int(self.rng.integers(STABLE))
        before = int(self.board.acked[n])
        found = self._recall(f"stable{n}", stable_text(n, before), k=5)
        self._judge(n, before, found.get(int(self.board.ids[n])))

    def _all_stable(self) -> None:
        before = self.board.acked.copy()
        found = self._recall(None, stable_text(0, 0), k=2 * STABLE, tags=["stable"])
        for n in range(STABLE):
            self._judge(n, int(before[n]), found.get(int(self.board.ids[n])))
        if len(found) != STABLE:
            self._say(f"{len(found)} of {STABLE} by tag")

    def _judge(self, n: int, before: int, text: str | None) -> None:
        """An acknowledged version at least, none that was not begun, and never an older one."""
        if text is None:
            self._say(f"stable{n} is missing")
            return
        word, _, version = text.split()[:3]
        low = max(before, int(self._seen[n]))
        if word != f"stable{n}" or not low <= int(version) <= int(self.board.started[n]):
            self._say(f"{text!r}, expected stable{n} in {low}..{self.board.started[n]}")
        self._seen[n] = max(self._seen[n], int(version))

    def _here(self) -> None:
        place = int(self.rng.integers(RING))
        record_id, text = int(self.board.ring[place]), None
        if not record_id:
            return
        with contextlib.suppress(UnknownRecordError):
            text = self.memory.get(record_id).text
        if self.board.ring[place] == record_id and (text is None or not text.startswith("churn")):
            self._say(f"memory {record_id} is {text!r}")

    def _count(self) -> None:
        board = self.board
        here, gone = board["here"], board["gone"]
        count = len(self.memory) - STABLE
        begun, going = board["begun"], board["going"]
        if not here - going <= count <= begun - gone:
            self._say(f"{count} memories, expected {here - going}..{begun - gone}")


def read_until_told(path: str, board: Board, number: int, seed: int, tell: int) -> None:
    """The life of a reading process; what was wrong goes to the descriptor ``tell``."""
    with open_soak(path, "r") as memory:
        looker = Looker(memory, board, number, seed)
        for phase in (1, 2):
            while board["phase"] < phase:
                time.sleep(0.005)
            looker.run(phase)
    os.write(tell, "\n".join(w.replace("\n", " ") for w in looker.wrong).encode()[:60_000])

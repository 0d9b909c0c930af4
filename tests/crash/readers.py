"""One writer and several readers, who know from shared memory what must be visible.

The writer notes what it is about to do before, and what was acknowledged after, each operation. A
reader copies the notes before and after each of its own: whatever was acknowledged before must be
visible, whatever was not even started after must not be.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.errors import UnknownRecordError
from tests.crash.harness import run_and_exit, scratch
from tests.crash.workload import open_tiny, vector_of, warm_up

STABLE = 24
MOST = 20_000
#: operations of the writer, and looks of the readers, without which nothing is proved
ENOUGH = 20
#: how much longer than asked for a slow machine may take to get there
PATIENCE_S = 120.0
#: int8 vectors of 16 dimensions: the cosine is off by a little
COSINE_ERROR = 0.03


class Board:
    """Shared memory: per churning memory its id, versions started and acknowledged, its end."""

    def __init__(self) -> None:
        self._raw = mmap.mmap(-1, 6 * 8 * MOST)
        cells: NDArray[np.int64] = np.frombuffer(self._raw, dtype=np.int64).reshape(6, MOST)
        self.ids, self.started, self.acked, self.ending, self.ended, self.misc = cells

    #: cells of ``misc`` after the used count and the stable memories
    _OVER, _LOOKS = 1 + STABLE, 2 + STABLE

    @property
    def over(self) -> bool:
        """Whether the readers shall come to their end."""
        return bool(self.misc[self._OVER])

    def stop(self) -> None:
        self.misc[self._OVER] = 1

    @property
    def looks(self) -> NDArray[np.int64]:
        """How often each reader has looked."""
        return self.misc[self._LOOKS :]

    def notes(self) -> NDArray[np.int64]:
        """(5, used) copy of all notes."""
        used = int(self.misc[0])
        return np.stack(
            [c[:used] for c in (self.ids, self.started, self.acked, self.ending, self.ended)]
        )


def stable_text(n: int) -> str:
    return f"stable{n} version 0"


def churn_text(key: int, version: int) -> str:
    return f"churn{key} version {version}"


def key_of(text: str) -> tuple[str, int]:
    """("churn7", 3) of "churn7 version 3"."""
    word, _, version = text.split()[:3]
    return word, int(version)


# -- the writer -------------------------------------------------------------------------------


class Churn:
    """The writing side: keeps a dozen memories coming, changing and going."""

    def __init__(self, memory: spector.Memory, board: Board, seed: int) -> None:
        self.memory, self.board = memory, board
        self.rng = np.random.default_rng(seed)
        self.alive: list[int] = []
        self.operations = 0

    def run(self, seconds: float, enough: Callable[[], bool]) -> None:
        """Work for ``seconds`` and until there was ``enough``, then tell the readers to stop."""
        start = time.monotonic()
        try:
            while self.board.misc[0] < MOST - 1:
                spent = time.monotonic() - start
                if spent > seconds + PATIENCE_S or (spent > seconds and enough()):
                    break
                self.step()
                self.operations += 1
        finally:
            self.board.stop()

    def step(self) -> None:
        dice = self.rng.random()
        if len(self.alive) < 6 or dice < 0.25:
            self._remember()
        elif dice < 0.55:
            self._update()
        elif dice < 0.80:
            self._forget()
        elif dice < 0.88:
            self.memory.reinforce(int(self.board.misc[1 + self.rng.integers(STABLE)]))
        elif dice < 0.94:
            self.memory.compact()
        elif dice < 0.97:
            self.memory.reflect()
        else:
            self.memory.checkpoint()

    def _remember(self) -> None:
        board, key = self.board, int(self.board.misc[0])
        board.ids[key], board.acked[key] = 0, -1
        board.misc[0] += 1
        text = churn_text(key, 0)
        record = self.memory.remember(
            text,
            vector=vector_of(text),
            tags=["churn"],
            metadata={"key": key},
            tier=("episodic", "semantic")[key % 2],
        )
        board.ids[key] = record.id
        board.acked[key] = 0
        self.alive.append(key)

    def _update(self) -> None:
        board, key = self.board, self.alive[self.rng.integers(len(self.alive))]
        version = int(board.acked[key]) + 1
        board.started[key] = version
        text = churn_text(key, version)
        self.memory.update(int(board.ids[key]), text=text, vector=vector_of(text))
        board.acked[key] = version

    def _forget(self) -> None:
        board = self.board
        key = self.alive.pop(self.rng.integers(len(self.alive)))
        board.ending[key] = 1
        self.memory.forget(int(board.ids[key]))
        board.ended[key] = 1


def fill(memory: spector.Memory, board: Board) -> None:
    """The memories that exist throughout."""
    texts = [stable_text(n) for n in range(STABLE)]
    found = memory.remember_many(
        [
            {
                "text": t,
                "vector": vector_of(t),
                "tags": ["stable"],
                "metadata": {"key": -1},
                "tier": ("episodic", "semantic")[n % 2],
            }
            for n, t in enumerate(texts)
        ]
    )
    board.misc[1 : 1 + STABLE] = [record.id for record in found]


# -- the readers ------------------------------------------------------------------------------


class Witness:
    """The reading side: looks in every way there is and writes down what cannot be."""

    def __init__(self, memory: spector.Memory, board: Board, seed: int, number: int) -> None:
        self.memory, self.board, self.number = memory, board, number
        self.rng = np.random.default_rng(seed + number)
        self.wrong: list[str] = []
        self._newest: dict[str, int] = {}

    def run(self) -> None:
        """Look until the board says that it is over."""
        looks: list[Callable[[], None]] = [
            self._walk,
            self._count,
            self._get_stable,
            self._get_churn,
            self._recall_stable,
            self._recall_churn,
            self._recall_word,
            self._recall_filtered,
            self._recall_tagged,
        ]
        while not self.board.over and len(self.wrong) < 10:
            look = looks[self.rng.integers(len(looks))]
            try:
                look()
            except Exception:
                lines = traceback.format_exc().splitlines()
                self.wrong.append(f"{look.__name__}: " + " | ".join(lines[-7:]))
            self.board.looks[self.number] += 1

    def _say(self, look: str, message: str) -> None:
        self.wrong.append(f"{look}: {message}")

    def _walk(self) -> None:
        before = self.board.notes()
        seen = [(r.id, r.text) for r in self.memory]
        after = self.board.notes()
        texts = dict(seen)
        if len(texts) != len(seen):
            self._say("walk", "a memory came twice")
        for n in range(STABLE):
            if texts.get(int(self.board.misc[1 + n])) != stable_text(n):
                self._say("walk", f"{stable_text(n)} is missing")
        for key in range(before.shape[1]):
            found = texts.get(int(before[0, key])) if before[0, key] else None
            self._judge("walk", key, before, after, found)

    def _judge(
        self,
        look: str,
        key: int,
        before: NDArray[np.int64],
        after: NDArray[np.int64],
        text: str | None,
    ) -> None:
        """Could a look between the two notes have shown this text for this key?"""
        if text is None:
            if before[0, key] and before[2, key] >= 0 and not after[3, key]:
                self._say(look, f"churn{key} is missing")
            return
        word, version = key_of(text)
        if before[4, key]:
            self._say(look, f"{text!r} was forgotten")
        if word != f"churn{key}" or not before[2, key] <= version <= after[1, key]:
            self._say(look, f"{text!r}, expected churn{key} in {before[2, key]}..{after[1, key]}")
        if version < self._newest.get(word, 0):
            self._say(look, f"{text!r} after version {self._newest[word]} had been seen")
        self._newest[word] = version

    def _count(self) -> None:
        before = self.board.notes()
        count = len(self.memory)
        after = self.board.notes()
        sure = (before[2] >= 0) & (before[0] > 0)
        least = int((sure & (after[3, : before.shape[1]] == 0)).sum())
        most = after.shape[1] - int(before[4].sum())
        if not STABLE + least <= count <= STABLE + most:
            self._say("count", f"{count} is not in {STABLE + least}..{STABLE + most}")

    def _get_stable(self) -> None:
        n = int(self.rng.integers(STABLE))
        if self.memory.get(int(self.board.misc[1 + n])).text != stable_text(n):
            self._say("get", f"{stable_text(n)} has another text")

    def _key(self) -> int | None:
        used = int(self.board.misc[0])
        return int(self.rng.integers(max(0, used - 30), used)) if used else None

    def _get_churn(self) -> None:
        key = self._key()
        if key is None or not self.board.ids[key]:
            return
        before, text = self.board.notes(), None
        with contextlib.suppress(UnknownRecordError):
            text = self.memory.get(int(before[0, key])).text
        self._judge("get", key, before, self.board.notes(), text)

    def _recall(self, look: str, cue: str | None, text: str, **more: Any) -> dict[int, str]:
        query = vector_of(text)
        hits = self.memory.recall(cue, vector=query, **more)
        for hit in hits:
            similarity = hit.explain().values.get("similarity", 0.0)
            expected = float(query @ vector_of(hit.text))
            if abs(similarity - expected) > COSINE_ERROR:
                self._say(look, f"{hit.text!r} has {similarity:.3f} instead of {expected:.3f}")
        if len({hit.id for hit in hits}) != len(hits):
            self._say(look, "a memory came twice")
        return {hit.id: hit.text for hit in hits}

    def _recall_stable(self) -> None:
        n = int(self.rng.integers(STABLE))
        found = self._recall("by vector", None, stable_text(n), k=1, profile="similarity")
        if found != {int(self.board.misc[1 + n]): stable_text(n)}:
            self._say("by vector", f"{stable_text(n)} is not the best: {found}")

    def _recall_churn(self) -> None:
        key = self._key()
        if key is None or not self.board.ids[key]:
            return
        before = self.board.notes()
        text = churn_text(key, int(before[2, key]))
        found = self._recall("churn", None, text, k=500, profile="similarity")
        after = self.board.notes()
        self._judge("churn", key, before, after, found.get(int(before[0, key])))

    def _recall_word(self) -> None:
        n = int(self.rng.integers(STABLE))
        found = self._recall("by word", f"stable{n}", stable_text(n), k=3)
        if found.get(int(self.board.misc[1 + n])) != stable_text(n):
            self._say("by word", f"{stable_text(n)} is missing: {found}")

    def _recall_filtered(self) -> None:
        found = self._recall("where", None, stable_text(0), k=500, where={"key": -1})
        self._all_stable("where", found)

    def _recall_tagged(self) -> None:
        found = self._recall("tags", None, stable_text(0), k=500, tags=["stable"])
        self._all_stable("tags", found)

    def _all_stable(self, look: str, found: dict[int, str]) -> None:
        expected = {int(self.board.misc[1 + n]): stable_text(n) for n in range(STABLE)}
        if found != expected:
            self._say(look, f"{sorted(set(expected.values()) ^ set(found.values()))}")


# -- scenarios ----------------------------------------------------------------------------------


def processes(seconds: float, readers: int = 4, seed: int = 1) -> dict[str, Any]:
    """One writing and several reading processes."""
    warm_up()
    board = Board()
    with scratch() as root:
        path = os.path.join(root, "mind")
        with open_tiny(path) as memory:
            fill(memory, board)
        pipes = [_witness_process(path, board, seed, n) for n in range(1, readers + 1)]
        with open_tiny(path) as memory:
            churn = Churn(memory, board, seed)
            churn.run(seconds, lambda: _enough(churn, board))
            wrong = []
            for pid, reading in pipes:
                with os.fdopen(reading) as lines:
                    wrong += [line for line in lines.read().split("\n") if line]
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                if code:
                    wrong.append(f"a reader ended with {code}")
            wrong += [f"check: {p}" for p in memory.check().problems]
    looks = int(board.looks.sum())
    return {"operations": churn.operations, "looks": looks, "wrong": wrong[:20]}


def _enough(churn: Churn, board: Board) -> bool:
    return churn.operations >= ENOUGH and board.looks.sum() >= ENOUGH


def _witness_process(path: str, board: Board, seed: int, number: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading

    def watch() -> None:
        with open_tiny(path, mode="r") as memory:
            witness = Witness(memory, board, seed, number)
            witness.run()
        report = "\n".join(w.replace("\n", " ") for w in witness.wrong)
        os.write(writing, report[:60_000].encode())

    run_and_exit(watch)
    raise AssertionError("unreachable")

"""A mixed workload that says what it is about to do and what was acknowledged, and its model.

Every memory's text starts with a word of its own and carries a version; its vector follows from
the text. So one look at a record tells which version it is and whether its parts belong together.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.clock import ManualClock
from spector.config import Config

DIM = 16
#: every boundary is met within a few operations
TINY = Config(
    episodic_capacity=4,
    semantic_capacity=3,
    procedural_capacity=3,
    working_capacity=5,
    min_extent_bytes=200,
    max_extent_bytes=400,
    checkpoint_bytes=1500,
    batch_records=3,
    tombstone_ratio=0.3,
    cluster_min_records=2,
    index_min_rows=1,
)
START = datetime(2026, 11, 20, 22, tzinfo=UTC)
_TIERS = ("episodic", "episodic", "semantic", "procedural")


def vector_of(text: str) -> NDArray[np.float32]:
    """(DIM,) f32 unit vector that only the text decides."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    found = np.random.default_rng(seed).standard_normal(DIM)
    return (found / np.linalg.norm(found)).astype(np.float32)


def put(memory: spector.Memory, text: str, **more: Any) -> int:
    """Remember a text with its own vector; the id."""
    return memory.remember(text, vector=vector_of(text), **more).id


def open_tiny(path: str, *, mode: Any = "rw", at: datetime = START, **more: Any) -> spector.Memory:
    return spector.open(
        path, embedder=None, dim=DIM, mode=mode, config=TINY, clock=ManualClock(at), **more
    )


def warm_up() -> None:
    """Load everything that a first use loads, so that forked children start at once."""
    with spector.open(":memory:", embedder=None, dim=DIM, config=TINY) as memory:
        memory.remember("warm", vector=vector_of("warm"))
        memory.recall("warm", vector=vector_of("warm"))
        memory.check()


@dataclass
class Model:
    """What the outside knows: acknowledged texts, forgotten ids, the one operation in doubt."""

    alive: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    doubt: dict[str, Any] | None = None

    def take(self, line: dict[str, Any]) -> None:
        """One line of a journal: ``do`` announces an operation, ``ok`` acknowledges it."""
        if "do" in line:
            self.doubt = line
            return
        self.doubt = None
        for record_id, text in line.get("put", ()):
            self.alive[record_id] = text
        for record_id in line.get("gone", ()):
            self.alive.pop(record_id, None)
            self.gone.add(record_id)

    def settle(self, seen: dict[int, str]) -> list[str]:
        """Compare with what a reopened store shows, resolving the operation in doubt."""
        wrong = []
        doubt = self.doubt or {}
        maybe_put, maybe_gone = set(doubt.get("texts", ())), set(doubt.get("ids", ()))
        expected = dict(self.alive)
        for record_id, text in seen.items():
            if record_id in self.gone:
                wrong.append(f"forgotten {record_id} is back: {text!r}")
            elif record_id not in expected:
                if text not in maybe_put:
                    wrong.append(f"nobody asked to remember {record_id}: {text!r}")
            elif text != expected[record_id] and text not in maybe_put:
                wrong.append(f"{record_id} is {text!r}, acknowledged was {expected[record_id]!r}")
        for record_id, text in expected.items():
            going = doubt.get("do") == "forget" and record_id in maybe_gone
            if record_id not in seen and not going:
                wrong.append(f"acknowledged {record_id} is missing: {text!r}")
        if doubt.get("do") == "remember_many":
            wrong += _half_batches(doubt["texts"], set(seen.values()))
        self.gone |= set(self.alive) - set(seen)
        self.alive = dict(seen)
        self.doubt = None
        return wrong


def _half_batches(texts: list[str], seen: set[str]) -> list[str]:
    """A batch is all or nothing, and batches arrive in order."""
    size = TINY.batch_records
    state = [t in seen for t in texts]
    batches = [state[i : i + size] for i in range(0, len(state), size)]
    whole = [all(b) for b in batches]
    if any(any(b) and not all(b) for b in batches) or whole != sorted(whole, reverse=True):
        return [f"a batch is half visible: {state}"]
    return []


Tell = Callable[[dict[str, Any]], None]


class Worker:
    """Performs random operations on a store and tells each before and after."""

    def __init__(
        self, memory: spector.Memory, alive: dict[int, str], seed: int, tell: Tell
    ) -> None:
        self.memory = memory
        self.alive = dict(alive)
        self.rng = np.random.default_rng(seed)
        self.tell = tell
        self._serial = 0
        self._seed = seed

    def step(self) -> None:
        names = ["remember"] * 5 + ["remember_many"] * 2 + ["update"] * 3 + ["forget"] * 3
        names += ["reinforce"] * 2 + ["pin", "reflect", "compact", "checkpoint", "touch"]
        names += ["supersede"] * 2
        if len(self.alive) > 60:
            names += ["forget"] * 20
        getattr(self, "_" + names[self.rng.integers(len(names))])()

    def _text(self) -> str:
        self._serial += 1
        return f"w{self._seed}x{self._serial} version 0 " + "pad " * int(self.rng.integers(6))

    def _new(self, text: str) -> dict[str, Any]:
        when = START + timedelta(hours=float(self.rng.integers(0, 72)))
        return {
            "text": text,
            "vector": vector_of(text),
            "event_time": when,
            "tier": _TIERS[self.rng.integers(len(_TIERS))],
            "tags": [f"t{self.rng.integers(4)}"],
            "user_id": f"u{self.rng.integers(3)}",
            "metadata": {"n": int(self.rng.integers(9))},
        }

    def _pick(self) -> int | None:
        return list(self.alive)[self.rng.integers(len(self.alive))] if self.alive else None

    def _remember(self) -> None:
        text = self._text()
        self.tell({"do": "remember", "texts": [text]})
        new = self._new(text)
        record = self.memory.remember(new.pop("text"), **new)
        self._ack([record])

    def _remember_many(self) -> None:
        texts = [self._text() for _ in range(int(self.rng.integers(1, 9)))]
        self.tell({"do": "remember_many", "texts": texts})
        self._ack(self.memory.remember_many([self._new(t) for t in texts]))

    def _update(self) -> None:
        record_id = self._pick()
        if record_id is None:
            return
        old = self.alive[record_id].split(" version ")
        text = f"{old[0]} version {int(old[1].split()[0]) + 1} changed"
        self.tell({"do": "update", "texts": [text], "ids": [record_id]})
        self._ack([self.memory.update(record_id, text=text, vector=vector_of(text))])

    def _supersede(self) -> None:
        """By one of the same user, of two that nothing superseded yet."""
        named = [i for i in {self._pick(), self._pick()} if i is not None]
        records = [self.memory.get(i) for i in named]
        chosen = [r for r in records if not r.superseded and r.user_id == records[0].user_id]
        if not chosen:
            return
        text = self._text()
        self.tell({"do": "supersede", "texts": [text]})
        new = self._new(text) | {"user_id": chosen[0].user_id}
        record = self.memory.remember(new.pop("text"), **new, supersedes=chosen)
        self._ack([record])

    def _forget(self) -> None:
        record_id = self._pick()
        if record_id is None:
            return
        self.tell({"do": "forget", "ids": [record_id]})
        self.memory.forget(record_id)
        self.alive.pop(record_id)
        self.tell({"ok": 1, "gone": [record_id]})

    def _reinforce(self) -> None:
        self._quiet("reinforce", lambda i: self.memory.reinforce(i, bool(self.rng.integers(2))))

    def _pin(self) -> None:
        self._quiet("pin", self.memory.pin)

    def _touch(self) -> None:
        self._quiet(
            "touch", lambda i: self.memory.recall(vector=vector_of(self.alive[i]), k=3, learn=True)
        )

    def _quiet(self, name: str, call: Callable[[int], object]) -> None:
        record_id = self._pick()
        if record_id is not None:
            self.tell({"do": name})
            call(record_id)
            self.tell({"ok": 1})

    def _reflect(self) -> None:
        self._upkeep("reflect")

    def _compact(self) -> None:
        self._upkeep("compact")

    def _checkpoint(self) -> None:
        self._upkeep("checkpoint")

    def _upkeep(self, name: str) -> None:
        self.tell({"do": name})
        getattr(self.memory, name)()
        self.tell({"ok": 1})

    def _ack(self, records: list[Any]) -> None:
        for record in records:
            self.alive[record.id] = record.text
        self.tell({"ok": 1, "put": [[r.id, r.text] for r in records]})


def tell_pipe(fd: int) -> Tell:
    """Lines into a pipe that the parent owns: what it holds survives the writer."""
    return lambda line: _write_all(fd, (json.dumps(line) + "\n").encode())


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def texts_of(memory: spector.Memory) -> dict[int, str]:
    """Every memory by id; iterating hydrates and verifies each."""
    return {record.id: record.text for record in memory}


def wrong_in(memory: spector.Memory, *, sample: int = 6) -> list[str]:
    """What an open store gets wrong: reading by id, by vector, by word, counting, check."""
    wrong = [f"check: {p}" for p in memory.check().problems]
    records = {record.id: record for record in memory}
    wrong += _wrong_changes(records)
    seen = {record_id: record.text for record_id, record in records.items()}
    if len(memory) != len(seen):
        wrong.append(f"len is {len(memory)}, but {len(seen)} can be iterated")
    told = [each for each in seen if records[each].write_source != "dream"]  # a theme has a mean
    for record_id in told[-sample:]:
        text = seen[record_id]
        if memory.get(record_id).text != text:
            wrong.append(f"get({record_id}) differs from iteration")
        if records[record_id].superseded:
            if record_id in [hit.id for hit in memory.recall(text.split()[0], k=50)]:
                wrong.append(f"recall shows {record_id}, which was superseded: {text!r}")
            continue
        hits = memory.recall(vector=vector_of(text), k=1, lexical=False, profile="similarity")
        if not hits or hits[0].id != record_id:
            wrong.append(f"recall by vector does not find {record_id} {text!r}")
        if record_id not in [hit.id for hit in memory.recall(text.split()[0], k=3)]:
            wrong.append(f"recall by word does not find {record_id} {text!r}")
    return wrong


def _wrong_changes(records: dict[int, spector.MemoryRecord]) -> list[str]:
    """A change is whole: the older memory has ended, and the newer one is there, or neither."""
    wrong = []
    for older, record in records.items():
        if record.superseded_by and not record.superseded:
            wrong.append(f"{older} goes on, although {record.superseded_by} supersede it")
        wrong += [
            f"{each} does not know that it supersedes {older}"
            for each in record.superseded_by
            if each not in records or older not in records[each].supersedes
        ]
    return wrong

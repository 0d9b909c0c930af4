"""What is recorded for the power-loss replay, and what may be visible after the cut.

A recorded process puts the state of its store into the trace after every commit (``Recorder``):
all memories with all they know, as a digest. After a cut the store must show

- strict: the state of the last commit before the cut, or the one that was under way;
- relaxed: the same, or any earlier one back to where ``checkpoint`` or ``close`` returned;

and nothing else: not half of a state, not a later one without an earlier one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.clock import ManualClock
from spector.store import log
from spector.store.store import Store
from tests.crash.prepared import legacy, of_format_1
from tests.crash.shim import Shim
from tests.crash.trace import MARK, Call
from tests.crash.workload import DIM, START, TINY, Worker

__all__ = ["COPIES", "EMPTY", "PREPARED", "STORE", "WORKLOADS", "Allowed", "Recorder", "describe",
           "digest_of", "open_any", "vector"]

#: where the store is, below what is recorded; not even its parent is there at first
STORE = "home/mind"
#: copies of it, beside
COPIES = ("copy", "restored")
#: beyond so many pages the log is copied into the catalog: at nearly every commit, or seldom
_WAL_PAGES = (24, 400, 80)
_BULK = replace(TINY, episodic_capacity=200, batch_records=80, checkpoint_bytes=4000)


# -- one state of a store -----------------------------------------------------------------------


def describe(memory: spector.Memory) -> dict[int, dict[str, Any]]:
    """Everything that a store says of its memories; reading verifies each."""
    return {record.id: record.to_dict() for record in memory}


def digest_of(state: dict[int, dict[str, Any]], dim: int) -> str:
    """The same for the same memories; a store without any is like one that is not there."""
    text = json.dumps([dim, sorted(state.items())] if state else [], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


EMPTY = digest_of({}, DIM)


def vector(text: str, dim: int) -> NDArray[np.float32]:
    """(dim,) f32 unit vector that only the text decides."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    found = np.random.default_rng(seed).standard_normal(dim)
    return (found / np.linalg.norm(found)).astype(np.float32)


class Model:
    """An embedder of those vectors."""

    def __init__(self, dim: int) -> None:
        self.dim, self.model_id, self.fingerprint = dim, f"model-{dim}", f"model:{dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([vector(text, self.dim) for text in texts])


def open_any(path: str, *, mode: Any = "rw", dim: int = DIM, **more: Any) -> spector.Memory:
    """Open a store of whatever model, without one; new ones have ``dim``."""
    options = {"embedder": None, "mode": mode, "config": TINY, "clock": ManualClock(START), **more}
    try:
        return spector.open(path, dim=dim, **options)
    except spector.ModelMismatchError:
        return spector.open(path, **options)


# -- recording ----------------------------------------------------------------------------------


class Recorder:
    """The recorded side: a store below ``top``, whose states go into the trace."""

    def __init__(self, shim: Shim, top: str, seed: int, *, visible: str = EMPTY) -> None:
        """``visible`` is what a store that is there already shows, "" when that is in doubt."""
        self.shim, self.top, self.seed = shim, top, seed
        self.path = os.path.join(top, STORE)
        self.memory: spector.Memory | None = None
        self._last = visible
        self._strict = True

    def watch(self) -> None:
        """Note the state after each commit, and let the log be checkpointed often."""
        recorder, real = self, Store.transaction

        @contextmanager
        def transaction(store: Store) -> Iterator[Any]:
            with real(store) as tx:
                yield tx
            if store.files.durable:
                recorder.note()

        Store.transaction = transaction  # type: ignore[assignment,method-assign]
        log.LONG_BYTES = 4096 * _WAL_PAGES[self.seed % len(_WAL_PAGES)]

    def open(self, **more: Any) -> spector.Memory:
        self._strict = more.get("durability", "strict") == "strict"
        self.memory = open_any(self.path, **more)
        self.note()
        return self.memory

    def note(self) -> None:
        """Say in the trace what is visible now, if that is news."""
        if self.memory is not None:
            state = describe(self.memory)
            self.say(state, self.memory.dim)

    def say(self, state: dict[int, dict[str, Any]], dim: int) -> None:
        digest = digest_of(state, dim)
        if digest != self._last:
            self._last = digest
            texts = {record_id: entry["text"] for record_id, entry in state.items()}
            self._mark(state=digest, safe=self._strict, texts=texts)

    def safe(self) -> None:
        """Say that everything up to now was promised to survive."""
        self._mark(state=self._last, safe=True)

    def close(self) -> None:
        assert self.memory is not None
        memory, self.memory = self.memory, None
        memory.close()
        self.safe()

    def file(self, name: str) -> None:
        """Say that the file ``name`` beside the store was promised to survive as it is."""
        with open(os.path.join(self.top, name), "rb") as file:
            self._mark(beside=name, digest=hashlib.sha256(file.read()).hexdigest())

    def copy(self, name: str) -> None:
        """Say that the copy ``name`` of the store as it is was promised to survive."""
        self._mark(beside=name, digest=self._last)

    def _mark(self, **what: Any) -> None:
        self.shim.mark(json.dumps(what))


# -- what may be visible ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allowed:
    """At one moment: digests of what may be visible, in the store and beside it ("" is nothing)."""

    states: frozenset[str]
    beside: tuple[tuple[str, frozenset[str]], ...] = ()

    @classmethod
    def by_call(cls, calls: Sequence[Call], first: str = EMPTY) -> list[Allowed]:
        """For each number n of calls, what a cut after n calls may leave; n = 0 .. len(calls)."""
        marks = [json.loads(call.data) if call.kind == MARK else {} for call in calls]
        states = [first, *(m["state"] for m in marks if "state" in m)]
        beside: dict[str, list[str]] = {}
        for mark in marks:
            if "beside" in mark:
                beside.setdefault(mark["beside"], [""]).append(mark["digest"])
        at, floor, reached = 0, 0, dict.fromkeys(beside, 0)
        out: list[Allowed] = []
        for n in range(len(calls) + 1):
            mark = marks[n - 1] if n else {}
            if "state" in mark:
                at += 1
                floor = at if mark["safe"] else floor
            elif mark:
                reached[mark["beside"]] += 1
            if mark or not out:
                files = ((k, frozenset(v[reached[k] : reached[k] + 2])) for k, v in beside.items())
                out.append(cls(frozenset(states[floor : at + 2]), tuple(sorted(files))))
            else:
                out.append(out[-1])
        return out


# -- workloads ----------------------------------------------------------------------------------


def _all(words: str, *, dim: int = DIM, **more: Any) -> list[dict[str, Any]]:
    return [{"text": f"{w} version 0", "vector": vector(f"{w} version 0", dim), **more}
            for w in words.split()]


def life(recorder: Recorder, durability: str = "strict") -> None:
    """Every verb once or twice, with a good end and a second session."""
    memory = recorder.open(durability=durability)
    later = START + timedelta(days=1)
    ids = {}
    for words, more in (
        ("alpha beta", {"event_time": START}), ("gamma delta eps zeta eta", {"event_time": later}),
        ("fact0 fact1 fact2 fact3", {"tier": "semantic", "tags": ["f"]}),
    ):
        found = memory.remember_many(_all(words, **more))
        ids.update((record.text.split()[0], record.id) for record in found)
    for text in ("alpha version 1", "fact0 version 1"):
        memory.update(ids[text.split()[0]], text=text, vector=vector(text, DIM))
    memory.reinforce(ids["beta"])
    memory.forget(ids["gamma"])
    memory.recall(vector=vector("delta version 0", DIM), k=2, learn=True)
    memory.checkpoint()
    recorder.safe()
    memory.forget(ids["delta"])
    memory.forget(ids["fact1"])
    memory._clock.advance(days=3)  # type: ignore[attr-defined]
    memory.reflect()
    memory.remember_many(_all("omega"))
    memory.export(os.path.join(recorder.top, "out.jsonl"))
    recorder.file("out.jsonl")
    memory.compact()
    recorder.close()
    memory = recorder.open(durability=durability)
    memory.remember_many(_all("psi"))
    memory.pin(ids["alpha"])


def relaxed(recorder: Recorder) -> None:
    life(recorder, "relaxed")


def mixed(recorder: Recorder, durability: str = "strict") -> None:
    """Random verbs, closed and opened in between."""
    alive: dict[int, str] = {}
    for session in range(2):
        memory = recorder.open(durability=durability, clock=ManualClock(START))
        worker = Worker(memory, alive, recorder.seed * 10 + session, lambda line: None)
        for _ in range(14):
            worker.step()
        memory.reflect()
        memory.compact()
        alive = worker.alive
        recorder.close()


def mixed_relaxed(recorder: Recorder) -> None:
    mixed(recorder, "relaxed")


def bulk(recorder: Recorder) -> None:
    """Appends that go into the partition before the commit, between small ones."""
    memory = recorder.open(config=_BULK)
    memory.remember_many(_all("a b c"))
    memory.remember_many(_all(" ".join(f"m{n}" for n in range(70))))
    found = memory.remember_many(_all("d e"))
    memory.forget(found[0].id)
    memory.remember_many(_all(" ".join(f"n{n}" for n in range(66)), tier="semantic"))
    recorder.close()


def reembed(recorder: Recorder) -> None:
    """Change to a model of another dimension, and go on there."""
    memory = recorder.open(embedder=Model(DIM))
    found = memory.remember_many(_all("one two three four five"))
    memory.remember_many(_all("six seven eight", tier="semantic"))
    memory.forget(found[2].id)
    state = describe(memory)
    recorder.close()
    spector.reembed(recorder.path, Model(80))
    recorder.say(state, 80)
    memory = recorder.open(embedder=Model(80), dim=80)
    memory.remember("nine version 0")
    memory.compact()
    recorder.close()


def migrate(recorder: Recorder) -> None:
    """Open a store from before its semantic tier was partitioned; ``legacy`` has made it."""
    recorder.open()
    assert recorder.memory is not None
    recorder.memory.remember_many(_all("new newer", tier="semantic"))
    recorder.close()


def upgrade(recorder: Recorder) -> None:
    """Open a store of an older format, which ``of_format_1`` has put there."""
    recorder.open()
    assert recorder.memory is not None
    recorder.memory.remember_many(_all("new newer", tier="semantic", dim=recorder.memory.dim))
    recorder.close()


def backup(recorder: Recorder) -> None:
    """A copy of a store in use, another in its place, and one of the copy."""
    memory = recorder.open()
    found = memory.remember_many(_all("one two three four five"))
    memory.remember_many(_all("six seven", tier="semantic"))
    memory.backup(os.path.join(recorder.top, "copy"))
    recorder.copy("copy")
    memory.forget(found[1].id)
    memory.remember_many(_all("eight", tier="semantic"))
    memory.compact()
    memory.backup(os.path.join(recorder.top, "copy"))
    recorder.copy("copy")
    spector.restore(os.path.join(recorder.top, "copy"), os.path.join(recorder.top, "restored"))
    recorder.copy("restored")
    memory.remember_many(_all("nine"))


def short(recorder: Recorder) -> None:
    """Few changes, so that every subset of what is pending can be built."""
    memory = recorder.open()
    found = memory.remember_many(_all("one two three"))
    memory.update(found[0].id, text="one again", vector=vector("one again", DIM))
    memory.forget(found[1].id)
    memory.checkpoint()
    memory.compact()
    recorder.close()


def again(recorder: Recorder) -> None:
    """What a later process does with a store that a killed one left."""
    memory = recorder.open()
    memory.remember_many(_all("back", dim=memory.dim))
    memory.checkpoint()
    memory.remember_many(_all("again", dim=memory.dim, tier="semantic"))


WORKLOADS: dict[str, Callable[[Recorder], None]] = {
    each.__name__: each
    for each in (
        life, relaxed, mixed, mixed_relaxed, bulk, reembed, migrate, upgrade, backup, short, again,
    )
}
#: workload -> what makes the store that it begins with, all of it durable, in a directory
PREPARED: dict[str, Callable[[str], None]] = {"migrate": legacy, "upgrade": of_format_1}

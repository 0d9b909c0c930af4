"""What is recorded for the power-loss replay, and what may be visible after the cut.

A recorded process puts the state of its store into the trace after every commit (``Recorder``):
all memories with all they know, as a digest. After a cut the store must show

- strict: the state of the last commit before the cut, or the one that was under way;
- relaxed: the same, or any earlier one back to where ``checkpoint`` or ``close`` returned;

and nothing else: not half of a state, not a later one without an earlier one. What a receipt says
is erased is in no file of such a disk any more.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spector
from spector.clock import ManualClock
from spector.store.catalog import journal as log
from spector.store.core.store import Store
from tests.crash.shim import Shim
from tests.crash.trace import MARK, Call
from tests.crash.workload import DIM, START, TINY
from tests.knowing import known_rows

__all__ = [
    "COPIES",
    "EMPTY",
    "STORE",
    "Allowed",
    "Recorder",
    "describe",
    "digest_of",
    "open_any",
    "vector",
]

#: where the store is, below what is recorded; not even its parent is there at first
STORE = "home/mind"
#: copies of it, beside
COPIES = ("copy", "restored")
#: beyond so many pages the log is copied into the catalog: at nearly every commit, or seldom
_WAL_PAGES = (24, 400, 80)


# -- one state of a store -----------------------------------------------------------------------


def describe(memory: spector.Memory) -> dict[int, dict[str, Any]]:
    """Everything that a store says of its memories and knows of them; reading verifies each."""
    known = known_rows(memory)
    return {
        record.id: record.to_dict()
        | ({"known": known[record.id]} if record.id in known else {})
        | ({"attached": repr(value)} if (value := record.attachment()) is not None else {})
        for record in memory
    }


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

    def done(self, receipt: spector.ErasureReceipt | None, needles: Sequence[bytes]) -> None:
        """Say that a receipt promised that no file has these bytes any more, not after a cut."""
        assert receipt is not None
        assert receipt.complete, receipt.pending
        self._mark(gone=[needle.hex() for needle in needles])

    def _mark(self, **what: Any) -> None:
        self.shim.mark(json.dumps(what))


# -- what may be visible ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allowed:
    """At one moment: digests of what may be visible, in the store and beside it ("" is nothing),
    and bytes that no file of the store may have."""

    states: frozenset[str]
    beside: tuple[tuple[str, frozenset[str]], ...] = ()
    gone: frozenset[bytes] = frozenset()

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
        gone: frozenset[bytes] = frozenset()
        out: list[Allowed] = []
        for n in range(len(calls) + 1):
            mark = marks[n - 1] if n else {}
            if "state" in mark:
                at += 1
                floor = at if mark["safe"] else floor
            elif "beside" in mark:
                reached[mark["beside"]] += 1
            elif mark:
                gone |= {bytes.fromhex(needle) for needle in mark["gone"]}
            if mark or not out:
                files = ((k, frozenset(v[reached[k] : reached[k] + 2])) for k, v in beside.items())
                out.append(cls(frozenset(states[floor : at + 2]), tuple(sorted(files)), gone))
            else:
                out.append(out[-1])
        return out

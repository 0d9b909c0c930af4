"""A store and its model side by side: how they live, die, and are compared."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import spector
from spector.clock import ManualClock
from spector.kernel.contract.query import make_query
from tests.crash.workload import DIM, START, TINY
from tests.model.faults import Photographer, install
from tests.model.oracle import Oracle
from tests.model.recalls import Recalls
from tests.model.spec import Handle

__all__ = ["Life", "Setup", "copy_as_killed", "difference"]

#: operations that change nothing, so there is nothing to die within
_HARMLESS = frozenset({"doom", "reader", "by_text", "by_word", "get", "select", "clock"})
#: operations that compare what they read themselves
_READING = _HARMLESS | {"recall"}


@dataclass(frozen=True)
class Setup:
    """Which spector: its kernel, where it keeps things, whether small scans use indexes.

    ``store`` is its durability on disk, or "memory".
    """

    kernel: str = "native"
    store: str = "strict"
    indexed: bool = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Memories that are opened within are of this kind."""
        defaults = make_query.__kwdefaults__
        before = os.environ.get("SPECTOR_KERNEL"), defaults["index_from_rows"]
        os.environ["SPECTOR_KERNEL"] = self.kernel
        if self.indexed:
            defaults["index_from_rows"] = 0
        try:
            yield
        finally:
            defaults["index_from_rows"] = before[1]
            os.environ.pop("SPECTOR_KERNEL")
            if before[0] is not None:
                os.environ["SPECTOR_KERNEL"] = before[0]


class Life:
    """Use :meth:`step` for every operation and :meth:`finish` at the end."""

    camera: type[Photographer] = Photographer

    def __init__(self, setup: Setup, root: str) -> None:
        self.setup = setup
        self.clock = ManualClock(START)
        self.oracle = Oracle(TINY)
        self.handles: dict[Handle, int] = {}
        self.steps = self.crashes = 0
        self.recalls = Recalls()
        self._root = root
        self._lives = self._texts = 0
        #: ids given out so far: on disk, and in memory only since the store was opened
        self._lasting: set[int] = set()
        self._fleeting: set[int] = set()
        self._doom: int | None = None
        self._states: list[Oracle] = []
        self._camera = self.camera()
        self._restore = install(self._camera)
        self._readers: list[spector.Memory] = []
        self.memory = self._open()

    # -- life -------------------------------------------------------------------------------------

    @property
    def _path(self) -> str:
        return ":memory:" if self.setup.store == "memory" else f"{self._root}/life{self._lives}"

    def _open(self, mode: Any = "rw") -> spector.Memory:
        durability: Any = "relaxed" if self.setup.store == "relaxed" else "strict"
        return spector.open(
            self._path,
            embedder=None,
            dim=DIM,
            mode=mode,
            config=TINY,
            clock=self.clock,
            durability=durability,
            threads=1,
        )

    def step(self, serial: int, name: str, args: Mapping[str, Any]) -> list[Handle]:
        """Do one operation and compare; returns names for the memories that it made.

        Raises:
            AssertionError: store and model differ.
        """
        operation = self._operation(name)
        self.steps += 1
        if self._doom is None or name in _HARMLESS:
            ids = operation(**args) or []
            volatile = {i for i in ids if self.oracle.tier_of(i) in ("working", None)}
            self._fleeting |= volatile
            self._lasting |= set(ids) - volatile
        else:
            ids = self._do_and_crash(operation, args)
        out = [(serial, n) for n in range(len(ids))]
        self.handles.update(
            (h, i) for h, i in zip(out, ids, strict=True) if i in self._lasting | self._fleeting
        )
        if name not in _READING or serial % 5 == 0:
            self.compare(serial)
        return out

    def _operation(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(self, f"do_{name}")
        return found

    def _idle(self) -> None:
        """The operation had nothing to do: it is not counted."""
        self.steps -= 1

    def _do_and_crash(self, operation: Any, args: Mapping[str, Any]) -> list[int]:
        """The process dies within the operation, or just after: the disk as it was then goes on."""
        assert self._doom is not None
        photo, path, fleeting = f"{self._root}/photo", self._path, set(self._fleeting)
        self._states = [self.oracle.copy()]
        self._camera.wait(self._doom, lambda: copy_as_killed(path, photo))
        self._doom = None
        ids: list[int] = operation(**args) or []
        self._camera.armed = False
        self._states.append(self.oracle)
        if not self._camera.fired:  # it was acknowledged
            path, self._states = self._path, [self.oracle]
            copy_as_killed(path, photo)
        self._close_readers()
        self.memory.close()
        shutil.rmtree(self._path)
        self._lives += 1
        os.rename(photo, self._path)
        self.memory = self._recovered()
        self.crashes += 1
        seen = {record.id: record for record in self.memory}
        states = [state.without_volatile() for state in self._states]
        matching = [state for state in states if state.records == seen]
        assert matching, difference(
            seen, states[-1].records, f"after a crash at {self._camera.fired or 'the end'}"
        )
        self.oracle = matching[-1]
        if self._camera.fired:  # perhaps before a closing store had noted them
            self._lasting -= fleeting
        self._lasting |= set(ids) & set(self.oracle.records)
        self._fleeting.clear()  # those ids may be given out again
        self.handles = {h: i for h, i in self.handles.items() if i in self._lasting}
        return ids

    def _recovered(self) -> spector.Memory:
        return self._open()

    def close(self) -> None:
        """Let go of everything, whatever happened."""
        self._camera.armed = False
        try:
            self._close_readers()
            self.memory.close()
        finally:
            self._restore()

    def finish(self) -> None:
        """What every run ends with."""
        self._doom = None
        self.do_check()
        self.do_reopen()
        self.compare(0)
        self.do_check()

    def _close_readers(self) -> None:
        while self._readers:
            self._readers.pop().close()

    # -- comparing --------------------------------------------------------------------------------

    def compare(self, serial: int) -> None:
        """Every field of every memory, counts, and now and then what else can be asked."""
        seen = {record.id: record for record in self.memory}
        assert seen == self.oracle.records, difference(seen, self.oracle.records, "the store")
        assert len(self.memory) == len(seen)
        expected = self.oracle.without_volatile().records
        for reader in self._readers:
            seen = {record.id: record for record in reader}
            assert seen == expected, difference(seen, expected, "a reader")
            assert len(reader) == len(seen)
        if serial % 8 == 0:
            self._compare_stats()
        if serial % 40 == 0:
            self.do_check()

    def _compare_stats(self) -> None:
        stats = self.memory.stats()
        counts = dict.fromkeys(stats["tiers"], 0)
        for record in self.oracle.records.values():
            counts[record.tier] += 1
        assert {name: tier["records"] for name, tier in stats["tiers"].items()} == counts
        assert stats["records"] == len(self.oracle.records)

    def do_check(self) -> None:
        report = self.memory.check()
        assert not report.problems, "; ".join(map(str, report.problems))
        assert report.records == len(self.oracle.records)


def difference(seen: Mapping[int, Any], expected: Mapping[int, Any], where: str) -> str:
    """What a person wants to know about two dictionaries of records that differ."""
    lines = [f"{where} differs from the model:"]
    lines += [f"  lost: {expected[i]!r}" for i in expected if i not in seen]
    lines += [f"  unexpected: {seen[i]!r}" for i in seen if i not in expected]
    for i in seen:
        if i in expected and seen[i] != expected[i]:
            lines += [
                f"  {i}.{name}: {getattr(seen[i], name)!r}, expected {getattr(expected[i], name)!r}"
                for name in seen[i].__dataclass_fields__
                if getattr(seen[i], name) != getattr(expected[i], name)
            ]
    return "\n".join(lines)


def copy_as_killed(path: str, to: str) -> None:
    """What a killed process leaves: all files as they are, but for SQLite's shared memory."""
    shutil.copytree(path, to, ignore=lambda _, names: [n for n in names if n.endswith("-shm")])

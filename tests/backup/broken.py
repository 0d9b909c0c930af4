"""Backups and restores that die or fail at each of their steps, and what must be there then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import spector
from spector.store.backup import copy as backup
from spector.store.backup import destination as places
from tests.crash import faults
from tests.crash.harness import in_fork, scratch
from tests.crash.workload import Model, open_tiny, texts_of, vector_of, warm_up, wrong_in

_COUNTED = ("link", "mkdir", "open", "rename", "rmdir", "unlink")


class _Os:
    """``os`` for ``places``: everything that changes a name or opens a directory counts."""

    def __init__(self, fault: faults.Fault) -> None:
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in _COUNTED:
            return found

        def counted(*args: Any, **more: Any) -> Any:
            kind = self._fault.point(name)
            if kind:
                code = getattr(faults.errno, kind)
                raise OSError(code, os.strerror(code))
            return found(*args, **more)

        return counted


def install(fault: faults.Fault, *, exchange: bool) -> Callable[[], None]:
    """Count and break what a copy does to the disk; returns the way back."""
    undo, real_files, real_exchange = faults.install(fault), backup.DiskFiles, places._exchange

    def exchanged(one: str, other: str) -> bool:
        if not exchange:
            return False
        kind = fault.point("exchange")
        if kind:
            with places.translate_os_errors("rename to", other):
                code = getattr(faults.errno, kind)
                raise OSError(code, os.strerror(code))
        return real_exchange(one, other)

    for module in (backup, places):
        module.DiskFiles = lambda root: faults.FaultyFiles(root, fault)  # type: ignore[attr-defined]
    places.os = _Os(fault)  # type: ignore[attr-defined]
    places._exchange = exchanged

    def restore() -> None:
        undo()
        for module in (backup, places):
            module.DiskFiles = real_files  # type: ignore[attr-defined]
        places.os = os  # type: ignore[attr-defined]
        places._exchange = real_exchange

    return restore


class _Case:
    """A store, perhaps an older backup of it, and a copy to make."""

    def __init__(self, root: str, case: str) -> None:
        self.root, self.case = root, case
        self.mind, self.copy = os.path.join(root, "mind"), os.path.join(root, "copy")

    def prepare(self) -> None:
        self.older: dict[int, str] | None = None
        with open_tiny(self.mind) as memory:
            for n in range(10):
                self._put(memory, f"w{n} version 0", n)
            if self.case.startswith("again"):
                memory.backup(self.copy)
                self.older = texts_of(memory)
            self._put(memory, "late version 0", 1)
            memory.forget(next(iter(memory)).id)
            self.texts = texts_of(memory)

    @staticmethod
    def _put(memory: spector.Memory, text: str, n: int) -> None:
        memory.remember(text, vector=vector_of(text), tier=("episodic", "semantic")[n % 2])

    def act(self) -> None:
        if self.case == "restore":
            spector.restore(self.mind, self.copy)
            return
        if self.case == "repair":
            spector.repair(self.mind, self.copy)
            return
        with open_tiny(self.mind, mode="r") as memory:
            memory.backup(self.copy)

    def faulty(self, fault: faults.Fault) -> Callable[[], None]:
        return install(fault, exchange=self.case != "again in two steps")

    def wrong(self, *, killed: bool) -> list[str]:
        """What must hold after a death or an error, and that the next attempt succeeds."""
        wrong = self._wrong_at_destination(killed)
        with open_tiny(self.mind) as memory:
            wrong += [f"source: {w}" for w in wrong_in(memory, Model(), sample=1)]
            if texts_of(memory) != self.texts:
                wrong.append("the source has changed")
        done = self.case in ("restore", "repair") and os.path.isdir(self.copy)
        if not done:
            self.act()
        with open_tiny(self.copy, mode="r") as copy:
            if texts_of(copy) != self.texts:
                wrong.append(f"the next copy has {texts_of(copy)}")
            wrong += [f"next: {w}" for w in wrong_in(copy, Model(), sample=1)]
        beside = sorted(set(os.listdir(self.root)) - {"master"})
        # the rest of a restore that was complete when it died is its own staging directory
        if beside != ["copy", "mind"] and not done:
            wrong.append(f"left behind: {beside}")
        return wrong

    def _has_new(self) -> bool:
        """True when the copy is in its place: beside it may be what is left of the older one."""
        if not os.path.exists(self.copy):
            return False
        with open_tiny(self.copy, mode="r") as copy:
            return texts_of(copy) == self.texts

    def _wrong_at_destination(self, killed: bool) -> list[str]:
        place = places.Destination.at(self.copy)
        if not killed and os.path.exists(place.staging) and not self._has_new():
            return ["what was written of the copy is still there"]
        where = self.copy
        if not os.path.exists(where):
            if self.older is None:
                return []
            where = place.aside  # the moment between two renames
            if not killed or not os.path.exists(where):
                return ["the older backup is gone"]
        with open_tiny(where, mode="r") as copy:
            seen = texts_of(copy)
            wrong = [f"destination: {w}" for w in wrong_in(copy, Model(), sample=1)]
        if seen not in (self.older, self.texts):
            wrong.append(f"the destination has {seen}")
        return wrong


def sweep(case: str, kind: str = "kill", start: int = 1, step: int = 1) -> dict[str, Any]:
    """Break a copy at its n-th operation, for n = start, start + step, ...

    ``kind``: "kill", or the name of an errno.
    """
    warm_up()
    wrong: dict[int, list[str]] = {}
    untyped: list[str] = []
    with scratch() as root:
        master = _Case(os.path.join(root, "master"), case)
        os.mkdir(master.root)
        master.prepare()
        n, tried, running = start, 0, True
        while running:
            here = os.path.join(root, "here")
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(master.root, here)
            each = _Case(here, case)
            each.older, each.texts = master.older, master.texts
            fault = faults.Fault(at=n, kind=kind, sql=True)
            if kind == "kill":
                running = in_fork(lambda c=each, f=fault: (c.faulty(f), c.act())) != 0
            else:
                undo = each.faulty(fault)
                try:
                    each.act()
                except spector.SpectorError:
                    pass
                except BaseException as error:
                    untyped.append(f"{n} ({fault.fired}): {error!r}")
                finally:
                    undo()
                running = bool(fault.fired)
            if running:
                tried += 1
                found = each.wrong(killed=kind == "kill")
                if found:
                    wrong[n] = [fault.fired, *found]
            n += step
    return {"tried": tried, "wrong": wrong, "untyped": untyped}

"""Lives on a disk that fails, is full, or in too little memory.

Whatever goes wrong, the caller gets a typed error that names the next step, or no error at all. A
store that is not failed afterwards is whole and goes on in the same process; a failed one says so
at every call. Nothing that was acknowledged is lost, and nothing is synced a second time after a
sync that failed.
"""

from __future__ import annotations

import json
import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import spector
from spector.errors import SpectorError, StoreClosedError, StoreFailedError
from spector.store.catalog import journal as log
from tests.crash import lives
from tests.crash.harness import in_fork
from tests.crash.lives import LIVES
from tests.crash.shim import FOR_EVER, SHORT, Shim
from tests.crash.sweep import Stage, State, Told, difference, inspect, staged, state_of
from tests.crash.workload import warm_up

AGAIN = "again version 0"
#: errors that no store error has to be for: allocation failed
Outcomes = Counter[str]


@dataclass(frozen=True)
class Trouble:
    """How to break the world of a child, and how to mend it."""

    begin: Callable[[], None]
    mend: Callable[[], None]
    #: how often it could have struck, and how often a sync was tried again
    hits: Callable[[], int] = lambda: 1
    retried: Callable[[], tuple[int, str]] = lambda: (0, "")
    retried_folders: Callable[[], int] = lambda: 0
    also: tuple[type[BaseException], ...] = ()


@dataclass
class Report:
    """What a child found out about itself."""

    outcome: str = "no error"
    hits: int = 0
    retried: int = 0
    retried_folders: int = 0
    again: int = 0
    wrong: list[str] = None  # type: ignore[assignment]


def survive(stage: Stage, trouble: Trouble) -> tuple[Report, list[str]]:
    """Live in trouble, in a child; its report, and what is wrong with what is left."""
    stage.reset()
    lines, notes = os.pipe(), os.pipe()

    def work() -> None:
        os.close(lines[0])
        os.close(notes[0])
        told: list[str] = []
        report = _live(
            stage,
            trouble,
            _Telling(stage.case, stage.durability, lines[1], trouble.begin, told),
            told,
        )
        os.write(notes[1], json.dumps(vars(report)).encode())

    code = in_fork(work)
    for each in (lines, notes):
        os.close(each[1])
    with os.fdopen(lines[0], "rb") as said, os.fdopen(notes[0], "rb") as noted:
        done, raw = said.read().decode().split(), noted.read()
    if code or not raw:
        return Report(outcome="crash", wrong=[]), [f"the process ended with {code}"]
    report = Report(**json.loads(raw))
    return report, report.wrong + inspect(stage, done, report.again)


@dataclass
class _Telling(Told):
    """Also remembers what it told."""

    told: list[str] = None  # type: ignore[assignment]

    def did(self, what: str) -> None:
        super().did(what)
        self.told.append(what)


def _live(stage: Stage, trouble: Trouble, scene: Any, told: list[str]) -> Report:
    report = Report(wrong=[])
    try:
        stage.life.run(scene)
    except (SpectorError, *trouble.also) as error:
        report.outcome = type(error).__name__
        report.wrong += _told_badly(error)
    except Exception as error:
        report.outcome = "untyped"
        report.wrong.append(f"untyped: {error!r}")
    report.hits = trouble.hits()
    memory = lives.opened[-1] if lives.opened else None
    if memory is not None:
        report.wrong += _afterwards(stage, trouble, memory, told, report)
    report.retried_folders = trouble.retried_folders()
    report.retried, path = trouble.retried()
    if report.retried and (told or stage.states[0]):  # a store that never was has nothing to lose
        report.wrong.append(f"{path} was synced again after a failed sync")
    trouble.mend()
    return report


def _told_badly(error: BaseException) -> list[str]:
    if isinstance(error, SpectorError) and not (error.message and error.hint):
        return [f"{type(error).__name__} has no message or no hint: {error}"]
    return []


def _afterwards(
    stage: Stage, trouble: Trouble, memory: spector.Memory, told: list[str], report: Report
) -> list[str]:
    """Ask the open store itself, then close it."""
    store, wrong = memory._parts.store, []
    if store.is_open and store.failed:
        report.outcome += ", failed"
        for name, call in _CALLS.items():
            try:
                call(memory)
                wrong.append(f"{name} of a failed store works")
            except StoreFailedError as error:
                wrong += _told_badly(error)
            except Exception as error:
                wrong.append(f"{name} of a failed store answers {error!r}")
    elif store.is_open:
        trouble.mend()
        wrong += _goes_on(stage, memory, told, report)
        trouble.begin()
    try:
        memory.close()
        memory.recall("anything")
    except StoreClosedError:
        pass
    except (SpectorError, *trouble.also) as error:
        wrong += _told_badly(error)
    except Exception as error:
        wrong.append(f"closing: {error!r}")
    return wrong


_CALLS: dict[str, Callable[[spector.Memory], Any]] = {
    "remember": lambda memory: memory.remember("x", vector=[1.0] * memory.dim),
    "recall": lambda memory: memory.recall("version"),
    "len": len,
    "checkpoint": lambda memory: memory.checkpoint(),
}


def _goes_on(stage: Stage, memory: spector.Memory, told: list[str], report: Report) -> list[str]:
    """After an error that did not fail it, a store is as it was, and works."""
    complete = report.outcome == "no error"
    before = stage.states[len(told)]
    allowed: list[State] = [before]
    if not complete and len(told) < len(stage.halfway):
        allowed += stage.halfway[len(told)]
    wrong = []
    try:
        seen = state_of(memory)
        if seen not in allowed:
            wrong.append(f"not failed, but {difference(seen, allowed)}")
        report.again = memory.remember(AGAIN, vector=stage.life.vector(AGAIN, memory.dim)).id
        wrong += [
            f"not failed, but check: {p}"
            for p in memory.check().problems
            if "does not belong" not in p.message
        ]
    except SpectorError as error:
        wrong.append(f"not failed, but {error!r}")
    return wrong


# -- troubles -------------------------------------------------------------------------------------


def failing(
    stage: Stage, error: int, classes: int, at: int, times: int, action: int | None = None
) -> Trouble:
    """The ``at``-th call of these classes fails, ``times`` in all; error 0 writes short."""
    shim: list[Shim] = []

    def begin() -> None:
        if not shim:
            shim.append(Shim())
            shim[0].arm(stage.case)
            if error:
                shim[0].fail(error, classes, at=at, times=times)
            else:
                shim[0].fault(SHORT, classes=classes, at=at, times=times)
        elif times == FOR_EVER:  # once more, for the closing
            shim[0].fail(error, classes, times=times) if error else None

    def mend() -> None:
        hit.append(shim[0].hits())
        shim[0].heal()

    hit: list[int] = []
    return Trouble(
        begin,
        mend,
        hits=lambda: shim[0].hits() if shim else 0,
        retried=lambda: shim[0].retried() if shim else (0, ""),
        retried_folders=lambda: shim[0].retried_folders() if shim else 0,
    )


def full(stage: Stage, room_bytes: int) -> Trouble:
    """The disk has so much room and no more."""
    shim: list[Shim] = []

    def begin() -> None:
        if not shim:
            shim.append(Shim())
            shim[0].arm(stage.case)
            limit.append(_present(shim[0]) + room_bytes)
        shim[0].quota(limit[0])

    limit: list[int] = []
    return Trouble(begin, lambda: shim[0].quota(-1) if shim else None)


def _present(shim: Shim) -> int:
    shim.quota(0)
    return shim.used()


def narrow(room_bytes: int) -> Trouble:
    """The process may have so much more memory and no more."""

    def begin() -> None:
        with open("/proc/self/statm", encoding="ascii") as file:
            present = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (present + room_bytes, resource.RLIM_INFINITY))

    def mend() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    return Trouble(begin, mend, also=(MemoryError,))


def tight(
    kind: str,
    names: list[str] | None = None,
    start: int = 0,
    step: int = 16_384,
    durability: str = "strict",
) -> dict[str, Any]:
    """Live with ``start``, ``start + step``, ... bytes to spare, until that is enough.

    ``kind`` is "disk" or "memory".
    """
    warm_up()
    wrong: dict[str, list[str]] = {}
    outcomes: Outcomes = Counter()
    enough: dict[str, int] = {}
    for name in names or LIVES:
        with staged(name, durability) as stage:
            for room in _points(start, step):
                trouble = full(stage, room) if kind == "disk" else narrow(room)
                report, found = survive(stage, trouble)
                if kind == "disk" and not report.outcome.startswith(("no error", "StoreFull")):
                    found.append(f"a full disk is told as {report.outcome}")
                if found:
                    wrong[f"{name} {room}"] = found
                outcomes[report.outcome] += 1
                if report.outcome == "no error" or room > 64 << 20:
                    enough[name] = room
                    break
    return {"cases": sum(outcomes.values()), "outcomes": outcomes, "enough": enough, "wrong": wrong}


def errors(
    error: int,
    classes: int,
    times: int = 1,
    names: list[str] | None = None,
    start: int = 1,
    step: int = 1,
    durability: str = "strict",
    long_bytes: int | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """Fail call ``start``, ``start + step``, ... of each life: all of them, or ``most``.

    ``long_bytes`` is how long the catalog's log becomes before it is copied.
    """
    warm_up()
    if long_bytes is not None:
        log.LONG_BYTES = long_bytes
    wrong: dict[str, list[str]] = {}
    outcomes: Outcomes = Counter()
    cases = retried = 0
    for name in names or LIVES:
        with staged(name, durability) as stage:
            for at in islice(_points(start, step), most):
                report, found = survive(stage, failing(stage, error, classes, at, times))
                if found:
                    wrong[f"{name} {at}"] = found
                if report.hits < at and report.outcome != "crash":
                    break
                cases += 1
                retried += report.retried
                outcomes[report.outcome] += 1
    return {"cases": cases, "outcomes": outcomes, "retried": retried, "wrong": wrong}


def _points(start: int, step: int) -> Iterator[int]:
    at = start
    while True:
        yield at
        at += step

"""Replays recorded traces into the disks that a power cut may leave, and opens each of them.

``run`` records a workload in a forked child, walks through its trace with a model disk, and at
many points builds images: everything pending lost, everything kept, every subset where there are
few changes, else seeded samples of subsets, orders and torn writes. Equal images are looked at
once. Each is opened in a forked child, which tells what it found.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.crash.afterwards import examine_all
from tests.crash.audit import Audit
from tests.crash.disk import KEEP, Disk, Fate, Image, Item, digest, materialise
from tests.crash.fates import newest, points, sampled, subsets
from tests.crash.harness import in_fork, scratch
from tests.crash.mutants import MUTANTS
from tests.crash.power import (
    EMPTY,
    PREPARED,
    STORE,
    WORKLOADS,
    Allowed,
    Recorder,
    describe,
    digest_of,
    open_any,
)
from tests.crash.shim import Shim
from tests.crash.trace import MARK, Call, calls_of
from tests.crash.workload import warm_up

__all__ = ["Replay", "Trace", "hunt", "record", "run", "sample"]

#: SQLite makes it anew when a log is first opened, and never reads an old one
VOLATILE = ("-shm",)
_BATCH = 40
_SHOWN = 4
#: one of so many images is also read beside, opened again and compacted
_THOROUGH = 8


@dataclass(slots=True)
class Trace:
    """What a workload did, on a disk that held ``before``, in which ``first`` was visible."""

    workload: str
    seed: int
    calls: list[Call]
    before: Image = field(default_factory=dict)
    first: str = EMPTY
    #: number of calls after which the process was killed, and another went on
    killed_at: int = -1

    def disk(self) -> Disk:
        return Disk(VOLATILE, self.before)

    def steps(self, disk: Disk) -> Iterator[tuple[int, Call]]:
        """Feed the calls one by one; yields (calls fed, the next one), and (all, a last mark)."""
        for n, call in enumerate(self.calls):
            if n == self.killed_at:
                disk.new_process()
            yield n, call
            disk.feed(call)
        yield len(self.calls), Call(MARK)


# -- recording ----------------------------------------------------------------------------------


def record(
    workload: str, seed: int, mutate: Callable[[], object] | None = None, *,
    after: Trace | None = None,
) -> Trace:
    """The trace of a workload in a process of its own, which is a child of a shimmed one.

    ``after``: the workload finds what a process left that was killed at the end of that trace.
    """
    with scratch() as root, scratch() as beside:
        path, first = os.path.join(beside, "trace"), EMPTY
        if after is not None:
            disk = after.disk()
            for _ in after.steps(disk):
                pass
            _fill(root, disk.cache())
        elif workload in PREPARED:
            home = os.path.join(root, os.path.dirname(STORE))
            os.mkdir(home)
            PREPARED[workload](home)
            shutil.copytree(os.path.join(root, STORE), os.path.join(beside, "mind"))
            with open_any(os.path.join(beside, "mind")) as memory:
                first = digest_of(describe(memory), memory.dim)
        before = _image_of(root)

        def work() -> None:
            shim = Shim()
            recorder = Recorder(
                shim, os.path.realpath(root), seed, visible=first if after is None else ""
            )
            recorder.watch()
            if mutate is not None:
                mutate()
            shim.arm(root)
            shim.record(path)
            WORKLOADS[workload](recorder)
            shim.disarm()

        code = in_fork(work)
        if code:
            raise AssertionError(f"{workload} ended with {code}")
        calls = calls_of(path)
    if after is None:
        return Trace(workload, seed, calls, before, first)
    return Trace(
        f"{after.workload}+{workload}", seed, [*after.calls, *calls], after.before, after.first,
        killed_at=len(after.calls),
    )


def _image_of(root: str) -> Image:
    out: Image = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(folder, name)
            out[str(path.relative_to(root))] = None if path.is_dir() else path.read_bytes()
    return {path: data for path, data in out.items() if not path.endswith(VOLATILE)}


def _fill(root: str, image: Image) -> None:
    os.rmdir(root)
    materialise(image, root)


# -- the whole ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Case:
    image: Image
    allowed: Allowed
    told: str


class Replay:
    """Builds, judges and counts the images of one trace."""

    def __init__(
        self, trace: Trace, states: int, seed: int, *, stop_at: int = _SHOWN, batch: int = _BATCH,
        exhaustive: bool = False,
    ) -> None:
        """``exhaustive``: at every point, build every subset of what is new there."""
        self.trace, self.states, self._stop_at, self._batch = trace, states, stop_at, batch
        self.exhaustive = exhaustive
        self.rng = np.random.default_rng([seed, trace.seed])
        self.allowed = Allowed.by_call(trace.calls, trace.first)
        self.results: dict[bytes, dict[str, Any]] = {}
        self.judged = self.built = self.exhausted = 0
        self.wrong: list[str] = []
        self._waiting: dict[bytes, list[_Case]] = {}
        self._told: set[tuple[bytes, Allowed]] = set()

    def run(self) -> None:
        """Until so many distinct images have been looked at, or enough was wrong."""
        chosen = [n for n in points(self.trace.calls) if n >= self.trace.killed_at]
        if self.exhaustive:
            self._walk(chosen)
            self._look()
            return
        while len(self.results) + len(self._waiting) < self.states:
            before = len(self.results) + len(self._waiting)
            self._walk(chosen)
            if len(self.wrong) >= self._stop_at:
                return
            if len(self.results) + len(self._waiting) == before:
                break  # there are no more
        self._look()

    def counts(self) -> dict[str, int]:
        return {
            "calls": len(self.trace.calls), "points": len(points(self.trace.calls)),
            "built": self.built, "states": len(self.results), "judged": self.judged,
            "exhausted": self.exhausted,
        }

    def _walk(self, chosen: list[int]) -> None:
        wanted = self.states - len(self.results) - len(self._waiting)
        if wanted < len(chosen):  # all cannot have one; those that are left out change each time
            some = self.rng.choice(len(chosen), size=max(1, wanted // 2), replace=False)
            chosen = [chosen[n] for n in sorted(some.tolist())]
        ends, disk, left = set(chosen), self.trace.disk(), len(chosen)
        for n, call in self.trace.steps(disk):
            if n not in ends:
                continue
            wanted = self.states - len(self.results) - len(self._waiting)
            self._cut(disk, n, call, share=2 if self.exhaustive else -(-wanted // max(1, left)))
            left -= 1
            if len(self._waiting) >= self._batch:
                self._look()
            if len(self.wrong) >= self._stop_at or wanted <= 0:
                return

    def _cut(self, disk: Disk, n: int, call: Call, share: int) -> None:
        """Build up to ``share`` new images of this moment."""
        items = disk.pending()
        new = 0
        if self.exhaustive:
            for fates in subsets(items, self.rng):
                self._add(disk.image(fates), n, call, fates, items)
            self.exhausted += len(newest(items)) == len(items)
        for tried, fates in enumerate(sampled(items, self.rng)):
            if new >= share or tried > 6 * share + 2:
                break
            new += self._add(disk.image(fates), n, call, fates, items)

    def _add(
        self, image: Image, n: int, call: Call, fates: dict[Item, Fate], items: list[Item]
    ) -> bool:
        self.built += 1
        name, allowed = digest(image), self.allowed[n]
        if (name, allowed) in self._told:
            return False
        self._told.add((name, allowed))
        told = (
            f"{self.trace.workload}, seed {self.trace.seed}, cut after {n} calls, before "
            f"{call.kind} {call.path}:\n  lost: {_list(fates, items, None)}\n  torn: "
            f"{[(i.what, f) for i, f in fates.items() if f not in (None, KEEP)]}\n  kept: "
            f"{_list(fates, items, KEEP)}"
        )
        case = _Case(image, allowed, told)
        self.judged += 1
        known = self.results.get(name)
        if known is not None:
            self._judge(case, known)
            return False
        self._waiting.setdefault(name, []).append(case)
        return len(self._waiting[name]) == 1

    def _look(self) -> None:
        waiting, self._waiting = self._waiting, {}
        images = [cases[0].image for cases in waiting.values()]
        found = examine_all(images, [name[0] % _THOROUGH == 0 for name in waiting])
        for (name, cases), result in zip(waiting.items(), found, strict=True):
            self.results[name] = result
            for case in cases:
                self._judge(case, result)

    def _judge(self, case: _Case, result: dict[str, Any]) -> None:
        wrong = list(result["wrong"])
        if not wrong and result["state"] not in case.allowed.states:
            wrong.append(f"visible is {result['texts']}, which was not the state, nor the next")
        for name, allowed in case.allowed.beside:
            data = case.image.get(name)
            content = "" if data is None else hashlib.sha256(data).hexdigest()
            if not wrong and result["beside"].get(name, content) not in allowed:
                wrong.append(f"{name} is not what was promised, nor what it was to become")
        if wrong:
            self.wrong.append(f"{case.told}\n  -> " + "\n  -> ".join(wrong[:_SHOWN]))


def _list(fates: dict[Item, Fate], items: list[Item], fate: Fate) -> list[str]:
    found = [item.what for item in items if fates.get(item) == fate]
    return found if len(found) < 30 else [*found[:12], f"... {len(found)} in all", *found[-12:]]


def run(
    workload: str, seed: int = 0, states: int = 40, *, kills: int = 0, exhaustive: bool = False
) -> dict[str, Any]:
    """Record one workload, replay it and audit it; counts, and what was wrong.

    ``kills``: at so many moments the process is killed, and another goes on with what it left; the
    power goes while that one opens the store and writes.
    """
    warm_up()
    started = time.perf_counter()
    traces = [record(workload, seed)]
    if kills:
        traces = [record("again", seed, after=trace) for trace in _killed(traces[0], kills, seed)]
    total: dict[str, Any] = {"traces": len(traces), "wrong": [], "violations": []}
    visible = set()
    for trace in traces:
        share = 10**9 if exhaustive else -(-states // len(traces))
        replay = Replay(trace, share, seed, exhaustive=exhaustive)
        replay.run()
        audit = audited(trace)
        for name, count in {**replay.counts(), **audit.counts()}.items():
            total[name] = total.get(name, 0) + count
        visible |= {found["state"] for found in replay.results.values()}
        total["wrong"] += replay.wrong
        total["violations"] += [f"{trace.workload}, seed {seed}, {line}" for line in audit.wrong]
    total |= {name: total[name][:_SHOWN] for name in ("wrong", "violations")}
    return {**total, "visible": len(visible), "seconds": round(time.perf_counter() - started, 1)}


def audited(trace: Trace) -> Audit:
    """The audit of a trace."""
    found, disk = Audit(STORE, strict="relaxed" not in trace.workload), trace.disk()
    found.run(trace.steps(disk), disk)
    return found


def sample(plan: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """``run`` with each of these arguments, in one process."""
    return [run(**each) for each in plan]


def hunt(mutants: Sequence[str], states: int = 120) -> dict[str, Any]:
    """For each deliberate fault: after how many disks the replay found it, or -1, and what the
    audit says."""
    warm_up()
    found = {}
    for name in mutants:
        workload = "backup" if "backup" in name else "life"
        trace = record(workload, 0, MUTANTS[name])
        replay = Replay(trace, states, 0, stop_at=1, batch=10)
        replay.run()
        found[name] = {
            "states": len(replay.results) if replay.wrong else -1, "wrong": replay.wrong[:1],
            "violations": audited(trace).wrong[:1],
        }
    return found


def _killed(trace: Trace, kills: int, seed: int) -> Iterator[Trace]:
    """The trace up to so many moments: before a sync, when a commit is written but not safe."""
    syncs = [n for n, call in enumerate(trace.calls) if call.kind == "sync"]
    rng = np.random.default_rng([seed, kills])
    for n in sorted(rng.choice(syncs, size=min(kills, len(syncs)), replace=False).tolist()):
        yield replace(trace, calls=trace.calls[:n])


"""Replays recorded traces into the disks that a power cut may leave, and opens each of them.

``run`` records a workload in a forked child, walks through its trace with a model disk, and at
many points builds images: everything pending lost, everything kept, every subset where there are
few changes, else seeded samples of subsets, orders and torn writes. Equal images are looked at
once. Each is opened in a forked child, which tells what it found.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import spector
from tests.crash.audit import Audit
from tests.crash.disk import KEEP, ZEROS, Disk, Fate, Image, Item, digest, materialise
from tests.crash.harness import in_fork, run_and_exit, scratch
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
    vector,
)
from tests.crash.shim import Shim
from tests.crash.trace import MARK, Call, calls_of
from tests.crash.workload import warm_up

__all__ = ["Trace", "record", "run", "sampled"]

#: with at most so many pending changes, every subset is built
EXHAUSTIVE = 8
#: SQLite makes it anew when a log is first opened, and never reads an old one
VOLATILE = ("-shm",)
_BATCH = 40
_BLOCKS = (512, 4096)
_SHOWN = 4
#: one of so many images is also read beside, opened again and compacted
_THOROUGH = int(os.environ.get("T", 8))


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
    workload: str, seed: int, mutate: Callable[[], object] | None = None, *, after: Trace | None = None
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
            os.mkdir(os.path.join(root, os.path.dirname(STORE)))
            PREPARED[workload](os.path.join(root, STORE))
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


# -- choosing -----------------------------------------------------------------------------------


def points(calls: Sequence[Call]) -> list[int]:
    """Numbers of calls after which a cut is worth building: before each sync, when most is
    pending, and after each mark and each sync, when something was just promised."""
    found = {0, len(calls)}
    for n, call in enumerate(calls):
        if call.kind == "sync":
            found |= {n, n + 1}
        elif call.kind in (MARK, "unlink", "rename"):
            found.add(n + 1)
    return sorted(found)


def sampled(items: Sequence[Item], rng: np.random.Generator) -> Iterator[dict[Item, Fate]]:
    """Fates of pending changes: all lost, all kept, all subsets if they are few; then samples."""
    yield {}
    yield dict.fromkeys(items, KEEP)
    if not items:
        return
    if len(items) <= EXHAUSTIVE:
        subsets = list(itertools.product((None, KEEP), repeat=len(items)))
        for number in rng.permutation(len(subsets)).tolist():
            yield dict(zip(items, subsets[number], strict=True))
        for item, (base, parts) in itertools.product(
            items, itertools.product((None, KEEP), range(4))
        ):
            yield {**dict.fromkeys(items, base), item: _part(item, rng, parts)}
    ways = (_until, _one_else, _by_file, _newest, _any, _any)
    while True:
        yield ways[rng.integers(len(ways))](items, rng)


def _until(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """In order: all before one are kept, it is torn, all after it are lost."""
    at = int(rng.integers(len(items)))
    return {**dict.fromkeys(items[:at], KEEP), items[at]: _part(items[at], rng)}


def _one_else(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """One has another fate than all others."""
    at, base = int(rng.integers(len(items))), (None, KEEP)[rng.integers(2)]
    other: Fate = KEEP if base is None else (None, _part(items[at], rng))[rng.integers(2)]
    return {**dict.fromkeys(items, base), items[at]: other}


def _by_file(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """What belongs to one file, or is a name, is kept or lost together."""
    luck: dict[int, Fate] = {}
    return {i: luck.setdefault(id(i.node), (None, KEEP)[rng.integers(2)]) for i in items}


def _newest(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """Any subset of the newest few; what has been pending for longer is kept or lost as one."""
    few = items[-EXHAUSTIVE:]
    old: Fate = (None, KEEP)[rng.integers(2)]
    return {
        **dict.fromkeys(items, old), **{i: (None, KEEP)[rng.integers(2)] for i in few}
    }


def _any(items: Sequence[Item], rng: np.random.Generator) -> dict[Item, Fate]:
    """Each by itself; some are torn."""
    keep, tear = rng.choice((0.15, 0.5, 0.85)), rng.choice((0.0, 0.1, 0.4))
    return {
        item: _part(item, rng) if rng.random() < tear else KEEP if rng.random() < keep else None
        for item in items
    }


def _part(item: Item, rng: np.random.Generator, how: int | None = None) -> Fate:
    """Some blocks of a write (the first, the last, any), or its size alone; else kept."""
    if item.kind != "write":
        return KEEP
    how = int(rng.integers(4)) if how is None else how
    if how == 3:
        return ZEROS
    block = _BLOCKS[rng.integers(2)]
    edges = [*range(item.offset // block * block + block, item.end, block)]
    if not edges:
        return KEEP if how else None
    cuts = list(itertools.pairwise((item.offset, *edges, item.end)))
    at = int(rng.integers(1, len(cuts)))
    if how == 0:
        return tuple(cuts[:at])
    if how == 1:
        return tuple(cuts[at:])
    return tuple(cut for cut in cuts if rng.random() < 0.5) or None


# -- looking ------------------------------------------------------------------------------------


def examine(root: str, thorough: bool) -> dict[str, Any]:
    """Open the store in ``root``; its state, and what is wrong with it, as text."""
    path, wrong = os.path.join(root, STORE), []
    beside = _read_beside(path) if thorough and os.path.exists(f"{path}/catalog.db") else None
    with open_any(path) as memory:
        state = describe(memory)
        found = digest_of(state, memory.dim)
        if beside is not None and beside != found:
            wrong.append(f"a reader had seen {beside}")
        wrong += [f"check: {p}" for p in memory.check().problems]
        if len(memory) != len(state):
            wrong.append(f"len is {len(memory)}, but {len(state)} can be iterated")
        new = memory.remember("after the cut", vector=vector("after the cut", memory.dim)).id
        for record_id in [new, *list(state)[:: max(1, len(state) // 2)]]:
            text = state[record_id]["text"] if record_id in state else "after the cut"
            wrong += _not_recalled(memory, record_id, text)
    if thorough:
        with open_any(path) as memory:
            if {i: e for i, e in describe(memory).items() if i != new} != state:
                wrong.append("the next opening shows something else")
            wrong += [f"check after that: {p}" for p in memory.check().problems]
            memory.compact()
            wrong += [f"check after compaction: {p}" for p in memory.check().problems]
    return {"state": found, "texts": [e["text"] for e in state.values()], "wrong": wrong}


def _read_beside(path: str) -> str | None:
    try:
        with open_any(path, mode="r") as reader:
            return digest_of(describe(reader), reader.dim)
    except spector.StoreNotFoundError:  # not created completely
        return None


def _not_recalled(memory: spector.Memory, record_id: int, text: str) -> list[str]:
    hits = memory.recall(
        vector=vector(text, memory.dim), k=1, lexical=False, profile="similarity"
    )
    wrong = [] if hits and hits[0].id == record_id else [f"recall by vector misses {text!r}"]
    if record_id not in [hit.id for hit in memory.recall(text.split()[0], k=3)]:
        wrong.append(f"recall by word misses {text!r}")
    return wrong


def examine_all(images: Sequence[Image], thorough: Sequence[bool]) -> list[dict[str, Any]]:
    """What a forked child finds in each; one that ends the child is told by how it ended it."""
    found: list[dict[str, Any]] = []
    while len(found) < len(images):
        start = len(found)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            run_and_exit(lambda: _examine_from(images, thorough, start, writing))  # noqa: B023
        os.close(writing)
        with os.fdopen(reading) as lines:
            found += [json.loads(line) for line in lines if line.endswith("\n")]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            found.append({"state": "", "texts": [], "wrong": [f"the process ended with {code}"]})
    return found


def _examine_from(
    images: Sequence[Image], thorough: Sequence[bool], start: int, fd: int
) -> None:
    with scratch() as root:
        for n in range(start, len(images)):
            place = os.path.join(root, str(n))
            materialise(images[n], place)
            try:
                found = examine(place, thorough[n])
            except Exception:
                last = traceback.format_exc().strip().splitlines()
                found = {"state": "", "texts": [], "wrong": [" | ".join(last[-9:])]}
            shutil.rmtree(place)
            data = (json.dumps(found) + "\n").encode()
            while data:
                data = data[os.write(fd, data) :]


# -- the whole ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Case:
    image: Image
    allowed: Allowed
    told: str


class Replay:
    """Builds, judges and counts the images of one trace."""

    def __init__(self, trace: Trace, states: int, seed: int, *, stop_at: int = _SHOWN) -> None:
        self.trace, self.states, self._stop_at = trace, states, stop_at
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
            self._cut(disk, n, call, share=-(-wanted // max(1, left)))
            left -= 1
            if len(self._waiting) >= _BATCH:
                self._look()
            if len(self.wrong) >= self._stop_at or wanted <= 0:
                return

    def _cut(self, disk: Disk, n: int, call: Call, share: int) -> None:
        """Build up to ``share`` new images of this moment."""
        items = disk.pending()
        new = 0
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
        self._judge_files(case)
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
        if wrong:
            self.wrong.append(f"{case.told}\n  -> " + "\n  -> ".join(wrong[:_SHOWN]))

    def _judge_files(self, case: _Case) -> None:
        for name, expected in case.allowed.files:
            data = case.image.get(name)
            if data is None or hashlib.sha256(data).hexdigest() != expected:
                self.wrong.append(f"{case.told}\n  -> {name} is not what was promised")


def _list(fates: dict[Item, Fate], items: list[Item], fate: Fate) -> list[str]:
    found = [item.what for item in items if fates.get(item) == fate]
    return found if len(found) < 30 else [*found[:12], f"... {len(found)} in all", *found[-12:]]


def run(
    workload: str, seed: int = 0, states: int = 40, *, mutant: str = "", kills: int = 0
) -> dict[str, Any]:
    """Record and replay one workload; counts, and what was wrong.

    ``kills``: at so many moments the process is killed, and another goes on with what it left; the
    power goes while that one opens the store and writes.
    """
    from tests.crash.mutants import MUTANTS

    warm_up()
    started = time.perf_counter()
    traces = [record(workload, seed, MUTANTS.get(mutant))]
    if kills:
        traces = [record("again", seed, after=trace) for trace in _killed(traces[0], kills, seed)]
    total: dict[str, Any] = {"traces": len(traces), "wrong": []}
    visible = set()
    for trace in traces:
        replay = Replay(trace, -(-states // len(traces)), seed, stop_at=1 if mutant else _SHOWN)
        replay.run()
        for name, count in replay.counts().items():
            total[name] = total.get(name, 0) + count
        visible |= {found["state"] for found in replay.results.values()}
        total["wrong"] += replay.wrong
    total |= {"visible": len(visible), "wrong": total["wrong"][:_SHOWN]}
    return {**total, "seconds": round(time.perf_counter() - started, 1)}


def _killed(trace: Trace, kills: int, seed: int) -> Iterator[Trace]:
    """The trace up to so many moments: before a sync, when a commit is written but not safe."""
    syncs = [n for n, call in enumerate(trace.calls) if call.kind == "sync"]
    rng = np.random.default_rng([seed, kills])
    for n in sorted(rng.choice(syncs, size=min(kills, len(syncs)), replace=False).tolist()):
        yield replace(trace, calls=trace.calls[:n])


def audit(workload: str, seed: int = 0, *, mutant: str = "", kills: int = 0) -> dict[str, Any]:
    """Record a workload and audit the order of what it did."""
    from tests.crash.mutants import MUTANTS

    warm_up()
    traces = [record(workload, seed, MUTANTS.get(mutant))]
    if kills:
        traces = [record("again", seed, after=trace) for trace in _killed(traces[0], kills, seed)]
    total: dict[str, Any] = {"wrong": []}
    for trace in traces:
        found, disk = Audit(STORE, strict="relaxed" not in workload), trace.disk()
        found.run(trace.steps(disk), disk)
        for name in ("commits", "claims", "writes", "unlinks", "renames"):
            total[name] = total.get(name, 0) + getattr(found, name)
        total["wrong"] += [f"{trace.workload}, seed {seed}, {line}" for line in found.wrong]
    return {**total, "wrong": total["wrong"][:_SHOWN]}

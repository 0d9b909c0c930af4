"""Replays recorded traces into the disks that a power cut may leave, and opens each of them.

``run`` records a workload in a forked child, walks through its trace with a model disk, and at
many points builds images: everything pending lost, everything kept, every subset where there are
few changes, else seeded samples of subsets, orders and torn writes. Equal images are looked at
once. Each is opened in a forked child, which tells what it found.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.crash.afterwards import examine_all
from tests.crash.audit import Audit
from tests.crash.disk import KEEP, Disk, Fate, Image, Item, digest
from tests.crash.fates import KINDS, kind_of, newest, points, sampled, subsets, tears
from tests.crash.mutants import MUTANTS
from tests.crash.power import STORE, Allowed
from tests.crash.recorded import Trace, record
from tests.crash.trace import Call
from tests.crash.workload import warm_up

__all__ = ["Replay", "hunt", "run", "sample"]

_BATCH = 40
_SHOWN = 4
#: one of so many images is also read beside, opened again and compacted
_THOROUGH = 8
#: so many disks are looked at for one whose recovery has much to mend
_CHOICE = 3


@dataclass(slots=True)
class _Case:
    image: Image
    allowed: Allowed
    told: str


class Replay:
    """Builds, judges and counts the images of one trace."""

    def __init__(
        self,
        trace: Trace,
        states: int,
        seed: int,
        *,
        stop_at: int = _SHOWN,
        batch: int = _BATCH,
        exhaustive: bool = False,
        keep: int = 0,
        results: dict[bytes, dict[str, Any]] | None = None,
    ) -> None:
        """``exhaustive``: at every point, build every subset of what is new there.

        ``keep``: so many of the images, by chance, are kept for what comes next. ``results``: of
        images that were looked at before and do not count.
        """
        self.trace, self.states, self._stop_at, self._batch = trace, states, stop_at, batch
        self.exhaustive, self._keep = exhaustive, keep
        self.rng = np.random.default_rng([seed, trace.seed])
        self.allowed = Allowed.by_call(trace.calls, trace.first)
        self.results = {} if results is None else results
        self.found: list[bytes] = []
        self.kept: list[tuple[Image, str]] = []
        self.kinds: Counter[str] = Counter()
        self.cuts: set[int] = set()
        self.built = self.exhausted = self.searched = 0
        self.wrong: list[str] = []
        self._waiting: dict[bytes, list[_Case]] = {}
        self._told: set[tuple[bytes, Allowed]] = set()

    def run(self) -> None:
        """Until so many distinct images have been looked at, or enough was wrong."""
        chosen = [n for n in self._points() if n > self.trace.killed_at]
        if self.exhaustive:
            self._walk(chosen)
            self._look()
            return
        while len(self.found) < self.states:
            before = len(self.found)
            self._walk(chosen)
            if len(self.wrong) >= self._stop_at:
                return
            if len(self.found) == before:
                break  # there are no more
        self._look()

    def _points(self) -> list[int]:
        """Where a recovery goes on, a kill may end it after each call."""
        end = self.trace.opened_at
        within = points(self.trace.calls[:end], every=True) if end else []
        return sorted({*within, *(n for n in points(self.trace.calls) if n > end or not end)})

    def counts(self) -> dict[str, int]:
        kinds = {f"states_{kind}": self.kinds[kind] for kind in KINDS}
        return {
            "calls": len(self.trace.calls) - max(0, self.trace.killed_at),
            "cuts": len(self.cuts),
            "built": self.built,
            "states": len(self.found),
            "searched": self.searched,
            "exhausted": self.exhausted,
            **kinds,
        }

    def _walk(self, chosen: list[int]) -> None:
        wanted = self.states - len(self.found)
        if wanted < len(chosen):  # all cannot have one; those that are left out change each time
            some = self.rng.choice(len(chosen), size=max(1, wanted // 2), replace=False)
            chosen = [chosen[n] for n in sorted(some.tolist())]
        ends, disk, left = set(chosen), self.trace.disk(), len(chosen)
        for n, call in self.trace.steps(disk):
            if n not in ends:
                continue
            wanted = self.states - len(self.found)
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
            torn = tears(items, self.rng) if newest(items) else ()
            for fates in (*subsets(items, self.rng), *torn):
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
        self.cuts.add(n)
        told = (
            f"{self.trace.workload}, seed {self.trace.seed}, cut after {n} calls, before "
            f"{call.kind} {call.path}:\n  lost: {_list(fates, items, None)}\n  torn: "
            f"{[(i.what, f) for i, f in fates.items() if f not in (None, KEEP)]}\n  kept: "
            f"{_list(fates, items, KEEP)}"
        )
        case = _Case(image, allowed, told)
        known = self.results.get(name)
        if known is not None:
            self._judge(case, known)
            return False
        self._waiting.setdefault(name, []).append(case)
        if len(self._waiting[name]) > 1:
            return False
        self.found.append(name)
        self.kinds[kind_of(items, fates)] += 1
        self.searched += bool(allowed.gone)
        return True

    def _look(self) -> None:
        waiting, self._waiting = self._waiting, {}
        images = [cases[0].image for cases in waiting.values()]
        found = examine_all(images, [name[0] % _THOROUGH == 0 for name in waiting])
        for (name, cases), result in zip(waiting.items(), found, strict=True):
            self.results[name] = result
            for case in cases:
                self._judge(case, result)
            self._choose(cases[0].image, result["state"])

    def _choose(self, image: Image, state: str) -> None:
        """Keep so many, each with the same chance."""
        if len(self.kept) < self._keep:
            self.kept.append((image, state))
        elif (at := int(self.rng.integers(len(self.results)))) < self._keep:
            self.kept[at] = image, state

    def _judge(self, case: _Case, result: dict[str, Any]) -> None:
        wrong = list(result["wrong"])
        if not wrong and result["state"] not in case.allowed.states:
            wrong.append(f"visible is {result['texts']}, which was not the state, nor the next")
        for name, allowed in case.allowed.beside:
            data = case.image.get(name)
            content = "" if data is None else hashlib.sha256(data).hexdigest()
            if not wrong and result["beside"].get(name, content) not in allowed:
                wrong.append(f"{name} is not what was promised, nor what it was to become")
        wrong += [
            f"{name} has bytes that were erased: {needle!r}"
            for needle in case.allowed.gone
            for name, data in case.image.items()
            if needle in (data or b"")
        ]
        if wrong:
            self.wrong.append(f"{case.told}\n  -> " + "\n  -> ".join(wrong[:_SHOWN]))


def _list(fates: dict[Item, Fate], items: list[Item], fate: Fate) -> list[str]:
    found = [item.what for item in items if fates.get(item) == fate]
    return found if len(found) < 30 else [*found[:12], f"... {len(found)} in all", *found[-12:]]


def run(
    workload: str,
    seed: int = 0,
    states: int = 40,
    *,
    kills: int = 0,
    recoveries: int = 0,
    exhaustive: bool = False,
) -> dict[str, Any]:
    """Record one workload, replay it and audit it; counts, and what was wrong.

    ``kills``: at so many moments the process is killed, and another goes on with what it left; the
    power goes while that one opens the store and writes. ``recoveries``: so many of the disks that
    a power cut may leave are opened, and the power goes again during that, or a kill comes.
    """
    warm_up()
    started = time.perf_counter()
    total: Counter[str] = Counter()
    out: dict[str, Any] = {"wrong": [], "violations": []}
    results: dict[bytes, dict[str, Any]] = {}
    share = 10**9 if exhaustive else -(-states // (kills or 1))

    def look(trace: Trace, share: int, keep: int = 0) -> Replay:
        replay = Replay(trace, share, seed, exhaustive=exhaustive, keep=keep, results=results)
        replay.run()
        audit = audited(trace)
        total.update({**replay.counts(), **audit.counts(), "traces": 1})
        out["wrong"] += replay.wrong
        out["violations"] += [f"{trace.workload}, seed {seed}, {line}" for line in audit.wrong]
        return replay

    first = record(workload, seed)
    if kills:
        for trace in _killed(first, kills, seed):
            look(record("again", seed, after=trace), share)
    elif recoveries:
        replay = look(first, states // 3, keep=_CHOICE * recoveries)
        before = len(replay.found)
        for n, trace in enumerate(_recoveries(replay, recoveries, seed)):
            wanted = (states - before) * (n + 1) // recoveries
            look(trace, wanted - total["states"] + before)
            total["recoveries"] += 1
            total["mended"] += _mended(trace)
    else:
        look(first, share)
    visible = len({found["state"] for found in results.values()})
    out |= {name: out[name][:_SHOWN] for name in ("wrong", "violations")}
    seconds = round(time.perf_counter() - started, 1)
    return {"recoveries": 0, **total, **out, "visible": visible, "seconds": seconds}


def audited(trace: Trace) -> Audit:
    """The audit of a trace; what was before a kill is audited with the trace that goes on."""
    strict = "relaxed" not in trace.workload
    since, disk = max(0, trace.killed_at), trace.disk()
    found = Audit(STORE, strict=strict, since=since, opened_at=trace.opened_at)
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
        trace = record("backup" if "backup" in name else "life", 0, MUTANTS[name])
        replay = Replay(trace, states, 0, stop_at=1, batch=10)
        replay.run()
        found[name] = {
            "states": len(replay.found) if replay.wrong else -1,
            "wrong": replay.wrong[:1],
            "violations": audited(trace).wrong[:1],
        }
    return found


def _killed(trace: Trace, kills: int, seed: int) -> Iterator[Trace]:
    """The trace up to so many moments: before a sync, when a commit is written but not safe."""
    syncs = [n for n, call in enumerate(trace.calls) if call.kind == "sync"]
    rng = np.random.default_rng([seed, kills])
    for n in sorted(rng.choice(syncs, size=min(kills, len(syncs)), replace=False).tolist()):
        yield replace(trace, calls=trace.calls[:n])


# -- recoveries that do not end -----------------------------------------------------------------


def _recoveries(replay: Replay, count: int, seed: int) -> Iterator[Trace]:
    """Openings of disks that this replay has built, of a few each the one that mends most.

    Every third is killed, and what is recorded is the recovery of what it leaves in the cache.
    """
    name = replay.trace.workload
    ways = ("reopen", "reopen_relaxed") if "relaxed" in name else ("reopen",)
    for n in range(min(count, len(replay.kept) // _CHOICE)):
        few = replay.kept[n * _CHOICE : (n + 1) * _CHOICE]
        trace = max(
            (record(ways[n % len(ways)], seed, on=(name, *each)) for each in few),
            key=_mended,
        )
        if n % 3 < 2:
            yield trace
        else:
            within = replace(trace, calls=trace.calls[: trace.opened_at])
            for killed in _killed(within, 1, n):
                yield record("reopen", seed, after=killed)


def _mended(trace: Trace) -> int:
    """How often the recovery wrote something else into a partition than the cut had left there."""
    start = max(0, trace.killed_at)
    return sum(
        call.data != (trace.before.get(call.path) or b"")[call.offset :][: len(call.data)]
        for call in trace.calls[start : trace.opened_at]
        if call.kind == "write" and call.path.endswith(".mem")
    )

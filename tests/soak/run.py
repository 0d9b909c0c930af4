"""A soak test: a writing process with its daemon, reading processes, and a monitor.

The store reaches a size and keeps it, while memories are added, changed and forgotten. Whatever
still grows is a leak; whatever gets slower depends on the total ever stored.
"""

from __future__ import annotations

import contextlib
import csv
import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.language.words import stemming as stems
from spector.layout import stride_of
from tests.crash.harness import run_and_exit
from tests.crash.workload import DIM, warm_up
from tests.soak.board import STABLE, Board, Times
from tests.soak.life import Writer, open_soak, read_until_told
from tests.soak.measure import Process, Slope, bytes_on_disk, drift, process, slope

__all__ = ["NOISE_MIB", "READERS", "SLOWER", "Progress", "soak"]

READERS = 4
Progress = Callable[[float, str], None]
#: own memory, an hour: what allocators do; the intervals of half an hour are about 1 MiB each way
NOISE_MIB = 4
#: word forms whose stems a process keeps here. Of the 200,000 it may keep else, each 164 bytes, new
#: words would fill some 7 MiB an hour for five hours, and hide any leak that is smaller.
_FORMS = 2000
_UNITS = {"own": 1 << 20, "descriptors": 1, "maps": 1}
#: share of the time that the readers have the store to themselves, and that warms up
_ALONE, _WARM = 0.1, 0.4
_SAMPLES = 240
#: an hour, in the second half: what passes for noise. Below it only a longer soak sees a leak.
_NOISE = {"own": NOISE_MIB << 20, "descriptors": 20, "maps": 120}
#: share of the time beside the writer that is not compared with later: caches fill
_COLD = 0.1
#: how many times as long something may take in the last quarter as in the first. What takes longer
#: in proportion to all that was ever written takes 4.2 times as long, as the last quarter is in the
#: middle of it 0.89 of the time old and the first one 0.21. What a thread computes is not prolonged
#: by those who use the machine beside it, but for the caches that they share; nor is it by queueing
#: for a core, which is not counted. What it waits for else, locks and disks, is, and the slowest
#: hundredth most of all.
SLOWER = {("work", 0.5): 1.5, ("", 0.5): 3.0, ("", 0.99): 4.0}
#: a shorter half than this is warming up all along, and not judged
_JUDGED_S = 600.0
#: operations and recalls without which nothing is proved
ENOUGH = 50
_PATIENCE_S = 120.0


@dataclass
class Sample:
    """One look at everything."""

    seconds: float
    writer: Process
    readers: list[Process]
    #: by kind, see ``bytes_on_disk``
    disk: dict[str, int]
    live: int
    operations: int
    looks: int
    #: see ``Board.times``
    times: dict[str, NDArray[np.int64]] = field(default_factory=dict)


def soak(
    seconds: float,
    *,
    seed: int = 1,
    memories: int = 3000,
    readers: int = READERS,
    table: str | None = None,
    place: str | None = None,
    progress: Progress | None = None,
    nice: int = 0,
) -> dict[str, Any]:
    """Run one; returns what was counted and, under ``wrong``, what must not be.

    Args:
        seconds: how long, warm-up included. A slow machine gets more until there is enough.
        memories: that the store keeps.
        table: path of a CSV file with all samples.
        place: directory for the store; a temporary one by default.
        nice: how far the writer and the readers, who never pause, stand back for other processes.
    """
    warm_up()
    board = Board(readers)
    with tempfile.TemporaryDirectory(dir=place) as root:
        path = os.path.join(root, "mind")
        told, tell = os.pipe()
        os.set_blocking(tell, False)
        writer = _start(lambda: _write(path, board, seed, memories, tell), nice)
        try:
            _wait_for(lambda: board["ready"] == 1 or _ended(writer))
            looking = [
                _start(lambda n=n: read_until_told(path, board, n, seed, tell), nice)  # type: ignore[misc]
                for n in range(readers)
            ]
            began = time.monotonic()
            samples = _watch(path, board, writer, looking, seconds, progress)
            minutes = (time.monotonic() - began) / 60
        finally:
            board["phase"] = 3
            _release(writer)
        wrong = [
            f"{name} ended with {code}"
            for name, code in (
                *((f"reader {n}", _end_of(pid)) for n, pid in enumerate(looking)),
                ("the writer", _end_of(writer)),
            )
            if code
        ]
        os.close(tell)
        with os.fdopen(told, errors="replace") as lines:
            wrong += [line for line in lines.read().split("\n") if line]
    if table is not None:
        _write_table(table, samples)
    return {"minutes": round(minutes, 2), **_report(samples, board, wrong, readers)}


# -- processes --------------------------------------------------------------------------------


def _start(work: Callable[[], object], nice: int) -> int:
    pid = os.fork()
    if pid == 0:
        os.nice(nice)
        stems._FORMS = _FORMS  # type: ignore[misc]
        run_and_exit(work)
    return pid


_ends: dict[int, int] = {}


def _ended(pid: int) -> bool:
    if pid not in _ends:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            _ends[pid] = os.waitstatus_to_exitcode(status)
    return pid in _ends


def _end_of(pid: int) -> int:
    _wait_for(lambda: _ended(pid))
    if pid not in _ends:
        os.kill(pid, signal.SIGABRT)
        _ends[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return _ends[pid]


def _release(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _wait_for(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not there() and time.monotonic() < deadline:
        time.sleep(0.01)


def _write(path: str, board: Board, seed: int, target: int, tell: int) -> None:
    """The writing process: fills the store, lets the readers have it, then works beside them."""
    with open_soak(path) as memory:
        writer = Writer(memory, board, seed, target)
        writer.fill()
        board["ready"] = 1
        while board["phase"] < 2:
            time.sleep(0.005)
        memory.daemon.start()
        while board["phase"] == 2:
            writer.step()
            board["cycles"] = memory.daemon.cycles
        memory.daemon.stop()
        wrong = [f"check: {problem}" for problem in memory.check().problems]
        if memory.daemon.last_error is not None:
            wrong.append(f"daemon: {memory.daemon.last_error!r}")
    if wrong:
        os.write(tell, ("\n".join(wrong) + "\n").encode()[:60_000])


# -- watching ---------------------------------------------------------------------------------


def _watch(
    path: str,
    board: Board,
    writer: int,
    looking: list[int],
    seconds: float,
    progress: Progress | None,
) -> list[Sample]:
    samples: list[Sample] = []
    start = time.monotonic()
    board["phase"] = 1
    while not any(_ended(pid) for pid in (writer, *looking)):
        spent = time.monotonic() - start
        if board["phase"] == 1 and spent >= _ALONE * seconds and board.alone_looks.all():
            board["phase"] = 2
        enough = board["operations"] >= ENOUGH and board.looks.sum() >= ENOUGH
        if spent >= seconds and (enough or spent >= seconds + _PATIENCE_S):
            break
        if board["phase"] == 2:
            samples.append(_sample(path, board, writer, looking, spent))
        if progress is not None:
            looks = int(board.looks.sum())
            progress(spent / seconds, f"{board['operations']} changes, {looks} looks")
        time.sleep(max(0.05, seconds / _SAMPLES))
    return samples


def _sample(path: str, board: Board, writer: int, looking: list[int], seconds: float) -> Sample:
    records = STABLE + board["here"] - board["gone"]
    text = board["texts_bytes"] // max(1, board["here"])
    return Sample(
        seconds,
        process(writer),
        [process(pid) for pid in looking],
        bytes_on_disk(path),
        records * (stride_of(DIM) + text),
        board["operations"],
        int(board.looks.sum()),
        board.times(),
    )


def _write_table(path: str, samples: list[Sample]) -> None:
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                "seconds",
                "writer_rss",
                "writer_own",
                "writer_fds",
                "writer_maps",
                "readers_rss_max",
                "readers_own_max",
                "readers_fds_max",
                "readers_maps_max",
                "disk",
                "wal",
                "live",
                "changes",
                "looks",
            ]
        )
        for s in samples:
            w, most = (
                s.writer,
                [
                    max(getattr(r, name) for r in s.readers)
                    for name in ("rss", "own", "descriptors", "maps")
                ],
            )
            out.writerow(
                [
                    f"{s.seconds:.2f}",
                    w.rss,
                    w.own,
                    w.descriptors,
                    w.maps,
                    *most,
                    s.disk["total"],
                    s.disk["log"],
                    s.live,
                    s.operations,
                    s.looks,
                ]
            )


# -- judging ----------------------------------------------------------------------------------


def _report(samples: list[Sample], board: Board, wrong: list[str], readers: int) -> dict[str, Any]:
    settled = samples[int(_WARM * len(samples)) :]
    violations = int(board.wrong.sum())
    out: dict[str, Any] = {
        "violations": violations,
        "changes": board["operations"],
        "looks": int(board.looks.sum()),
        "daemon_cycles": board["cycles"],
        "readers": readers,
        **{f"beside_{k}": v for k, v in Times.summary(board.beside).items()},
        **{f"alone_{k}": v for k, v in Times.summary(board.alone).items()},
    }
    if len(samples) > 1:
        spent = samples[-1].seconds - samples[0].seconds
        out |= {
            "seconds": round(spent, 1),
            "reader_seconds": round(spent * readers, 1),
            "changes_per_s": round((samples[-1].operations - samples[0].operations) / spent, 1),
            "wal_high_water": max(s.disk["log"] for s in samples),
            **_on_disk(settled),
        }
    if len(settled) >= 6:
        late = samples[len(samples) // 2 :]
        wrong = wrong + _growth(settled, late, out)
        if late[-1].seconds - late[0].seconds >= _JUDGED_S:
            wrong += _slowing(samples[int(_COLD * len(samples)) :], out)
    return {**out, "wrong": wrong[:20]}


def _on_disk(settled: list[Sample]) -> dict[str, Any]:
    """What a memory costs, and what a store costs whatever is in it.

    The log has a limit that does not depend on how much is alive, and dominates in a small store;
    so the ratio of the rest is reported separately.
    """
    grows = ("partitions", "indexes", "words", "catalog")
    worst = max(settled, key=lambda s: s.disk["total"] / s.live)
    return {
        "disk_amplification": round(worst.disk["total"] / worst.live, 2),
        "disk_amplification_without_log": round(
            max(sum(s.disk[kind] for kind in grows) / s.live for s in settled), 2
        ),
        "live_max_mb": f"{max(s.live for s in settled) / 1e6:.2f}",
        **{
            f"{kind}_max_mb": f"{max(s.disk[kind] for s in settled) / 1e6:.2f}"
            for kind in (*grows, "log", "other")
        },
    }


def _growth(settled: list[Sample], late: list[Sample], out: dict[str, Any]) -> list[str]:
    """What grew beyond noise in the second half; the steepest slopes are added to ``out``."""
    wrong = []
    seconds = [s.seconds for s in late]
    judged = seconds[-1] - seconds[0] >= _JUDGED_S
    people = [("writer", [s.writer for s in late])] + [
        (f"reader {n}", [s.readers[n] for s in late]) for n in range(len(late[0].readers))
    ]
    steepest: dict[str, Slope] = {}
    for who, seen in people:
        for what, noise in _NOISE.items():
            found = slope(seconds, [getattr(each, what) for each in seen])
            name, unit = f"{who.split()[0]}_{what}", _UNITS[what]
            if name not in steepest or found.per_hour > steepest[name].per_hour:
                steepest[name] = found
            if judged and found.grows(noise):
                wrong.append(
                    f"{what} of the {who} grows by {found.low / unit:.1f} to"
                    f" {found.high / unit:.1f} an hour, noise is up to {noise / unit:.0f}"
                )
        top = f"{who.split()[0]}_rss_max"
        out[top] = max(out.get(top, 0.0), round(max(each.rss for each in seen) / (1 << 20), 1))
    if judged:
        for name, found in steepest.items():
            unit = _UNITS[name.split("_")[1]]
            out[f"{name}_per_hour"] = (
                f"{found.per_hour / unit:.1f} ({found.low / unit:.1f} to {found.high / unit:.1f};"
                f" fails when all of it is above {_NOISE[name.split('_')[1]] / unit:.0f})"
            )
    half = len(settled) // 2
    early, late_disk = (
        [s.disk["total"] for s in part] for part in (settled[:half], settled[half:])
    )
    if np.median(late_disk) > 1.5 * np.median(early) + (4 << 20):
        wrong.append(f"the store grows: {np.median(early):.0f} to {np.median(late_disk):.0f} bytes")
    return wrong


def _slowing(steady: list[Sample], out: dict[str, Any]) -> list[str]:
    """What takes longer at the end than at the beginning; all figures are added to ``out``."""
    wrong = []
    for who in ("change", "recall"):
        for (what, share), limit in SLOWER.items():
            key = f"{who}_{what}" if what else who
            name = f"{key}_p{100 * share:.0f}"
            found = drift([sample.times[key] for sample in steady], share)
            if found is None:
                wrong.append(f"too little was counted to say whether {name} grows")
                continue
            told = f"{1e3 * found.first:.2f} to {1e3 * found.last:.2f} ms"
            out[f"{name}_first_to_last"] = (
                f"x {found.times:.2f} ({told}; fails above x {limit:.1f})"
            )
            if found.times > limit:
                wrong.append(
                    f"{name} grows {found.times:.1f}-fold, {told}; {limit:.1f}-fold may be noise"
                )
    return wrong

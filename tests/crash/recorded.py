"""Records workloads: every call of a process, on the disk that it found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.disk import Disk, Image, materialise
from tests.crash.harness import in_fork, scratch
from tests.crash.power import EMPTY, STORE, Recorder, describe, digest_of, open_any
from tests.crash.powered import OPENED, PREPARED, WORKLOADS
from tests.crash.shim import Shim
from tests.crash.trace import MARK, Call, calls_of

__all__ = ["VOLATILE", "Trace", "record"]

#: SQLite makes it anew when a log is first opened, and never reads an old one
VOLATILE = ("-shm",)


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

    @property
    def opened_at(self) -> int:
        """Number of calls after which a recovery was over; 0 when this does not record one."""
        marks = (n for n, c in enumerate(self.calls) if c.kind == MARK and c.data == OPENED.data)
        return next(marks, 0)

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


def record(
    workload: str,
    seed: int,
    mutate: Callable[[], object] | None = None,
    *,
    after: Trace | None = None,
    on: tuple[str, Image, str] | None = None,
) -> Trace:
    """The trace of a workload in a process of its own, which is a child of a shimmed one.

    ``after``: the workload finds what a process left that was killed at the end of that trace.
    ``on``: it finds what a power cut left of that workload, and which state that shows.
    """
    with scratch() as root, scratch() as beside:
        path, first = os.path.join(beside, "trace"), EMPTY
        if after is not None:
            disk = after.disk()
            for _ in after.steps(disk):
                pass
            _fill(root, disk.cache())
        elif on is not None:
            first = on[2]
            _fill(root, on[1])
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
        name = workload if on is None else f"{on[0]}>{workload}"
        return Trace(name, seed, calls, before, first)
    return Trace(
        f"{after.workload}+{workload}",
        seed,
        [*after.calls, *calls],
        after.before,
        after.first,
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

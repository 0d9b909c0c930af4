"""Power cuts on a real file system: what its disk holds at some moment, mounted and opened (T5).

A store lives on a file system in a file (ext4 through a loop device). A child works on it. At some
moments it is stopped, and the file is copied: that is the disk as a power cut would leave it, with
whatever the kernel had not written yet gone. Each copy is mounted, for which the kernel replays its
journal, and the store in it must hold what was acknowledged before the copy was begun.

Everything is mounted in a mount namespace of this process, and is gone with it.
"""

from __future__ import annotations

import copy
import ctypes
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tests.crash.harness import in_fork, run_and_exit, scratch
from tests.crash.workload import (
    START,
    Model,
    Worker,
    open_tiny,
    tell_pipe,
    texts_of,
    vector_of,
    warm_up,
    wrong_in,
)

__all__ = ["run"]

SIZE = 40 << 20
_CLONE_NEWNS = 0x20000
#: operations after which the child closes the store and opens it again
_SESSION = 40
_COPIES = 50


def run(
    options: str, moments: int, seed: int, durability: str = "strict", judged: str = ""
) -> dict[str, Any]:
    """Stop a writer ``moments`` times; counts, and what was wrong with the copies, as text.

    ``judged`` is the durability that the copies must show, if not that of the store.
    """
    reason = _own_mounts()
    if reason:
        return {"skip": reason}
    warm_up()
    rng = np.random.default_rng(seed)
    with scratch() as root:
        disk = Path(root, "disk.img")
        reason = _make(disk, options)
        if reason:
            return {"skip": reason}
        with _mounted(disk, options) as place:
            cuts = _cuts(disk, place / "mind", Path(root), moments, rng, durability)
        strict = (judged or durability) == "strict"
        found = [_judge(cut, options, strict) for cut in cuts]
    wrong = [
        f"cut {n} ({cuts[n].doing}): {line}" for n, lines in enumerate(found) for line in lines
    ]
    return {
        "images": len(cuts),
        "wrong": wrong,
        "disagreeing": sum(map(bool, found)),
        "acknowledged": cuts[-1].acknowledged,
        "distinct": len({cut.content for cut in cuts}),
        "retaken": sum(cut.retaken for cut in cuts),
    }


# -- the disk -----------------------------------------------------------------------------------


def _own_mounts() -> str:
    """Nothing that is mounted from here on is seen, or left behind, elsewhere."""
    if os.geteuid():
        return "mounting needs root"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        return f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}"
    return _said("mount", "--make-rprivate", "/")


def _make(disk: Path, options: str) -> str:
    """An empty file system; why not, where that is impossible."""
    disk.touch()
    os.truncate(disk, SIZE)
    reason = _said(
        "mkfs.ext4",
        "-q",
        "-F",
        "-E",
        "lazy_itable_init=0,lazy_journal_init=0",
        "-O",
        "^resize_inode",
        str(disk),
    )
    if reason:
        return reason
    try:
        with _mounted(disk, options):
            return ""
    except OSError as error:
        return str(error)


def _said(*command: str) -> str:
    """What a command complained of, or "" when it worked."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return f"{command[0]}: {done.stderr.strip()}" if done.returncode else ""


@contextmanager
def _mounted(disk: Path, options: str) -> Iterator[Path]:
    place = disk.with_suffix(".mnt")
    place.mkdir(exist_ok=True)
    reason = _said("mount", "-o", f"loop,{options}", str(disk), str(place))
    if reason:
        raise OSError(reason)
    try:
        yield place
    finally:
        said = _said("umount", str(place))
        assert not said, said


def _copy(disk: Path, to: Path) -> tuple[int, int]:
    """Copy until two copies are equal: nothing was being written then. A digest, and how many."""
    before: list[tuple[int, bytes]] = []
    for taken in range(_COPIES):
        now = list(_data_of(disk))
        if now == before:
            with to.open("wb") as out:
                out.truncate(SIZE)
                for at, data in now:
                    out.seek(at)
                    out.write(data)
            return hash(tuple(now)), taken - 1
        before = now
    raise AssertionError(f"the file system wrote through {_COPIES} copies")


def _data_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of what is not a hole."""
    with path.open("rb", buffering=0) as file:
        end = 0
        while True:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole up to the end
                return
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            yield start, os.pread(file.fileno(), end - start, start)


# -- the writer ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Cut:
    """One copy. ``models`` are the states that it may show: the strict one is the last."""

    image: Path
    models: list[Model]
    doing: str
    acknowledged: int
    content: int
    retaken: int


class _Lines:
    """What the child has told, read without waiting longer than is asked for."""

    def __init__(self, fd: int) -> None:
        self._fd, self._rest = fd, b""

    def read(self, wait_s: float) -> list[dict[str, Any]]:
        data, ready = self._rest, select.select([self._fd], [], [], wait_s)[0]
        while ready:
            chunk = os.read(self._fd, 1 << 16)
            if not chunk:
                raise AssertionError("the writer has failed by itself; its traceback is above")
            data += chunk
            ready = select.select([self._fd], [], [], 0)[0]
        *lines, self._rest = data.split(b"\n")
        return [json.loads(line) for line in lines]


def _cuts(
    disk: Path, path: Path, root: Path, moments: int, rng: np.random.Generator, durability: str
) -> list[_Cut]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        run_and_exit(
            lambda: _write_for_ever(str(path), int(rng.integers(1 << 30)), durability, writing)
        )
    os.close(writing)
    lines, model, cuts, acknowledged = _Lines(reading), Model(), [], 0
    history = [copy.deepcopy(model)]
    try:
        for n in range(moments):
            told = wanted = int(rng.exponential(12)) + bool(n)
            while told > 0:  # a slow machine gets as far as a fast one
                news = lines.read(300.0)
                assert news, "the writer hangs"
                told -= len(news)
                acknowledged += _follow(news, model, history)
            time.sleep(rng.uniform(0, 0.03))
            os.kill(pid, signal.SIGSTOP)
            os.waitpid(pid, os.WUNTRACED)
            acknowledged += _follow(lines.read(0), model, history)
            image = root / f"{n}.img"
            content, retaken = _copy(disk, image)
            doing = f"{json.dumps(model.doubt)[:200]}, {wanted} lines after the one before"
            cuts.append(_Cut(image, copy.deepcopy(history), doing, acknowledged, content, retaken))
            os.kill(pid, signal.SIGCONT)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
    return cuts


def _follow(news: list[dict[str, Any]], model: Model, history: list[Model]) -> int:
    """Take lines over; ``history`` keeps what was seen since everything was durable."""
    acknowledged = 0
    for line in news:
        durable = (model.doubt or {}).get("do") in {"checkpoint", "close"} and "ok" in line
        model.take(line)
        if durable:
            history.clear()
        acknowledged += "ok" in line
        history.append(copy.deepcopy(model))
    return acknowledged


def _write_for_ever(path: str, seed: int, durability: str, fd: int) -> None:
    tell, alive = tell_pipe(fd), dict[int, str]()
    for session in range(1 << 20):
        memory = open_tiny(path, durability=durability, at=START + timedelta(hours=session))
        worker = Worker(memory, alive, seed + session, tell)
        for _ in range(_SESSION):
            worker.step()
        alive = worker.alive
        tell({"do": "close"})
        memory.close()
        tell({"ok": 1})


# -- the oracle ---------------------------------------------------------------------------------


def _judge(cut: _Cut, options: str, strict: bool) -> list[str]:
    """Mount a copy and open it, in a child; what is wrong with it."""
    try:
        with _mounted(cut.image, options) as place:
            models = cut.models[-1:] if strict else cut.models
            try:
                code = in_fork(lambda: _sound(str(place / "mind"), models))
            except AssertionError as error:
                return [str(error)[-1500:]]
        return [f"the process ended with {code}"] if code else []
    except OSError as error:
        return [f"the file system: {error}"]
    finally:
        cut.image.unlink()


def _sound(path: str, models: list[Model]) -> None:
    """Raise AssertionError where a store is not one of the states that it may be."""
    if not os.path.exists(os.path.join(path, "catalog.db")):
        assert any(model.settle({}) == [] for model in models), "the store is gone"
        return
    with open_tiny(path, at=START + timedelta(days=9)) as memory:
        seen = texts_of(memory)
        for model in reversed(models):
            wrong = model.settle(dict(seen))
            if not wrong:
                break
        assert not wrong, f"none of {len(models)} states: {wrong}"
        wrong = wrong_in(memory, model)
        assert not wrong, wrong
        new = memory.remember("after the cut", vector=vector_of("after the cut"))
    with open_tiny(path, mode="r") as reader:
        assert texts_of(reader) == seen | {new.id: "after the cut"}
        problems = reader.check().problems
        assert not problems, problems

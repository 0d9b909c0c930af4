"""Backups taken while a writer hammers the store, and the one state that each of them must show."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import termios
import threading
from dataclasses import dataclass, field
from typing import Any

from tests.crash.harness import scratch
from tests.crash.workload import (
    Model,
    Worker,
    open_tiny,
    tell_pipe,
    texts_of,
    warm_up,
    wrong_in,
)


@dataclass
class History:
    """Every state that a writer acknowledged, in order, and what it had begun by then."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, line: dict[str, Any]) -> None:
        with self.lock:
            self.lines.append(json.loads(json.dumps(line)))

    def length(self) -> int:
        with self.lock:
            return len(self.lines)

    def explain(self, seen: dict[int, str], first: int, last: int) -> list[str]:
        """Nothing, if ``seen`` is a state between two lengths; otherwise what is wrong with it."""
        with self.lock:
            lines = self.lines[:last]
        found = ["no moment of the backup was looked at"]
        model = Model()
        for n in range(len(lines) + 1):
            if n >= first:
                found = Model(dict(model.alive), set(model.gone), doubt=model.doubt).settle(seen)
                if not found:
                    return []
            if n < len(lines):
                model.take(lines[n])
        return found


def _wrong_in_copy(path: str, history: History, first: int, last: int) -> list[str]:
    with open_tiny(path, mode="r") as copy:
        seen = texts_of(copy)
        return history.explain(seen, first, last) + wrong_in(copy, sample=2)


def at_every_step(seed: int, backups: int, reader: bool) -> dict[str, Any]:
    """The writer works whenever the backup reports progress: each must show its first moment.

    ``reader``: the backup is made by a ``mode="r"`` memory beside the writing one.
    """
    warm_up()
    wrong: list[str] = []
    steps = 0
    with scratch() as root, open_tiny(os.path.join(root, "mind")) as memory:
        history = History()
        worker = Worker(memory, {}, seed, history.tell)
        for n in range(backups):
            for _ in range(25):
                worker.step()
            before, count = texts_of(memory), history.length()
            source = open_tiny(os.path.join(root, "mind"), mode="r") if reader else memory

            def between(done: int, total: int) -> None:
                nonlocal steps
                steps += 1
                # in a thread of its own: this one is inside the backup's snapshot
                thread = threading.Thread(target=worker.step)
                thread.start()
                thread.join()

            path = os.path.join(root, f"copy{n}" if n % 3 else "copy")
            source.backup(path, progress=between)
            if reader:
                source.close()
            with open_tiny(path, mode="r") as copy:
                if texts_of(copy) != before:
                    wrong.append(f"{n}: not the state of its first moment, after line {count}")
                wrong += [f"{n}: {w}" for w in wrong_in(copy, sample=2)]
        wrong += [f"source: {w}" for w in wrong_in(memory)]
    return {"backups": backups, "steps_between": steps, "wrong": wrong}


def beside_threads(seed: int, backups: int) -> dict[str, Any]:
    """One thread writes without pause, this one makes backups through the same object."""
    warm_up()
    wrong: list[str] = []
    with scratch() as root, open_tiny(os.path.join(root, "mind")) as memory:
        history, enough = History(), threading.Event()
        failed: list[BaseException] = []

        def write() -> None:
            worker = Worker(memory, {}, seed, history.tell)
            try:
                while not enough.is_set():
                    worker.step()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for n in range(backups):
                path = os.path.join(root, f"copy{n}" if n % 2 else "copy")
                first = history.length()
                memory.backup(path)
                found = _wrong_in_copy(path, history, first, history.length())
                wrong += [f"{n}: {w}" for w in found]
        finally:
            enough.set()
            thread.join()
        wrong += [f"writer: {e!r}" for e in failed]
        return {"backups": backups, "lines": history.length(), "wrong": wrong}


def beside_process(seed: int, backups: int) -> dict[str, Any]:
    """Another process writes without pause; it is killed in the end, and backed up once more."""
    warm_up()
    wrong: list[str] = []
    with scratch() as root:
        mind = os.path.join(root, "mind")
        open_tiny(mind).close()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _write_for_ever(mind, seed, writing)
        os.close(writing)
        history = History()
        listener = _Listener(reading, history)
        reused = 0
        for n in range(backups + 1):
            if n == backups:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                listener.thread.join()
            path = os.path.join(root, f"copy{n}" if n % 2 else "copy")
            first = history.length()
            with open_tiny(mind, mode="r") as reader:
                reused += reader.backup(path).reused
            last = listener.settle() if n < backups else history.length()
            wrong += [f"{n}: {w}" for w in _wrong_in_copy(path, history, first, last)]
        with open_tiny(mind) as memory:
            wrong += [f"source: {w}" for w in wrong_in(memory)]
    return {"backups": backups + 1, "lines": history.length(), "reused": reused, "wrong": wrong}


class _Listener:
    """Reads what a writer says from a pipe, in a thread."""

    def __init__(self, fd: int, history: History) -> None:
        self._fd, self._history = fd, history
        self._news = threading.Condition()
        self._count = 0
        self._ended = False
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self) -> None:
        rest = b""
        while data := os.read(self._fd, 65_536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._history.tell(json.loads(line))
            with self._news:
                self._count += len(data)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()
        os.close(self._fd)

    def settle(self) -> int:
        """Length of the history once everything is in it that had been said by now."""
        held = struct.unpack("i", fcntl.ioctl(self._fd, termios.FIONREAD, b"\0" * 4))[0]
        with self._news:
            target = self._count + held
            self._news.wait_for(lambda: self._count >= target or self._ended)
        return self._history.length()


def _write_for_ever(path: str, seed: int, fd: int) -> None:
    try:
        worker = Worker(open_tiny(path), {}, seed, tell_pipe(fd))
        while True:
            worker.step()
    finally:
        os._exit(1)

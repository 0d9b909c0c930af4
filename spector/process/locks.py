"""Turns of processes and cycles of sleep: locks of what lies in a directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from io import FileIO
from typing import Any, Final

from spector.errors import StoreLockedError
from spector.process.resources import Resource, Sole, completed, drop, held_by_calling, take

# First come, first served: a queue of processes in front of a directory.
#
# The kernel serves those who wait for one ``flock`` in their order, but it knows no limit of time. So
# a thread waits, and lets go at once when its turn comes too late. The directory itself is locked,
# which leaves no file in it.

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)


class Turn(Sole):
    """One place in the queue of a directory; opens nothing before `come`."""

    def __init__(self, path: str) -> None:
        self._path = path
        #: its descriptor, while it has one
        self._fds: list[int] = []
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._came = threading.Event()
        self._waits = self._is_over = False

    def come(self, seconds: float) -> bool:
        """Wait for the turn; False when it has not come in time. Call `end`, whatever this raises.

        Raises:
            OSError: the directory cannot be opened.
        """
        assert not self._fds, "a turn comes once"
        fd = held_by_calling(self._fds, os.open, self._path, _FLAGS)
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        waiting = threading.Thread(target=self._wait, args=(fd,), name="spector-turn", daemon=True)
        try:
            self._waits = True
            waiting.start()
        except BaseException:
            self._waits = waiting.ident is not None
            raise
        return self._came.wait(seconds)

    def _wait(self, fd: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        with self._lock:
            self._waits = False
            self._came.set()
            if self._is_over:
                self._close()

    def end(self) -> None:
        """Let the next one have its turn. Idempotent.

        Where the turn has not come yet, the thread that waits for it ends it then.
        """
        with self._lock:
            self._is_over = True
            if not self._waits:
                self._close()

    def _close(self) -> None:
        fds, self._fds = self._fds, []
        try:
            if fds and os.getpid() == self._pid:  # a child forked meanwhile has the file as well
                fcntl.flock(fds[0], fcntl.LOCK_UN)
        finally:
            list(map(os.close, fds))


# One cycle of sleep at a time: of the threads of a process, and of processes that share a store.
#
# A cycle lets writers in between its units, so it cannot keep the writer's lock. It has a byte of the
# file LOCK, far behind its content, by a lock that belongs to an open file, as ``flock`` does. One
# that waits for it says so by a second byte: the cycle that runs ends after its unit, and the one
# that waits goes on with it. Where the system has no such locks, only threads are kept apart.

#: the bytes of the cycle that runs, and of those that wait
_RUNS, _WAITS = 1 << 40, (1 << 40) + 1
_STEP_S: Final = 0.01
#: ``struct flock`` of Linux: type, whence, start, length, process
_FLOCK: Final = "@hhqqi4x"


class CycleTurn(Resource):
    """Held while a cycle runs; a context manager.

    Args:
        path: the file LOCK of a shared store; None where no other process can write.
        wait_s: seconds to wait for a cycle of another process.
    """

    def __init__(self, path: str | None, wait_s: float) -> None:
        possible = hasattr(fcntl, "F_OFD_SETLK")
        self._path = path if possible else None
        self._wait_s = wait_s
        self._one = threading.Lock()
        self._file: FileIO | None = None

    def __enter__(self) -> None:
        take(self)
        self._one.acquire()
        try:
            if self._path is not None:
                self._file = FileIO(self._path, "r+")
                self._await(self._file)
        except BaseException:
            completed(self._end)
            drop(self)
            raise

    def __exit__(self, *raised: object) -> None:
        completed(self._end)
        drop(self)

    def abandon(self, error: BaseException | None) -> None:
        completed(self._end)

    def _end(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # also where a forked child has the file
                _lock(file, fcntl.F_UNLCK, _RUNS, 2)
            file.close()
        with contextlib.suppress(RuntimeError):  # released before
            self._one.release()

    def _await(self, file: FileIO) -> None:
        if _lock(file, fcntl.F_WRLCK, _RUNS):
            return
        _lock(file, fcntl.F_RDLCK, _WAITS)
        until = time.monotonic() + self._wait_s
        while not _lock(file, fcntl.F_WRLCK, _RUNS):
            if time.monotonic() >= until:
                raise StoreLockedError(
                    f"another process is in a cycle of sleep of {self._path}, after"
                    f" {self._wait_s:g} s",
                    hint="wait until it has ended",
                )
            time.sleep(_STEP_S)
        _lock(file, fcntl.F_UNLCK, _WAITS)

    @property
    def is_wanted(self) -> bool:
        """Whether another process waits for the end of the cycle that runs here."""
        file = self._file
        return file is not None and _is_locked(file, _WAITS)

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process is in a cycle now."""
        if self._path is None or self._file is not None:
            return False
        with contextlib.suppress(OSError), FileIO(self._path, "r+") as file:
            return _is_locked(file, _RUNS)
        return False


def _lock(file: FileIO, kind: int, at: int, length: int = 1) -> bool:
    """Take or give back a byte; False when another open file has it."""
    wanted = struct.pack(_FLOCK, kind, os.SEEK_SET, at, length, 0)
    try:
        fcntl.fcntl(file.fileno(), fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_locked(file: FileIO, at: int) -> bool:
    """Whether another open file has a byte."""
    wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, at, 1, 0)
    found: Any = struct.unpack(_FLOCK, fcntl.fcntl(file.fileno(), fcntl.F_OFD_GETLK, wanted))
    return bool(found[0] != fcntl.F_UNLCK)

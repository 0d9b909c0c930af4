"""One cycle of sleep at a time: of the threads of a process, and of processes that share a store.

A cycle lets writers in between its units, so it cannot keep the writer's lock. It has a byte of the
file LOCK, far behind its content, by a lock that belongs to an open file, as ``flock`` does. One
that waits for it says so by a second byte: the cycle that runs ends after its unit, and the one
that waits goes on with it. Where the system has no such locks, only threads are kept apart.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from io import FileIO
from typing import Any, Final

from spector.errors import StoreLockedError
from spector.process.resources import Resource, completed, drop, take

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["CycleTurn"]

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

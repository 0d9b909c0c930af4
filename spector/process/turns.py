"""First come, first served: a queue of processes in front of a directory.

The kernel serves those who wait for one ``flock`` in their order, but it knows no limit of time. So
a thread waits, and lets go at once when its turn comes too late. The directory itself is locked,
which leaves no file in it.
"""

from __future__ import annotations

import contextlib
import os
import threading

from spector.process.resources import held_by_calling
from spector.process.sole import Sole

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Turn"]

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0)


class Turn(Sole):
    """One place in the queue of a directory.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        numbers: list[int] = []
        try:
            held_by_calling(numbers, os.open, path, _FLAGS)
            #: its descriptor; None once it has been closed
            self._fd: int | None = numbers[0]
        except BaseException:
            if numbers:
                os.close(numbers[0])
            raise
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._came = threading.Event()
        self._waits = self._is_over = False

    def come(self, seconds: float) -> bool:
        """Wait for the turn; False when it has not come in time."""
        fd = self._fd
        assert fd is not None, "a turn comes once"
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        self._waits = True
        threading.Thread(target=self._wait, args=(fd,), name="spector-turn", daemon=True).start()
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
        fd, self._fd = self._fd, None
        if fd is None:
            return
        try:
            if os.getpid() == self._pid:  # a child that was forked meanwhile has the file as well
                fcntl.flock(fd, fcntl.LOCK_UN)
        finally:
            os.close(fd)

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

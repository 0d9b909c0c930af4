"""One writer per store: ``flock`` on the file LOCK.

``flock`` belongs to the open file, so unrelated closes in this process do not drop it (``lockf``
locks would vanish). The holder's process id is written into the file for the error message only.
"""

from __future__ import annotations

import contextlib
import os
import weakref

from spector.errors import StoreLockedError
from spector.store.files import translated

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no flock; the store refuses to open there
    fcntl = None  # type: ignore[assignment]

__all__ = ["WriterLock"]


class WriterLock:
    """Held from open to close by the one process that may write."""

    def __init__(self, root: str) -> None:
        path = os.path.join(root, "LOCK")
        with translated("open", path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if fcntl is None:  # pragma: no cover
            os.close(self._fd)
            raise StoreLockedError(
                "this platform has no flock, so a second writer could not be kept out",
                hint="use spector on Linux or macOS",
            )
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 64, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            self._fd = -1
            raise StoreLockedError(
                f"the store at {root} is being written by process {holder}",
                hint='close it there, or open it here with mode="r"',
            ) from None
        self._pid = os.getpid()
        _held.add(self)
        with contextlib.suppress(OSError):  # the content is a courtesy; the lock is the promise
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock up. Idempotent.

        Unlocking, and not only closing, frees it even if a child process got the descriptor. In
        such a child only the descriptor goes: the lock is the parent's.
        """
        if self._fd < 0:
            return
        if os.getpid() == self._pid:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)
        self._fd = -1


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A child that outlives its parent must not keep the store locked."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)

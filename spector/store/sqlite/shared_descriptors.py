"""One shared descriptor for each catalog whose bytes are read while SQLite has it open.

Closing any descriptor of a file drops every POSIX lock of the process on it, SQLite's too. So all
readers of a catalog's bytes share one descriptor. It is closed with the last of them and with the
last connection to that path in this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from spector.process import WeakList, managed
from spector.store.files import File, Files, identity

_Identity = tuple[int, int]


@dataclass(slots=True)
class _Shared:
    #: catalogs with connections to the path, and readers of its bytes
    holders: WeakList[Any] = field(default_factory=WeakList)
    #: (device and inode when it was opened, or None when the path changed meanwhile; the file)
    files: list[tuple[_Identity | None, File]] = field(default_factory=list)


_shared: dict[str, _Shared] = {}
#: re-entrant, because the garbage collector may close a store while this thread holds it
_lock = threading.RLock()


def _reset_in_child() -> None:
    """Leave the parent's descriptors open: it may have been about to close one at the fork."""
    global _lock
    _lock = threading.RLock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)


def hold(path: str, holder: object) -> None:
    """Keep every file of this path open as long as ``holder`` lives. Idempotent."""
    fresh = _Shared()  # made outside the lock, because making it may run the garbage collector
    with _lock:
        _shared.setdefault(path, fresh).holders.add(holder)


def release(path: str, holder: object) -> None:
    """End a `hold`; the last holder closes the files. Idempotent."""
    with _lock:
        shared = _shared.get(path)
        if shared is None:  # held before a fork
            return
        shared.holders.discard(holder)
        if not shared.holders:
            for _, file in shared.files:
                file.close()
            _shared.pop(path, None)


class _Reader:
    """A holder for a read of bytes without a catalog."""

    __slots__ = ("__weakref__",)


@managed
def keep_open(path: str) -> Iterator[None]:
    """Hold the path until the context ends."""
    reader = _Reader()
    try:
        hold(path, reader)
        yield
    finally:
        release(path, reader)


def raw_file(files: Files, name: str, path: str, wanted: _Identity | None = None) -> File:
    """A file to read and never close; its path must be held as long as it is used.

    An open file is used again: ``wanted``, or else the one that has the name now.

    Raises:
        StoreError: it cannot be opened.
    """
    with _lock:
        shared = _shared.setdefault(path, _Shared())
        now = identity(path)
        for which in (wanted, now):
            for known, file in shared.files:
                if known is not None and known == which:
                    return file
        opened = files.open(name, writable=False)
        shared.files.append((now if now == identity(path) else None, opened))
        return opened

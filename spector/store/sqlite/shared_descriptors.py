"""Files of catalogs that are open to be read byte by byte, and stay so while SQLite has them open.

Closing a file drops every lock that the process has on it, SQLite's too. So one descriptor of each
catalog is shared by all who want to read its bytes, and it is closed with the last of them and with
the last connection to that path in this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from spector.process import WeakList, managed
from spector.store.files import File, Files, identity

__all__ = ["held", "hold", "raw_file", "release"]

_Identity = tuple[int, int]


@dataclass(slots=True)
class _Shared:
    #: catalogs with connections to the path, and readers of its bytes
    holders: WeakList[Any] = field(default_factory=WeakList)
    #: which file it was when it was opened, None when another one came just then; and the file
    files: list[tuple[_Identity | None, File]] = field(default_factory=list)


_shared: dict[str, _Shared] = {}
#: of a kind that one thread may take twice: a collector that comes by may close a store meanwhile
_lock = threading.RLock()


def _begin_anew_in_child() -> None:
    """What the parent has open stays open: it may have been about to close it just then."""
    global _lock
    _lock = threading.RLock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew_in_child)


def hold(path: str, holder: object) -> None:
    """From now on no file of this path is closed, as long as ``holder`` lives. Idempotent."""
    fresh = _Shared()  # before: what is made may call a collector
    with _lock:
        _shared.setdefault(path, fresh).holders.add(holder)


def release(path: str, holder: object) -> None:
    """The opposite of `hold`; the last one closes what was opened. Idempotent."""
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
    """Somebody who reads bytes without a catalog."""

    __slots__ = ("__weakref__",)


@managed
def held(path: str) -> Iterator[None]:
    """Hold it meanwhile."""
    reader = _Reader()
    try:
        hold(path, reader)
        yield
    finally:
        release(path, reader)


def raw_file(files: Files, name: str, path: str, wanted: _Identity | None = None) -> File:
    """A file to be read, which nobody may close; its path must be held as long as it is used.

    One that is open already is used again: ``wanted``, or else what has the name now.

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

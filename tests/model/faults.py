"""Something happens at a moment: at one of the store's file operations or SQL statements.

The store's only doors to the disk are ``Files`` and SQLite, so wrapping both gives a number to
each moment between which a process can die.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from spector.store.catalog import catalog
from spector.store.files.disk import DiskFile, DiskFiles
from spector.store.files.protocol import translate_os_errors
from spector.store.opening import opening as recover

_SQLITE_ERRORS = {"EIO": sqlite3.SQLITE_IOERR, "ENOSPC": sqlite3.SQLITE_FULL}


class Photographer:
    """Asked at each moment; calls ``take`` before the n-th thing that a store does to its disk."""

    def __init__(self) -> None:
        self.armed, self.count, self.fired = False, 0, ""

    def wait(self, at: int, take: Callable[[], None]) -> None:
        self.count, self.armed, self.fired = 0, True, ""
        self._at, self._take = at, take

    def point(self, name: str) -> str:
        """What becomes of the operation: nothing, the name of an errno, or "short", which lets a
        write take one byte first."""
        if self.armed:
            self.count += 1
            if self.count > self._at:
                self.armed, self.fired = False, name
                self._take()
        return ""


def _raise(kind: str, action: str, path: str) -> None:
    code = getattr(errno, kind)
    with translate_os_errors(action, path):
        raise OSError(code, os.strerror(code))


class FaultyFile:
    """A disk file whose operations may fail."""

    def __init__(self, inner: DiskFile, fault: Photographer, path: str) -> None:
        self._inner, self._fault, self._path = inner, fault, path

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        kind = self._fault.point("write")
        if kind == "short":
            _write_in_short_steps(self._inner, offset, data)
            return
        if kind:
            _raise(kind, "write", self._path)
        self._inner.write_at(offset, data)

    def extend(self, size: int) -> None:
        if size > self._inner.size():
            self._fail("extend", "allocate space for")
        self._inner.extend(size)

    def sync(self) -> None:
        self._fail("sync", "sync")
        self._inner.sync()

    def _fail(self, name: str, action: str) -> None:
        kind = self._fault.point(name)
        if kind and kind != "short":
            _raise(kind, action, self._path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _write_in_short_steps(inner: DiskFile, offset: int, data: bytes | memoryview) -> None:
    """Let the operating system accept one byte first, then the rest."""
    real = os.pwrite
    taken = []

    def one_byte(fd: int, view: Any, at: int) -> int:
        if taken:
            return real(fd, view, at)
        taken.append(1)
        return real(fd, bytes(view[:1]), at)

    os.pwrite = one_byte  # type: ignore[assignment]
    try:
        inner.write_at(offset, data)
    finally:
        os.pwrite = real


class FaultyFiles(DiskFiles):
    """A directory whose operations may fail."""

    def __init__(self, root: str, fault: Photographer) -> None:
        super().__init__(root)
        self._fault = fault

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> Any:
        self._fail("create" if create else "open", "open", name)
        inner = super().open(name, create=create, writable=writable)
        return FaultyFile(inner, self._fault, name)

    def glance(self, name: str, head: int, *, writable: bool, most: int) -> Any:
        self._fail("open", "open", name)
        return super().glance(name, head, writable=writable, most=most)

    def map_private(self, name: str, *, most: int) -> Any:
        self._fail("open", "map", name)
        return super().map_private(name, most=most)

    def replace(self, source: str, target: str) -> None:
        self._fail("replace", "rename", source)
        super().replace(source, target)

    def remove(self, name: str) -> None:
        self._fail("remove", "remove", name)
        super().remove(name)

    def sync_dir(self, name: str) -> None:
        self._fail("sync_dir", "sync directory", name)
        super().sync_dir(name)

    def _fail(self, name: str, action: str, path: str) -> None:
        kind = self._fault.point(name)
        if kind and kind != "short":
            _raise(kind, action, path)


def install(fault: Photographer) -> Callable[[], None]:
    """Route this process's stores through ``fault``; returns the way back."""
    before, connect = recover.DiskFiles, sqlite3.connect
    recover.DiskFiles = lambda root: FaultyFiles(root, fault)  # type: ignore[assignment,misc]
    catalog.sqlite3.connect = _counting_connect(connect, fault)  # type: ignore[assignment]

    def restore() -> None:
        recover.DiskFiles = before  # type: ignore[misc]
        catalog.sqlite3.connect = connect  # type: ignore[assignment]

    return restore


def _counting_connect(connect: Any, fault: Photographer) -> Callable[..., sqlite3.Connection]:
    class Counting(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            _sql_point(fault, sql)
            return super().execute(sql, *args)

        def executemany(self, sql: str, rows: Iterable[Any]) -> sqlite3.Cursor:
            _sql_point(fault, sql)
            return super().executemany(sql, rows)

    def counting(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        found: sqlite3.Connection = connect(*args, factory=Counting, **kwargs)
        return found

    return counting


def _sql_point(fault: Photographer, sql: str) -> None:
    """Statements that write count; reading cannot leave anything half-done."""
    word = sql.split(None, 1)[0].upper()
    if word in {"SELECT", "PRAGMA"} and "checkpoint" not in sql:
        return
    kind = fault.point("sql")
    if kind in _SQLITE_ERRORS and word != "ROLLBACK":  # which needs no disk with a log
        error = sqlite3.OperationalError(f"injected {kind}")
        error.sqlite_errorcode = _SQLITE_ERRORS[kind]
        raise error

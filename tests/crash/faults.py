"""Faults at a counted moment: at the store's file operations and at every SQL statement.

The store's only doors to the disk are ``Files`` and SQLite, so wrapping both gives a number to
each moment between which a process can die. Patches are only ever applied in processes that a
test owns (see ``harness``).
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from spector.store.catalog import catalog
from spector.store.files.disk import DiskFile, DiskFiles
from spector.store.files.protocol import translate_os_errors
from spector.store.opening import opening as recover
from tests.crash.harness import die

_SQLITE_ERRORS = {"EIO": sqlite3.SQLITE_IOERR, "ENOSPC": sqlite3.SQLITE_FULL}
#: operations that change something on the disk
CHANGING = frozenset({"create", "write", "extend", "sync", "replace", "remove", "sync_dir"})


@dataclass
class Fault:
    """What happens at the ``at``-th counted operation (from 1; 0 only counts).

    ``kind``: "kill" before the operation; "torn" after half of a write (before any other operation,
    and before the 64 bytes of a header, which lie in one sector); "short" lets a write take one
    byte first; or the name of an errno.
    """

    at: int = 0
    kind: str = "kill"
    forever: bool = False
    only: frozenset[str] | None = None
    sql: bool = False
    count: int = 0
    fired: str = ""
    armed: bool = True
    trace: list[str] = field(default_factory=list)

    def point(self, name: str) -> str:
        """Count one operation; the kind of fault when it is due, otherwise an empty string."""
        if not self.armed or (self.only is not None and name not in self.only):
            return ""
        self.count += 1
        self.trace.append(name)
        due = self.at and (self.count == self.at or (self.forever and self.count > self.at))
        if not due:
            return ""
        self.fired = self.fired or name
        if self.kind == "kill":
            die()
        return self.kind


def _raise(kind: str, action: str, path: str) -> None:
    code = getattr(errno, kind)
    with translate_os_errors(action, path):
        raise OSError(code, os.strerror(code))


class FaultyFile:
    """A disk file whose operations may fail."""

    def __init__(self, inner: DiskFile, fault: Fault, path: str) -> None:
        self._inner, self._fault, self._path = inner, fault, path

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        kind = self._fault.point("write")
        if kind == "torn":
            half = memoryview(data).cast("B")[: len(data) // 2 if offset else 0]
            self._inner.write_at(offset, half)
            die()
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
        if kind == "torn":
            die()
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

    def __init__(self, root: str, fault: Fault) -> None:
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
        if kind == "torn":
            die()
        if kind and kind != "short":
            _raise(kind, action, path)


def install(fault: Fault) -> Callable[[], None]:
    """Route this process's stores through ``fault``; returns the way back."""
    before, connect = recover.DiskFiles, sqlite3.connect
    recover.DiskFiles = lambda root: FaultyFiles(root, fault)  # type: ignore[assignment,misc]
    if fault.sql:
        catalog.sqlite3.connect = _counting_connect(connect, fault)  # type: ignore[assignment]

    def restore() -> None:
        recover.DiskFiles = before  # type: ignore[misc]
        catalog.sqlite3.connect = connect  # type: ignore[assignment]

    return restore


def _counting_connect(connect: Any, fault: Fault) -> Callable[..., sqlite3.Connection]:
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


def _sql_point(fault: Fault, sql: str) -> None:
    """Statements that write count; reading cannot leave anything half-done."""
    word = sql.split(None, 1)[0].upper()
    if word in {"SELECT", "PRAGMA"} and "checkpoint" not in sql:
        return
    kind = fault.point("sql")
    if kind == "torn":
        die()
    if kind in _SQLITE_ERRORS and word != "ROLLBACK":  # which needs no disk with a log
        error = sqlite3.OperationalError(f"injected {kind}")
        error.sqlite_errorcode = _SQLITE_ERRORS[kind]
        raise error

"""The connections to one SQLite file: one that writes or follows, and a pool that reads."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from spector.errors import StoreClosedError, StoreError, StoreForkedError, StoreFullError
from spector.process import Sole, WeakList, completed, managed
from spector.store.files import File, Files, MemoryFile, Watched, identity, refuse_other_than_files
from spector.store.sqlite import shared_descriptors
from spector.store.sqlite.connections import (
    SQL_ERRORS,
    ConnectionLease,
    MainConnection,
    SnapshotLease,
    attaching,
    configure,
    connect_into,
    end_statements,
    has_opened,
    leaves_statements,
    roll_back_open,
    typed_sql_errors,
)
from spector.store.sqlite.wal_frames import refuse_harm

# Checkpoints of a write-ahead log, and VACUUM: how pages get from one place to another.
#
# Each function takes the database whose writing connection does the work. SQLite runs none of this
# by itself (``wal_autocheckpoint=0``), because it hides a sync that fails while it does.

#: how long a statement waits for another process
BUSY_TIMEOUT_MS: Final = 10_000
#: a larger database is vacuumed through an (unlinked) temporary file instead of memory
_VACUUM_PAGES_IN_MEMORY: Final = 65_536


@dataclass(frozen=True, slots=True)
class Marks:
    """How far the log goes, and how far every snapshot sees it, in frames."""

    frames: int
    seen_by_all: int


UNKNOWN_MARKS: Final = Marks(-1, -1)


def copy_log(database: Database) -> Marks | None:
    """Copy as much of the log as every snapshot of every process sees; how much that is.

    None for a database in memory, which has no snapshots. Without a log (some file systems support
    none) no commit succeeds beside a snapshot, so every snapshot has seen everything. On a full
    disk nothing may have been copied; then the marks are unknown.
    """
    if database.in_memory:
        return None
    try:
        with typed_sql_errors(database.path):
            found = database.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except StoreFullError:
        return UNKNOWN_MARKS
    busy, frames, copied = found
    if busy:  # another process is copying now
        return UNKNOWN_MARKS
    return Marks(frames, copied) if frames >= 0 else Marks(0, 0)


def limit_log(database: Database, bytes_kept: int) -> None:
    """Cut a log that starts over to this many bytes."""
    with typed_sql_errors(database.path):
        database.main.execute(f"PRAGMA journal_size_limit={bytes_kept}")


def restart_log(database: Database, patience_ms: int) -> bool:
    """Copy the whole log, so that the next commit starts it over; waits that long for readers.

    False when a reader looks at an older moment for longer, or the disk is full.
    """
    try:
        with database.only, typed_sql_errors(database.path), _waiting(database, patience_ms):
            return not database.main.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0]
    except StoreFullError:
        return False


def truncate_log(database: Database) -> int | None:
    """Copy the whole log and cut it to zero bytes; the bytes that were copied last.

    None when a reader in the middle of a transaction holds on to it; it is not waited for.
    """
    with database.only, typed_sql_errors(database.path):
        if database.in_memory:
            return 0
        size = _pragma(database, "page_size")
        frames = database.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        with _waiting(database, 0):
            busy = database.main.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return None if busy else max(0, frames) * size


def vacuum(database: Database) -> tuple[int, int, int]:
    """Rewrite the file without free pages and without old bytes in the slack of other pages.

    Returns its bytes before, the bytes of these in free pages, and its bytes after. Writers wait
    meanwhile, and the log grows by as much as is left.
    """
    with database.only, typed_sql_errors(database.path):
        database.ensure_writable()
        pages, free = _pragma(database, "page_count"), _pragma(database, "freelist_count")
        size = _pragma(database, "page_size")
        spill = "FILE" if pages > _VACUUM_PAGES_IN_MEMORY else "MEMORY"
        database.main.execute(f"PRAGMA temp_store={spill}")
        with attaching(database.main):
            database.main.execute("VACUUM")
        database.main.execute("PRAGMA temp_store=MEMORY")
        return pages * size, free * size, _pragma(database, "page_count") * size


def page_bytes(database: Database) -> int:
    """Bytes of one page of the database."""
    with typed_sql_errors(database.path):
        return _pragma(database, "page_size")


@managed
def _waiting(database: Database, patience_ms: int) -> Iterator[None]:
    """Wait this long for readers, and no longer."""
    database.is_impatient = True
    try:
        database.main.execute(f"PRAGMA busy_timeout={patience_ms}")
        yield
    finally:
        database.main.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        database.is_impatient = False


def _pragma(database: Database, name: str) -> int:
    return int(database.main.execute(f"PRAGMA {name}").fetchone()[0])


_LOST_LOG: Final = (
    "close its readers, then this store, which saves what it has committed, and open it again"
)
#: durability -> when SQLite syncs, at first (see ``Database.relax``); "none" is for a copy that is
#: synced once it is complete
_SYNCHRONOUS: Final = {"strict": "FULL", "relaxed": "FULL", "none": "OFF"}
#: connections that the pool keeps
_MOST_POOLED: Final = 8

_databases: WeakList[Database] = WeakList()
#: files that were open when this process was forked, see ``Database.abandon``
_inherited: set[tuple[int, int]] = set()
#: databases with a connection that must never be closed, see ``Database.close``
_left_open: list[Database] = []


def _abandon_in_child() -> None:
    global _databases
    inherited, _databases = _databases, WeakList()  # a thread may have been changing the list
    for database in inherited:
        database.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)


class Database(Sole):
    """The connections to one SQLite file, lent to those who read and write."""

    def __init__(self, path: str, *, mode: str, durability: str, immutable: bool = False) -> None:
        """``immutable`` reads from media that cannot be written, without a log beside the file."""
        self.path = path
        self.in_memory = path == ":memory:"
        self._mode = mode
        self._immutable = immutable
        self._durability = durability
        #: commits are not synced one by one
        self.relaxed = durability == "relaxed" and mode == "rw" and path != ":memory:"
        self._synchronous = _SYNCHRONOUS[durability]
        self.has_owner = False  # who closes it for certain, also when it is dropped
        self._connections: list[sqlite3.Connection] = []
        _databases.add(self)
        self._pool: list[sqlite3.Connection] = []
        #: id() of a connection that is in use -> its holder
        self._lent: dict[int, object] = {}
        self._pool_lock = threading.RLock()  # a signal handler may close a store meanwhile
        #: per thread: the connection of the snapshot it is in
        self.pinned = threading.local()
        #: identifies the transaction that `writing` is in; any other one was cut off
        self._turn: object | None = None
        #: the busy timeout of the writing connection is not `BUSY_TIMEOUT_MS`
        self.is_impatient = False
        self.only = threading.RLock()  # guards the sole connection of a database in memory
        self._closed = False
        #: an error from outside has left a read, and may keep statements running
        self.cut_off = False
        self._spoilt = False  # closing it must not copy the log
        self._file = Watched(
            path,
            "put it back before the store is closed; one that was deleted lives as long as"
            " this process, to be copied from /proc/PID/fd; else restore a backup",
            "another store was put in its place; close this one and open it again",
        )
        #: the log of a writer, whose connection keeps it from its first transaction to its end
        self._log_file = Watched(f"{path}-wal", _LOST_LOG, _LOST_LOG)
        #: raises when the writer's lock no longer keeps others out
        self.refuse_unlocked: Callable[[], None] = need_no_lock
        self.may_write = True  # unless several processes write, and it is another one's turn
        try:
            with typed_sql_errors(path):
                self.main = self._connect(readonly=mode == "r")
                if mode == "rw":
                    self.main.execute(f"PRAGMA synchronous={self._synchronous}")
        except BaseException:
            self._close_all()
            raise

    def _connect(self, *, readonly: bool) -> sqlite3.Connection:
        if self.in_memory:
            uri = "file::memory:"
        else:
            refuse_other_than_files(*(self.path + end for end in ("", "-wal", "-shm", "-journal")))
            refuse_harm(self.path)
            self._refuse_unsafe()
            # names of files are bytes, and need not be text
            uri = f"file:{quote(os.fsencode(self.path))}?mode={'ro' if readonly else 'rwc'}"
            if self._immutable:
                uri += "&immutable=1"
        shared_descriptors.hold(self.path, self)  # before SQLite has any lock on it
        made: list[sqlite3.Connection] = []
        try:
            connection = connect_into(
                made,
                uri,
                uri=True,
                check_same_thread=False,
                timeout=BUSY_TIMEOUT_MS / 1000,
                cached_statements=256,
            )
            self._connections.append(connection)
            syncs = self._durability != "none"
            configure(connection, self.path, writes=not readonly, syncs=syncs)
        except BaseException:
            for connection in made:
                self._disconnect(connection)
            raise
        if not self.in_memory:
            self._file.note()
        return connection

    def _refuse_unsafe(self) -> None:
        """Raise where SQLite would go wrong without an error."""
        found = identity(self.path)
        if found in _inherited and not self._immutable:
            raise StoreForkedError(
                f"{self.path} was open when this process was forked, and SQLite would believe that"
                " it still has the locks of that other process",
                hint="close the store before the fork and open it in both processes afterwards, or"
                ' start the child without a fork: multiprocessing.get_context("spawn")',
            )
        if found is not None or self._file.identity is not None:
            self.refuse_replaced()

    def refuse_replaced(self) -> None:
        """Raise when the file that is open, or a writer's log, is no longer the one at its path.

        SQLite would go on writing to the unlinked file, and those commits would be lost.
        """
        self._file.refuse_changed()
        self._log_file.refuse_changed()

    def has_lost_log(self) -> bool:
        """Whether only the log is gone; all commits can still be copied from the open file."""
        if not self._log_file.is_changed() or self._file.is_changed():
            return False
        try:
            self.refuse_unlocked()
        except StoreError:
            return False
        return True

    def ensure_writable(self) -> None:
        """Raise before a commit into an unlinked file, or beside another writer.

        Commits in a log that has lost its name live as long as the process. So they are copied
        into the catalog at once, as far as readers allow it.
        """
        assert self.may_write, "a shared store is written in its turn only"
        self._file.refuse_changed()
        self.refuse_unlocked()
        try:
            self._log_file.refuse_changed()
        except StoreError:
            with contextlib.suppress(StoreError, *SQL_ERRORS):
                copy_log(self)
            raise

    def _note_log(self) -> None:
        """In a transaction or after one: SQLite creates the log at the first one at the latest."""
        if self._mode == "rw" and not self.in_memory:
            self._log_file.note()

    def _disconnect(self, connection: sqlite3.Connection) -> None:
        """Close a connection. Idempotent."""
        connection.close()
        if connection in self._connections:
            self._connections.remove(connection)
        if not self._connections:
            shared_descriptors.release(self.path, self)

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # An interrupt has kept it from its owner; its connections are in cycles of their own. An
        # owner that is collected together with it still has to close, and may come later.
        if getattr(self, "_connections", None) and not self.has_owner and not _is_finalizing():
            self._close_all()

    def _close_all(self) -> None:
        for connection in list(self._connections):
            self._disconnect(connection)
        shared_descriptors.release(self.path, self)

    def abandon(self) -> None:
        """In a child after a fork: never close the inherited connections.

        Their close could delete the log with the commits of another writer. Nor can the child open
        connections of its own to that file: SQLite takes the parent's locks for its own and asks
        the system for none, so its log would be deleted under it.
        """
        if self._connections and self._file.identity is not None and not self._immutable:
            _inherited.add(self._file.identity)
        self._closed = True
        for connection in self._connections:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        self._connections.clear()

    def relax(self) -> None:
        """Stop syncing a relaxed writer's commits one by one.

        Each of them is synced until the catalog durably notes that such a writer exists: the frames
        that a power cut leaves of more than one unsynced commit look like damage to the log.
        """
        if self.relaxed:
            self._synchronous = "NORMAL"
            with typed_sql_errors(self.path):
                self.main.execute("PRAGMA synchronous=NORMAL")

    def close(self, *, failed: bool = False) -> None:
        """Close every connection. Idempotent.

        After a failure (``failed``) the log stays as it is. The last writing connection that closes
        would copy the log into the catalog and sync again what may just have failed to sync, which
        can succeed although the disk has lost the bytes. So a reading connection, which cannot copy
        anything, closes last. On a disk that fails for good no reading connection may work; then
        the writing one is never closed.
        """
        self._spoilt = self._spoilt or failed
        completed(self._close)

    def _close(self) -> None:
        with self._pool_lock:
            self._closed = True
            self._pool = []
        if self.cut_off:  # the search for statements takes as long as a collection of cycles
            end_statements(*self._connections)
        # lent ones are among them only where an interrupt kept a call from returning them
        others = [each for each in self._connections if each is not self.main]
        writes = self.main in self._connections and self not in _left_open
        if self._spoilt and writes and not self.in_memory and self._mode == "rw":
            for each in others:
                roll_back_open(each)
            if not any(map(has_opened, others)):
                with contextlib.suppress(*SQL_ERRORS, StoreError):
                    others.append(self._connect(readonly=True))
            if any(map(has_opened, others)):
                self._disconnect(self.main)
            else:
                self._leave_open()
        for connection in others:
            self._disconnect(connection)
        if self not in _left_open:
            self._close_all()

    def _leave_open(self) -> None:
        """Let the writing connection live as long as the process, holding no lock that matters."""
        with contextlib.suppress(*SQL_ERRORS):
            if self.main.in_transaction:
                self.main.execute("ROLLBACK")
        _left_open.append(self)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.main))

    def raw_file(self, files: Files) -> File:
        """The file, to be read byte by byte and never closed (see ``shared_descriptors``).

        A database in memory gives a copy of its pages.
        """
        if self.in_memory:
            with self.only, typed_sql_errors(self.path):
                return MemoryFile(self.main.serialize())
        name = os.path.basename(self.path)
        return shared_descriptors.raw_file(files, name, self.path, self._file.identity)

    def snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """A context in which every read by this thread sees one moment, that of the first read.

        ``COMMIT`` and ``BEGIN`` on the connection move on to a later moment.
        """
        return SnapshotLease(self)

    def reading(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """A connection for reads, exclusive to the caller until the context ends."""
        return ConnectionLease(self)

    def latest(self) -> MainConnection:
        """The writing connection: it sees the latest commit and the open transaction's changes.

        In a reading process it is the connection that follows the writer.
        """
        return MainConnection(self)

    def borrow(self, holder: object) -> sqlite3.Connection:
        """A reading connection of the pool, or a new one, for ``holder``."""
        connection = None
        with self._pool_lock:
            if self._closed:
                raise StoreClosedError(
                    f"{self.path} was closed", hint="open the store again with spector.open"
                )
            if self._pool:
                connection = self._pool[-1]
                del self._pool[-1]
        if connection is None:
            with typed_sql_errors(self.path):
                connection = self._connect(readonly=True)
        self._lent[id(connection)] = holder
        return connection

    @managed
    def beside_snapshots(self) -> Iterator[sqlite3.Connection]:
        """A connection to the latest commit, whatever moment this thread's snapshot shows."""
        with typed_sql_errors(self.path):
            connection = self.borrow(object())
            try:
                yield connection
            finally:
                self.give_back(connection)

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Return a connection to the pool, unless it is in a transaction, which holds the log."""
        roll_back_open(connection)
        with self._pool_lock:
            self._lent.pop(id(connection), None)
            is_full = len(self._pool) >= _MOST_POOLED
            keep = not (self._closed or connection.in_transaction or is_full)
            if keep:
                self._pool.append(connection)
        if not keep:
            self._disconnect(connection)

    def discard(self, connection: sqlite3.Connection, holder: object) -> None:
        """Close the connection lent to ``holder``, with every statement that still runs on it."""
        with self._pool_lock:
            if self._lent.get(id(connection)) is not holder:
                return  # it was given back, and may have another holder by now
            del self._lent[id(connection)]
        self.cut_off = True
        end_statements(connection)
        with contextlib.suppress(*SQL_ERRORS):
            self._disconnect(connection)

    @managed
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the writing connection: committed, or rolled back on any error.

        After an interrupt it may be committed although this raises: read the catalog to know.
        """
        with self.only if self.in_memory else contextlib.nullcontext(), typed_sql_errors(self.path):
            self.roll_back()
            self.ensure_writable()
            turn = object()
            try:
                self._turn = turn
                self.main.execute("BEGIN IMMEDIATE")
                self._note_log()
                yield self.main
                self.main.execute("COMMIT")
            except BaseException as error:
                if self._turn is turn:  # else the next one has begun and rolled this one back
                    if leaves_statements(error):
                        self.cut_off = True
                        end_statements(self.main)
                    self.roll_back()
                raise
            self._turn = None

    def roll_back(self) -> None:
        """End a transaction that an interrupt has left open on the writing connection."""
        self._turn = None
        if self.main.in_transaction:
            self.main.execute("ROLLBACK")
        if self.is_impatient:
            self.main.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            self.is_impatient = False


def need_no_lock() -> None:
    """A reader and a database in memory have no lock to lose."""

"""The SQLite catalog: rows, exact tags, full text, journal. The only commit point of a store.

Tables::

    meta       what the store is: format, uuid, model, dimension
    head       one row of counters that every transaction advances
    segment    one row a partition: where it is, what state, how many slots
    record     one slim row a live memory: where its bytes are, times, scopes, mutable block
    content    the wide part of that memory: text, tags, metadata, provenance
    record_tag exact tags, so that a Bloom filter's lie never reaches a user
    fulltext   FTS5 index over content.text (external content: text is stored once)
    journal    redo images of everything that a checkpoint has not yet made durable in a partition
    erasure    ids of which something deleted may be left in some file, and by when it must be gone
    session    one row an opening that committed: its first change, and the last one before it

One connection writes, guarded by the store's lock. Reads use a small pool of further connections,
so that they never wait for the writer; an in-memory catalog has only the one connection.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import quote

from spector._version import __version__
from spector.errors import (
    CatalogCorruptError,
    FormatVersionError,
    StoreClosedError,
    StoreError,
    StoreForkedError,
    StoreFullError,
)
from spector.layout import FORMAT_MINOR, FORMAT_VERSION, MAX_DIM, MUTABLE_BYTES
from spector.process import Sole, WeakList, completed, keeps, managed
from spector.store.catalog.retired import UNKNOWN_MARKS, Marks
from spector.store.files import File, Files, MemoryFile, Watched, identity, refuse_other_than_files
from spector.store.sqlite import (
    SQL_ERRORS,
    Latest,
    Pinning,
    Reading,
    attaching,
    confine,
    connecting,
    end_failed,
    end_statements,
    leaves_statements,
    refuse_harm,
    refuse_planted,
    translated_sql,
)
from spector.store.sqlite import shared_descriptors as raw

__all__ = ["CATALOG_NAME", "FULLTEXT_TOKENIZER", "MOST_SEGMENTS", "SPENT", "Catalog", "Head", "Row",
           "SegmentRow", "StoredRow", "decoded", "rounded", "translated_sql", "verify_stored",
           "way_out"]

CATALOG_NAME = "catalog.db"
#: "SPEC" in SQLite's own header, so that file(1) and a stray open can tell whose database it is
APPLICATION_ID = 0x53504543
#: a longer log is cut to this much when it begins anew, unless ``limit_log`` says otherwise
LEAST_LOG_BYTES = 4 << 20
#: a larger catalog is vacuumed through an (unlinked) temporary file instead of memory
_VACUUM_PAGES_IN_MEMORY = 65_536
_U32 = (1 << 32) - 1
#: no counter of a store gets this far: a writer would soon be out of numbers
SPENT = (1 << 62) - 1
#: how long a statement waits for another process
_PATIENCE_MS = 10_000
#: variables per statement; SQLite allows 32,766 since 3.32, older builds 999
_CHUNK = 900

_LOST_LOG = (
    "close its readers, then this store, which saves what it has committed, and open it again"
)

_PRAGMAS = (
    "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY",
    "cache_size=-16000",
)
_WRITE_AHEAD = "journal_mode=WAL"
_WRITING_PRAGMAS = (
    _WRITE_AHEAD, "secure_delete=ON", f"journal_size_limit={LEAST_LOG_BYTES}",
    "wal_autocheckpoint=0",  # it hides a failed sync; see ``log``
    "fullfsync=ON", "checkpoint_fullfsync=ON",  # only macOS knows a difference; see ``sync``
)
#: durability -> when SQLite syncs, at first (see ``Catalog.relax``); "none" is for a copy that its
#: maker syncs once it is complete
_SYNCHRONOUS = {"strict": "FULL", "relaxed": "FULL", "none": "OFF"}

_catalogs: WeakList[Catalog] = WeakList()
#: files that were open when this process was forked, see ``Catalog.abandon``
_inherited: set[tuple[int, int]] = set()
#: catalogs with a connection that must never be closed, see ``Catalog.close``
_left_open: list[Catalog] = []


def _abandon_in_child() -> None:
    global _catalogs
    inherited, _catalogs = _catalogs, WeakList()  # a thread may have been about to change the list
    for catalog in inherited:
        catalog.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)

FULLTEXT_TOKENIZER = "porter unicode61 remove_diacritics 2"
_FULLTEXT = f"""CREATE VIRTUAL TABLE fulltext USING fts5(
    text, content='content', content_rowid='id',
    tokenize='{FULLTEXT_TOKENIZER}')"""

_SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE head(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last_id INTEGER NOT NULL, change_seq INTEGER NOT NULL, journal_seq INTEGER NOT NULL,
    retire_epoch INTEGER NOT NULL);
INSERT INTO head VALUES (1, 0, 0, 0, 0);
CREATE TABLE segment(
    id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, day INTEGER NOT NULL,
    sequence INTEGER NOT NULL, generation INTEGER NOT NULL, path TEXT NOT NULL,
    state INTEGER NOT NULL, capacity INTEGER NOT NULL, slots INTEGER NOT NULL,
    live INTEGER NOT NULL, change_seq INTEGER NOT NULL, UNIQUE (tier, day, sequence));
CREATE INDEX segment_change ON segment(change_seq);
CREATE TABLE record(
    id INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL, slot INTEGER NOT NULL,
    event_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
    valid_from_ms INTEGER, valid_until_ms INTEGER,
    session_id TEXT, agent_id TEXT, user_id TEXT, mutable BLOB NOT NULL);
CREATE UNIQUE INDEX record_place ON record(segment_id, slot);
CREATE INDEX record_session ON record(session_id) WHERE session_id IS NOT NULL;
CREATE INDEX record_agent ON record(agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX record_user ON record(user_id) WHERE user_id IS NOT NULL;
CREATE INDEX record_from ON record(valid_from_ms) WHERE valid_from_ms IS NOT NULL;
CREATE INDEX record_until ON record(valid_until_ms) WHERE valid_until_ms IS NOT NULL;
CREATE TABLE content(
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, tags TEXT, metadata TEXT,
    role TEXT, source TEXT, parents TEXT, seal INTEGER);
CREATE TABLE record_tag(tag TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tag, id))
    WITHOUT ROWID;
{_FULLTEXT};
CREATE TABLE journal(
    seq INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL, kind INTEGER NOT NULL,
    slot INTEGER NOT NULL, image BLOB NOT NULL);
CREATE TABLE erasure(id INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL);
CREATE TABLE session(first INTEGER PRIMARY KEY, after INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Head:
    """Counters of the store; all only grow."""

    last_id: int
    change_seq: int
    journal_seq: int
    retire_epoch: int


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A partition as the catalog knows it. ``slots - live`` are tombstones."""

    id: int
    tier: int
    day: int
    sequence: int
    generation: int
    path: str
    state: int
    capacity: int
    slots: int
    live: int
    #: change counter of the transaction that touched it last
    change_seq: int = -1

    @property
    def dead(self) -> int:
        return self.slots - self.live


@dataclass(slots=True)
class Row:
    """Everything the catalog knows of one live memory.

    Not frozen: setting sixteen fields of a frozen class is what a bulk append would spend most
    of its own time on.
    """

    id: int
    segment_id: int
    slot: int
    event_ms: int
    recorded_ms: int
    valid_from_ms: int | None
    valid_until_ms: int | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    mutable: bytes
    text: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    role: str | None
    source: str | None
    parents: tuple[int, ...]
    #: ``metadata`` as compact JSON, when that is known already
    metadata_json: str | None = None
    #: the catalog's own values and their seal, for ``verify_row``
    stored: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)


class StoredRow(NamedTuple):
    """``Row`` as the catalog keeps it, in the order of ``ROW_COLUMNS``, with its seal.

    Most recalls want the texts of their hits: taking tags and metadata apart can wait.
    """

    id: int
    segment_id: int
    slot: int
    event_ms: int
    recorded_ms: int
    valid_from_ms: int | None
    valid_until_ms: int | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    mutable: bytes
    text: str
    tags: str | None
    metadata: str | None
    role: str | None
    source: str | None
    parents: str | None
    #: None in a store of format 1
    seal: int | None


_FROM = " FROM record JOIN content ON content.id = record.id"
_FROM_ANY = " FROM record LEFT JOIN content ON content.id = record.id"
ROW_COLUMNS = (
    "record.id, segment_id, slot, event_ms, recorded_ms, valid_from_ms, valid_until_ms,"
    " session_id, agent_id, user_id, mutable, text, tags, metadata, role, source, parents"
)


_raw_decode = json.JSONDecoder().raw_decode


def _from_json(text: str) -> Any:
    """``json.loads`` for what we wrote ourselves: no looking for surrounding white space."""
    if type(text) is str:
        value, end = _raw_decode(text)
        if end == len(text):
            return value
    return json.loads(text)


#: partitions are counted, and the index of words has 31 bits for their numbers
MOST_SEGMENTS = (1 << 31) - 2
#: columns of a segment's row but for its path -> least and greatest value; the partition's header
#: has room for no others
_SEGMENT_BOUNDS = (
    (1, MOST_SEGMENTS), (0, 255), (-(1 << 31), (1 << 31) - 1), (0, _U32), (0, _U32), (0, 4),
    (0, _U32), (0, _U32), (0, _U32), (0, 1 << 62),
)  # fmt: skip


def _segment_row(found: tuple[Any, ...], path: str) -> SegmentRow:
    numbers = (*found[:5], *found[6:])
    if type(found[5]) is not str or not all(
        type(value) is int and low <= value <= high
        for value, (low, high) in zip(numbers, _SEGMENT_BOUNDS, strict=True)
    ):
        raise CatalogCorruptError(
            f"{path}: the row of partition {found[0]!r} is damaged",
            hint="run: spector check PATH; restore a backup, or salvage what there is: spector"
            " check PATH --repair DEST",
        )
    return SegmentRow(*found)


def seal_of(
    record_id: Any, event_ms: Any, recorded_ms: Any, valid_from_ms: Any, valid_until_ms: Any,
    session_id: Any, agent_id: Any, user_id: Any, text: Any, tags: Any, metadata: Any, role: Any,
    source: Any, parents: Any,
) -> int:
    """CRC-32 over all that only the catalog knows of a memory, as it is stored.

    SQLite's pages have no checksums, so a flipped bit of a text would be shown as the text. Places
    and the mutable half are not part of it: they change more often, and partitions prove them.
    """
    line = (
        f"{record_id}|{event_ms}|{recorded_ms}|{valid_from_ms}|{valid_until_ms}|{session_id}|"
        f"{agent_id}|{user_id}|{tags}|{metadata}|{role}|{source}|{parents}|{text}"
    )
    return zlib.crc32(line.encode("utf-8", "surrogatepass"))


def is_sealed(stored: Sequence[Any]) -> bool:
    """False when values in the order of ``ROW_COLUMNS``, seal last, are not what was written.

    Rows of format 1 have none, and pass.
    """
    seal = stored[17]
    # every hit of a recall comes by here: the line of ``seal_of``, without its fourteen arguments
    return seal is None or seal == zlib.crc32(
        (_LINE % _SEALED(stored)).encode("utf-8", "surrogatepass")
    )


_SEALED = itemgetter(0, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 11)
_LINE = "|".join(["%s"] * 14)


def way_out(record_id: Any) -> str:
    """What to do about a damaged memory: what may keep it first, what loses it last."""
    return (
        "salvage what there is, with the store's embedder its vector as well: spector check PATH"
        " --repair DEST"
        + ("" if record_id is None else f"; or give it up: forget({record_id}) drops the memory")
    )


def verify_row(row: Row, where: str) -> None:
    """Raise when the catalog's own part of a memory is not what was written."""
    if row.stored is not None:
        verify_stored(row.stored, where)


def verify_stored(stored: Sequence[Any], where: str) -> None:
    """The same of values in the order of ``ROW_COLUMNS``, seal last."""
    if not is_sealed(stored):
        raise CatalogCorruptError(
            f"{where}: text, tags, times or metadata of memory {stored[0]} are not what was "
            "written",
            hint=way_out(stored[0]),
        )


@keeps(16_384)
def _tags_of(text: str) -> tuple[str, ...]:
    """Tags repeat from record to record; a tuple may be shared, metadata may not."""
    tags = json.loads(text)
    if type(tags) is not list or not all(type(tag) is str for tag in tags):
        raise ValueError("its tags are no list of texts")
    "".join(tags).encode()  # nor is half a surrogate pair a text: SQLite would not take it
    return tuple(tags)


_NUMBERS = frozenset({int, type(None)}).issuperset
_TEXTS = frozenset({str, type(None)}).issuperset


def is_typed(found: Sequence[Any]) -> bool:
    """Whether windows are numbers and scopes, role and source texts, where they are anything.

    A seal does not tell: whoever forges a row seals it.
    """
    return (
        _NUMBERS(map(type, found[5:7])) and _TEXTS(map(type, found[7:10]))
        and _TEXTS(map(type, found[14:16]))
    )


def _refuse_damaged(found: tuple[Any, ...]) -> None:
    """Raise when values that everybody relies on are not of their type."""
    _, segment_id, slot, event_ms, recorded_ms, *_ = found
    if (
        type(found[10]) is not bytes or len(found[10]) != MUTABLE_BYTES
        or type(found[11]) is not str or type(segment_id) is not int or type(slot) is not int
        or type(event_ms) is not int or type(recorded_ms) is not int
        or segment_id < 0 or slot < 0 or not is_typed(found)
    ):
        raise CatalogCorruptError(
            f"the row of memory {found[0]} is damaged", hint="run: spector check PATH"
        )


def _stored_row(found: tuple[Any, ...]) -> StoredRow:
    """The row undecoded; without a seal, only decoding shows damage, so it is tried now."""
    _refuse_damaged(found)
    if found[17] is None:
        decoded(found)
    return tuple.__new__(StoredRow, found)


def decoded(found: tuple[Any, ...]) -> Row:
    """The row that values in the order of ``ROW_COLUMNS``, seal last, mean.

    Raises:
        CatalogCorruptError: they cannot be what was written.
    """
    _refuse_damaged(found)
    tags, metadata, parents = found[12], found[13], found[16]
    try:
        parsed = (
            _tags_of(tags) if tags else (),
            _from_json(metadata) if metadata else {},
            *found[14:16],
            tuple(_from_json(parents)) if parents else (),
            None,
            found,
        )
        if type(parsed[1]) is not dict or not all(type(parent) is int for parent in parsed[4]):
            raise ValueError("its metadata or its parents are of another type")
    except (TypeError, ValueError, RecursionError) as error:
        raise CatalogCorruptError(
            f"the row of memory {found[0]} is damaged: {error}", hint="run: spector check PATH"
        ) from error
    return Row(*found[:12], *parsed)


class Catalog(Sole):
    """The connections to one catalog and the queries that others need by name."""

    def __init__(
        self, path: str, *, mode: str, durability: str, immutable: bool = False
    ) -> None:
        """``immutable`` reads from media that cannot be written, without a log beside the file."""
        self.path = path
        self.in_memory = path == ":memory:"
        self._mode = mode
        self._immutable = immutable
        self._durability = durability
        #: commits are not synced one by one
        self.relaxed = durability == "relaxed" and mode == "rw" and path != ":memory:"
        self._synchronous = _SYNCHRONOUS[durability]
        #: somebody closes it for certain, when it is dropped, too
        self.has_owner = False
        self._connections: list[sqlite3.Connection] = []
        _catalogs.add(self)
        self._pool: list[sqlite3.Connection] = []
        #: number of a connection that is in use -> its holder
        self._lent: dict[int, object] = {}
        self._pool_lock = threading.RLock()  # a signal handler may close a store meanwhile
        #: per thread: the connection of the snapshot it is in
        self.pinned = threading.local()
        #: of the transaction that `writing` is in; anything else that is open was cut off
        self._turn: object | None = None
        #: the writer's patience with readers is not what it should be
        self._impatient = False
        self.only = threading.RLock()  # guards the sole connection of an in-memory catalog
        self._closed = False
        #: an error from outside has left a look at it, and may keep statements running
        self.cut_off = False
        #: closing it must not copy the log
        self._spoilt = False
        #: when its tables were last proved to agree, of the monotonic clock in seconds
        self.agreed_s = -math.inf
        self._file = Watched(
            path, "put it back before the store is closed; one that was deleted lives as long as"
            " this process, to be copied from /proc/PID/fd; else restore a backup",
            "another store was put in its place; close this one and open it again",
        )
        #: the log of a writer, whose connection keeps it from its first transaction to its end
        self._log_file = Watched(f"{path}-wal", _LOST_LOG, _LOST_LOG)
        #: raises when the writer's lock no longer keeps others out
        self.refuse_unlocked: Callable[[], None] = _need_no_lock
        self._row_sql = f"SELECT {ROW_COLUMNS}, seal{_FROM}"
        self.main: sqlite3.Connection
        try:
            with translated_sql(path):
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
            beside = [self.path + end for end in ("", "-wal", "-shm", "-journal")]
            refuse_other_than_files(*beside)
            refuse_harm(self.path)
            self._refuse_unsafe()
            # names of files are bytes, and need not be text
            uri = f"file:{quote(os.fsencode(self.path))}?mode={'ro' if readonly else 'rwc'}"
            if self._immutable:
                uri += "&immutable=1"
        raw.hold(self.path, self)  # before SQLite has any lock on it
        made: list[sqlite3.Connection] = []
        try:
            connection = connecting(
                made, uri, uri=True, check_same_thread=False, timeout=_PATIENCE_MS / 1000,
                cached_statements=256,
            )
            self._connections.append(connection)
            confine(connection)
            if self._durability == "none":
                connection.execute("PRAGMA synchronous=OFF")
            for pragma in (*_PRAGMAS, *(() if readonly else _WRITING_PRAGMAS)):
                answer = connection.execute(f"PRAGMA {pragma}").fetchone()
                if pragma == _WRITE_AHEAD and answer[0] not in ("wal", "memory"):
                    # SQLite tells of this failure, be it of the disk, in no other way
                    raise StoreError(
                        f"{self.path} cannot be given a write-ahead log",
                        hint="try again; if that fails too, look at the disk, or move the store",
                    )
        except BaseException:
            for connection in made:
                self._disconnect(connection)
            raise
        if not self.in_memory:
            self._file.note()
        return connection

    def _refuse_unsafe(self) -> None:
        """Raise where SQLite would go wrong without a word."""
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

        SQLite goes on with it as if nothing had happened, and nobody would ever find it again.
        """
        self._file.refuse_changed()
        self._log_file.refuse_changed()

    def has_lost_log(self) -> bool:
        """Whether only the log is gone: then all that is committed can still be copied from it."""
        if not self._log_file.is_changed() or self._file.is_changed():
            return False
        try:
            self.refuse_unlocked()
        except StoreError:
            return False
        return True

    def ensure_writable(self) -> None:
        """Raise before a commit that would go where nobody finds it, or beside another writer's.

        Commits in a log that has lost its name live as long as the process. So they are copied
        into the catalog at once, as far as readers let them.
        """
        self._file.refuse_changed()
        self.refuse_unlocked()
        try:
            self._log_file.refuse_changed()
        except StoreError:
            with contextlib.suppress(StoreError, *SQL_ERRORS):
                self.marks()
            raise

    def _note_log(self) -> None:
        """In a transaction, or behind one: SQLite makes the log at the first one, if not before."""
        if self._mode == "rw" and not self.in_memory:
            self._log_file.note()

    def _disconnect(self, connection: sqlite3.Connection) -> None:
        """Close a connection. Idempotent."""
        connection.close()
        if connection in self._connections:
            self._connections.remove(connection)
        if not self._connections:
            raw.let_go(self.path, self)

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # one that an interrupt has kept from its owner; its connections are in cycles of their own.
        # An owner that is collected together with it still has to close, and may come later.
        if getattr(self, "_connections", None) and not self.has_owner and not _is_finalizing():
            self._close_all()

    def _close_all(self) -> None:
        for connection in list(self._connections):
            self._disconnect(connection)
        raw.let_go(self.path, self)

    def abandon(self) -> None:
        """In a child after a fork: never close what was inherited.

        The last connection that closes checkpoints and deletes the log. SQLite cannot know that an
        inherited connection is not one, so its close could delete the commits of another writer.

        Nor can the child have connections of its own to that file: SQLite keeps one list of locks
        for each file and process, takes those of its parent for its own, and asks the system for
        none. Its log would be deleted under it, and it would show a moment long gone for ever.
        """
        if self._connections and self._file.identity is not None and not self._immutable:
            _inherited.add(self._file.identity)
        self._closed = True
        for connection in self._connections:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        self._connections.clear()

    # -- life ---------------------------------------------------------------------------------

    def is_new(self) -> bool:
        """True when no schema has been created yet."""
        with translated_sql(self.path):
            found = self.main.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return int(found[0]) == 0

    def create(self, meta: dict[str, str]) -> None:
        """Write the schema and the description of the store, in one transaction."""
        with translated_sql(self.path):
            self.main.execute(f"PRAGMA application_id={APPLICATION_ID}")
            try:
                self.main.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA.split(";"):
                    if statement.strip():
                        self.main.execute(statement)
                self.main.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
                self.main.execute("COMMIT")
            except BaseException:
                if self.main.in_transaction:
                    self.main.execute("ROLLBACK")
                raise

    def set_meta(self, lines: Mapping[str, str | None]) -> None:
        """Write or (None) delete lines about the store; durable with all commits before it."""
        with translated_sql(self.path):
            self.main.execute("PRAGMA synchronous=FULL")
            with self.writing() as connection:
                for key, value in lines.items():
                    connection.execute("DELETE FROM meta WHERE key = ?", (key,))
                    if value is not None:
                        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
            self.main.execute(f"PRAGMA synchronous={self._synchronous}")

    def relax(self) -> None:
        """From now on a relaxed writer's commits are not synced one by one.

        Until the catalog says that there is such a writer, durably, each of them is: the frames
        that a power cut leaves of more than one commit look like damage to the log.
        """
        if self.relaxed:
            self._synchronous = "NORMAL"
            with translated_sql(self.path):
                self.main.execute("PRAGMA synchronous=NORMAL")

    def page_bytes(self) -> int:
        with translated_sql(self.path):
            return self._pragma("page_size")

    def validate(self) -> dict[str, str]:
        """The meta table, after checking that this is a catalog we can read."""
        with translated_sql(self.path):
            application = self.main.execute("PRAGMA application_id").fetchone()[0]
            if application != APPLICATION_ID:
                raise CatalogCorruptError(
                    f"{self.path} is a SQLite database, but not a spector catalog",
                    hint="pass the directory of a spector store",
                )
            refuse_planted(self.main, self.path, _FULLTEXT)
            if self._mode == "rw":
                # SQLite only reads a file that it could not open to write, and says so when it must
                self.main.execute("DELETE FROM meta WHERE 0")
                self._note_log()
            meta = dict(self.main.execute("SELECT key, value FROM meta"))
            self._row_sql = f"SELECT {ROW_COLUMNS}, {self.seal_column()}{_FROM}"
        try:
            version, dim = int(meta["format_version"]), int(meta["dim"])
            minor = int(meta.get("format_minor", 0))
            sound = version >= 1 and minor >= 0 and 1 <= dim <= MAX_DIM
            sound = sound and len(bytes.fromhex(meta["uuid"])) == 16
            sound = sound and all(type(meta[key]) is str for key in ("model_id", "fingerprint"))
        except (KeyError, TypeError, ValueError):
            sound, version, minor = False, 0, 0
        if not sound:
            raise CatalogCorruptError(
                f"{self.path} does not say what store it is",
                hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
            )
        if version > FORMAT_VERSION:
            raise FormatVersionError(
                f"{self.path} has format {version}; spector {__version__} reads up to "
                f"{FORMAT_VERSION}",
                hint="upgrade: pip install -U spector; there is no way back to an older format",
            )
        if (version, minor) > (FORMAT_VERSION, FORMAT_MINOR) and self._mode == "rw":
            raise FormatVersionError(
                f"{self.path} has format {version}.{minor}; spector {__version__} writes "
                f"{FORMAT_VERSION}.{FORMAT_MINOR}, and would not keep up what it does not know",
                hint='upgrade: pip install -U spector; or open it with mode="r"',
            )
        return meta

    def seal_column(self, connection: sqlite3.Connection | None = None) -> str:
        """The column of seals; NULL in a store of format 1, which has none."""
        with translated_sql(self.path):
            columns = (connection or self.main).execute("PRAGMA table_info(content)").fetchall()
        return "seal" if not columns or "seal" in {row[1] for row in columns} else "NULL"

    def close(self, *, failed: bool = False) -> None:
        """Close every connection. Idempotent.

        After a failure (``failed``) the log stays as it is: the last writing connection that closes
        would copy the log into the catalog, and sync once more what may just have failed to be
        synced. That can succeed although the disk has lost the bytes. So a reading connection,
        which cannot copy anything, is made to close last. On a disk that fails for good there may
        be none that still works; then the writing one is never closed.
        """
        self._spoilt = self._spoilt or failed
        completed(self._close)

    def _close(self) -> None:
        with self._pool_lock:
            self._closed = True
            self._pool = []
        if self.cut_off:  # to look for statements takes as long as a collection of cycles
            end_statements(*self._connections)
        # lent ones are among them only where an interrupt has kept a call from giving them back
        others = [each for each in self._connections if each is not self.main]
        writes = self.main in self._connections and self not in _left_open
        if self._spoilt and writes and not self.in_memory and self._mode == "rw":
            for each in others:
                end_failed(each)
            if not any(map(_has_opened, others)):
                with contextlib.suppress(*SQL_ERRORS, StoreError):
                    others.append(self._connect(readonly=True))
            if any(map(_has_opened, others)):
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
        """The catalog's file, to be read byte by byte; nobody may close it, see ``raw``.

        Of a catalog in memory a copy of its pages.
        """
        if self.in_memory:
            with self.only, translated_sql(self.path):
                return MemoryFile(self.main.serialize())
        return raw.raw_file(files, CATALOG_NAME, self.path, self._file.identity)

    def snapshot(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """Until the end, every read that this thread asks of this catalog sees one moment.

        The moment is that of the first read. ``COMMIT`` and ``BEGIN`` on the connection move on.
        """
        return Pinning(self)

    def reading(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        """A connection for reads that nobody else uses meanwhile."""
        return Reading(self)

    def latest(self) -> Latest:
        """The writing connection, to read the latest commit and what a transaction has done since.

        In a reader the one connection that follows the writer.
        """
        return Latest(self)

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
            with translated_sql(self.path):
                connection = self._connect(readonly=True)
        self._lent[id(connection)] = holder
        return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Back to the pool; not in a transaction, which would hold on to the log until the end."""
        end_failed(connection)
        with self._pool_lock:
            self._lent.pop(id(connection), None)
            keep = not (self._closed or connection.in_transaction or len(self._pool) >= 8)
            if keep:
                self._pool.append(connection)
        if not keep:
            self._disconnect(connection)

    def discard(self, connection: sqlite3.Connection, holder: object) -> None:
        """Close what is lent to ``holder``, with whatever statement still runs on it."""
        with self._pool_lock:
            if self._lent.get(id(connection)) is not holder:
                return  # it was given back, and may be lent to another one by now
            del self._lent[id(connection)]
        self.cut_off = True
        end_statements(connection)
        with contextlib.suppress(*SQL_ERRORS):
            self._disconnect(connection)

    @managed
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction on the writing connection: committed, or rolled back on any error.

        After an interrupt it may be committed although this raises: ask the catalog.
        """
        with self.only if self.in_memory else contextlib.nullcontext(), translated_sql(self.path):
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
                if self._turn is turn:  # or the next one has begun, and found this one cut off
                    if leaves_statements(error):
                        self.cut_off = True
                        end_statements(self.main)
                    self.roll_back()
                raise
            self._turn = None

    def roll_back(self) -> None:
        """End what an interrupted transaction has left open on the writing connection."""
        self._turn = None
        if self.main.in_transaction:
            self.main.execute("ROLLBACK")
        if self._impatient:
            self.main.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}")
            self._impatient = False

    def marks(self) -> Marks | None:
        """How much of the log every snapshot of every process sees, after copying that much of it.

        None for a catalog in memory, which has no snapshots. Without a log (some file systems have
        none) no commit succeeds beside a snapshot, so all have seen everything. On a full disk
        nothing may have been copied, which says nothing.
        """
        if self.in_memory:
            return None
        try:
            with translated_sql(self.path):
                found = self.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except StoreFullError:
            return UNKNOWN_MARKS
        busy, frames, copied = found
        if busy:  # somebody else copies right now
            return UNKNOWN_MARKS
        return Marks(frames, copied) if frames >= 0 else Marks(0, 0)

    def vacuum(self) -> tuple[int, int, int]:
        """Rewrite the file without free pages and without what lies in the slack of others.

        Returns its bytes before, of these in free pages, and after. Writers wait meanwhile, and the
        log grows by as much as is left.
        """
        with self.only, translated_sql(self.path):
            self.ensure_writable()
            pages, free = self._pragma("page_count"), self._pragma("freelist_count")
            size = self._pragma("page_size")
            spill = "FILE" if pages > _VACUUM_PAGES_IN_MEMORY else "MEMORY"
            self.main.execute(f"PRAGMA temp_store={spill}")
            with attaching(self.main):
                self.main.execute("VACUUM")
            self.main.execute("PRAGMA temp_store=MEMORY")
            return pages * size, free * size, self._pragma("page_count") * size

    def limit_log(self, bytes_kept: int) -> None:
        """Cut a log that begins anew to this many bytes."""
        with translated_sql(self.path):
            self.main.execute(f"PRAGMA journal_size_limit={bytes_kept}")

    def restart_log(self, patience_ms: int) -> bool:
        """Copy all of the log, and have the next commit begin it anew; waits so long for readers.

        False when one of them looks at an older moment for longer, or the disk is full.
        """
        try:
            with self.only, translated_sql(self.path), self._waiting(patience_ms):
                return not self.main.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0]
        except StoreFullError:
            return False

    @managed
    def _waiting(self, patience_ms: int) -> Iterator[None]:
        """Be so patient with readers, and no more."""
        self._impatient = True
        try:
            self.main.execute(f"PRAGMA busy_timeout={patience_ms}")
            yield
        finally:
            self.main.execute(f"PRAGMA busy_timeout={_PATIENCE_MS}")
            self._impatient = False

    def empty_log(self) -> int | None:
        """Copy the log into the file and cut it to nothing; bytes of the file copied last.

        None when a reader in the middle of a transaction holds on to it, who is not waited for.
        """
        with self.only, translated_sql(self.path):
            if self.in_memory:
                return 0
            size = self._pragma("page_size")
            frames = self.main.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
            with self._waiting(0):
                busy = self.main.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return None if busy else max(0, frames) * size

    def _pragma(self, name: str) -> int:
        return int(self.main.execute(f"PRAGMA {name}").fetchone()[0])

    # -- queries ------------------------------------------------------------------------------

    def head(self, connection: sqlite3.Connection | None = None) -> Head:
        with translated_sql(self.path):
            found = (connection or self.main).execute(
                "SELECT last_id, change_seq, journal_seq, retire_epoch FROM head"
            ).fetchone()
        if found is None or set(map(type, found)) != {int} or min(found) < 0:
            raise CatalogCorruptError(
                f"{self.path} has lost its counters",
                hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
            )
        return Head(*found)

    def segments(
        self, connection: sqlite3.Connection | None = None, *, since: int = -1
    ) -> list[SegmentRow]:
        """Partitions changed after ``since``, in the order of tier, day and sequence."""
        with translated_sql(self.path):
            found = (connection or self.main).execute(
                "SELECT id, tier, day, sequence, generation, path, state, capacity, slots, live,"
                " change_seq FROM segment WHERE change_seq > ? ORDER BY tier, day, sequence",
                (since,),
            ).fetchall()
        return [_segment_row(row, self.path) for row in found]

    def fetch(
        self, ids: Sequence[int], *, sql: str = "1", params: Sequence[Any] = ()
    ) -> dict[int, Row]:
        """Rows of those ids that exist and satisfy the extra condition."""
        with self.reading() as connection:
            found = self._find(connection, ids, sql, params)
            return {each[0]: decoded(each) for each in found}

    def fetch_stored(
        self, ids: Sequence[int], *, sql: str = "1", params: Sequence[Any] = ()
    ) -> dict[int, StoredRow]:
        """The same, undecoded."""
        with self.reading() as connection:
            found = self._find(connection, ids, sql, params)
            return {each[0]: _stored_row(each) for each in found}

    def _find(
        self, connection: sqlite3.Connection, ids: Sequence[int], sql: str, params: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        out: list[tuple[Any, ...]] = []
        for chunk in chunked(ids):
            marks = ",".join("?" * len(chunk))
            out += connection.execute(
                f"{self._row_sql} WHERE record.id IN ({marks}) AND ({sql})", (*chunk, *params)
            )
        return out

    def select(
        self, sql: str, params: Sequence[Any] = (), *, after: int = -1, limit: int = -1
    ) -> list[tuple[Any, ...]]:
        """Rows that satisfy a condition, by ascending id, for ``decoded``.

        A memory whose text is not found where it should be is among them, without it: ``decoded``
        says that it is damaged.
        """
        with self.reading() as connection:
            return connection.execute(
                f"{self._row_sql.replace(_FROM, _FROM_ANY)} WHERE record.id > ? AND ({sql})"
                " ORDER BY record.id LIMIT ?",
                (after, *params, limit),
            ).fetchall()

    def pages(
        self, sql: str, params: Sequence[Any], size: int, *, astray: bool = False
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The same by the page, each of the moment when it is asked for.

        Args:
            astray: keys may be damaged, so the last one may not lead to the next page. All pages
                are of one moment then, and the log is held on to until the end.

        Raises:
            CatalogCorruptError: not ``astray``, and the last key does not lead to the next page.
        """
        if astray:
            with translated_sql(self.path):
                connection = self.borrow(object())  # for longer than the call that asks for a page
                try:
                    found = connection.execute(
                        f"{self._row_sql.replace(_FROM, _FROM_ANY)} WHERE {sql} ORDER BY record.id",
                        tuple(params),
                    )
                    while page := found.fetchmany(size):
                        yield page
                finally:
                    self.give_back(connection)
            return
        after = -1
        while page := self.select(sql, params, after=after, limit=size):
            last = page[-1][0]
            if last <= after:
                raise self.misplaced(last)
            yield page
            after = last
            # a damaged key on the way leads past the place where the next page begins, and then
            # past this memory as well; or it has been forgotten by now
            if not self.select("record.id = ?", (after,), after=after - 1, limit=1):
                self.refuse_hidden([after])

    def misplaced(self, record_id: int) -> CatalogCorruptError:
        """What to raise when a walk comes to a memory for the second time, or too late."""
        return CatalogCorruptError(
            f"{self.path}: the keys of its memories do not ascend at {record_id}",
            hint=way_out(None),
        )

    def places(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[int, int, int]]:
        """(segment id, slot, record id) of every record that satisfies a condition."""
        with self.reading() as connection:
            return connection.execute(
                "SELECT segment_id, slot, record.id FROM record"
                f" JOIN content ON content.id = record.id WHERE {sql}",
                tuple(params),
            ).fetchall()

    def places_of(self, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """id -> (segment id, slot) of those ids that exist."""
        out: dict[int, tuple[int, int]] = {}
        with self.reading() as connection:
            for chunk in chunked(ids):
                marks = ",".join("?" * len(chunk))
                for record_id, segment_id, slot in connection.execute(
                    f"SELECT id, segment_id, slot FROM record WHERE id IN ({marks})", tuple(chunk)
                ):
                    out[record_id] = (segment_id, slot)
        return out

    def refuse_hidden(self, ids: Sequence[int]) -> None:
        """Raise when one of these ids, which were not found, is there and only cannot be reached.

        A damaged key in the table of memories leads the search for others astray. What knows them
        as well is the index of places, which is read from end to end: 80 ms for a million memories.

        Raises:
            CatalogCorruptError: the index of places, or their text, knows of a memory that its
                table does not find.
        """
        for chunk in chunked(ids):
            marks = ",".join("?" * len(chunk))
            with self.reading() as connection:
                hidden = connection.execute(_HIDDEN.format(marks=marks), tuple(chunk) * 2)
                found = hidden.fetchone()
            if found is not None:
                raise CatalogCorruptError(
                    f"{self.path}: one table knows memory {found[0]}, another does not find it",
                    hint=way_out(None),
                )

    def has_validity(self) -> bool:
        """True when any live record has a validity window."""
        with self.reading() as connection:
            found = connection.execute(
                "SELECT EXISTS (SELECT 1 FROM record WHERE valid_until_ms IS NOT NULL)"
                " OR EXISTS (SELECT 1 FROM record WHERE valid_from_ms IS NOT NULL)"
            )
            return bool(found.fetchone()[0])


#: one statement, so of one moment. A plus before a column keeps the planner from searching by it.
_HIDDEN = """SELECT id FROM content WHERE id IN ({marks})
  AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = content.id)
UNION ALL SELECT id FROM record AS place INDEXED BY record_place WHERE +id IN ({marks})
  AND NOT EXISTS (SELECT 1 FROM record JOIN content ON content.id = record.id
                  WHERE record.id = place.id)"""


def _need_no_lock() -> None:
    """In a reader, and in memory."""


def _has_opened(connection: sqlite3.Connection) -> bool:
    """Whether a connection has the catalog open now, so that no other one is the last."""
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except SQL_ERRORS:
        return False
    return True


def chunked(ids: Sequence[int], size: int = _CHUNK) -> Iterator[tuple[int, ...]]:
    """Slices small enough for one statement's variables, see `rounded`."""
    for start in range(0, len(ids), size):
        yield rounded(ids[start : start + size], size)


def rounded(ids: Sequence[int], most: int = _CHUNK) -> tuple[int, ...]:
    """The same set of ids for an ``IN (?, ...)``, as many as a power of two: the last one repeats.

    Each length is a statement of its own. Prepared for 500 ids it takes 100 KB, and a connection
    keeps hundreds of them: a process that asked for sets of any size would grow for hours.
    """
    out = tuple(ids)
    length = min(1 << (len(out) - 1).bit_length(), most) if out else 0
    return out + out[-1:] * max(0, length - len(out))

"""Reading what is left of a damaged store, whatever part of it is damaged.

Nothing here opens the store: the catalog's tables are read row by row, around what cannot be read,
and partitions are read by their own checksums. The source is never written to.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.kernel.crc import crc32c
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    MAX_DIM,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    Flag,
    headers_of,
    stride_of,
)
from spector.store.catalog import CATALOG_NAME
from spector.store.compact import wrong_checksums
from spector.store.connections import connecting
from spector.store.damage import SQL_ERRORS
from spector.store.files import Bytes, DiskFiles
from spector.store.fulltext import has_room, problem_of_schema
from spector.store.guard import refuse_other_than_files
from spector.store.pages import Pages, rows_of
from spector.store.resources import completed
from spector.store.sectors import join, read_around, spans, written
from spector.store.sql import translated_sql
from spector.store.staging import clear
from spector.store.wal import LOG_COPY, Merged, merge

__all__ = ["LostTable", "Remains", "SavedPartition", "read_partition", "read_remains", "read_table",
           "whole_header"]

_MAX_ROWID = (1 << 63) - 1
#: of bytes that somebody damaged; a damaged length asks for more memory than there is
_UNREADABLE = (*SQL_ERRORS, OverflowError, MemoryError)
_LOG = f"{CATALOG_NAME}-wal"
#: what a page is believed to say of the store, if it has the form of such a row
_META = {"format_version", "uuid", "dim", "model_id", "fingerprint"}
#: slots of a partition that no row counts are believed up to this many bytes at once
_READ_BYTES = 64 << 20


@dataclass(slots=True)
class LostTable:
    """A range of a table's rows that cannot be read."""

    table: str
    low: int
    high: int
    reason: str


@dataclass(slots=True)
class Remains:
    """What the catalog still says."""

    meta: dict[str, str] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list)
    #: id -> row
    records: dict[int, dict[str, Any]] = field(default_factory=dict)
    contents: dict[int, dict[str, Any]] = field(default_factory=dict)
    journal: list[dict[str, Any]] = field(default_factory=list)
    last_id: int = 0
    lost: list[LostTable] = field(default_factory=list)
    #: files, and ranges of bytes in them, that the disk cannot read
    unread: list[tuple[str, str]] = field(default_factory=list)
    #: what came of the log
    log: Merged = field(default_factory=Merged)
    #: rows of images of pages that newer ones have replaced, by id: perhaps of a moment ago
    older_records: dict[int, dict[str, Any]] = field(default_factory=dict)
    older_contents: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: id -> what the indexes over the table of records still say of it
    hints: dict[int, dict[str, Any]] = field(default_factory=dict)


def read_remains(files: DiskFiles, scratch: DiskFiles) -> Remains:
    """Every row of the catalog that can be read, from a copy that ``scratch`` has meanwhile.

    SQLite writes beside what it reads; so whoever must not touch a store reads a copy.
    """
    out = Remains()
    refuse_other_than_files(*(f"{files.root}/{name}" for name in (CATALOG_NAME, _LOG)))
    bad: list[tuple[int, int]] = []
    for name in (CATALOG_NAME, _LOG):
        if bad := files.copy_to(scratch, name):
            out.unread.append((name, spans(bad)))
    out.log = merge(scratch, bad)
    _read_all(f"{scratch.root}/{CATALOG_NAME}", out)
    if out.lost or not out.log.exact:
        read_pages(scratch, out)
    clear(scratch)
    return out


def _read_all(path: str, out: Remains) -> None:
    kept: list[sqlite3.Connection] = []
    try:
        with translated_sql(path):
            db = connecting(kept, path)
        for pragma in (
            "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0",
            "locking_mode=EXCLUSIVE",  # no file for shared memory: a full disk reads as damage
        ):
            with contextlib.suppress(*SQL_ERRORS):
                db.execute(f"PRAGMA {pragma}")
        if (problem := problem_of_schema(db)) is not None:
            for table in ("meta", "segment", "record", "content", "journal", "head"):
                out.lost.append(LostTable(table, 0, _MAX_ROWID, problem))
            return
        for row in read_table(db, "meta", out.lost, key=None):
            out.meta[str(row["key"])] = str(row["value"])
        out.segments = list(read_table(db, "segment", out.lost))
        out.records = {row["id"]: row for row in read_table(db, "record", out.lost)}
        out.contents = {row["id"]: row for row in read_table(db, "content", out.lost)}
        out.journal = list(read_table(db, "journal", out.lost, key="seq"))
        for row in read_table(db, "head", out.lost, key="one"):
            _take_head(row, out)
        if any(lost.table == "record" for lost in out.lost):
            _read_indexes(db, out)
    finally:
        for each in kept:
            completed(each.close)


def _take_head(row: dict[str, Any], out: Remains) -> None:
    if type(row["last_id"]) is int and 0 <= row["last_id"] < 1 << 62:
        out.last_id = max(out.last_id, row["last_id"])


def _read_indexes(db: sqlite3.Connection, out: Remains) -> None:
    """What a record's row says in columns that have an index is in that index as well."""
    for column in ("session_id", "agent_id", "user_id", "valid_from_ms", "valid_until_ms"):
        index = "record_" + column.split("_")[column.startswith("valid")]
        try:
            for record_id, value in db.execute(
                f"SELECT id, {column} FROM record INDEXED BY {index} WHERE {column} IS NOT NULL"
            ):
                out.hints.setdefault(record_id, {})[column] = value
        except _UNREADABLE as error:
            _reason(error)


def read_pages(scratch: DiskFiles, out: Remains) -> None:
    """Rows on pages that no tree leads to; and on those of a moment ago, if commits are missing."""
    size = out.log.page_bytes
    if not scratch.exists(CATALOG_NAME):
        return
    with contextlib.closing(scratch.open(CATALOG_NAME, writable=False)) as catalog:
        count = catalog.size() // size
        pages = Pages(lambda page: catalog.read_at((page - 1) * size, size), count, size)
        seen = set(out.log.newest)
        numbers = (*out.log.newest, *(n for n in range(1, count + 1) if n not in seen))
        known = {("segment", row["id"]) for row in out.segments}
        known |= {("journal", row["seq"]) for row in out.journal}
        for number in numbers:
            for table, row in rows_of(pages.read(number), number, pages):
                _take_row(table, row, known, out)
        out.journal.sort(key=lambda row: row["seq"])
        if not out.log.exact and scratch.exists(LOG_COPY):
            with contextlib.closing(scratch.open(LOG_COPY, writable=False)) as log:
                for offset, number in out.log.older:
                    for table, row in rows_of(log.read_at(offset, size), number, pages):
                        if table == "record" and row["id"] not in out.records:
                            out.older_records.setdefault(row["id"], row)
                        elif table == "content" and row["id"] not in out.contents:
                            out.older_contents.setdefault(row["id"], row)


def _take_row(
    table: str, row: dict[str, Any], known: set[tuple[str, int]], out: Remains
) -> None:
    """A row that a page has, unless a tree, or a newer page, has led to one of the same key."""
    if table == "record":
        out.records.setdefault(row["id"], row)
    elif table == "content":
        out.contents.setdefault(row["id"], row)
    elif table in ("segment", "journal"):
        key = table, row["id" if table == "segment" else "seq"]
        if key not in known:
            known.add(key)
            (out.segments if table == "segment" else out.journal).append(row)
    elif table == "head":
        _take_head(row, out)
    elif table == "meta" and row["key"] in _META:
        out.meta.setdefault(row["key"], row["value"])


def read_table(
    db: sqlite3.Connection, table: str, lost: list[LostTable], *, key: str | None = "id"
) -> Iterator[dict[str, Any]]:
    """Rows of a table by ascending key, around those that cannot be read.

    A damaged page ends a walk. The walk then starts again behind it: the distance doubles until
    a row can be read, and halves until no row in between is passed over.
    """
    try:
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    except _UNREADABLE as error:
        lost.append(LostTable(table, 0, _MAX_ROWID, _reason(error)))
        return
    if not names:
        lost.append(LostTable(table, 0, _MAX_ROWID, "the table is gone"))
        return
    if key is None:
        yield from _read_unkeyed(db, table, names, lost)
        return
    low = 0
    while low <= _MAX_ROWID:
        reached, reason = low - 1, ""
        try:
            for each in db.execute(
                f"SELECT * FROM {table} NOT INDEXED WHERE {key} >= ? ORDER BY {key}", (low,)
            ):
                found = dict(zip(names, each, strict=True))
                if not isinstance(found[key], int) or found[key] < low:
                    raise sqlite3.DatabaseError("rows are out of order")
                reached = found[key]
                yield found
            return
        except _UNREADABLE as error:
            reason = _reason(error)
        # the step that failed took the row before with it
        row = _first(db, table, key, reached + 1)
        behind = reached + 1
        if row is not None:
            behind = reached = row[0]
            yield dict(zip(names, row[1:], strict=True))
        following = _next_readable(db, table, key, behind)
        lost.append(LostTable(table, reached + 1, max(reached + 1, following - 1), reason))
        low = following


def _next_readable(db: sqlite3.Connection, table: str, key: str, behind: int) -> int:
    """The smallest key from ``behind`` + 1 on that a walk can start from; 2**63 when none can."""
    last = _last_key(db, table, key)
    low, step = behind, 1
    while True:
        high = min(behind + step, last)
        if high <= low:
            return _MAX_ROWID + 1
        if _readable(db, table, key, high):
            break
        low, step = high, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if _readable(db, table, key, middle):
            high = middle
        else:
            low = middle
    return high


def _reason(error: BaseException) -> str:
    """Why something cannot be read.

    A damaged length makes SQLite ask for more memory than there is, and say no word about it; it
    proves nothing where the process has none.
    """
    if isinstance(error, MemoryError):
        if not has_room():
            try:
                raise error
            finally:
                del error  # its traceback has this frame
        return "there is no memory for what it says it holds"
    return str(error)


def _last_key(db: sqlite3.Connection, table: str, key: str) -> int:
    try:
        found = db.execute(f"SELECT max({key}) FROM {table} NOT INDEXED").fetchone()[0]
    except _UNREADABLE as error:
        _reason(error)
        return _MAX_ROWID
    return found if isinstance(found, int) else -1


def _readable(db: sqlite3.Connection, table: str, key: str, low: int) -> bool:
    return _first(db, table, key, low) is not None


def _first(db: sqlite3.Connection, table: str, key: str, low: int) -> tuple[Any, ...] | None:
    """The key and the columns of the first row from ``low`` on; None if it cannot be read.

    A damaged tree may lead to a row of before, from wherever a search begins: that is none.
    """
    try:
        found: tuple[Any, ...] | None = db.execute(
            f"SELECT {key}, * FROM {table} NOT INDEXED WHERE {key} >= ? ORDER BY {key} LIMIT 1",
            (low,),
        ).fetchone()
    except _UNREADABLE as error:
        _reason(error)
        return None
    return found if found and isinstance(found[0], int) and found[0] >= low else None


def _read_unkeyed(
    db: sqlite3.Connection, table: str, names: Sequence[str], lost: list[LostTable]
) -> Iterator[dict[str, Any]]:
    try:
        for row in db.execute(f"SELECT * FROM {table}"):
            yield dict(zip(names, row, strict=True))
    except _UNREADABLE as error:
        lost.append(LostTable(table, 0, _MAX_ROWID, _reason(error)))


@dataclass(slots=True, eq=False)
class SavedPartition:
    """A partition as its own bytes describe it, the journal laid over."""

    path: str
    tier: int | None
    uuid: bytes
    dim: int
    #: (n, stride) u8
    images: Bytes
    #: (n,): the record's checksum holds
    sound: NDArray[np.bool_]
    #: what is wrong with the file as a whole
    problem: str | None = None
    #: day, sequence, generation: the order in which partitions of a tier are written
    order: tuple[int, int, int] = (0, 0, 0)

    @property
    def headers(self) -> NDArray[np.void]:
        return headers_of(self.images)

    @property
    def alive(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.headers["flags"] & int(Flag.TOMBSTONE)) == 0
        return found


def read_partition(
    files: DiskFiles, path: str, *, uuid: bytes | None, dim: int | None, slots: int | None,
    ahead: bool = False, placed: bool = False,
) -> SavedPartition | None:
    """The records of one file, as many as are there; None when it is not one, or of another store.

    ``uuid``, ``dim`` and ``slots`` are the catalog's; None makes do with the file's own header,
    which then has to be whole. ``ahead``: the header may count more slots than the catalog does.
    ``placed``: others name records by their slots, which stay as they are.
    """
    file = files.open(path, writable=False)
    try:
        # zeros that somebody has made the file longer by are no records
        size = next((high for low, high in written(file) if not low), 0)
        raw, bad = read_around(file, 0, PARTITION_HEADER_BYTES)
        header = whole_header(raw)
        if header is not None and uuid is not None and header["store_uuid"].tobytes() != uuid:
            return None
        if header is None and (uuid is None or dim is None):
            return None
        dim = int(header["dim"]) if dim is None and header is not None else dim
        uuid = header["store_uuid"].tobytes() if uuid is None and header is not None else uuid
        assert dim is not None
        assert uuid is not None
        if not 1 <= dim <= MAX_DIM:
            return None
        stride = stride_of(dim)
        present = max(0, size - PARTITION_HEADER_BYTES) // stride
        counted = slots
        if header is not None and (ahead or counted is None):
            own = int(header["count"]) + int(header["tombstone_count"])
            counted = max(own, counted or 0)
        take = present if counted is None else min(present, counted)
        images = np.zeros((take, stride), dtype=np.uint8)
        step = max(1, _READ_BYTES // stride)
        for start in range(0, take, step):
            count = min(step, take - start)
            data, unread = read_around(
                file, PARTITION_HEADER_BYTES + start * stride, count * stride
            )
            bad = join(bad, unread)
            flat = np.zeros(count * stride, dtype=np.uint8)
            flat[: len(data)] = np.frombuffer(data, dtype=np.uint8)
            images[start : start + count] = flat.reshape(count, stride)
    finally:
        file.close()
    sound = np.ones(take, dtype=bool)
    sound[wrong_checksums(images, uuid)] = False
    # nobody knows how many there are: those that prove themselves, or all up to the last of them
    if counted is None and placed:
        end = int(np.flatnonzero(sound)[-1]) + 1 if sound.any() else 0
        images, sound = images[:end], sound[:end]
    elif counted is None:
        images, sound = images[sound], sound[sound]
    problems = [] if header is not None else ["its header is damaged"]
    if counted is not None and present < counted:
        problems.append(f"it was cut off: {size} bytes, {present} of {counted} records")
    if bad:
        problems.append(f"{spans(bad)} cannot be read from the disk")
    tier = int(images[sound][0, 1]) if sound.any() else None
    order = (0, 0, 0)
    if header is not None:
        order = int(header["day"]), int(header["sequence"]), int(header["generation"])
    problem = "; ".join(problems) or None
    return SavedPartition(path, tier, uuid, dim, images, sound, problem, order)


def whole_header(raw: bytes) -> Any:
    if len(raw) < PARTITION_HEADER_BYTES:
        return None
    header = np.frombuffer(raw, dtype=PARTITION_DTYPE)[0]
    whole = int(header["crc"]) == crc32c(raw[:60]) and int(header["version"]) <= FORMAT_VERSION
    return header if whole and header["stride"] == stride_of(int(header["dim"]) or 1) else None


assert HEADER_BYTES == PARTITION_HEADER_BYTES

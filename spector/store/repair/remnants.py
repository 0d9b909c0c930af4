"""Read what is left of a damaged store, whatever part of it is damaged.

This module does not open the store. It reads the catalog's tables row by row around what cannot be
read, and partitions by their own checksums. It never writes to the source.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.kernel import crc32c
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
from spector.process import completed
from spector.store.backup import clear
from spector.store.catalog import CATALOG_NAME
from spector.store.files import (
    Bytes,
    DiskFiles,
    File,
    describe_ranges,
    join_ranges,
    read_around,
    refuse_other_than_files,
    written_ranges,
)
from spector.store.partitions import wrong_checksums
from spector.store.payloads import PayloadTable, table_named, tables_in
from spector.store.repair.pages import LOG_COPY, Merged, Pages, merge, rows_of
from spector.store.sqlite import (
    MAX_ROWID,
    SQL_ERRORS,
    UNREADABLE,
    LostTable,
    connect_into,
    problem_of_schema,
    read_table,
    reason_of,
    typed_sql_errors,
)

_LOG = f"{CATALOG_NAME}-wal"
_SPOOL = "attachments"
#: keys of ``meta`` whose rows are accepted from a page that no tree leads to
_META = {"format_version", "uuid", "dim", "model_id", "fingerprint"}
#: bytes of a partition that are read at once
_READ_BYTES = 64 << 20


@dataclass(slots=True)
class RecoveredCatalog:
    """All rows of the catalog that could be read."""

    meta: dict[str, str] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list)
    #: id -> row
    records: dict[int, dict[str, Any]] = field(default_factory=dict)
    contents: dict[int, dict[str, Any]] = field(default_factory=dict)
    journal: list[dict[str, Any]] = field(default_factory=list)
    #: table of knowledge -> rows; what is attached to memories is in ``spool``
    knowledge: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    last_id: int = 0
    lost: list[LostTable] = field(default_factory=list)
    #: (file, ranges of bytes in words) that the disk cannot read
    unread: list[tuple[str, str]] = field(default_factory=list)
    #: the result of merging the log
    log: Merged = field(default_factory=Merged)
    #: rows of older page images, by id: they may be out of date
    older_records: dict[int, dict[str, Any]] = field(default_factory=dict)
    older_contents: dict[int, dict[str, Any]] = field(default_factory=dict)
    #: id -> columns that an index of the table of records still has
    hints: dict[int, dict[str, Any]] = field(default_factory=dict)
    spool: Spool | None = None
    _namespaces: dict[int, str] | None = None

    def namespace_of(self, record_id: int) -> str | None:
        """Of the key of a memory, as it is stored; None without a key, or if its entry is damaged."""
        if self._namespaces is None:
            entry = table_named("entry")
            read = [entry.read([*row.values()]) for row in self.knowledge.get("entry", ())]
            self._namespaces = {
                row["id"]: row["namespace"]
                for row, problem in read
                if problem is None and row["record_key"] is not None
            }
        return self._namespaces.get(record_id)

    def close(self) -> None:
        """Let go of what is on disk. Idempotent."""
        if self.spool is not None:
            self.spool.close()


class Spool:
    """Bytes on their way into the new store: together they may not fit into memory.

    The file has no name, so nothing is left of it, however the repair ends.
    """

    def __init__(self, scratch: DiskFiles) -> None:
        self._file = scratch.open(_SPOOL, create=True)
        scratch.remove(_SPOOL)
        self._end = 0

    def take(self, row: dict[str, Any], problem: str | None) -> None:
        """Put the data of a row aside; its ``problem`` is known only while the data is there."""
        data = row["data"]
        self._file.write_at(self._end, data)
        row["data"] = Spooled(self._file, self._end, len(data), problem)
        self._end += len(data)

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True, eq=False)
class Spooled:
    """Bytes that were put aside, and what is wrong with the row that they are of."""

    file: File
    at: int
    size: int
    problem: str | None

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """The bytes, if their row was sound: its new seal does not prove them."""
        return self.file.read_at(self.at, self.size)


def recover_catalog(files: DiskFiles, scratch: DiskFiles) -> RecoveredCatalog:
    """Every row of the catalog that can be read, from a temporary copy in ``scratch``.

    SQLite writes files beside what it reads, so the source is copied first.
    """
    out = RecoveredCatalog()
    refuse_other_than_files(*(f"{files.root}/{name}" for name in (CATALOG_NAME, _LOG)))
    bad: list[tuple[int, int]] = []
    for name in (CATALOG_NAME, _LOG):
        if bad := files.copy_to(scratch, name):
            out.unread.append((name, describe_ranges(bad)))
    out.log = merge(scratch, bad)
    try:
        _read_all(scratch, out)
        if out.lost or not out.log.exact:
            read_pages(scratch, out)
        clear(scratch)
    except BaseException:
        completed(out.close)
        raise
    return out


def _read_all(scratch: DiskFiles, out: RecoveredCatalog) -> None:
    kept: list[sqlite3.Connection] = []
    path = f"{scratch.root}/{CATALOG_NAME}"
    try:
        with typed_sql_errors(path):
            db = connect_into(kept, path)
        for pragma in (
            "trusted_schema=OFF",
            "cell_size_check=ON",
            "mmap_size=0",
            "locking_mode=EXCLUSIVE",  # no shared-memory file: on a full disk it reads as damage
        ):
            with contextlib.suppress(*SQL_ERRORS):
                db.execute(f"PRAGMA {pragma}")
        if (problem := problem_of_schema(db)) is not None:
            for table in ("meta", "segment", "record", "content", "journal", "head"):
                out.lost.append(LostTable(table, 0, MAX_ROWID, problem))
            return
        for row in read_table(db, "meta", out.lost, key=None):
            out.meta[str(row["key"])] = str(row["value"])
        out.segments = list(read_table(db, "segment", out.lost))
        out.records = {row["id"]: row for row in read_table(db, "record", out.lost)}
        out.contents = {row["id"]: row for row in read_table(db, "content", out.lost)}
        out.journal = list(read_table(db, "journal", out.lost, key="seq"))
        for row in read_table(db, "head", out.lost, key="one"):
            _take_head(row, out)
        _read_knowledge(db, scratch, out)
        if any(lost.table == "record" for lost in out.lost):
            _read_indexes(db, out)
    finally:
        for each in kept:
            completed(each.close)


def _read_knowledge(db: sqlite3.Connection, scratch: DiskFiles, out: RecoveredCatalog) -> None:
    """Read the tables of knowledge; which there are is unknown where none can be listed."""
    try:
        tables = tables_in(db)
    except UNREADABLE as error:
        reason_of(error)
        return
    for table in tables:
        key = table.key[0] if table.key[0] in table.owners else None
        found = read_table(db, table.name, out.lost, key=key)
        out.knowledge[table.name] = [_put_aside(table, row, scratch, out) for row in found]


def _put_aside(
    table: PayloadTable, row: dict[str, Any], scratch: DiskFiles, out: RecoveredCatalog
) -> dict[str, Any]:
    """A row of knowledge, whose data is put aside if it is an attachment."""
    if table.name == "attachment" and type(row["data"]) is bytes:
        out.spool = out.spool or Spool(scratch)
        out.spool.take(row, table.read([*row.values()])[1])
    return row


def _take_head(row: dict[str, Any], out: RecoveredCatalog) -> None:
    if type(row["last_id"]) is int and 0 <= row["last_id"] < 1 << 62:
        out.last_id = max(out.last_id, row["last_id"])


def _read_indexes(db: sqlite3.Connection, out: RecoveredCatalog) -> None:
    """Read the indexed columns of records from their indexes."""
    for column in ("session_id", "agent_id", "user_id", "valid_from_ms", "valid_until_ms"):
        index = "record_" + column.split("_")[column.startswith("valid")]
        try:
            for record_id, value in db.execute(
                f"SELECT id, {column} FROM record INDEXED BY {index} WHERE {column} IS NOT NULL"
            ):
                out.hints.setdefault(record_id, {})[column] = value
        except UNREADABLE as error:
            reason_of(error)


def read_pages(scratch: DiskFiles, out: RecoveredCatalog) -> None:
    """Add rows on pages that no tree leads to; with commits missing, also on older page images."""
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
        for name, rows in out.knowledge.items():
            known |= {_key_of(name, row) for row in rows}
        for number in numbers:
            for table, row in rows_of(pages.read(number), number, pages):
                _take_row(table, row, known, scratch, out)
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
    table: str,
    row: dict[str, Any],
    known: set[tuple[Any, ...]],
    scratch: DiskFiles,
    out: RecoveredCatalog,
) -> None:
    """Add a row of a page unless a tree or a newer page had one with the same key."""
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
    elif table == "meta":
        if row["key"] in _META:
            out.meta.setdefault(row["key"], row["value"])
    elif _key_of(table, row) not in known and table_named(table).read([*row.values()])[1] is None:
        known.add(_key_of(table, row))
        row = _put_aside(table_named(table), row, scratch, out)
        out.knowledge.setdefault(table, []).append(row)


def _key_of(table: str, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What identifies a row of knowledge among all."""
    return table, *(row[each] for each in table_named(table).key)


@dataclass(slots=True, eq=False)
class SavedPartition:
    """A partition as its own bytes describe it, with the journal applied."""

    path: str
    tier: int | None
    uuid: bytes
    dim: int
    #: (n, stride) u8
    images: Bytes
    #: (n,) bool: the checksum of the record matches
    sound: NDArray[np.bool_]
    #: what is wrong with the file as a whole
    problem: str | None = None
    #: (day, sequence, generation), in which order the partitions of a tier are written
    order: tuple[int, int, int] = (0, 0, 0)

    @property
    def headers(self) -> NDArray[np.void]:
        return headers_of(self.images)

    @property
    def alive(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self.headers["flags"] & int(Flag.TOMBSTONE)) == 0
        return found


def read_partition(
    files: DiskFiles,
    path: str,
    *,
    uuid: bytes | None,
    dim: int | None,
    slots: int | None,
    ahead: bool = False,
    placed: bool = False,
) -> SavedPartition | None:
    """The records of one file; None when it is not a partition of this store.

    Args:
        uuid, dim, slots: the catalog's; None takes the header's, which then has to be whole.
        ahead: the header may count more slots than the catalog does.
        placed: rows name records by their slots, so slots are kept.
    """
    with contextlib.closing(files.open(path, writable=False)) as file:
        # a hole at the end of the file has no records
        size = next((high for low, high in written_ranges(file) if not low), 0)
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
            bad = join_ranges(bad, unread)
            flat = np.zeros(count * stride, dtype=np.uint8)
            flat[: len(data)] = np.frombuffer(data, dtype=np.uint8)
            images[start : start + count] = flat.reshape(count, stride)
    sound = np.ones(take, dtype=bool)
    sound[wrong_checksums(images, uuid)] = False
    # the count is unknown: take the records with a correct checksum, or all up to the last of them
    if counted is None and placed:
        end = int(np.flatnonzero(sound)[-1]) + 1 if sound.any() else 0
        images, sound = images[:end], sound[:end]
    elif counted is None:
        images, sound = images[sound], sound[sound]
    problems = [] if header is not None else ["its header is damaged"]
    if counted is not None and present < counted:
        problems.append(f"it was cut off: {size} bytes, {present} of {counted} records")
    if bad:
        problems.append(f"{describe_ranges(bad)} cannot be read from the disk")
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

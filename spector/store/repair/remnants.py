"""Read what is left of a damaged store, whatever part of it is damaged.

This module does not open the store. It reads the catalog's tables row by row around what cannot be
read, and partitions by their own checksums. It never writes to the source.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.errors import SpectorError
from spector.layout import MAX_DIM, PARTITION_HEADER_BYTES, Flag, headers_of, stride_of
from spector.process import completed
from spector.store.backup import clear
from spector.store.catalog import CATALOG_NAME, LOG_NAME
from spector.store.files import (
    Bytes,
    DiskFiles,
    File,
    describe_ranges,
    read_raw,
    refuse_other_than_files,
    written_end,
)
from spector.store.partitions import rows_in, unpack_header, wrong_checksums
from spector.store.payloads import PAYLOAD_TABLES, table_named, tables_in
from spector.store.repair.pages import CORE_TABLES, LOG_COPY, Merged, Pages, merge, rows_of
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

_SPOOL = "attachments"
#: keys of ``meta`` whose rows are accepted from a page that no tree leads to
_META = {"format_version", "uuid", "dim", "model_id", "fingerprint"}
#: table -> names of the columns that identify a row
_KEYS = {
    "meta": ("key",),
    "head": ("one",),
    "journal": ("seq",),
    **dict.fromkeys(("segment", "record", "content"), ("id",)),
    **{table.name: table.key for table in PAYLOAD_TABLES},
}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Spooled:
    """The bytes of an attachment, put aside, and what is wrong with the row that they are of.

    All of them together may not fit into memory.
    """

    file: File
    at: int
    size: int
    problem: str | None

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """The bytes, if their row was sound: its new seal does not prove them."""
        return self.file.read_at(self.at, self.size)


@dataclass
class RecoveredCatalog:
    """All rows of the catalog that could be read."""

    #: table -> key -> row; the data of attachments is in ``spool``
    rows: dict[str, dict[Any, Row]] = field(default_factory=lambda: defaultdict(dict))
    lost: list[LostTable] = field(default_factory=list)
    #: (file, ranges of bytes in words) that the disk cannot read
    unread: list[tuple[str, str]] = field(default_factory=list)
    #: the result of merging the log
    log: Merged = field(default_factory=Merged)
    #: table -> id -> row of an older page image, which may be out of date
    older: dict[str, dict[int, Row]] = field(default_factory=lambda: {"record": {}, "content": {}})
    #: id -> columns that an index of the table of records still has
    hints: dict[int, Row] = field(default_factory=lambda: defaultdict(dict))
    #: without a name, so nothing is left of it, however the repair ends
    spool: File | None = None

    @property
    def records(self) -> dict[int, Row]:
        return self.rows["record"]

    @property
    def contents(self) -> dict[int, Row]:
        return self.rows["content"]

    @property
    def segments(self) -> list[Row]:
        return [*self.rows["segment"].values()]

    @property
    def knowledge(self) -> dict[str, list[Row]]:
        """Table of knowledge -> its rows."""
        return {each.name: [*self.rows[each.name].values()] for each in PAYLOAD_TABLES}

    @cached_property
    def meta(self) -> dict[str, str]:
        return {str(key): str(row["value"]) for key, row in self.rows["meta"].items()}

    @property
    def last_id(self) -> int:
        """The greatest id that was given out, as far as a counter says."""
        found = [row["last_id"] for row in self.rows["head"].values()]
        return max([each for each in found if type(each) is int and 0 <= each < 1 << 62], default=0)

    @cached_property
    def _namespaces(self) -> dict[int, str]:
        read = [table_named("entry").read([*row.values()]) for row in self.rows["entry"].values()]
        return {
            row["id"]: row["namespace"]
            for row, problem in read
            if problem is None and row["record_key"] is not None
        }

    def namespace_of(self, record_id: int) -> str | None:
        """Of the key of a memory, as it is stored; None without a key, or if its entry is damaged."""
        return self._namespaces.get(record_id)

    def is_lost(self, table: str, record_id: int | None = None) -> bool:
        """Whether rows of a table cannot be read, or that of one memory."""
        return any(
            lost.table == table and (record_id is None or lost.low <= record_id <= lost.high)
            for lost in self.lost
        )

    def take(self, table: str, row: Row, scratch: DiskFiles) -> None:
        """Add a row unless there is one with its key, which a tree or a newer page had."""
        key = tuple(row[each] for each in _KEYS[table])
        rows, at = self.rows[table], key if len(key) > 1 else key[0]
        if at in rows:
            return
        rows[at] = row
        data = row.get("data")
        if table == "attachment" and type(data) is bytes:
            problem = table_named(table).read([*row.values()])[1]
            if self.spool is None:
                self.spool = scratch.open(_SPOOL, create=True)
                scratch.remove(_SPOOL)
            end = self.spool.size()
            self.spool.write_at(end, data)
            row["data"] = Spooled(self.spool, end, len(data), problem)

    def close(self) -> None:
        """Close the spool. Idempotent."""
        if self.spool is not None:
            self.spool.close()


def recover_catalog(files: DiskFiles, scratch: DiskFiles) -> RecoveredCatalog:
    """Every row of the catalog that can be read, from a temporary copy in ``scratch``.

    SQLite writes files beside what it reads, so the source is copied first.
    """
    out = RecoveredCatalog()
    refuse_other_than_files(*(f"{files.root}/{name}" for name in (CATALOG_NAME, LOG_NAME)))
    bad: list[tuple[int, int]] = []
    for name in (CATALOG_NAME, LOG_NAME):
        if bad := files.copy_to(scratch, name):
            out.unread.append((name, describe_ranges(bad)))
    out.log = merge(scratch, bad)
    try:
        _read_all(scratch, out)
        if (out.lost or not out.log.exact) and scratch.exists(CATALOG_NAME):
            _read_pages(scratch, out)
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
            out.lost += [LostTable(table, 0, MAX_ROWID, problem) for table in CORE_TABLES]
            return
        tables = {table: None if table == "meta" else _KEYS[table][0] for table in CORE_TABLES}
        try:  # which tables of knowledge there are is unknown where none can be listed
            for known in tables_in(db):
                tables[known.name] = known.key[0] if known.key[0] in known.owners else None
        except UNREADABLE as error:
            reason_of(error)
        for table, key in tables.items():
            for row in read_table(db, table, out.lost, key=key):
                out.take(table, row, scratch)
        if out.is_lost("record"):
            _read_indexes(db, out)
    finally:
        for each in kept:
            completed(each.close)


def _read_indexes(db: sqlite3.Connection, out: RecoveredCatalog) -> None:
    """Read the indexed columns of records from their indexes."""
    for column in ("session_id", "agent_id", "user_id", "valid_from_ms", "valid_until_ms"):
        index = "record_" + column.split("_")[column.startswith("valid")]
        try:
            for record_id, value in db.execute(
                f"SELECT id, {column} FROM record INDEXED BY {index} WHERE {column} IS NOT NULL"
            ):
                out.hints[record_id][column] = value
        except UNREADABLE as error:
            reason_of(error)


def _read_pages(scratch: DiskFiles, out: RecoveredCatalog) -> None:
    """Add rows on pages that no tree leads to; with commits missing, also on older page images."""
    size = out.log.page_bytes
    with contextlib.closing(scratch.open(CATALOG_NAME, writable=False)) as catalog:
        count = catalog.size() // size
        pages = Pages(lambda page: catalog.read_at((page - 1) * size, size), count, size)
        for number in dict.fromkeys((*out.log.newest, *range(1, count + 1))):
            for table, row in rows_of(pages.read(number), number, pages):
                if table == "meta":
                    is_right = row["key"] in _META
                else:
                    values = [*row.values()]
                    is_right = table in CORE_TABLES or table_named(table).read(values)[1] is None
                if is_right:
                    out.take(table, row, scratch)
        out.rows["journal"] = dict(sorted(out.rows["journal"].items()))
        if not out.log.exact and scratch.exists(LOG_COPY):
            with contextlib.closing(scratch.open(LOG_COPY, writable=False)) as log:
                for offset, number in out.log.older:
                    for table, row in rows_of(log.read_at(offset, size), number, pages):
                        if table in out.older and row["id"] not in out.rows[table]:
                            out.older[table].setdefault(row["id"], row)


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
    header = whole_header(read_raw(files, path, PARTITION_HEADER_BYTES).data)
    if header is not None:
        if uuid not in (None, header["store_uuid"]):
            return None
        uuid, dim = header["store_uuid"], header["dim"] if dim is None else dim
    if uuid is None or dim is None or not 1 <= dim <= MAX_DIM:
        return None
    stride, counted = stride_of(dim), slots
    with contextlib.closing(files.open(path, writable=False)) as file:
        size = written_end(file)  # a hole at the end of the file has no records
    present = max(0, size - PARTITION_HEADER_BYTES) // stride
    if header is not None and (ahead or counted is None):
        counted = max(header["count"] + header["tombstone_count"], counted or 0)
    take = present if counted is None else min(present, counted)
    raw = read_raw(files, path, PARTITION_HEADER_BYTES + take * stride)
    images = rows_in(raw.data[PARTITION_HEADER_BYTES:], take, stride)
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
    if raw.bad:
        bad = describe_ranges([(each.low, each.high) for each in raw.bad])
        problems.append(f"{bad} cannot be read from the disk")
    tier = int(images[sound][0, 1]) if sound.any() else None
    order = (0, 0, 0)
    if header is not None:
        order = header["day"], header["sequence"], header["generation"]
    problem = "; ".join(problems) or None
    return SavedPartition(path, tier, uuid, dim, images, sound, problem, order)


def whole_header(raw: bytes) -> dict[str, Any] | None:
    """The fields of a partition's header; None if it is not whole."""
    with contextlib.suppress(SpectorError):
        header = unpack_header(raw, where="", uuid=None)
        if header["stride"] == stride_of(header["dim"] or 1):
            return header
    return None

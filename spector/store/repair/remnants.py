"""Read what is left of a damaged store, whatever part of it is damaged.

This module does not open the store. It reads the catalog's tables row by row around what cannot be
read, and partitions by their own checksums. It never writes to the source.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.errors import SpectorError
from spector.layout import MAX_DIM, PARTITION_HEADER_BYTES, Flag, headers_of, stride_of
from spector.process import completed
from spector.store.backup import clear
from spector.store.catalog import CATALOG_NAME, LOG_NAME, schema
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
from spector.store.payloads import (
    PAYLOAD_TABLES,
    table_named,
    tables_in,
)
from spector.store.sqlite import (
    MAX_ROWID,
    SQL_ERRORS,
    UNREADABLE,
    LostTable,
    connect_into,
    problem_of_schema,
    read_frames,
    read_head,
    read_table,
    reason_of,
    typed_sql_errors,
    varint,
)

# Read rows of the catalog directly from SQLite pages that no B-tree leads to any more.
#
# A damaged root page hides all rows of a table, although they are whole on their own pages. So every
# page that looks like a leaf is read: the schema is known, and the rows of each table have a form
# that no other table's have. Whether a row is right is for others to prove (seals, places,
# checksums). Reading terminates quickly whatever the bytes are.
#
# The layout is that of sqlite.org/fileformat2.html: 1.6 (B-tree pages) and 2.1 (record format).

_TABLE_LEAF: Final = 0x0D
_INDEX_LEAF: Final = 0x0A
#: its cells are rows as well, each behind the number of a page
_INDEX_INTERIOR: Final = 0x02
#: page 1 begins with the header of the whole file
_FILE_HEADER: Final = 100
_MAX_VALUE: Final = 256 << 20
_MAX_COLUMNS: Final = 16
_INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}
_FLOAT: Final = 7

#: table -> names of the columns that identify a row
_KEYS = {
    "meta": ("key",),
    "head": ("one",),
    "journal": ("seq",),
    **dict.fromkeys(("segment", "record", "content"), ("id",)),
    **{table.name: table.key for table in PAYLOAD_TABLES},
}

#: type of a column -> whether a value of a serial type may stand in it
_FITS: Final[dict[str, Callable[[int], bool]]] = {
    "INTEGER": lambda kind: kind in _INTEGER_BYTES,
    "REAL": lambda kind: kind in _INTEGER_BYTES or kind == _FLOAT,
    "TEXT": lambda kind: kind >= 13 and kind % 2 == 1,
    "BLOB": lambda kind: kind >= 12 and kind % 2 == 0,
}


class _Form(NamedTuple):
    """What the rows of a table look like on their pages."""

    columns: tuple[str, ...]
    #: type of each column, and whether it may be NULL
    kinds: tuple[tuple[str, bool], ...]
    #: its key is the rowid, and stored as NULL
    by_rowid: bool

    def fits(self, kinds: list[int], table_leaf: bool) -> bool:
        return (self.by_rowid, len(self.kinds)) == (table_leaf, len(kinds)) and all(
            optional if kind == 0 else _FITS[wanted](kind)
            for (wanted, optional), kind in zip(self.kinds, kinds, strict=True)
        )


def _forms() -> dict[str, _Form]:
    """Table -> its form, from the statements that make a new catalog."""
    out = {}
    payloads = (table.statements()[0] for table in PAYLOAD_TABLES)
    for statement in (*schema.SCHEMA.split(";"), *payloads):
        made = re.match(r"\s*CREATE TABLE (\w+)", statement)
        found = re.findall(r"(\w+) (INTEGER|REAL|TEXT|BLOB)( PRIMARY KEY| NOT NULL)?", statement)
        if made is not None and made[1] in _KEYS:
            by_rowid = "WITHOUT ROWID" not in statement
            kinds = [
                (kind, not must or (by_rowid and not n)) for n, (_, kind, must) in enumerate(found)
            ]
            out[made[1]] = _Form(tuple(name for name, *_ in found), tuple(kinds), by_rowid)
    return out


#: tables whose rows a repair reads, besides those of knowledge
CORE_TABLES: Final = ("meta", "segment", "record", "content", "journal", "head")
_FORMS: Final = _forms()
#: table -> its columns in order
COLUMNS: Final = {table: form.columns for table, form in _FORMS.items()}


class Pages:
    """Pages by number, with a limit on the overflow pages that may be followed in total."""

    def __init__(self, read: Callable[[int], bytes], count: int, size: int) -> None:
        self.read, self.count, self.size = read, count, size
        #: a page belongs to one chain; four times as many allow for pages that hostile bytes share
        self._budget = 4 * count + 64

    def chain(self, page: int, length: int) -> bytes:
        """``length`` bytes of an overflow chain that begins at ``page``; IndexError without them."""
        out = bytearray()
        while len(out) < length:
            self._budget -= 1
            data = self.read(page) if self._budget >= 0 and 1 < page <= self.count else b""
            if len(data) < self.size:
                raise IndexError("a chain that leads nowhere")
            out += data[4 : 4 + length - len(out)]
            page = int.from_bytes(data[:4], "big")
        return bytes(out)


def rows_of(page: bytes, number: int, pages: Pages) -> Iterator[tuple[str, dict[str, Any]]]:
    """(table, row) of each cell of a page that has the form of a row of the schema."""
    start = _FILE_HEADER if number == 1 else 0
    kinds = (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR)
    if len(page) < pages.size or page[start] not in kinds:
        return
    table_leaf, skip = page[start] == _TABLE_LEAF, 4 * (page[start] == _INDEX_INTERIOR)
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + 8 + skip
    for at in range(first, min(first + 2 * count, len(page) - 1), 2):
        with contextlib.suppress(IndexError, UnicodeDecodeError):
            cell = int.from_bytes(page[at : at + 2], "big") + skip
            found = _cell(page, cell, table_leaf, pages)
            if found is not None:
                yield found


def _cell(
    page: bytes, at: int, table_leaf: bool, pages: Pages
) -> tuple[str, dict[str, Any]] | None:
    """IndexError, UnicodeDecodeError: it is no cell."""
    length, at = varint(page, at)
    key, at = varint(page, at) if table_leaf else (0, at)
    if not 0 < length <= _MAX_VALUE or key >= 1 << 63:
        return None
    local = _local_bytes(length, pages.size, table_leaf)
    payload = page[at : at + local]
    kinds, behind = _serial_types(payload)
    table = next((name for name, form in _FORMS.items() if form.fits(kinds, table_leaf)), None)
    if table is None or len(payload) < local:
        return None
    if local < length:
        first = int.from_bytes(page[at + local : at + local + 4], "big")
        payload += pages.chain(first, length - local)
    values = _values(payload, behind, kinds)
    if table_leaf:
        values[0] = key
    for n, (kind, _) in enumerate(_FORMS[table].kinds):
        if kind == "REAL" and type(values[n]) is int:
            values[n] = float(values[n])  # a whole number is stored as one
    return table, dict(zip(COLUMNS[table], values, strict=True))


def _local_bytes(length: int, size: int, table_leaf: bool) -> int:
    """How many bytes of a payload are on the page itself."""
    most = size - 35 if table_leaf else (size - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (size - 12) * 32 // 255 - 23
    some = least + (length - least) % (size - 4)
    return some if some <= most else least


def _serial_types(payload: bytes) -> tuple[list[int], int]:
    """The serial types of a row's values, and where these begin; none if it is no row of ours."""
    end, at = varint(payload, 0)
    kinds: list[int] = []
    while at < end <= len(payload) and len(kinds) <= _MAX_COLUMNS:
        kind, at = varint(payload, at)
        kinds.append(kind)
    return (kinds if at == end else []), end


def _values(payload: bytes, at: int, kinds: list[int]) -> list[Any]:
    out: list[Any] = []
    for kind in kinds:
        size = (kind - 12) // 2 if kind >= 12 else _INTEGER_BYTES.get(kind, 8 * (kind == _FLOAT))
        raw = payload[at : at + size]
        if len(raw) < size:
            raise IndexError("a value that is cut off")
        at += size
        if kind == 0:
            out.append(None)
        elif kind == _FLOAT:
            out.append(struct.unpack(">d", raw)[0])
        elif kind >= 12:
            out.append(raw if kind % 2 == 0 else raw.decode())
        else:
            out.append(kind - 8 if kind in (8, 9) else int.from_bytes(raw, "big", signed=True))
    return out


# Merge a copy of a write-ahead log into a copy of its catalog, beyond what SQLite would read.
#
# SQLite drops everything after the first damaged frame of its log. But each frame's checksum
# continues from the one stored before it, so every later frame can be verified by itself, and a page
# that a later frame has again is not lost. So the newest image of each page goes into the copy of the
# catalog; the image that it replaces stays in the copy of the log, where it can be searched.
#
# A power cut leaves a torn end, too: parts of one transaction that was never acknowledged. If only
# such a part follows the damage, the copy stays as SQLite would read it.

#: the copy of the log, under a name that SQLite ignores
LOG_COPY: Final = f"{CATALOG_NAME}.old"
_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_DEFAULT_PAGE: Final = 4096
_Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Merged:
    """The result of merging a log."""

    page_bytes: int = _DEFAULT_PAGE
    #: byte of the first frame that SQLite would drop although commits follow
    damaged_at: int | None = None
    #: commits after that place
    commits: int = 0
    #: no commit is missing, as far as the log can tell
    exact: bool = True
    #: numbers of the pages of which the log had images, the last written first
    newest: list[int] = field(default_factory=list)
    #: (offset in ``LOG_COPY``, page number) of replaced images, newest first
    older: list[tuple[int, int]] = field(default_factory=list)


def merge(scratch: DiskFiles, unread: Sequence[tuple[int, int]]) -> Merged:
    """Merge the copies in ``scratch``; ``unread`` are byte ranges of the log that read as zeros.

    Nothing is changed without a log, or with one that makes no sense.
    """
    if not scratch.exists(LOG_NAME):
        return Merged()
    create = not scratch.exists(CATALOG_NAME)
    with (
        contextlib.closing(scratch.open(LOG_NAME)) as log,
        contextlib.closing(scratch.open(CATALOG_NAME, create=create)) as catalog,
    ):
        out = Merged(page_bytes=_page_bytes(catalog, log))
        _Merge(catalog, log, unread, out).run()
        out.exact = out.exact and not (create and log.size())
    scratch.replace(LOG_NAME, LOG_COPY)
    return out


def _page_bytes(catalog: File, log: File) -> int:
    said = [int.from_bytes(log.read_at(8, 4), "big"), int.from_bytes(catalog.read_at(16, 2), "big")]
    said = [65_536 if size == 1 else size for size in said]
    return next((s for s in said if s in {1 << n for n in range(9, 17)}), _DEFAULT_PAGE)


class _Merge:
    def __init__(
        self, catalog: File, log: File, unread: Sequence[tuple[int, int]], out: Merged
    ) -> None:
        self._catalog, self._log, self._unread, self._out = catalog, log, unread, out
        self._size = _FRAME_HEAD + out.page_bytes
        head = log.read_at(0, _HEAD)
        self._sound, order, salts = read_head(head)
        frames = read_frames(log, head, out.page_bytes, order, salts if self._sound else None)
        self._heads, self._linked = frames
        if not self._sound and len(self._heads):  # those of most frames
            values, counts = np.unique(self._heads["salts"], return_counts=True)
            salts = int(values[np.argmax(counts)])
        self._fit: _Flags = (self._heads["page"] != 0) & (self._heads["salts"] == salts)
        self._commit: _Flags = self._fit & (self._heads["size_after"] != 0)

    def run(self) -> None:
        shown, out = self._shown(), self._out
        behind = np.flatnonzero(self._commit)
        behind = behind[behind >= shown]
        end = int(behind[-1]) + 1 if len(behind) else shown
        out.exact = not self._is_cut(end)
        unpaired: list[int] = []
        if end > shown:
            out.damaged_at, out.commits = self._damaged_at(shown), len(behind)
            if not self._is_whole(shown, end):
                out.exact = False
                if len(behind) == 1:
                    unpaired, end = [n for n in range(shown, end) if self._fit[n]], shown
        self._write([n for n in range(end) if self._fit[n]], unpaired)

    def _shown(self) -> int:
        """How many frames SQLite would read."""
        if not self._sound:  # it takes the log for an empty one
            return 0
        whole = self._fit & self._linked
        valid = len(whole) if whole.all() else int(np.argmin(whole))
        ends = np.flatnonzero(self._commit[:valid])
        return int(ends[-1]) + 1 if len(ends) else 0

    def _damaged_at(self, shown: int) -> int:
        broken = np.flatnonzero(~(self._fit & self._linked)[shown:])
        first = shown + int(broken[0]) if len(broken) else shown
        return _HEAD + first * self._size if self._sound else 0

    def _is_whole(self, shown: int, end: int) -> bool:
        """True when the newest image of each page of these frames has a correct checksum."""
        here = slice(shown, end)
        newest = dict(zip(self._heads["page"][here].tolist(), self._linked[here], strict=True))
        return bool(self._fit[here].all()) and all(newest.values())

    def _is_cut(self, end: int) -> bool:
        """True when the disk cannot read what follows, which may be more of the log."""
        for n in range(end, len(self._fit) + 1):
            low = _HEAD + n * self._size
            if any(a < low + self._size and low < b for a, b in self._unread):
                return True
            if n < len(self._fit) and not self._fit[n]:
                return False
        return False

    def _write(self, frames: list[int], unpaired: list[int]) -> None:
        """Swap the newest image of each page with what the catalog has in its place."""
        heads, size, out = self._heads, self._out.page_bytes, self._out
        # a catalog grows by no more pages than were written
        most = self._catalog.size() // size + len(heads)
        newest = {int(heads["page"][n]): n for n in frames if heads["page"][n] <= most}
        out.older = [
            (self._at(n), int(heads["page"][n]))
            for n in (*reversed(unpaired), *reversed(frames))
            if newest.get(int(heads["page"][n])) != n
        ]
        out.newest = sorted(newest, key=lambda page: -newest[page])
        for page, n in newest.items():
            old = self._catalog.read_at((page - 1) * size, size)
            self._catalog.extend(page * size)
            self._catalog.write_at((page - 1) * size, self._log.read_at(self._at(n), size))
            if len(old) == size:
                self._log.write_at(self._at(n), old)
                out.older.append((self._at(n), page))
        sizes = [int(heads["size_after"][n]) for n in frames if self._commit[n]]
        self._settle_header(sizes[-1] if sizes and sizes[-1] <= most else 0)

    def _at(self, n: int) -> int:
        return _HEAD + n * self._size + _FRAME_HEAD

    def _settle_header(self, pages: int) -> None:
        """Write the header for a database without a log, with the page count of the last commit."""
        head = bytearray(self._catalog.read_at(0, 100))
        if not head.startswith(b"SQLite format 3\0"):
            return
        head[18:20] = b"\x01\x01"
        if pages:
            head[28:32] = pages.to_bytes(4, "big")
            head[92:96] = head[24:28]
        self._catalog.write_at(0, bytes(head))


_SPOOL = "attachments"
#: keys of ``meta`` whose rows are accepted from a page that no tree leads to
_META = {"format_version", "uuid", "dim", "model_id", "fingerprint"}
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
        key = tuple(row.get(each) for each in _KEYS[table])
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

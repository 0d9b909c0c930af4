"""Pages of a damaged catalog: those that no B-tree leads to any more, and those of its log."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spector.store.catalog import CATALOG_NAME, LOG_NAME, schema
from spector.store.files import DiskFiles, File
from spector.store.payloads import KEYS, KNOWLEDGE, PAYLOAD_TABLES, make_tables
from spector.store.sqlite import open_connection, read_frames, read_head, varint

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
    with open_connection(":memory:") as db:
        schema.create_tables(db, {})
        for group in (KNOWLEDGE, KEYS):
            make_tables(db, group)
        for table in (*CORE_TABLES, *(each.name for each in PAYLOAD_TABLES)):
            found = db.execute(f"PRAGMA table_info({table})").fetchall()
            keys = [kind for _, _, kind, _, _, key in found if key]
            by_rowid = keys == ["INTEGER"]
            kinds = [
                (kind, not must or bool(by_rowid and key)) for _, _, kind, must, _, key in found
            ]
            out[table] = _Form(tuple(each[1] for each in found), tuple(kinds), by_rowid)
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
        found = read_frames(log, head, out.page_bytes, order, salts if self._sound else None)
        self._heads, self._linked = found.heads, found.linked
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

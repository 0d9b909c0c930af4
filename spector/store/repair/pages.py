"""Pages of a damaged catalog: those that no B-tree leads to any more, and those of its log."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.layout import MUTABLE_BYTES
from spector.store.catalog import CATALOG_NAME, ROW, WORDS, SegmentRow
from spector.store.files import DiskFiles, File
from spector.store.payloads import PAYLOAD_TABLES, PayloadTable
from spector.store.sqlite import read_frames, read_head

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
_KNOWLEDGE: Final = {table.name: table for table in PAYLOAD_TABLES}

#: table -> its columns in order; the key of the first five is the rowid
COLUMNS: Final = {
    "record": ROW,
    "content": ("id", *WORDS, "seal"),
    "segment": SegmentRow.__slots__,
    "journal": ("seq", "segment_id", "kind", "slot", "image"),
    "head": ("one", "last_id", "change_seq", "journal_seq", "retire_epoch"),
    "meta": ("key", "value"),
    **{name: (*table.names, "seal") for name, table in _KNOWLEDGE.items()},
}


class Pages:
    """Pages by number, with a limit on the overflow pages that may be followed in total."""

    def __init__(self, read: Callable[[int], bytes], count: int, size: int) -> None:
        self.read, self.count, self.size = read, count, size
        #: a page belongs to one chain; four times as many allow for pages that hostile bytes share
        self._budget = 4 * count + 64

    def chain(self, first: int, length: int) -> bytes | None:
        """``length`` bytes of an overflow chain that begins at ``first``; None if they are missing."""
        out = bytearray()
        page = first
        while len(out) < length:
            self._budget -= 1
            if self._budget < 0 or not 1 < page <= self.count:
                return None
            data = self.read(page)
            if len(data) < self.size:
                return None
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
        found = _cell(page, int.from_bytes(page[at : at + 2], "big") + skip, table_leaf, pages)
        if found is not None:
            yield found


def _cell(
    page: bytes, at: int, table_leaf: bool, pages: Pages
) -> tuple[str, dict[str, Any]] | None:
    length, at = _varint(page, at)
    key = 0
    if table_leaf:
        key, at = _varint(page, at)
    if at >= len(page) or not 0 < length <= _MAX_VALUE or key >= 1 << 63:
        return None
    local = _local_bytes(length, pages.size, table_leaf)
    if at + local > len(page):
        return None
    head = page[at : at + local]
    kinds = _serial_types(head)
    table = _table_of(kinds, table_leaf) if kinds else None
    if table is None:
        return None
    payload = head
    if local < length:
        more = pages.chain(int.from_bytes(page[at + local : at + local + 4], "big"), length - local)
        if more is None:
            return None
        payload = head + more
    values = _values(payload, kinds)
    if values is None:
        return None
    if table_leaf:
        values[0] = key
    row = dict(zip(COLUMNS[table], values, strict=False))
    for column in _KNOWLEDGE[table].columns if table in _KNOWLEDGE else ():
        if column.kind is float and type(row[column.name]) is int:
            row[column.name] = float(row[column.name])  # a whole number is stored as one
    return table, row


def _local_bytes(length: int, size: int, table_leaf: bool) -> int:
    """How many bytes of a payload are on the page itself."""
    most = size - 35 if table_leaf else (size - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (size - 12) * 32 // 255 - 23
    some = least + (length - least) % (size - 4)
    return some if some <= most else least


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, end) of a varint; (0, end of the data) when it is cut off."""
    value = 0
    for n in range(9):
        if at + n >= len(data):
            return 0, len(data)
        byte = data[at + n]
        if n == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    raise AssertionError


def _serial_types(payload: bytes) -> list[int]:
    """The serial types of a row's values; empty when it is not a row of the schema."""
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    if end > len(payload):
        return []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
        if len(kinds) > _MAX_COLUMNS:
            return []
    return kinds if at == end else []


def _table_of(kinds: list[int], table_leaf: bool) -> str | None:
    """The table whose rows have values of these types."""
    if not table_leaf:
        is_meta = len(kinds) == 2 and all(map(_is_text, kinds))
        return "meta" if is_meta else _knowledge_of(kinds, table_leaf)
    if kinds[0] != 0:  # an integer primary key is the rowid and stored as NULL
        return None
    count = len(kinds)
    if count == 11 and all(map(_is_int, kinds[1:5])):
        if _is_text(kinds[5]) and all(map(_is_int, kinds[6:])):
            return "segment"
        optional = all(k == 0 or _is_int(k) for k in kinds[5:7])
        optional = optional and all(k == 0 or _is_text(k) for k in kinds[7:10])
        return "record" if optional and kinds[10] == 12 + 2 * MUTABLE_BYTES else None
    if count in (7, 8) and _is_text(kinds[1]):
        words = all(k == 0 or _is_text(k) for k in kinds[2:7])
        return "content" if words and all(k == 0 or _is_int(k) for k in kinds[7:]) else None
    if count == 5 and all(map(_is_int, kinds[1:4])):
        if _is_int(kinds[4]):
            return "head"
        return "journal" if kinds[4] >= 12 and kinds[4] % 2 == 0 else None
    return _knowledge_of(kinds, table_leaf)


def _knowledge_of(kinds: list[int], table_leaf: bool) -> str | None:
    """The table of knowledge whose rows have values of these types."""
    return next(
        (name for name, table in _KNOWLEDGE.items() if _fits(table, kinds, table_leaf)), None
    )


def _fits(table: PayloadTable, kinds: list[int], table_leaf: bool) -> bool:
    by_rowid = len(table.key) == 1  # its key is the rowid, stored as NULL
    if by_rowid != table_leaf or len(kinds) != len(table.columns) + 1 or not _is_int(kinds[-1]):
        return False
    for n, (column, kind) in enumerate(zip(table.columns, kinds[:-1], strict=True)):
        if kind == 0:
            fine = column.optional or (by_rowid and n == 0)
        elif column.kind is str:
            fine = _is_text(kind)
        elif column.kind is bytes:
            fine = kind >= 12 and kind % 2 == 0
        else:
            fine = _is_int(kind) or (column.kind is float and kind == _FLOAT)
        if not fine:
            return False
    return True


def _is_int(kind: int) -> bool:
    return kind in _INTEGER_BYTES


def _is_text(kind: int) -> bool:
    return kind >= 13 and kind % 2 == 1


def _values(payload: bytes, kinds: list[int]) -> list[Any] | None:
    at, _ = _varint(payload, 0)
    out: list[Any] = []
    for kind in kinds:
        size = (kind - 12) // 2 if kind >= 12 else _INTEGER_BYTES.get(kind, 8 * (kind == _FLOAT))
        raw = payload[at : at + size]
        if len(raw) < size:
            return None
        at += size
        if kind == 0:
            out.append(None)
        elif kind == _FLOAT:
            out.append(struct.unpack(">d", raw)[0])
        elif kind >= 12 and kind % 2 == 0:
            out.append(raw)
        elif kind >= 13:
            try:
                out.append(raw.decode())
            except UnicodeDecodeError:
                return None
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
    name = f"{CATALOG_NAME}-wal"
    if not scratch.exists(name):
        return Merged()
    create = not scratch.exists(CATALOG_NAME)
    with (
        contextlib.closing(scratch.open(name)) as log,
        contextlib.closing(scratch.open(CATALOG_NAME, create=create)) as catalog,
    ):
        out = Merged(page_bytes=_page_bytes(catalog, log))
        work = _Merge(catalog, log, unread, out)
        work.run()
        out.exact = out.exact and not (create and log.size())
    scratch.replace(name, LOG_COPY)
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
        if not self._sound:
            salts = _likely_salts(self._heads["salts"])
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
        broken = ~(self._fit & self._linked)
        broken[:shown] = False
        first = int(np.argmax(broken)) if broken.any() else shown
        return _HEAD + first * self._size if self._sound else 0

    def _is_whole(self, shown: int, end: int) -> bool:
        """True when the newest image of each page of these frames has a correct checksum."""
        newest: dict[int, bool] = {}
        for n in range(shown, end):
            if not self._fit[n]:  # its page number is unknown
                return False
            newest[int(self._heads["page"][n])] = bool(self._linked[n])
        return all(newest.values())

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


def _likely_salts(salts: NDArray[np.uint64]) -> int:
    """The salts of most frames, for a log whose header is damaged; 0 without frames."""
    if not len(salts):
        return 0
    values, counts = np.unique(salts, return_counts=True)
    return int(values[np.argmax(counts)])

"""Read rows of the catalog directly from SQLite pages that no B-tree leads to any more.

A damaged root page hides all rows of a table, although they are whole on their own pages. So every
page that looks like a leaf is read: the schema is known, and the rows of each table have a form
that no other table's have. Whether a row is right is for others to prove (seals, places,
checksums). Reading terminates quickly whatever the bytes are.

The layout is that of sqlite.org/fileformat2.html: 1.6 (B-tree pages) and 2.1 (record format).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from spector.layout import MUTABLE_BYTES
from spector.store.payloads import PAYLOAD_TABLES, PayloadTable

__all__ = ["COLUMNS", "Pages", "rows_of"]

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
    "record": (
        "id",
        "segment_id",
        "slot",
        "event_ms",
        "recorded_ms",
        "valid_from_ms",
        "valid_until_ms",
        "session_id",
        "agent_id",
        "user_id",
        "mutable",
    ),
    "content": ("id", "text", "tags", "metadata", "role", "source", "parents", "seal"),
    "segment": (
        "id",
        "tier",
        "day",
        "sequence",
        "generation",
        "path",
        "state",
        "capacity",
        "slots",
        "live",
        "change_seq",
    ),
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

"""Rows of the catalog: decoded, checked for type, proved by their seal; inserted and changed."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from spector.errors import CatalogCorruptError
from spector.kernel.contract import record_mask
from spector.layout import MUTABLE_BYTES
from spector.messages import counted
from spector.process import keeps
from spector.store.files import CHECK, CHECK_OR_SALVAGE, SALVAGE
from spector.store.payloads import delete_owned
from spector.store.sqlite import id_chunks

#: no counter of a store reaches this: a writer would soon run out of numbers
SPENT: Final = (1 << 62) - 1
_U32: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Head:
    """Counters of the store; all only grow."""

    last_id: int
    change_seq: int
    journal_seq: int
    retire_epoch: int


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """A partition as the catalog describes it. ``slots - live`` are tombstones."""

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
    #: change counter of the last transaction that touched it
    change_seq: int = -1

    @property
    def dead(self) -> int:
        return self.slots - self.live


@dataclass(slots=True)
class Row:
    """Everything the catalog stores about one live memory.

    Not frozen: setting sixteen fields of a frozen class would dominate the time of a bulk append.
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
    #: ``metadata`` as compact JSON, if it has been encoded already
    metadata_json: str | None = None
    #: the values as stored and their seal, for ``verify_row``
    stored: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)


class StoredRow(NamedTuple):
    """``Row`` as the catalog stores it, in the order of ``ROW_COLUMNS``, with its seal.

    Most recalls need only the texts of their hits, so tags and metadata are decoded later.
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
    seal: int | None


FROM: Final = " FROM record JOIN content ON content.id = record.id"
FROM_ANY: Final = " FROM record LEFT JOIN content ON content.id = record.id"
#: columns of ``record`` and, but for the id and the seal, of ``content``
ROW: Final = StoredRow._fields[:11]
WORDS: Final = StoredRow._fields[11:17]
ROW_COLUMNS: Final = f"record.id, {', '.join((*ROW[1:], *WORDS))}"
#: columns of ``record`` that a seal covers: places and the mutable half change more often, and the
#: partition proves them
SEALED: Final = tuple(name for name in ROW if name not in ("segment_id", "slot", "mutable"))


_raw_decode = json.JSONDecoder().raw_decode


def _from_json(text: str) -> Any:
    """``json.loads`` for text that we wrote: it skips the search for surrounding white space."""
    if type(text) is str:
        value, end = _raw_decode(text)
        if end == len(text):
            return value
    return json.loads(text)


#: the word index has 31 bits for a partition's number
MOST_SEGMENTS: Final = (1 << 31) - 2
#: least and greatest value of a segment row's columns without its path, as the partition's header
#: can hold them
_SEGMENT_BOUNDS: Final = (
    (1, MOST_SEGMENTS),
    (0, 255),
    (-(1 << 31), (1 << 31) - 1),
    (0, _U32),
    (0, _U32),
    (0, 4),
    (0, _U32),
    (0, _U32),
    (0, _U32),
    (0, 1 << 62),
)


def decode_head(found: tuple[Any, ...] | None, path: str) -> Head:
    """The counters of a ``head`` row, or None for a missing row.

    Raises:
        CatalogCorruptError: they are missing, or not non-negative integers.
    """
    if found is None or set(map(type, found)) != {int} or min(found) < 0:
        raise CatalogCorruptError(f"{path} has lost its counters", hint=SALVAGE)
    return Head(*found)


def decode_segment(found: tuple[Any, ...], path: str) -> SegmentRow:
    """The partition of a ``segment`` row, whose every value has been checked.

    Raises:
        CatalogCorruptError: a value is not one that a partition can have.
    """
    numbers = (*found[:5], *found[6:])
    if type(found[5]) is not str or not all(
        type(value) is int and low <= value <= high
        for value, (low, high) in zip(numbers, _SEGMENT_BOUNDS, strict=True)
    ):
        raise CatalogCorruptError(
            f"{path}: the row of partition {found[0]!r} is damaged", hint=CHECK_OR_SALVAGE
        )
    return SegmentRow(*found)


def seal_of(*values: Any) -> int:
    """CRC-32 over the values of ``SEALED`` and ``WORDS``, which only the catalog has.

    SQLite's pages have no checksums, so a flipped bit of a text would be shown as the text.
    """
    line = _LINE % (*values[:8], *values[9:], values[8])
    return zlib.crc32(line.encode("utf-8", "surrogatepass"))


def is_sealed(stored: Sequence[Any]) -> bool:
    """False when values in the order of ``ROW_COLUMNS``, seal last, are not what was written."""
    line = (_LINE % _SEALED(stored)).encode("utf-8", "surrogatepass")
    return bool(stored[17] == zlib.crc32(line))


_SEALED = itemgetter(0, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 11)
_LINE = "|".join(["%s"] * 14)


def recovery_hint(record_id: Any) -> str:
    """What to do about a damaged memory: first what may keep it, last what drops it."""
    return (
        "salvage what there is, with the store's embedder its vector as well: spector check PATH"
        " --repair DEST"
        + ("" if record_id is None else f"; or give it up: forget({record_id}) drops the memory")
    )


def verify_row(row: Row, where: str) -> None:
    """Raise when the catalog's part of a memory is not what was written."""
    if row.stored is not None:
        verify_stored(row.stored, where)


def verify_stored(stored: Sequence[Any], where: str) -> None:
    """The same for values in the order of ``ROW_COLUMNS``, seal last."""
    if not is_sealed(stored):
        raise CatalogCorruptError(
            f"{where}: text, tags, times or metadata of memory {stored[0]} are not what was "
            "written",
            hint=recovery_hint(stored[0]),
        )


def verify_all(rows: Iterable[StoredRow], where: str) -> None:
    """The same for many: every hit of a recall is checked here, without a call for each."""
    for row in rows:
        if row[17] != zlib.crc32((_LINE % _SEALED(row)).encode("utf-8", "surrogatepass")):
            verify_stored(row, where)


@keeps(16_384)
def _tags_of(text: str) -> tuple[str, ...]:
    """Tags repeat from record to record: a tuple can be shared, a metadata dict cannot."""
    tags = json.loads(text)
    if type(tags) is not list or not all(type(tag) is str for tag in tags):
        raise ValueError("its tags are not a list of texts")
    "".join(tags).encode()  # raises on half a surrogate pair, which SQLite would refuse
    return tuple(tags)


_NUMBERS = frozenset({int, type(None)}).issuperset
_TEXTS = frozenset({str, type(None)}).issuperset


def is_typed(found: Sequence[Any]) -> bool:
    """Whether validity times are integers, and scopes, role and source texts, or NULL.

    A seal does not prove that: a forged row can have a matching seal.
    """
    return (
        _NUMBERS(map(type, found[5:7]))
        and _TEXTS(map(type, found[7:10]))
        and _TEXTS(map(type, found[14:16]))
    )


def _refuse_damaged(found: tuple[Any, ...]) -> None:
    """Raise when a value of another type than its column's would break its readers."""
    _, segment_id, slot, event_ms, recorded_ms, *_ = found
    if (
        type(found[10]) is not bytes
        or len(found[10]) != MUTABLE_BYTES
        or type(found[11]) is not str
        or type(segment_id) is not int
        or type(slot) is not int
        or type(event_ms) is not int
        or type(recorded_ms) is not int
        or segment_id < 0
        or slot < 0
        or not is_typed(found)
    ):
        raise CatalogCorruptError(f"the row of memory {found[0]} is damaged", hint=CHECK)


#: types of rows that passed: few, because only a value that may be NULL has more than one
_passed: Final[set[tuple[type, ...]]] = set()
_MOST_PASSED: Final = 1024


def stored_rows(found: Iterable[tuple[Any, ...]]) -> dict[int, StoredRow]:
    """Rows undecoded, by id.

    Every hit of a recall comes here, so rows of types that have passed before are not looked at
    value by value.
    """
    out: dict[int, StoredRow] = {}
    for row in found:
        types = tuple(map(type, row))
        if types not in _passed or row[1] < 0 or row[2] < 0 or len(row[10]) != MUTABLE_BYTES:
            _refuse_damaged(row)
            if len(_passed) < _MOST_PASSED:
                _passed.add(types)
        out[row[0]] = tuple.__new__(StoredRow, row)
    return out


def decode_row(found: tuple[Any, ...]) -> Row:
    """The row of values in the order of ``ROW_COLUMNS``, seal last.

    Raises:
        CatalogCorruptError: the values cannot be what was written.
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
            f"the row of memory {found[0]} is damaged: {error}", hint=CHECK
        ) from error
    return Row(*found[:12], *parsed)


# Proves by the seal which words, row and record belong to one memory.

#: an id is a millisecond followed by this many bits, a counter within a batch
_ID_BITS: Final = 10
#: milliseconds by which a batch may have run ahead of the clock
_COUNTED_ON: Final = 64


def is_sealed_pair(row: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    """Whether the seal proves that these words and this row were written together."""
    values = [row.get(name) for name in ROW] + [words.get(name) for name in WORDS]
    if not is_typed(values):
        return False
    try:
        fine = isinstance(words["text"], str) and all(
            _is_json_of(words[name], kind, item)
            for name, kind, item in (
                ("tags", list, str),
                ("metadata", dict, str),
                ("parents", list, int),
            )
            if words.get(name)
        )
    except (ValueError, TypeError, RecursionError):
        return False
    return fine and is_sealed([*values, words.get("seal")])


def _is_json_of(text: Any, kind: type[Any], item: type) -> bool:
    """Whether a text is JSON of a list or dictionary with items or keys of one type."""
    value: Any = json.loads(text)
    if not isinstance(value, kind) or not all(type(each) is item for each in value):
        return False
    if item is str:
        "".join(value).encode()  # half a surrogate pair is a ValueError, too
    return True


def row_of_words(
    record_id: int, event_ms: int, hints: Mapping[str, Any], words: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The lost row of some words, rebuilt from what is left beside it; None without proof.

    Scopes and validity are in indexes of their own (``hints``), and the id holds the time of
    recording. The seal proves the result, so words without a seal have no row.
    """
    if type(words.get("seal")) is not int:
        return None
    given = record_id >> _ID_BITS
    for recorded_ms in (event_ms, *range(given, max(-1, given - _COUNTED_ON), -1)):
        row = {"id": record_id, "event_ms": event_ms, "recorded_ms": recorded_ms, **hints}
        if is_sealed_pair(row, words):
            return row
    return None


def bloom(row: Mapping[str, Any], words: Mapping[str, Any], namespace: str | None) -> int:
    """The Bloom filter of a memory."""
    tags = json.loads(words["tags"]) if words.get("tags") else ()
    return record_mask(
        tags, row.get("user_id"), row.get("agent_id"), row.get("session_id"), namespace
    )


Columns = Mapping[str, list[Any]]

#: rows of one INSERT; eleven columns each stay below the 999 variables of older SQLite
_ROWS_AT_ONCE = 64

#: columns of a record that change with it
_MOVING = tuple(name for name in ROW if name not in ("id", "recorded_ms"))
_moving, _sealed = attrgetter(*_MOVING), attrgetter(*SEALED)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def to_json(value: Any) -> str | None:
    """Compact JSON text, or None for an empty container."""
    return _encode(value) if value else None


@keeps(16_384)
def tags_json(tags: tuple[str, ...]) -> str | None:
    """``to_json`` of tags, cached because they repeat from record to record."""
    return to_json(tags)


def insert_rows(
    db: sqlite3.Connection, record: Columns, content: Columns, tags: Sequence[tuple[str, ...]]
) -> None:
    """Insert records with content, exact tags and full text, by ascending id.

    Args:
        record, content: a list for every column of the table that is not NULL throughout; the
            mutable blocks as bytearrays (see ``_insert``), tags, metadata and parents as JSON.
        tags: the exact tags of every record.
    """
    _insert(db, "record", record)
    nothing = [None] * len(record["id"])
    columns = [record.get(name, nothing) for name in SEALED]
    columns += [content.get(name, nothing) for name in WORDS]
    _insert(db, "content", {**content, "seal": list(map(seal_of, *columns))})
    _insert_tags(db, record["id"], tags)
    _insert_fulltext(db, content["id"], content["text"])


def _insert(db: sqlite3.Connection, table: str, columns: Columns) -> None:
    """Insert rows given by columns of equal length, leaving out a column that is all None.

    Binding None or bytes takes the sqlite3 module ten times as long as an int, because it first
    looks for an adapter; it does not for a bytearray.
    """
    given = {name: each for name, each in columns.items() if each.count(None) < len(each)}
    values = chain.from_iterable(zip(*given.values(), strict=True))
    count, width = len(columns["id"]), len(given)
    into = f"INSERT INTO {table}({', '.join(given)}) VALUES "
    row = f"({', '.join('?' * width)})"
    if count >= _ROWS_AT_ONCE:
        rows = zip(*[values] * (_ROWS_AT_ONCE * width), strict=False)
        db.executemany(
            into + ", ".join([row] * _ROWS_AT_ONCE), islice(rows, count // _ROWS_AT_ONCE)
        )
    db.executemany(into + row, zip(*[values] * width, strict=True))


def _insert_tags(
    db: sqlite3.Connection, ids: Sequence[int], tags: Sequence[tuple[str, ...]]
) -> None:
    """Insert exact tags; many records share few tags, and the table is ordered by tag."""
    by_tag: dict[str, list[int]] = defaultdict(list)
    for record_id, each in zip(ids, tags, strict=True):
        for tag in each:
            by_tag[tag].append(record_id)
    if 2 * len(by_tag) > sum(map(len, by_tag.values())):
        db.executemany(
            "INSERT INTO record_tag VALUES (?, ?)",
            [(tag, record_id) for tag, members in by_tag.items() for record_id in members],
        )
    else:
        db.executemany(
            "INSERT INTO record_tag SELECT ?, value FROM json_each(?)",
            [(tag, str(by_tag[tag])) for tag in sorted(by_tag)],
        )


def _insert_fulltext(db: sqlite3.Connection, ids: Sequence[int], texts: Sequence[str]) -> None:
    """Index the text of records whose content has been inserted."""
    if ids[-1] - ids[0] == len(ids) - 1:  # they ascend, so no other id lies between them
        db.execute(
            "INSERT INTO fulltext(rowid, text) SELECT id, text FROM content"
            " WHERE id BETWEEN ? AND ?",
            (ids[0], ids[-1]),
        )
    else:
        db.executemany(
            "INSERT INTO fulltext(rowid, text) VALUES (?, ?)", zip(ids, texts, strict=True)
        )


def delete_rows(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Delete records with everything that the catalog has about them."""
    found = list(rows)
    db.executemany(
        "INSERT INTO fulltext(fulltext, rowid, text) VALUES ('delete', ?, ?)",
        [(row.id, row.text) for row in found],
    )
    tags = [(tag, row.id) for row in found for tag in row.tags]
    db.executemany("DELETE FROM record_tag WHERE tag = ? AND id = ?", tags)
    for chunk in id_chunks([row.id for row in found]):
        marks = ",".join("?" * len(chunk))
        for table in ("content", "record"):
            gone = db.execute(f"DELETE FROM {table} WHERE id IN ({marks})", tuple(chunk)).rowcount
            if gone != len(set(chunk)):  # a damaged key hid one: the error rolls back
                raise CatalogCorruptError(
                    f"the table {table} finds {gone} of {counted(len(set(chunk)), 'memory')} to be"
                    " forgotten",
                    hint=recovery_hint(None),
                )
    delete_owned(db, {row.id for row in found})


def update_row(db: sqlite3.Connection, before: Row, after: Row) -> None:
    """Bring a record's row, content, tags and full text to the state of ``after``."""
    if before.text != after.text:
        db.execute(
            "INSERT INTO fulltext(fulltext, rowid, text) VALUES ('delete', ?, ?)",
            (before.id, before.text),
        )
        db.execute("INSERT INTO fulltext(rowid, text) VALUES (?, ?)", (after.id, after.text))
    if before.tags != after.tags:
        gone, new = set(before.tags) - set(after.tags), set(after.tags) - set(before.tags)
        db.executemany(
            "DELETE FROM record_tag WHERE tag = ? AND id = ?", [(tag, before.id) for tag in gone]
        )
        db.executemany("INSERT INTO record_tag VALUES (?, ?)", [(tag, before.id) for tag in new])
    own = (
        after.text,
        tags_json(after.tags),
        to_json(after.metadata),
        after.role,
        after.source,
        to_json(after.parents),
    )
    seal = seal_of(*_sealed(after), *own)
    content = dict(zip(WORDS, own, strict=True), seal=seal)
    record = dict(zip(_MOVING, _moving(after), strict=True))
    for table, values in (("content", content), ("record", record)):
        sets = ", ".join(f"{name} = ?" for name in values)
        db.execute(f"UPDATE {table} SET {sets} WHERE id = ?", (*values.values(), after.id))


def set_mutable(db: sqlite3.Connection, blocks: Iterable[tuple[int, bytes]]) -> None:
    """Store new mutable blocks, (id, 24 bytes) each."""
    db.executemany("UPDATE record SET mutable = ? WHERE id = ?", [(b, i) for i, b in blocks])


def move_rows(db: sqlite3.Connection, moves: Sequence[tuple[int, int, int]]) -> None:
    """Point records, (id, segment id, slot) each, at the slots of a rewritten partition.

    Places are unique, and a rewrite permutes them within one partition, so the old ones are first
    made negative.
    """
    db.executemany("UPDATE record SET slot = -1 - slot WHERE id = ?", [(m[0],) for m in moves])
    db.executemany(
        "UPDATE record SET segment_id = ?, slot = ? WHERE id = ?", [(s, n, i) for i, s, n in moves]
    )

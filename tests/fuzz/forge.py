"""Forged files and catalog rows of a store, with valid checksums.

The first checksum stops a flipped bit, but not an attacker. So each change is followed by all sums
that cover it, up to the list of words that names a block's sum, the copy of a strength in the
catalog and the seal of a row. The store may then show whatever was forged.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from spector.kernel.checksum import crc32c, crc32c_rows
from spector.kernel.contract.index import INDEX_DTYPE
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, PARTITION_HEADER_BYTES, stride_of
from spector.lexical.block import LEXICAL_DTYPE, LEXICAL_HEADER_BYTES
from spector.lexical.files import NAMED_DTYPE, ROWS_DTYPE
from spector.store.catalog.rows import ROW_COLUMNS, seal_of
from spector.store.words import LIST
from tests.cases import Cases
from tests.crash.workload import DIM
from tests.store.damage import Patient

cases = Cases(__file__)


__all__ = ["Picks", "forge", "reseal"]

_STRIDE: Final = stride_of(DIM)
_RECORD_CRC: Final = slice(36, 40)
#: powers of two and their neighbours; the others are floats that are no numbers, or the largest
_WORDS: Final = (
    *range(4),
    *((1 << bits) - less for bits in (7, 8, 16, 31, 32, 62, 63) for less in (0, 1)),
    (1 << 64) - 1,
    *(0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF),
)
_NUMBERS: Final = (
    *(-1, 0, 1, 2, 5, 255, 0.5, 1e308, float("inf"), float("-inf"), None),
    *(sign << bits for bits in (31, 32, 53, 62) for sign in (1, -1)),
    *((1 << 63) - 1, -(1 << 63)),
    *(253402300800000, -62135596800001),  # ms of the first year that is not, and of the last
)
_TEXTS: Final = (
    *cases.rows("texts"),
    "[" * 3000,
    '{"a":' * 3000,
    "9" * 5000,
    "[" + "9" * 5000 + "]",
    "semantic/" + "a" * 300 + ".mem",
    "z" * 70_000,
)
_BLOBS: Final = (b"", b"\0", bytes(24), b"\xff" * 24, b"[1]", bytes(64), b"\xff" * 128, bytes(5000))
_TABLES: Final = tuple(
    (
        "meta head segment record content record_tag journal erasure session "
        "fulltext_data fulltext_idx fulltext_docsize fulltext_config"
    ).split()
)
_LINK: Final = struct.Struct("<I")


class Picks(Protocol):
    """Where choices come from: the fuzzer's bytes, or dice. The names are Atheris's."""

    def ConsumeIntInRange(self, low: int, high: int, /) -> int: ...
    def ConsumeBytes(self, count: int, /) -> bytes: ...
    def ConsumeBool(self) -> bool: ...
    def PickValueInList(self, values: list[Any], /) -> Any: ...


def forge(patient: Patient, picks: Picks) -> set[int]:
    """Change a store in one to four places; returns the memories that may have been changed."""
    touched: set[int] = set()
    with contextlib.closing(_catalog(patient)) as db, contextlib.suppress(sqlite3.Error):
        uuid = bytes.fromhex(db.execute("SELECT value FROM meta WHERE key = 'uuid'").fetchone()[0])
        for _ in range(picks.ConsumeIntInRange(1, 4)):
            if picks.ConsumeBool():
                touched |= _forge_row(db, patient, picks)
            else:
                touched |= _forge_file(db, patient, picks, uuid)
    return touched


def _catalog(patient: Patient) -> sqlite3.Connection:
    db = sqlite3.connect(patient.root / "catalog.db", isolation_level=None)
    for pragma in ("synchronous=OFF", "ignore_check_constraints=ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


# -- files ------------------------------------------------------------------------------------


def _forge_file(db: sqlite3.Connection, patient: Patient, picks: Picks, uuid: bytes) -> set[int]:
    kind = picks.PickValueInList([".mem", ".idx", ".lex"])
    name = picks.PickValueInList([n for n in patient.names if n.endswith(kind)])
    path = patient.root / name
    if not path.is_file():
        return set()
    image = bytearray(path.read_bytes())
    touched: set[int] = set()
    for _ in range(picks.ConsumeIntInRange(1, 3)):
        most = max(len(image) - 1, 0)
        near = min(most, 2 * PARTITION_HEADER_BYTES - 1)  # where the numbers are that count others
        at = picks.ConsumeIntInRange(0, near if picks.ConsumeBool() else most)
        size = picks.PickValueInList([1, 2, 4, 8])
        at -= at % size if picks.ConsumeBool() else 0
        word = picks.PickValueInList(list(_WORDS))
        value = word.to_bytes(8, "little")[:size]
        if picks.ConsumeBool():
            value = picks.ConsumeBytes(size)
        image[at : at + len(value)] = value
        if kind == ".mem" and at + size > PARTITION_HEADER_BYTES:
            slots = {(x - PARTITION_HEADER_BYTES) // _STRIDE for x in (at, at + len(value))}
            touched |= _strengths(db, name, image, slots)
    if picks.ConsumeIntInRange(0, 9) == 0:
        del image[picks.ConsumeIntInRange(0, len(image)) :]
    elif picks.ConsumeIntInRange(0, 9) == 0:
        image += picks.ConsumeBytes(200)
    path.write_bytes(reseal(name, image, uuid, patient.root))
    return touched


def _strengths(db: sqlite3.Connection, name: str, image: bytearray, slots: set[int]) -> set[int]:
    """Write the mutable halves into the catalog, too; returns the memories in these slots."""
    touched = set()
    for slot in slots:
        at = PARTITION_HEADER_BYTES + slot * _STRIDE
        half = bytes(image[at + MUTABLE_OFFSET : at + HEADER_BYTES])
        place = (slot, name)
        where = "slot = ? AND segment_id = (SELECT id FROM segment WHERE path = ?)"
        touched |= {n for (n,) in db.execute(f"SELECT id FROM record WHERE {where}", place)}
        if len(half) == HEADER_BYTES - MUTABLE_OFFSET:
            db.execute(f"UPDATE record SET mutable = ? WHERE {where}", (half, *place))
    return touched


def reseal(name: str, image: bytearray, uuid: bytes, root: Path) -> bytes:
    """The bytes of a file with every checksum in it made to fit, and those in other files, too."""
    if name.endswith(".mem"):
        _reseal_partition(image, uuid)
        index = root / f"{name.removesuffix('.mem')}.idx"
        if index.is_file():  # which proves the records' checksums
            index.write_bytes(_reseal_index(bytearray(index.read_bytes()), bytes(image)))
    elif name.endswith(".idx"):
        partition = root / f"{name.removesuffix('.idx')}.mem"
        _reseal_index(image, partition.read_bytes() if partition.is_file() else b"")
    elif name == LIST:
        _reseal_body(image, ROWS_DTYPE)
    else:
        _reseal_body(image, LEXICAL_DTYPE)
        _name_block(int(name[-12:-4]), image, root / LIST)
    return bytes(image)


def _reseal_partition(image: bytearray, uuid: bytes) -> None:
    if len(image) >= PARTITION_HEADER_BYTES:
        _LINK.pack_into(image, 60, crc32c(bytes(image[:60])))
    for at in range(PARTITION_HEADER_BYTES, len(image) - _STRIDE + 1, _STRIDE):
        record = np.frombuffer(bytes(image[at : at + _STRIDE]), np.uint8).reshape(1, -1)
        _LINK.pack_into(image, at + _RECORD_CRC.start, int(crc32c_rows(record, seed=uuid)[0]))


def _reseal_index(image: bytearray, partition: bytes) -> bytearray:
    if len(image) >= INDEX_DTYPE.itemsize:
        header = np.frombuffer(bytes(image[: INDEX_DTYPE.itemsize]), INDEX_DTYPE)[0]
        body = np.frombuffer(partition[PARTITION_HEADER_BYTES:], np.uint8)
        rows = min(int(header["rows"]), len(body) // _STRIDE)
        sums = body[: rows * _STRIDE].reshape(rows, _STRIDE)[:, _RECORD_CRC]
        _LINK.pack_into(image, _offset(INDEX_DTYPE, "records_crc"), crc32c(sums.tobytes()))
        _reseal_body(image, INDEX_DTYPE)
    return image


def _reseal_body(image: bytearray, dtype: np.dtype[Any]) -> None:
    size = dtype.itemsize
    if len(image) >= size:
        _LINK.pack_into(image, _offset(dtype, "body_crc"), crc32c(bytes(image[size:])))
        end = _offset(dtype, "header_crc")
        _LINK.pack_into(image, end, crc32c(bytes(image[:end])))


def _name_block(number: int, block: bytearray, path: Path) -> None:
    """The list of words names the sum of each block's body."""
    if len(block) < LEXICAL_HEADER_BYTES or not path.is_file():
        return
    rows = bytearray(path.read_bytes())
    begin, size = ROWS_DTYPE.itemsize, NAMED_DTYPE.itemsize
    if len(rows) < begin:
        return
    header = np.frombuffer(bytes(rows[:begin]), ROWS_DTYPE)
    for n in range(min(int(header["blocks"][0]), 10)):
        entry = bytes(rows[begin + n * size :][:size])
        if len(entry) == size and int(np.frombuffer(entry, NAMED_DTYPE)["number"][0]) == number:
            at = begin + n * size + _offset(NAMED_DTYPE, "body_crc")
            rows[at : at + 4] = block[_offset(LEXICAL_DTYPE, "body_crc") :][:4]
    _reseal_body(rows, ROWS_DTYPE)
    path.write_bytes(rows)


def _offset(dtype: np.dtype[Any], name: str) -> int:
    return dtype.fields[name][1]


# -- rows -------------------------------------------------------------------------------------


def _value(picks: Picks, before: Any) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: picks.PickValueInList(list(_NUMBERS)),
        lambda: picks.PickValueInList(list(_TEXTS)),
        lambda: picks.PickValueInList(list(_BLOBS)),
        lambda: _spoilt(picks, before),
    ]
    return picks.PickValueInList(kinds)()


def _spoilt(picks: Picks, before: Any) -> Any:
    """The value that is there, a little changed: what is nearly right gets furthest."""
    if type(before) is int:
        changed = before + picks.PickValueInList([-1, 1, 2, 64, 1 << 20, -(1 << 40)])
        return max(-(1 << 63), min(changed, (1 << 63) - 1))
    if type(before) is bytes and before:
        at = picks.ConsumeIntInRange(0, len(before) - 1)
        into = picks.ConsumeBytes(picks.PickValueInList([1, 4, 8])) or b"\xff"
        return before[:at] + into + before[at + len(into) :]
    if type(before) is str and before:
        at = picks.ConsumeIntInRange(0, len(before))
        return before[:at] + picks.PickValueInList(["", "x", "[", '"', "1", ","]) + before[at + 1 :]
    return picks.PickValueInList(["[2]", 7, b"\1"])


def _forge_row(db: sqlite3.Connection, patient: Patient, picks: Picks) -> set[int]:
    """Set a column, take a row out, or put one in that is like another."""
    table = picks.PickValueInList(list(_TABLES))
    names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    keys = {
        "meta": ("key",),
        "record_tag": ("tag", "id"),
        "fulltext_idx": ("segid", "term"),
        "fulltext_config": ("k",),
    }.get(table, ("rowid",))
    chosen = ", ".join((*keys, *names))
    rows = db.execute(f"SELECT {chosen} FROM {table}").fetchall()
    if not rows:
        rows = [(0,) * (len(keys) + len(names))]
    row = rows[picks.ConsumeIntInRange(0, len(rows) - 1)]
    column = picks.ConsumeIntInRange(0, len(names) - 1)
    values = list(row[len(keys) :])
    values[column] = _value(picks, values[column])
    where = " AND ".join(f"{key} IS ?" for key in keys)
    way = picks.ConsumeIntInRange(0, 9)
    try:
        if way < 7:
            changed = (values[column], *row[: len(keys)])
            db.execute(f"UPDATE {table} SET {names[column]} = ? WHERE {where}", changed)
        elif way == 7:
            db.execute(f"DELETE FROM {table} WHERE {where}", row[: len(keys)])
        else:
            holes = ", ".join("?" * len(names))
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({holes})", values)
    except sqlite3.Error:  # a constraint that its maker would have to get round first
        return set()
    return _of_row(db, patient, picks, table, (row[len(keys)], values[0]))


def _of_row(
    db: sqlite3.Connection, patient: Patient, picks: Picks, table: str, ids: Sequence[Any]
) -> set[int]:
    """The memories that a row of a table is of; with a seal that fits, if it is of one."""
    if table in {"record", "content"}:
        touched = {n for n in ids if n in patient.truth}
        if picks.ConsumeBool():
            for n in touched:
                _seal(db, n)
        return touched
    # shown are the rows above: what else is forged makes them unreadable, or changes nothing
    return set()


def _seal(db: sqlite3.Connection, record_id: int) -> None:
    joined = "record JOIN content ON content.id = record.id"
    found = db.execute(
        f"SELECT {ROW_COLUMNS} FROM {joined} WHERE record.id = ?", (record_id,)
    ).fetchone()
    if found is not None:
        seal = seal_of(found[0], *found[3:10], *found[11:])  # all but places and the key
        db.execute("UPDATE content SET seal = ? WHERE id = ?", (seal, record_id))

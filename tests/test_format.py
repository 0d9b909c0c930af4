"""Mechanism: one layout, told by a page for people, by NumPy dtypes and by C structs.

Damage: a field that moved in one of them reads garbage from every store that exists.
Guard: the three are compared field by field, and a record is packed and unpacked through them.
"""

from __future__ import annotations

import enum
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import layout
from spector.kernel.checksum import crc32c
from spector.kernel.contract.index import BLOCK_DTYPE, INDEX_DTYPE, SECTIONS
from spector.kernel.contract.lexical import (
    POSTINGS_DTYPE,
    QUERY_TERMS_DTYPE,
    TAIL_DTYPE,
    WORD_HIT_DTYPE,
)
from spector.kernel.contract.profile import TABLE_SIZE
from spector.kernel.contract.query import QUERY_DTYPE
from spector.kernel.contract.scanner import DROP_PHASES, HIT_DTYPE, PART_DTYPE
from spector.layout import PARTITION_DTYPE, RECORD_DTYPE, RECORD_PROOF, Flag
from spector.lexical.block import LEXICAL_DTYPE
from spector.lexical.block import SECTIONS as LEXICAL_SECTIONS
from spector.lexical.files import ROWS_DTYPE
from spector.store.core import transaction
from spector.store.payloads import KNOWLEDGE, PAYLOAD_TABLES, table_named
from spector.store.payloads.tables import SEAL
from tests.cases import Cases

cases = Cases(__file__)

PAGE = (Path(__file__).parent.parent / "native" / "FORMAT.md").read_text(encoding="utf-8")
STRUCT_CODES = {
    "u8": "B",
    "i8": "b",
    "u16": "H",
    "u32": "I",
    "i32": "i",
    "u64": "Q",
    "i64": "q",
    "f32": "f",
    "u8[16]": "16s",
    "u8[44]": "44s",
    "u8[60]": "60s",
    "u8[68]": "68s",
    "u8[45]": "45s",
}


def rows_after(marker: str) -> list[list[str]]:
    """Cells of the first table behind a marker, without its head."""
    _, _, rest = PAGE.partition(f"<!-- {marker} -->\n\n")
    assert rest, f"FORMAT.md has no {marker!r}"
    table = rest.split("\n\n")[0].strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def page_fields(name: str) -> list[tuple[int, str, str]]:
    return [(int(offset), kind, field) for offset, kind, field, _ in rows_after(f"table: {name}")]


def used(fields: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Without the bytes that mean nothing yet, which an index's dtypes leave out."""
    return [field for field in fields if field[2] != "reserved"]


def dtype_fields(dtype: np.dtype[Any]) -> list[tuple[int, str, str]]:
    out = []
    for name, (kind, offset, *_) in (dtype.fields or {}).items():
        base, shape = kind.subdtype or (kind, ())
        text = f"{base.kind}{base.itemsize * 8}" + (f"[{shape[0]}]" if shape else "")
        out.append((offset, text, name))
    return sorted(out)


def native() -> Any:
    return pytest.importorskip("spector._native", reason="the C kernel is not built")


def test_what_a_recall_compares_is_where_the_dtype_has_it() -> None:
    raw = bytes(range(1, RECORD_DTYPE.itemsize + 1))
    header = np.frombuffer(raw, RECORD_DTYPE)[0]
    tier, record_id, crc, mutable = RECORD_PROOF.unpack(raw)
    assert (tier, record_id, crc) == (header["tier"], header["id"], header["crc"])
    assert mutable == raw[layout.MUTABLE_OFFSET :]


@pytest.mark.parametrize(
    ("name", "dtype"), [("partition", PARTITION_DTYPE), ("record", RECORD_DTYPE)]
)
def test_the_page_describes_the_dtype(name: str, dtype: np.dtype[Any]) -> None:
    assert page_fields(name) == dtype_fields(dtype)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("index", INDEX_DTYPE),
        ("extremes", BLOCK_DTYPE),
        ("lexical", LEXICAL_DTYPE),
        ("rows", ROWS_DTYPE),
    ],
)
def test_the_page_describes_the_dtypes_of_an_index(name: str, dtype: np.dtype[Any]) -> None:
    assert used(page_fields(name)) == dtype_fields(dtype)


@cases("name", "size")
def test_the_page_leaves_no_gap(name: str, size: int) -> None:
    end = 0
    for offset, kind, field in page_fields(name):
        assert offset == end, field
        end += struct.calcsize("<" + STRUCT_CODES[kind])
    assert end == size


@pytest.mark.parametrize(
    ("struct_name", "dtype"),
    [
        ("spector_partition_header", PARTITION_DTYPE),
        ("spector_record", RECORD_DTYPE),
        ("spector_part", PART_DTYPE),
        ("spector_query", QUERY_DTYPE),
        ("spector_hit", HIT_DTYPE),
        ("spector_index_header", INDEX_DTYPE),
        ("spector_extremes", BLOCK_DTYPE),
        ("spector_postings", POSTINGS_DTYPE),
        ("spector_tail", TAIL_DTYPE),
        ("spector_words", QUERY_TERMS_DTYPE),
        ("spector_word_hit", WORD_HIT_DTYPE),
    ],
)
def test_the_c_struct_has_the_dtypes_fields(struct_name: str, dtype: np.dtype[Any]) -> None:
    ffi = native().ffi
    fields = dict(ffi.typeof(struct_name).fields)
    if "reserved" not in (dtype.names or ()):
        fields.pop("reserved", None)
    assert set(fields) == set(dtype.names or ())
    assert ffi.sizeof(struct_name) == dtype.itemsize
    for name, (kind, offset, *_) in (dtype.fields or {}).items():
        assert ffi.offsetof(struct_name, name) == offset == fields[name].offset, name
        assert ffi.sizeof(fields[name].type) == kind.itemsize, name
        c_name = fields[name].type.cname
        if "*" not in c_name:
            expected = {"f": "float", "i": "int", "u": "uint"}[(kind.subdtype or (kind,))[0].kind]
            assert c_name.startswith(expected), name


def test_the_page_lists_an_indexs_sections_in_order() -> None:
    table = PAGE.partition("| section | type | shape | meaning |")[2].split("\n\n")[0]
    named = [line.split("|")[1].strip() for line in table.strip().splitlines()[1:]]
    assert named == list(SECTIONS)


def test_the_page_lists_the_sections_of_a_lexical_block_in_order() -> None:
    table = PAGE.partition("| block section | type | shape | meaning |")[2].split("\n\n")[0]
    named = [line.split("|")[1].strip() for line in table.strip().splitlines()[1:]]
    assert named == [name for name, _ in LEXICAL_SECTIONS]


def test_c_constants_equal_pythons() -> None:
    lib = native().lib
    assert lib.SPECTOR_HEADER_BYTES == layout.HEADER_BYTES
    assert lib.SPECTOR_CRC_SPAN == layout.CRC_SPAN
    assert lib.SPECTOR_TABLE == TABLE_SIZE
    assert len(DROP_PHASES) == lib.SPECTOR_DROPS
    # C drops the others by the flags of a query alone
    for flag in set(Flag) - {Flag.AUXILIARY, Flag.NO_TEXT}:
        assert getattr(lib, f"SPECTOR_{flag.name}") == flag, flag.name


@pytest.mark.parametrize("name", ["PartitionState", "Flag", "TierCode", "Category", "Modality"])
def test_the_page_lists_every_code(name: str) -> None:
    kind: type[enum.IntEnum] = getattr(layout, name)
    listed = {label: int(code) for code, label, _ in rows_after(f"codes: {name}")}
    assert listed == {label: int(code) for label, code in kind.__members__.items()}


def test_a_record_packed_by_the_page_reads_back_through_numpy_and_c() -> None:
    fields = page_fields("record")
    values = {name: 3 + i for i, (_, _, name) in enumerate(fields)}
    values["event_ms"], values["valence"] = -86_400_000, -7
    image = struct.pack(
        "<" + "".join(STRUCT_CODES[kind] for _, kind, _ in fields), *values.values()
    )
    record = np.frombuffer(image, RECORD_DTYPE)[0]
    assert {name: record[name] for name in values} == values
    pointer = native().ffi.from_buffer("spector_record[]", image)
    assert {name: getattr(pointer[0], name) for name in values} == values


def test_the_mutable_block_is_the_tail_of_the_record() -> None:
    assert layout.MUTABLE_OFFSET + layout.MUTABLE_BYTES == layout.HEADER_BYTES
    tail = [f for f in dtype_fields(RECORD_DTYPE) if f[0] >= layout.MUTABLE_OFFSET]
    mutable = [(o + layout.MUTABLE_OFFSET, k, n) for o, k, n in dtype_fields(layout.MUTABLE_DTYPE)]
    assert mutable == tail
    assert "Bytes 40..63 change" in PAGE


def test_numbers_in_the_text_are_true() -> None:
    assert f"0x{layout.tier_magic('episodic'):08X}" in PAGE
    assert f"0x{crc32c(b'123456789'):08X}" in PAGE
    assert re.search(r"format version, (\d+)", PAGE)[1] == str(layout.FORMAT_VERSION)  # type: ignore[index]
    assert re.search(r"record version, (\d+)", PAGE)[1] == str(layout.RECORD_VERSION)  # type: ignore[index]


def test_the_page_describes_the_tables_of_a_catalog(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=8, durability="relaxed") as memory:
        db = memory._parts.store.catalog.main
        names = [
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith(("fulltext_", "sqlite_"))
        ]
        found = {
            name: ", ".join(row[1] for row in db.execute(f"PRAGMA table_info({name})"))
            for name in names
        }
        memory.forget(memory.remember("gone", vector=np.ones(8, np.float32)).id)
        keys = {key for (key,) in db.execute("SELECT key FROM meta")}
    assert {name: columns for name, columns, _ in rows_after("table: catalog")} == found
    told = {key for cell, _ in rows_after("table: meta") for key in cell.split(", ")}
    assert told - keys == {"backup", "namespaces_tagged", "relaxed_log", "user_gone"}
    assert keys <= told


def test_the_page_describes_the_tables_of_knowledge() -> None:
    rows = {name: (columns, key) for name, columns, key in rows_after("table: knowledge")}
    keys = {name: (columns, key) for name, columns, key in rows_after("table: keys")}
    ours = [each for each in PAYLOAD_TABLES if each.group == KNOWLEDGE]
    for told, tables in ((rows, ours), (keys, [e for e in PAYLOAD_TABLES if e not in ours])):
        assert told == {
            each.name: (", ".join((*each.names, SEAL)), ", ".join(each.key)) for each in tables
        }
    kept = next(each for each in PAYLOAD_TABLES if each.name == "entry")
    assert {c.name for c in kept.columns if c.optional} == {
        "record_key",
        "expires_ms",
        "refresh_ms",
        "attached_bytes",
    }
    optional = {c.name for each in ours for c in each.columns if c.optional}
    owners = {name for each in ours for name in each.owners}
    assert (optional, owners) == (
        {"note", "n", "t_ms", "record_id"},
        {"id", "item_id", "source_id", "target_id", "a", "b", "record_id"},
    )
    line = "4:link|1:1|7:mention|1:2|1:3|4:None"
    assert f"`{line}`" in PAGE
    row = {"a": 1, "kind": "mention", "b": 2, "n": 3, "t_ms": None}
    assert table_named("link").sealed(row)[-1] == zlib.crc32(line.encode())


def test_the_page_names_the_kinds_of_a_journal_row() -> None:
    kinds = {
        name.removeprefix("JOURNAL_"): str(value)
        for name, value in vars(transaction).items()
        if name.startswith("JOURNAL_")
    }
    assert {name: code for code, name, _ in rows_after("codes: journal")} == kinds

"""A damaged key in a table of the catalog leads searches astray: what it hides is not "unknown".

Mechanism: one bit of the key of a row, in the leaf of the table of memories or of their texts. The
row is there and whole, only the search for it goes elsewhere. Damage: an agent is told that a
memory never was, a recall leaves it out, and only ``check`` knows better.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import CatalogCorruptError, PartitionCorruptError, UnknownRecordError
from spector.store.catalog.catalog import Catalog
from spector.store.catalog.rows import delete_rows
from tests.crash.workload import open_tiny, vector_of
from tests.fakes import FakeEmbedder

TABLES = pytest.mark.parametrize("table", ["record", "content"])


@pytest.fixture
def ids(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        made = [memory.remember(f"text {n}", vector=vector_of(f"{n}")).id for n in range(9)]
        memory.forget(made[4])
    return made


def _varint(data: bytes, at: int) -> int:
    """Where the one that begins at ``at`` ends."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def _spoil_key(path: str, table: str, nth: int, *, byte: int = 0, bit: int = 0x20) -> None:
    """Flip a bit in the key of the n-th row: https://www.sqlite.org/fileformat2.html, section 1.6.

    The bit is so high that the key is out of order, as a search notices or does not; those of its
    last ``byte`` (-1) make it the key of a neighbour.
    """
    file = f"{path}/catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[
            0
        ]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    with open(file, "r+b") as out:
        page = os.pread(out.fileno(), size, (root - 1) * size)
        assert page[0] == 0x0D, "the table has grown beyond one leaf"
        cell = int.from_bytes(page[8 + 2 * nth : 10 + 2 * nth], "big")
        key = _varint(page, cell)  # behind the length of the row
        key += byte if byte >= 0 else _varint(page, key) - key + byte
        out.seek((root - 1) * size + key)
        out.write(bytes([page[key] ^ bit]))


def _asks(memory: spector.Memory, hidden: int) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: memory.get(hidden),
        "in": lambda: hidden in memory,
        "recall": lambda: memory.recall(vector=vector_of("1"), k=20),
    }


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("ask", ["get", "in", "recall"])
def test_a_memory_that_a_search_misses_is_damaged_not_unknown(
    tmp_path: Path, ids: list[int], table: str, mode: str, ask: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path, mode=mode) as memory:
        with pytest.raises(CatalogCorruptError) as caught:
            _asks(memory, ids[3])[ask]()
        assert "check" in str(caught.value.hint)
    assert not spector.check(path).ok


@TABLES
def test_a_memory_that_a_search_misses_is_not_forgotten_as_unknown(
    tmp_path: Path, ids: list[int], table: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path) as memory, pytest.raises(CatalogCorruptError):
        memory.forget(ids[3])


@TABLES
def test_a_hidden_memory_whose_old_words_await_erasure_is_not_said_to_be_forgotten(
    tmp_path: Path, ids: list[int], table: str
) -> None:
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        memory.update(ids[3], text="other words", vector=vector_of("other words"))
    _spoil_key(path, table, 3)
    with open_tiny(path) as memory:
        for ask in ("get", "in"):
            with pytest.raises(CatalogCorruptError):
                _asks(memory, ids[3])[ask]()
        with pytest.raises(CatalogCorruptError):
            memory.forget(ids[3], purge=True)


def test_what_is_unknown_stays_unknown(tmp_path: Path, ids: list[int]) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        for absent in (ids[4], ids[0] - 1, 5, 0):
            assert absent not in memory
            with pytest.raises(UnknownRecordError):
                memory.get(absent)
            with pytest.raises(UnknownRecordError):
                memory.forget(absent)
        assert {hit.id for hit in memory.recall(vector=vector_of("1"), k=20)} == {*ids} - {ids[4]}


def _all(memory: spector.Memory, tmp_path: Path) -> dict[str, Callable[[], object]]:
    return {
        "records": lambda: list(memory.records()),
        "records of a user": lambda: list(memory.records(user_id="ada")),
        "records of a time": lambda: list(memory.records(time_range=("2000-01-01", None))),
        "export": lambda: memory.export(tmp_path / "out.jsonl"),
        "export of a user": lambda: memory.export(tmp_path / "out.jsonl", user_id="ada"),
        "forget": lambda: memory.forget(user_id="ada"),
        "forget by metadata": lambda: memory.forget({"n": {"lt": 5}}),
        "erase": lambda: memory.forget(user_id="ada", purge=True, verify=True),
    }


@pytest.fixture
def of_ada(tmp_path: Path) -> list[int]:
    with open_tiny(str(tmp_path / "mind")) as memory:
        return [
            memory.remember(
                f"text {n}", vector=vector_of(f"{n}"), user_id="ada", metadata={"n": n}
            ).id
            for n in range(9)
        ]


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize(
    "ask",
    [
        "records",
        "records of a user",
        "records of a time",
        "export",
        "export of a user",
        "forget",
        "forget by metadata",
        "erase",
    ],
)
def test_a_walk_does_not_pass_over_a_memory_that_a_search_misses(
    tmp_path: Path, of_ada: list[int], table: str, ask: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            _all(memory, tmp_path)[ask]()
        assert not (tmp_path / "out.jsonl").exists()
        assert len(memory) == 9, "something was forgotten"


@TABLES
def test_an_export_of_what_is_left_names_what_is_hidden(
    tmp_path: Path, of_ada: list[int], table: str
) -> None:
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_key(path, table, 3)
    warned = pytest.warns(RuntimeWarning, match=str(of_ada[3]))
    with open_tiny(path, mode="r") as memory, warned:
        assert memory.export(out, skip_damaged=True) == 8
    assert '"text 3"' not in out.read_text()


@pytest.mark.parametrize("given", [["text 3"], ["text 3", "of nobody"]])
def test_a_text_without_its_memory_is_not_one_that_a_living_memory_says(
    tmp_path: Path, of_ada: list[int], given: list[str]
) -> None:
    """Only the text is still there, and no search by id would ever find it."""
    path = str(tmp_path / "mind")
    _spoil_key(path, "content", 3)
    with open_tiny(path) as memory:
        receipt = memory.compact(verify=given).receipt
    assert receipt is not None
    assert receipt.verification is not None
    assert not receipt.complete
    assert [each.kind for each in receipt.verification.residue if each.where == "catalog.db"]


@TABLES
def test_another_model_is_not_given_to_a_store_that_hides_a_memory(
    tmp_path: Path, of_ada: list[int], table: str
) -> None:
    path = str(tmp_path / "mind")
    _spoil_key(path, table, 3)
    with pytest.raises(CatalogCorruptError):
        spector.reembed(path, FakeEmbedder(8))
    assert not spector.check(path).ok


def test_a_count_of_a_partition_that_no_table_knows_is_told(
    tmp_path: Path, of_ada: list[int]
) -> None:
    path = str(tmp_path / "mind")
    with sqlite3.connect(f"{path}/catalog.db") as db:
        for table in ("record", "content"):
            db.execute(f"DELETE FROM {table} WHERE id = ?", (of_ada[3],))
    db.close()
    with open_tiny(path, mode="r") as memory, pytest.raises(CatalogCorruptError, match="add up"):
        list(memory)


def test_a_partition_with_more_memories_than_slots_is_a_damaged_catalog(
    tmp_path: Path, of_ada: list[int]
) -> None:
    """It was a struct.error on opening: its header has no room for a negative count."""
    path = str(tmp_path / "mind")
    with sqlite3.connect(f"{path}/catalog.db") as db:
        db.execute("UPDATE segment SET live = live + 1 WHERE id = (SELECT min(id) FROM segment)")
    db.close()
    for mode in ("r", "rw"):
        with pytest.raises(CatalogCorruptError, match="5 of 4"):
            open_tiny(path, mode=mode)


def test_the_user_of_a_memory_that_damage_has_changed_does_not_hide_it_from_erasure(
    tmp_path: Path, of_ada: list[int]
) -> None:
    """The filter asks for a user whose name one memory has lost: only its seal knows."""
    path = str(tmp_path / "mind")
    with sqlite3.connect(f"{path}/catalog.db") as db:
        db.execute("UPDATE record SET user_id = 'adb' WHERE id = ?", (of_ada[3],))
    db.close()
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError, match="not what was written"):
            memory.forget(user_id="ada", purge=True, verify=True)
        assert len(memory) == 9


@TABLES
@pytest.mark.parametrize("bit", [1, 2, 4, 8])
def test_a_key_that_becomes_that_of_a_neighbour_does_not_hide_its_memory(
    tmp_path: Path, table: str, bit: int
) -> None:
    """Mechanism: ids of a batch are neighbours, so all counts agree and one is walked twice."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        memory.remember_many(
            {
                "text": f"text {n}",
                "vector": vector_of(f"{n}"),
                "user_id": "ada",
                "metadata": {"n": n},
            }
            for n in range(9)
        )
    _spoil_key(path, table, 3, byte=-1, bit=bit)
    with open_tiny(path, mode="r") as memory:
        with pytest.raises(CatalogCorruptError):
            list(memory)
        with pytest.raises(CatalogCorruptError):
            memory.export(tmp_path / "out.jsonl")
    with contextlib.suppress(CatalogCorruptError), open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget({"n": {"lt": 5}}, purge=True)
        assert len(memory) == 9


@TABLES
@pytest.mark.parametrize("bit", [1, 2, 4, 8, 32])
def test_an_export_of_what_is_left_has_no_memory_twice_and_lacks_only_what_it_names(
    tmp_path: Path, table: str, bit: int
) -> None:
    """Mechanism: the search for a memory led to its neighbour, whose line was written again."""
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    with open_tiny(path) as memory:
        made = memory.remember_many(
            {"text": f"text {n}", "vector": vector_of(f"{n}")} for n in range(9)
        )
    _spoil_key(path, table, 3, byte=-1, bit=bit)
    with open_tiny(path, mode="r") as memory, pytest.warns(RuntimeWarning) as warned:
        memory.export(out, skip_damaged=True)
    told = "".join(str(each.message) for each in warned)
    texts = [json.loads(line)["text"] for line in out.read_text().splitlines()]
    assert len(texts) == len(set(texts))
    assert len(texts) >= 7
    for n, record in enumerate(made):
        assert f"text {n}" in texts or str(record.id) in told, f"{n} is missing and not named"


def test_a_key_far_away_does_not_end_an_export_of_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: the next page of a walk began behind a damaged key, where there was nothing."""
    monkeypatch.setattr("spector.store.integrity.walking._BATCH", 4)
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    with open_tiny(path) as memory:
        memory.remember_many({"text": f"text {n}", "vector": vector_of(f"{n}")} for n in range(9))
    _spoil_key(path, "record", 3)  # the last of the first page
    with open_tiny(path, mode="r") as memory, pytest.warns(RuntimeWarning):
        memory.export(out, skip_damaged=True)
    texts = {json.loads(line)["text"] for line in out.read_text().splitlines()}
    assert texts >= {f"text {n}" for n in range(9)} - {"text 3"}


@pytest.mark.sampled
@TABLES
@pytest.mark.parametrize(("byte", "bit"), [(0, 0x20), (-1, 1), (-1, 2), (-1, 4)])
def test_whatever_is_forgotten_beside_a_damaged_key_is_forgotten_or_the_catalog_is_damaged(
    tmp_path: Path, table: str, byte: int, bit: int
) -> None:
    """Mechanism: SQLite met the same place twice, and called it a constraint that failed."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        made = memory.remember_many(
            {"text": f"text {n}", "vector": vector_of(f"{n}")} for n in range(9)
        )
    _spoil_key(path, table, 3, byte=byte, bit=bit)
    with contextlib.suppress(CatalogCorruptError, PartitionCorruptError), open_tiny(path) as memory:
        for record in made:
            with contextlib.suppress(CatalogCorruptError, PartitionCorruptError):
                memory.forget(record.id, purge=True)


def test_a_key_that_is_taken_is_damage(tmp_path: Path, ids: list[int]) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        catalog = memory._parts.store.catalog
        with pytest.raises(CatalogCorruptError) as caught, catalog.writing() as db:
            db.execute("INSERT INTO record SELECT * FROM record LIMIT 1")
        assert "check" in str(caught.value.hint)


def test_one_user_after_the_other_is_forgotten_with_one_proof(
    tmp_path: Path, of_ada: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each proof reads every text; one of the last minute is enough, but not for all memories."""
    now = [1000.0]
    monkeypatch.setattr("spector.store.integrity.agreement.time.monotonic", lambda: now[0])
    with open_tiny(str(tmp_path / "mind")) as memory:
        catalog = memory._parts.store.catalog
        seen = []
        for step in (0.0, 59.0, 2.0):
            now[0] += step
            memory.forget(user_id="nobody")
            seen.append(catalog.agreed_s)
        assert seen == [1000.0, 1000.0, 1061.0]
        now[0] += 1.0
        list(memory.records())
        assert catalog.agreed_s == 1062.0


@pytest.mark.parametrize("bit", [1, 2, 4, 8])
def test_a_walk_that_an_index_leads_shows_no_memory_twice(tmp_path: Path, bit: int) -> None:
    """It proves only what it shows, so it has to notice that it comes to a memory again."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        memory.remember_many(
            {"text": f"text {n}", "vector": vector_of(f"{n}"), "tags": ["t"]} for n in range(9)
        )
    _spoil_key(path, "record", 3, byte=-1, bit=bit)
    with open_tiny(path, mode="r") as memory:
        shown = []
        with contextlib.suppress(CatalogCorruptError, PartitionCorruptError):
            shown += [record.id for record in memory.records(tags=["t"])]
        assert len(shown) == len(set(shown))


def test_a_walk_that_comes_to_an_id_again_says_so(
    tmp_path: Path, of_ada: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Catalog.pages

    def again(*given: Any, **more: Any) -> Any:
        return (page[:3] + page[1:] for page in real(*given, **more))

    monkeypatch.setattr(Catalog, "pages", again)
    shown: list[int] = []
    ends = pytest.raises(CatalogCorruptError, match="out of order")
    with open_tiny(str(tmp_path / "mind")) as memory, ends:
        shown.extend(record.id for record in memory.records())
    assert shown == of_ada[:3]


@pytest.mark.parametrize("bit", [1, 2])
def test_a_walk_that_is_led_back_to_where_it_was_ends_with_an_error(
    tmp_path: Path, ids: list[int], bit: int
) -> None:
    """The key that ends a page is lower than all others: the walk would go round for ever."""
    path = str(tmp_path / "mind")
    _spoil_key(path, "record", 5, bit=bit)
    with open_tiny(path, mode="r") as memory:
        pages = memory._parts.store.catalog.pages("TRUE", (), 3)
        with pytest.raises(CatalogCorruptError, match="out of order"):
            list(islice(pages, 50))


def test_an_index_of_users_that_damage_has_changed_does_not_hide_a_memory_from_erasure(
    tmp_path: Path, of_ada: list[int]
) -> None:
    """Every row is whole; only the index that the filter goes by leads past one of them."""
    path = str(tmp_path / "mind")
    file = Path(path) / "catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'record_user'"
        ).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    raw = bytearray(file.read_bytes())
    at = raw.index(b"ada", (root - 1) * size)
    assert at < root * size
    raw[at : at + 3] = b"adb"
    file.write_bytes(raw)
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget(user_id="ada", purge=True, verify=True)
        assert len(memory) == 9


def _spoil_way(path: str, ids: list[int], batch: int) -> None:
    """Flip a bit in an inner page of the table of memories, so that the way to a place where a page
    of a walk ends leads into the next leaf; every leaf is as it was."""
    file = Path(path) / "catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'record'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    raw = bytearray(file.read_bytes())
    page = raw[(root - 1) * size : root * size]
    assert page[0] == 0x05, "the table has one leaf only"
    ends, before = ids[batch - 1 :: batch], 0
    for n in range(int.from_bytes(page[3:5], "big")):
        cell = int.from_bytes(page[12 + 2 * n : 14 + 2 * n], "big")
        stop = _varint(page, cell + 4)
        key = 0
        for byte in page[cell + 4 : stop]:
            key = key << 7 | byte & 0x7F
        for back in (1, 2):
            for bit in range(7):
                less = key - (1 << (bit + 7 * (back - 1)))
                set_there = page[stop - back] >> bit & 1
                if set_there and any(before < less <= end < key for end in ends):
                    raw[(root - 1) * size + stop - back] ^= 1 << bit
                    file.write_bytes(raw)
                    return
        before = key
    raise AssertionError("no bit of this page leads astray")


@pytest.fixture
def of_many(tmp_path: Path) -> list[int]:
    made: list[int] = []
    with spector.open(tmp_path / "mind", embedder=None, dim=8) as memory:
        for start in range(0, 3000, 1000):
            made += [
                record.id
                for record in memory.remember_many(
                    {
                        "text": f"text {n}",
                        "vector": np.ones(8, np.float32),
                        "metadata": {"who": "maya"},
                    }
                    for n in range(start, start + 1000)
                )
            ]
    return made


@pytest.mark.parametrize("ask", ["records", "export", "erase"])
def test_a_damaged_key_on_the_way_to_a_page_hides_none_of_its_memories(
    tmp_path: Path, of_many: list[int], ask: str
) -> None:
    """Mechanism: every leaf and every index agreed, so the proof before a walk found nothing; but
    the walk asked for its next page by key, and was led fifty memories too far."""
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_way(path, of_many, 256)
    with spector.open(path, embedder=None, dim=8) as memory:
        with pytest.raises(CatalogCorruptError):
            {
                "records": lambda: list(memory.records()),
                "export": lambda: memory.export(out),
                "erase": lambda: memory.forget({"who": "maya"}, purge=True),
            }[ask]()
        assert not out.exists()
        assert len(memory) == 3000


def test_an_export_of_what_is_left_is_not_led_past_a_page(
    tmp_path: Path, of_many: list[int]
) -> None:
    path, out = str(tmp_path / "mind"), tmp_path / "out.jsonl"
    _spoil_way(path, of_many, 256)
    with spector.open(path, embedder=None, dim=8, mode="r") as memory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory.export(out, skip_damaged=True)
    assert len(set(out.read_text().splitlines())) == 3000


@pytest.mark.parametrize("index", ["record_user", "record_session", "record_tag"])
def test_an_index_that_leads_past_a_memory_does_not_save_it_from_a_purge(
    tmp_path: Path, index: str
) -> None:
    path = str(tmp_path / "mind")
    word = {"record_user": b"maya", "record_session": b"sess", "record_tag": b"heal"}[index]
    with open_tiny(path) as memory:
        for n in range(9):
            memory.remember(
                f"text {n}",
                vector=vector_of(f"{n}"),
                user_id="maya",
                session_id="sess",
                tags=["heal"],
            )
    file = Path(path) / "catalog.db"
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (index,)
        ).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    db.close()
    raw = bytearray(file.read_bytes())
    at = raw.index(word, (root - 1) * size, root * size)
    raw[at + 3] ^= 1
    file.write_bytes(raw)
    chosen: dict[str, Any] = {
        "record_user": {"user_id": "maya"},
        "record_session": {"session_id": "sess"},
        "record_tag": {"tags": ["heal"]},
    }[index]
    with open_tiny(path) as memory:
        with pytest.raises(CatalogCorruptError):
            memory.forget(**chosen, purge=True)
        assert len(memory) == 9


def test_rows_that_are_not_all_found_are_not_deleted_in_part(
    tmp_path: Path, of_ada: list[int]
) -> None:
    """Mechanism: DELETE says how many it found, and nobody asked."""
    path = str(tmp_path / "mind")
    with open_tiny(path) as memory:
        catalog = memory._parts.store.catalog
        rows = list(catalog.fetch(of_ada[:3]).values())
        with catalog.writing() as db:
            db.execute("DELETE FROM record WHERE id = ?", (of_ada[1],))
        with pytest.raises(CatalogCorruptError, match="2 of 3"), catalog.writing() as db:
            delete_rows(db, rows)
        with catalog.reading() as db:
            assert db.execute("SELECT count(*) FROM content").fetchone()[0] == 9

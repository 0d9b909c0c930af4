"""Mechanism: a recall takes a row's JSON apart only when somebody asks for that hit's record.

Damage: what is put off is forgotten, and damaged metadata leaves with the text beside it.
Guard: seals are checked before any hit leaves, and a row without one is taken apart at once.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import CatalogCorruptError
from spector.store.catalog import row_codec

VECTOR = [1.0, 0.0, 0.0, 0.0]
METADATA = {"room": "kitchen", "list": [1, {"x": None}]}


@pytest.fixture
def store(store_path: Path) -> Path:
    with spector.open(store_path, embedder=None, dim=4) as memory:
        memory.remember("the kettle is on", vector=VECTOR, metadata=METADATA, tags=["tea"])
    return store_path


def _change(store: Path, sql: str) -> None:
    db = sqlite3.connect(store / "catalog.db")
    assert db.execute(sql).rowcount == 1
    db.commit()
    db.close()


def test_texts_of_hits_take_no_json_apart(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    plain = row_codec._from_json

    def counted(text: str) -> Any:
        taken.append(text)
        return plain(text)

    monkeypatch.setattr(row_codec, "_from_json", counted)
    with spector.open(store, embedder=None) as memory:
        (hit,) = memory.recall(vector=VECTOR)
        assert (hit.text, hit.tier, taken) == ("the kettle is on", "episodic", [])
        assert (hit.metadata, hit.tags) == (METADATA, ("tea",))
        assert len(taken) == 1


@pytest.mark.parametrize("column", ["metadata", "tags", "text"])
def test_what_is_not_as_written_lets_no_hit_leave(store: Path, column: str) -> None:
    _change(store, f"UPDATE content SET {column} = replace({column}, 't', 'T')")
    with spector.open(store, embedder=None) as memory, pytest.raises(CatalogCorruptError):
        memory.recall(vector=VECTOR)


def test_a_row_without_a_seal_lets_no_hit_leave(store: Path) -> None:
    _change(store, "UPDATE content SET seal = NULL")
    with spector.open(store, embedder=None) as memory, pytest.raises(CatalogCorruptError):
        memory.recall(vector=VECTOR)


@pytest.mark.parametrize("odd", [None, 7, -1.5, "a|b", "%s", "ä\udc80", b"\xff"])
def test_a_seal_is_over_values_of_any_kind(odd: Any) -> None:
    row = [5, 1, 2, 3, 4, None, 6, "s", odd, None, bytes(24), "text", odd, "{}", None, odd, None]
    sealed = (*row[:1], *row[3:10], row[11], *row[12:])
    assert row_codec.is_sealed([*row, row_codec.seal_of(*sealed)])
    assert not row_codec.is_sealed([*row, row_codec.seal_of(*sealed) ^ 1])

"""Mechanism: a relaxed writer closes, and its last checkpoint has no room.

Damage: a note that all commits are durable, although partitions may not have been synced.
Guard: the note is written after a checkpoint that came to its end, or not at all.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spector.errors import StoreFullError
from spector.store.catalog.schema import UNSYNCED
from spector.store.core.store import Store
from tests.crash.workload import open_tiny, vector_of


@pytest.mark.parametrize("room", [True, False])
def test_durability_is_vouched_for_after_a_whole_checkpoint_only(
    room: bool, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: Store) -> None:
        raise StoreFullError("the disk is full", hint="free some space")

    memory = open_tiny(str(store_path), durability="relaxed")
    memory.remember("a note", vector=vector_of("a note"))
    if not room:
        monkeypatch.setattr(Store, "checkpoint", full)
    memory.close()
    with closing(sqlite3.connect(store_path / "catalog.db")) as db:
        keys = {key for key, _ in db.execute("SELECT key, value FROM meta")}
    assert (UNSYNCED in keys) is not room
    monkeypatch.undo()
    with open_tiny(str(store_path)) as again:
        assert [record.text for record in again] == ["a note"]

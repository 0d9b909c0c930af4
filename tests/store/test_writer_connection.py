"""The connection that writes is used by the thread that holds the store's lock, and by no other.

SQLite shares a connection's transaction among threads: a read by another one would see changes that
are not committed, and a statement that still runs makes the owner's checkpoint fail.
"""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from spector.store.core import Store
from tests.interrupts.verbs import READING, WRITING, prepared


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_a_statement_runs_under_the_lock(name: str, tmp_path: Path) -> None:
    """Every verb, in a store where nothing expires, and where a use keeps a memory."""
    scene = prepared(tmp_path)
    verb = WRITING.get(name) or READING[name]
    outside = list[str]()
    with scene.opened() as memory:
        scene.memory = memory
        store = memory._parts.knowledge._parts.router.durable_store()
        store.catalog.main.set_trace_callback(_noter(store, outside))
        if name in READING:
            memory.remember("a swan that a use keeps", key="swan", expires_in=3600, refresh=True)
            memory.remember("the swan is seen again", key="swan", expires_in=3600, refresh=True)
            memory.recall("swan")
        verb(scene)
    assert outside == []


def _noter(store: Store, outside: list[str]):  # type: ignore[no-untyped-def]
    def note(statement: str) -> None:
        if not store.lock._is_owned():  # type: ignore[attr-defined]
            where = [f"{each.filename}:{each.lineno}" for each in traceback.extract_stack()[-9:-1]]
            outside.append(f"{statement[:60]} from {where}")

    return note

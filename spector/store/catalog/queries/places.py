"""Slots and strengths of memories in one partition, as the caller's connection sees them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from spector.store.catalog.catalog import Catalog, id_chunks

__all__ = [
    "labels_after",
    "labels_of",
    "ring_of",
    "slots_of",
    "strength_of",
    "strengths_in",
    "users_by_age",
]

_RING: Final = (
    "SELECT id, slot, mutable FROM record INDEXED BY {} WHERE segment_id = ? AND user_id {} ?"
    " ORDER BY id"
)
#: the index of places is quicker in a partition with few records, the index of users in a large one
_RING_BY_PLACE: Final = _RING.format("record_place", "IS")
_RING_BY_USER: Final = _RING.format("record_user", "=")


_LABELS: Final = (
    "SELECT id, segment_id, slot, event_ms, recorded_ms, valid_until_ms, session_id, user_id,"
    " mutable FROM record WHERE "
)


def labels_after(catalog: Catalog, after: int, limit: int = -1) -> list[tuple[Any, ...]]:
    """Place, times, session, user and mutable block of memories with a greater id, ascending."""
    with catalog.reading() as db:
        return db.execute(f"{_LABELS} id > ? ORDER BY id LIMIT ?", (after, limit)).fetchall()


def labels_of(catalog: Catalog, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """The same of these memories, in the order of ``ids``, which ascend."""
    out: list[tuple[Any, ...]] = []
    with catalog.reading() as db:
        for chunk in id_chunks(ids):
            marks = ",".join("?" * len(chunk))
            out += db.execute(f"{_LABELS} id IN ({marks}) ORDER BY id", chunk)
    return out


def strength_of(db: sqlite3.Connection, record_id: int) -> tuple[int, int, bytes] | None:
    """(segment id, slot, mutable block) of a memory; None when it is forgotten."""
    found: tuple[int, int, bytes] | None = db.execute(
        "SELECT segment_id, slot, mutable FROM record WHERE id = ?", (record_id,)
    ).fetchone()
    return found


def strengths_in(
    db: sqlite3.Connection, segment_id: int, first: int, stop: int
) -> list[tuple[int, bytes]]:
    """(slot, mutable block) of the memories in slots ``first`` to ``stop`` - 1 of a partition."""
    return db.execute(
        "SELECT slot, mutable FROM record WHERE segment_id = ? AND slot >= ? AND slot < ?",
        (segment_id, first, stop),
    ).fetchall()


def slots_of(db: sqlite3.Connection, segment_id: int) -> list[int]:
    """The slots of a partition that hold memories, ascending."""
    found = db.execute("SELECT slot FROM record WHERE segment_id = ? ORDER BY slot", (segment_id,))
    return [slot for (slot,) in found]


def ring_of(
    db: sqlite3.Connection, segment_id: int, user_id: str | None, *, few: bool
) -> list[tuple[int, int, bytes]]:
    """(id, slot, mutable block) of a user's memories in a partition, by ascending id.

    ``few`` records in the partition are found by their places. Memories without a user are found
    by no index of users, so they need it too.
    """
    sql = _RING_BY_PLACE if few else _RING_BY_USER
    return db.execute(sql, (segment_id, user_id)).fetchall()


def users_by_age(db: sqlite3.Connection, segment_id: int) -> list[str | None]:
    """The users with a memory in a partition, ordered by the newest one of each, oldest first."""
    found = db.execute(
        "SELECT user_id FROM record WHERE segment_id = ? GROUP BY user_id ORDER BY max(id)",
        (segment_id,),
    )
    return [user for (user,) in found]

"""Keys of memories: which memory a key leads to, and marks of keys that were forgotten.

A key is unique within a user, an agent and a namespace. A mark is a salted hash: it tells that a
key was forgotten to those who have the key, and names nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from spector.records import NAMESPACE_END
from spector.store.payloads.rows import (
    count_of,
    delete_rows,
    has_tables,
    make_tables,
    put_rows,
    rows_of,
)
from spector.store.payloads.schema import KEYS, table_named

__all__ = [
    "KeyPath",
    "KeyRange",
    "entries_of",
    "entry_at",
    "follow_user",
    "forget_marks",
    "has_at_most",
    "is_marked",
    "key_condition",
    "mark",
    "mark_forgotten",
    "path_of",
    "put_entries",
    "unmark",
]

_ENTRY: Final = table_named("entry")
_MARK: Final = table_named("key_mark")
#: keys with a prefix that are gathered before a list begins, at most
_GATHERED: Final = 20_000
#: greater than what may follow a prefix: a key has at most 512 bytes
_BEYOND: Final = "\U0010ffff" * 129


class KeyPath(NamedTuple):
    """Where a key is unique: "" stands for no user and no agent."""

    namespace: str
    record_key: str
    user_id: str = ""
    agent_id: str = ""


class KeyRange(NamedTuple):
    """The keys of a namespace, as it is stored, that begin so; with ``below`` of those in it too."""

    namespace: str
    prefix: str = ""
    below: bool = False

    def condition(self) -> tuple[str, tuple[str, ...]]:
        """SQL over entries, which an index leads, and its values."""
        spaces, params = "namespace = ?", [self.namespace]
        if self.below:
            spaces = "namespace >= ?"
            if self.namespace:
                spaces += " AND namespace < ?"
                params.append(self.namespace[:-1] + chr(ord(NAMESPACE_END) + 1))
        keys = (self.prefix, self.prefix + _BEYOND)
        return f"{spaces} AND record_key >= ? AND record_key < ?", (*params, *keys)


def path_of(row: Mapping[str, Any]) -> KeyPath | None:
    """The key of an entry; None for one that has none."""
    if row["record_key"] is None:
        return None
    return KeyPath(row["namespace"], row["record_key"], row["user_id"], row["agent_id"])


def entry_at(
    db: sqlite3.Connection, path: KeyPath, where: str = "the catalog"
) -> dict[str, Any] | None:
    """The entry that has a key.

    Raises:
        CatalogCorruptError: It is not what was written.
    """
    return next(iter(list(rows_of(db, _ENTRY, path._asdict(), path=where))), None)


def entries_of(
    db: sqlite3.Connection, ids: Collection[int], where: str = "the catalog"
) -> dict[int, dict[str, Any]]:
    """The entries of those memories that have one, by id."""
    if not ids:
        return {}
    return {row["id"]: row for row in rows_of(db, _ENTRY, {"id": list(ids)}, path=where)}


def put_entries(db: sqlite3.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write entries; the tables are made when the first one needs them."""
    make_tables(db, KEYS)
    put_rows(db, _ENTRY, rows)


def key_condition(
    db: sqlite3.Connection, keys: KeyRange, *, gathers: bool = True
) -> tuple[str, tuple[str, ...]]:
    """SQL over ``record``, and its values: the memories whose keys are in a range.

    Few of them are gathered. Where there are many, or only some memories are asked about, each
    memory's own key is looked at, so that a page begins with the first ones.
    """
    if not has_tables(db, _ENTRY.name):
        return "0", ()
    inside, params = keys.condition()
    if gathers and has_at_most(db, keys, _GATHERED):
        return f"record.id IN (SELECT id FROM entry WHERE {inside})", params
    # a plus keeps SQLite from following the index of keys
    own = inside.replace("namespace", "+namespace").replace("record_key", "+record_key")
    return f"EXISTS (SELECT 1 FROM entry WHERE entry.id = record.id AND {own})", params


def has_at_most(db: sqlite3.Connection, keys: KeyRange, most: int) -> bool:
    """Whether a catalog has so many keys of a range, or fewer."""
    if not has_tables(db, _ENTRY.name):
        return True
    inside, params = keys.condition()
    beyond = f"SELECT 1 FROM entry WHERE {inside} LIMIT 1 OFFSET ?"
    return db.execute(beyond, (*params, most)).fetchone() is None


# -- what was forgotten ----------------------------------------------------------------------------


def _salt(db: sqlite3.Connection) -> str | None:
    """The salt of all marks of a catalog; None without any."""
    if not has_tables(db, _MARK.name):
        return None
    found = db.execute("SELECT salt FROM key_mark LIMIT 1").fetchone()
    return None if found is None else str(found[0])


def _digest(salt: str, *parts: str) -> str:
    text = "".join(f"{len(part)}:{part}" for part in (salt, *parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _mark_of(salt: str, path: KeyPath) -> dict[str, str]:
    return {"owner": _digest(salt, path.user_id), "digest": _digest(salt, *path)}


def is_marked(db: sqlite3.Connection, path: KeyPath) -> bool:
    """Whether a key was forgotten, and has not been given to a memory since."""
    salt = _salt(db)
    return salt is not None and bool(count_of(db, _MARK, _mark_of(salt, path)))


def mark_forgotten(db: sqlite3.Connection, ids: Collection[int]) -> None:
    """Mark the keys of memories that are about to be deleted."""
    mark(db, [path for row in entries_of(db, ids).values() if (path := path_of(row)) is not None])


def mark(db: sqlite3.Connection, paths: Collection[KeyPath]) -> None:
    """Mark keys, whether or not a memory ever had them."""
    if paths:
        import secrets

        make_tables(db, KEYS)
        salt = _salt(db) or secrets.token_hex(16)
        put_rows(db, _MARK, [_mark_of(salt, path) | {"salt": salt} for path in paths])


def unmark(db: sqlite3.Connection, paths: Iterable[KeyPath]) -> None:
    """Remove the marks of keys."""
    salt = _salt(db)
    if salt is not None:
        marks = [_mark_of(salt, path) for path in paths]
        delete_rows(db, _MARK, [(each["owner"], each["digest"]) for each in marks])


def forget_marks(db: sqlite3.Connection, user_id: str) -> int:
    """Remove the marks of every key of a user; returns how many."""
    salt = _salt(db)
    if salt is None:
        return 0
    owner = _digest(salt, user_id)
    return db.execute("DELETE FROM key_mark WHERE owner = ?", (owner,)).rowcount


def follow_user(
    db: sqlite3.Connection,
    record_id: int,
    user_id: str | None,
    agent_id: str | None,
    ends: Mapping[str, int | None] | None = None,
) -> KeyPath | None:
    """Let a memory's entry follow a change: its revision counts up, its key moves along.

    Args:
        ends: its new end, or other columns of its entry; None leaves it.

    Returns:
        The key that another memory of its new user and agent has already; then nothing was done.
    """
    row = entries_of(db, [record_id]).get(record_id)
    if row is None:
        if ends is not None:
            put_entries(
                db,
                [
                    {
                        "id": record_id,
                        "user_id": user_id or "",
                        "agent_id": agent_id or "",
                        "namespace": "",
                        "revision": 1,
                        **ends,
                    }
                ],
            )
        return None
    before = path_of(row)
    row |= ends or {}
    row |= {"user_id": user_id or "", "agent_id": agent_id or "", "revision": row["revision"] + 1}
    path = path_of(row)
    other = None if path is None else entry_at(db, path)
    if other is not None and other["id"] != record_id:
        return path
    put_entries(db, [row])
    if path is not None and path != before:
        unmark(db, [path])
    return None

"""Keys and ends of memories."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from spector.errors import CatalogCorruptError
from spector.process import keeps, managed
from spector.records import NAMESPACE_END
from spector.store.payloads.rows import (
    count_of,
    delete_rows,
    has_tables,
    make_tables,
    put_rows,
    rows_of,
)
from spector.store.payloads.tables import KEYS, table_named
from spector.store.sqlite import Database, read_transaction

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
        if not self.prefix:
            return f"{spaces} AND record_key IS NOT NULL", tuple(params)
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


def new_entry(record_id: int, user_id: str | None, agent_id: str | None) -> dict[str, Any]:
    """The entry of a memory without a key."""
    labels = {"user_id": user_id or "", "agent_id": agent_id or ""}
    return {"id": record_id, **labels, "namespace": "", "revision": 1}


def put_entries(db: sqlite3.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write entries; the tables are made when the first one needs them."""
    make_tables(db, KEYS)
    put_rows(db, _ENTRY, rows)


@keeps(1024)
def own_condition(keys: KeyRange) -> tuple[str, tuple[str, ...]]:
    """SQL over ``record``, and its values, that looks at each memory's own key."""
    inside, params = keys.condition()
    # a plus keeps SQLite from following the index of keys
    own = inside.replace("namespace", "+namespace").replace("record_key", "+record_key")
    return f"EXISTS (SELECT 1 FROM entry WHERE entry.id = record.id AND {own})", params


def key_condition(db: sqlite3.Connection, keys: KeyRange) -> tuple[str, tuple[str, ...]]:
    """SQL over ``record``, and its values: the memories whose keys are in a range.

    Few of them are gathered. Where there are many, each memory's own key is looked at, so that a
    page begins with the first ones.
    """
    if not has_tables(db, _ENTRY.name):
        return "0", ()
    inside, params = keys.condition()
    beyond = f"SELECT 1 FROM entry WHERE {inside} LIMIT 1 OFFSET ?"
    if db.execute(beyond, (*params, _GATHERED)).fetchone() is not None:
        return own_condition(keys)
    return f"record.id IN (SELECT id FROM entry WHERE {inside})", params


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
            put_entries(db, [{**new_entry(record_id, user_id, agent_id), **ends}])
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


# Memories that expire: past its end every read leaves one out, before anything is written.


class Noted(NamedTuple):
    """An end that a use has given to a memory, and the revision that it had."""

    expires_ms: int
    revision: int


class Ends:
    """What the reads of one catalog need to know of ends."""

    def __init__(self) -> None:
        #: any memory is known to have an end
        self.any = False
        #: one is about to get an end, or has got it and that has not been read yet
        self.are_due = False
        #: looks whether any memory of the catalog has an end
        self.look: Callable[[], bool] = bool
        #: the time; None shows every memory, as a check of the files does
        self.now_ms: Callable[[], int] | None = None
        #: finds what is derived from nothing but some memories of a catalog at a path
        self.derived: Callable[[sqlite3.Connection, str, Collection[int]], Collection[int]] | None
        self.derived = None
        #: looks that up for the memories of entries that satisfy a condition
        self.look_along: Callable[[str, int], Collection[int]] = lambda sql, now_ms: ()
        #: memory -> the end that a use has given it, which waits for the next commit
        self.noted: dict[int, Noted] = {}
        self._thread = threading.local()

    def are_there(self) -> bool:
        """Whether any memory has an end."""
        if self.are_due and not self.any:
            self.any = self.look()
        return self.any

    def alive(self, table: str = "record") -> tuple[str, tuple[Any, ...]]:
        """SQL to add to a condition over a table with ids, and its values; mostly nothing."""
        over = self.over()
        if over is None:
            return "", ()
        sql, params = over
        alive = f" AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.id = {table}.id AND {sql})"
        if along := self.along():
            alive += f" AND {table}.id NOT IN (SELECT value FROM json_each(?))"
            return alive, (*params, json.dumps(sorted(along)))
        return alive, params

    def ended(self) -> tuple[str, tuple[Any, ...]] | None:
        """SQL for the ids that `alive` leaves out, and its values; None for none."""
        over = self.over()
        if over is None:
            return None
        sql, params = over
        ended = f"SELECT id FROM entry WHERE {sql} UNION SELECT value FROM json_each(?)"
        return ended, (*params, json.dumps(sorted(self.along())))

    def along(self) -> Collection[int]:
        """Memories that have no end, and are derived from nothing but what has expired."""
        over = self.over()
        return () if over is None else self.look_along(over[0], *over[1])

    def over(self) -> tuple[str, tuple[int, ...]] | None:
        """SQL over entries whose end has come; None where none has an end, or all are read."""
        if not self.are_there() or self.now_ms is None or getattr(self._thread, "shows", False):
            return None
        held_ms, kept = getattr(self._thread, "at_ms", None), ""
        now_ms = self.now_ms() if held_ms is None else held_ms
        if self.noted:
            kept = ", ".join(
                f"({each}, {noted.revision})"
                for each, noted in self.noted.copy().items()
                if noted.expires_ms > now_ms
            )
        if not kept:
            return "entry.expires_ms <= ?", (now_ms,)
        unless = f"(entry.id, entry.revision) NOT IN (VALUES {kept})"
        return f"entry.expires_ms <= ? AND {unless}", (now_ms,)

    def end_of(self, entry: Mapping[str, Any]) -> int | None:
        """When the memory of an entry expires."""
        noted, written_ms = self.noted.get(entry["id"]), entry["expires_ms"]
        if noted is None or written_ms is None or noted.revision != entry["revision"]:
            return None if written_ms is None else int(written_ms)
        return max(int(written_ms), noted.expires_ms)

    def has_expired(self, entry: Mapping[str, Any], now_ms: int) -> bool:
        """Whether the memory of an entry has expired."""
        end_ms = self.end_of(entry)
        return end_ms is not None and end_ms <= now_ms

    def write(self, db: sqlite3.Connection, path: str) -> Mapping[int, Noted]:
        """Write what was noted, in the caller's transaction; `forget` it once that is committed.

        A memory that has changed meanwhile or is gone is left alone.
        """
        noted = self.noted.copy()
        if not noted:
            return noted
        with suppress(CatalogCorruptError):  # no other change has to wait for a damaged row
            put_entries(
                db,
                [
                    row | {"expires_ms": noted[each].expires_ms}
                    for each, row in entries_of(db, noted, path).items()
                    if self.end_of(row) == noted[each].expires_ms
                ],
            )
        return noted

    def forget(self, written: Mapping[int, Noted]) -> None:
        """Forget what has been committed, but no use that came since."""
        for each, noted in written.items():
            if self.noted.get(each) is noted:
                del self.noted[each]

    @contextmanager
    def held_at(self, now_ms: int) -> Iterator[None]:
        """A context in which this thread reads as of one moment: none expires in between."""
        before = getattr(self._thread, "at_ms", None)
        self._thread.at_ms = now_ms if before is None else before
        try:
            yield
        finally:
            self._thread.at_ms = before

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A context in which this thread reads expired memories, too: to erase them."""
        before = getattr(self._thread, "shows", False)
        self._thread.shows = True
        try:
            yield
        finally:
            self._thread.shows = before


def holds_ends(db: sqlite3.Connection) -> bool:
    """Whether any memory of a catalog has an end."""
    if not has_tables(db, "entry"):
        return False
    sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE expires_ms IS NOT NULL)"
    return bool(db.execute(sql).fetchone()[0])


def expired_ids(db: sqlite3.Connection, now_ms: int) -> list[int]:
    """Memories whose end has come, ascending."""
    sql = "SELECT id FROM entry WHERE expires_ms <= ? ORDER BY id"
    return [each for (each,) in db.execute(sql, (now_ms,))]


def expired_by_tier(db: sqlite3.Connection, ends: Ends) -> dict[int, int]:
    """Code of a tier -> how many of its memories have expired and are not erased yet."""
    ended, params = ends.ended() or ("SELECT NULL", ())
    return dict(
        db.execute(
            "SELECT segment.tier, count(*) FROM record JOIN segment ON segment.id = record.segment_id"
            f" WHERE record.id IN ({ended}) GROUP BY segment.tier",
            params,
        )
    )


@managed
def moment_of(catalog: Database) -> Iterator[sqlite3.Connection]:
    """A reading connection of a catalog that sees one moment of it, whatever a writer does.

    One in memory is the caller's alone while it reads, and one in a transaction sees one already.
    """
    with catalog.reading() as db:
        if catalog.in_memory or db.in_transaction:
            yield db
        else:
            with read_transaction(db):
                yield db

"""Conditions and look-ups over the tables of the catalog."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spector.arguments import SCOPES
from spector.kernel.contract import ENDED, LINK, RESERVED
from spector.layout import Flag
from spector.process import keeps
from spector.records import MemoryRecord
from spector.store.catalog.catalog import Catalog, Way, led_by
from spector.store.catalog.filters import SqlFilter, narrowed
from spector.store.catalog.rows import FROM_ANY, Row, StoredRow
from spector.store.catalog.schema import DERIVED_IDS_SQL, DERIVED_SQL
from spector.store.payloads import (
    PAYLOAD_FACETS,
    KeyRange,
    has_tables,
    key_condition,
    own_condition,
)
from spector.store.sqlite import select_among

# The scope of a call: which user, agent and session a memory must belong to.
#
# It guards the verbs that name memories by id. A scope is exact, as in a recall: a memory without a
# user is in no user's scope.


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The labels that a memory must have; None accepts any value, also none."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None

    @property
    def is_open(self) -> bool:
        """True when every memory is in it."""
        return self is ANYBODY or self == ANYBODY

    @property
    def labels(self) -> tuple[str | None, str | None, str | None]:
        """User, agent and session."""
        return self.user_id, self.agent_id, self.session_id

    def holds(self, memory: Row | MemoryRecord) -> bool:
        """Whether a memory has exactly the labels that are given."""
        return all(
            wanted is None or getattr(memory, name) == wanted
            for name, wanted in ((name, getattr(self, name)) for name in SCOPES)
        )


ANYBODY: Final = Scope()


def members(catalog: Catalog, ids: Iterable[int], scope: Scope, *, inside: bool) -> set[int]:
    """Those of the ids that are living memories inside the scope, or outside of it."""
    asked = [(name, value) for name in SCOPES if (value := getattr(scope, name)) is not None]
    within = " AND ".join(f"{name} IS ?" for name, _ in asked) or "1"
    values = tuple(value for _, value in asked)
    sql = f"SELECT id FROM record WHERE id IN (:ids) AND ({within}) = ?"
    with catalog.reading() as db:
        return {each for (each,) in select_among(db, sql, sorted(ids), (*values, int(inside)))}


# Which memory supersedes which: a reserved tag of the newer memory names the older one.
#
# The tag begins with U+0001, which no user's tag may contain. So a link is sealed with the words of
# its memory, found from either side, and copied, repaired and checked like any tag. The older memory
# always has the smaller id, so links form no cycle. It keeps the end of validity that it had before
# in a reserved tag of its own, for when it is reinstated: by then the newer one is gone.

#: flags begin a mutable block, and SUPERSEDED is in their first byte
_SUPERSEDED: Final = int(Flag.SUPERSEDED)
#: memories with an end of validity that are checked for one that is not superseded
_MANY: Final = 256


def _flagged_sql(flag: Flag) -> str:
    """A condition on ``record``: a flag in the first byte of its mutable block is set.

    SQLite has no bit operations on blobs, so the byte is tested as two hexadecimal digits.
    """
    high, bits = flag > 0xF, int(flag) >> 4 or int(flag)
    digits = ",".join(f"'{digit:X}'" for digit in range(16) if digit & bits)
    return f"substr(hex(substr(record.mutable, 1, 1)), {1 if high else 2}, 1) IN ({digits})"


SUPERSEDED_SQL: Final = _flagged_sql(Flag.SUPERSEDED)
PINNED_SQL: Final = _flagged_sql(Flag.PINNED)
#: a condition on ``record`` with a moment: not dormant, or its validity had ended by then
RESTED_SQL: Final = f"(NOT {_flagged_sql(Flag.DORMANT)} OR valid_until_ms <= ?)"
#: a condition on ``record``: a living memory supersedes it
LINKED_SQL: Final = (
    "EXISTS (SELECT 1 FROM record_tag AS link"
    f" WHERE link.tag = char(1) || '{LINK[1:-1]}' || char(1) || record.id)"
)
#: (newer id, older id as text) of every link
LINKS_SQL: Final = (
    f"SELECT id AS newer, substr(tag, {len(LINK) + 1}) AS older FROM record_tag"
    f" WHERE tag >= char(1) || '{LINK[1:-1]}' || char(1)"
    f" AND tag < char(1) || '{LINK[1:-1]}' || char(2)"
)


def link_tags(superseded: Iterable[int]) -> tuple[str, ...]:
    """The reserved tags of a memory that supersedes these memories."""
    return tuple(f"{LINK}{record_id}" for record_id in superseded)


class TagParts(NamedTuple):
    """A memory's own tags, and what its reserved tags say."""

    own: tuple[str, ...]
    #: ids of the memories it supersedes
    supersedes: tuple[int, ...] = ()
    #: its end of validity before it was superseded; () when it was not
    until_ms: tuple[int | None, ...] = ()


def join_reserved_tags(
    own: tuple[str, ...], supersedes: Iterable[int], until_ms: tuple[int | None, ...]
) -> tuple[str, ...]:
    """Stored tags from their parts, the inverse of `split_reserved_tags`."""
    ends = (ENDED if each is None else f"{ENDED}{each}" for each in until_ms)
    return (*own, *ends, *link_tags(supersedes))


def split_reserved_tags(tags: tuple[str, ...]) -> TagParts:
    """Split stored tags into a memory's own ones and the meaning of the reserved ones."""
    if not tags or not tags[-1].startswith(RESERVED):  # these come last
        return TagParts(tags)
    return _split(tags)


@keeps(1024)
def _split(tags: tuple[str, ...]) -> TagParts:
    own = tuple(tag for tag in tags if not tag.startswith(RESERVED))
    links = (tag.removeprefix(LINK) for tag in tags if tag.startswith(LINK))
    ends = [tag.removeprefix(ENDED) for tag in tags if tag.startswith(ENDED)]
    return TagParts(
        own,
        tuple(int(link) for link in links if link.isascii() and link.isdecimal()),
        tuple(_number(end) for end in ends[:1]),
    )


def _number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() else None


def has_ended(row: Row | StoredRow) -> bool:
    """Whether a memory may have a successor; only then one is looked up."""
    return bool(row.mutable[0] & _SUPERSEDED) or row.valid_until_ms is not None


def ended_among(rows: Iterable[StoredRow]) -> list[int]:
    """Ids of those of some memories that may have a successor."""
    return [
        row.id for row in rows if row.mutable[0] & _SUPERSEDED or row.valid_until_ms is not None
    ]


def successors(catalog: Catalog, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """id -> the living memories that supersede it, ascending; only ids that have any."""
    out: dict[int, list[int]] = {}
    alive, now = catalog.ends.alive("record_tag")
    sql = f"SELECT tag, id FROM record_tag WHERE tag IN (:ids){alive} ORDER BY id"
    with catalog.reading() as connection:
        for tag, newer in select_among(connection, sql, link_tags(ids), now):
            out.setdefault(int(tag.removeprefix(LINK)), []).append(newer)
    return {older: tuple(newer) for older, newer in out.items()}


def newer_than(catalog: Catalog, row: Row | StoredRow) -> tuple[int, ...]:
    """The living memories that supersede the one of a row, ascending."""
    return successors(catalog, [row.id]).get(row.id, ()) if has_ended(row) else ()


def has_windows(catalog: Catalog) -> bool:
    """False when only superseded memories, which their flag excludes, have a validity window.

    When many have an end of validity they are not all checked, and the answer is True.
    """
    with catalog.reading() as connection:
        [[found]] = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM record WHERE valid_from_ms IS NOT NULL AND NOT"
            f" {SUPERSEDED_SQL}) OR (SELECT count(*) = {_MANY} OR total(NOT {SUPERSEDED_SQL}) > 0"
            f" FROM (SELECT mutable FROM record WHERE valid_until_ms IS NOT NULL LIMIT {_MANY})"
            " AS record)"
        )
        return bool(found)


# Which memories were made of which: the parents that a memory names itself.


class RecordLinks:
    """The links that memories hold themselves, found from the memory that they lead to.

    Which memories name a parent is read once, and after that from newer memories only.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        #: parent -> its children; every memory up to this id has been read
        self._children: dict[int, dict[int, None]] = {}
        self._read_to = -1

    def into(self, ids: Collection[int]) -> list[tuple[int, int, str]]:
        """(newer memory, one of ``ids``, kind) of each link that leads to one of these."""
        ended = successors(self._catalog, sorted(ids))
        found = [(newer, each, "supersedes") for each in ended for newer in ended[each]]
        with self._catalog.reading() as db:
            (last,) = db.execute("SELECT max(id) FROM content").fetchone()
            if last is not None and last > self._read_to:
                for child, parent in parents_after(db, self._read_to):
                    self._children.setdefault(parent, {})[child] = None
                self._read_to = max(last, self._read_to)
        found += [
            (child, each, "derived_from")
            for each in ids
            for child in tuple(self._children.get(each, ()))
        ]
        return found


def parents_after(db: sqlite3.Connection, after_id: int = -1) -> Iterator[tuple[int, int]]:
    """(memory, parent) of each memory with a greater id, by ascending id of the memory."""
    sql = "SELECT id, parents FROM content WHERE id > ? AND parents IS NOT NULL ORDER BY id"
    for record_id, parents in db.execute(sql, (after_id,)):
        try:
            found = json.loads(parents)
        except (ValueError, RecursionError):  # damage, which check reports
            continue
        for parent in found if isinstance(found, list) else ():
            if isinstance(parent, int):
                yield record_id, parent


# Slots and strengths of memories in one partition, as the caller's connection sees them.

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
    with catalog.reading() as db:
        return select_among(db, f"{_LABELS} id IN (:ids) ORDER BY id", ids)


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


def slots_of(db: sqlite3.Connection, segment_id: int) -> dict[int, int]:
    """Slot -> id of the memories in a partition, by ascending slot."""
    sql = "SELECT slot, id FROM record WHERE segment_id = ? ORDER BY slot"
    return dict(db.execute(sql, (segment_id,)))


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


# How many memories there are, of which tiers, users and namespaces.


def count_by_ways(
    catalog: Catalog, ways: Sequence[Way], condition: SqlFilter, *, said: bool = False
) -> int:
    """How many memories have some tags and labels, and satisfy a condition, too.

    Args:
        said: without those that repeat others.
    """
    less, now = catalog.ends.ended() or ("", ())
    if said:
        less = f"{less} UNION {DERIVED_IDS_SQL}" if less else DERIVED_IDS_SQL
    sql = condition.sql
    with catalog.reading() as db:
        led = led_by(db, ways, wide=sql != "1", every=True)
        content = " LEFT JOIN content ON content.id = record.id" if "content." in sql else ""
        counted = f"SELECT count(*) FROM {led.source}{content} WHERE {led.sql} AND ({sql})"
        given: tuple[Any, ...] = (*led.params, *condition.params)
        if less:  # these are few: they are counted apart and taken off
            counted = f"SELECT ({counted}) - ({counted} AND {led.id} IN ({less}))"
            given = (*given, *given, *now)
        return int(db.execute(counted, given).fetchone()[0])


def count_by_tier(catalog: Catalog, condition: SqlFilter) -> list[tuple[int, int]]:
    """(tier code, memories that satisfy a condition)."""
    alive, now = catalog.ends.alive()
    return catalog.ask(
        f"SELECT segment.tier, count(*){FROM_ANY}"
        f" JOIN segment ON segment.id = record.segment_id WHERE ({condition.sql}){alive}"
        " GROUP BY segment.tier",
        (*condition.params, *now),
    )


def strengths_of(
    catalog: Catalog, condition: SqlFilter, recorded_after_ms: int, now_ms: int
) -> list[tuple[int, bytes]]:
    """(id, mutable block) of memories that satisfy a condition, are valid now and not older."""
    alive, now = catalog.ends.alive()
    return catalog.ask(
        f"SELECT record.id, record.mutable{FROM_ANY} WHERE ({condition.sql}){alive}"
        " AND record.recorded_ms > ?"
        " AND (record.valid_from_ms IS NULL OR record.valid_from_ms <= ?)"
        " AND (record.valid_until_ms IS NULL OR record.valid_until_ms > ?) ORDER BY record.id",
        (*condition.params, *now, recorded_after_ms, now_ms, now_ms),
    )


def count_by_user(
    catalog: Catalog, sorts: Collection[str] | None
) -> list[tuple[Any, int, Any, Any]]:
    """(user, memories, first and last event time) as stored, of each user with a memory.

    Without ``sorts`` what is derived is not counted, and still is of a user.
    """
    alive, now = catalog.ends.alive()
    counted, chosen = f"sum(NOT {DERIVED_SQL})", ""
    if sorts is not None:
        counted, chosen = "count(*)", f" AND {_sorts_sql(catalog, sorts) or '1'}"
    return catalog.ask(
        f"SELECT user_id, {counted}, min(event_ms), max(event_ms) FROM record"
        f" WHERE user_id IS NOT NULL{chosen}{alive} GROUP BY user_id",
        now,
    )


def count_by_namespace(catalog: Catalog, keys: KeyRange, scope: Scope) -> list[tuple[str, int]]:
    """(namespace as stored, memories of a scope) of each that keys of a range are of.

    An index of keys has all that is asked for, but the session.
    """
    sql, params = keys.condition()
    for column, value in zip(("user_id", "agent_id"), (scope.user_id, scope.agent_id), strict=True):
        if value is not None:
            sql, params = f"{sql} AND {column} = ?", (*params, value)
    if scope.session_id is not None:
        sql += " AND id IN (SELECT id FROM record WHERE session_id = ?)"
        params = (*params, scope.session_id)
    counts = f"SELECT namespace, count(*) AS n FROM entry WHERE {sql} GROUP BY namespace"
    values: tuple[Any, ...] = params
    if (ended := catalog.ends.ended()) is not None:
        fewer = counts.replace("count(*)", "-count(*)").replace(
            " GROUP", f" AND id IN ({ended[0]}) GROUP"
        )
        counts, values = f"{counts} UNION ALL {fewer}", (*params, *params, *ended[1])
    with catalog.reading() as db:
        if not has_tables(db, "entry"):
            return []
        return db.execute(
            f"SELECT namespace, sum(n) AS left FROM ({counts}) GROUP BY namespace HAVING left > 0",
            values,
        ).fetchall()


def count_users(catalog: Catalog) -> int:
    """How many users have memories."""
    [[count]] = catalog.ask("SELECT count(DISTINCT user_id) FROM record")
    return int(count)


def outermost_users(catalog: Catalog) -> set[object]:
    """The first and the last user of the index: one value when only one user has memories."""
    ends = " UNION ALL ".join(
        f"SELECT * FROM (SELECT user_id FROM record WHERE user_id IS NOT NULL"
        f" ORDER BY user_id {way} LIMIT 1)"
        for way in ("ASC", "DESC")
    )
    return {user for (user,) in catalog.ask(ends)}


# Which memories are of some sorts, and which have keys of a range: SQL over ``record``.

#: in place of sorts: what was said and stored, and nothing that repeats it
SAID: Final[frozenset[str]] = frozenset()


def of_sorts(
    catalog: Catalog, condition: SqlFilter | None, sorts: Collection[str] | None
) -> SqlFilter | None:
    """A condition on ``record``, and that a memory is of one of some sorts; None for all.

    ``memory`` is one without a payload that was said or stored, ``theme`` one without that was
    made of others.
    """
    sql = _sorts_sql(catalog, sorts)
    if sql is None:
        return condition
    return narrowed(condition, sql)


def of_keys(
    catalog: Catalog, condition: SqlFilter | None, keys: KeyRange | None, *, gathers: bool
) -> SqlFilter | None:
    """A condition on ``record``, and that a memory has a key of a range; None for any memory.

    Args:
        gathers: all of them are looked for, and not which of some memories are; only then the
            catalog may lack the table of keys.
    """
    if keys is None:
        return condition
    if gathers:
        with catalog.reading() as db:
            sql, params = key_condition(db, keys)
    else:
        sql, params = own_condition(keys)
    return narrowed(condition, sql, params)


def _sorts_sql(catalog: Catalog, sorts: Collection[str] | None) -> str | None:
    if sorts is None or len(sorts) == len(PAYLOAD_FACETS) + 2:
        return None
    if not sorts:
        return f"NOT EXISTS ({DERIVED_IDS_SQL} AND derived.id = record.id)"
    plain = {"memory": f" AND NOT {DERIVED_SQL}", "theme": f" AND {DERIVED_SQL}"}
    wanted = [sql for name, sql in plain.items() if name in sorts]
    with catalog.reading() as db:
        if not has_tables(db):
            return f"({' OR '.join(f'1{sql}' for sql in wanted) or '0'})"
    parts = [_has_one([each for each in PAYLOAD_FACETS if each in sorts])]
    if wanted:
        parts.append(f"NOT {_has_one(PAYLOAD_FACETS)}{wanted[0] if len(wanted) == 1 else ''}")
    return f"({' OR '.join(parts)})"


def _has_one(sorts: Collection[str]) -> str:
    """SQL: the payload of a memory is of one of these sorts."""
    listed = ", ".join(f"'{each}'" for each in sorts if each != "fact")
    fact = " OR EXISTS (SELECT 1 FROM fact WHERE fact.id = record.id)" if "fact" in sorts else ""
    return (
        "(EXISTS (SELECT 1 FROM payload WHERE payload.id = record.id"
        f" AND payload.sort IN ({listed})){fact})"
    )

"""How many memories there are, of which tiers, users and namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spector.store.catalog.catalog import Catalog
from spector.store.catalog.queries.filters import SqlFilter
from spector.store.catalog.queries.scopes import Scope
from spector.store.catalog.schema import DERIVED_SQL
from spector.store.catalog.ways import Way, count_led
from spector.store.payloads import KeyRange, has_tables

__all__ = [
    "count_by_namespace",
    "count_by_tier",
    "count_by_user",
    "count_by_ways",
    "count_users",
    "outermost_users",
    "strengths_of",
]

_FROM = " FROM record LEFT JOIN content ON content.id = record.id"


def count_by_ways(catalog: Catalog, ways: Sequence[Way], condition: SqlFilter) -> int:
    """How many memories have some tags and labels, and satisfy a condition, too."""
    ended = catalog.ends.ended()
    with catalog.reading() as db:
        return count_led(db, ways, condition.sql, condition.params, ended)


def count_by_tier(catalog: Catalog, condition: SqlFilter) -> list[tuple[int, int]]:
    """(tier code, memories that satisfy a condition)."""
    alive, now = catalog.ends.alive()
    with catalog.reading() as db:
        return db.execute(
            f"SELECT segment.tier, count(*){_FROM}"
            f" JOIN segment ON segment.id = record.segment_id WHERE ({condition.sql}){alive}"
            " GROUP BY segment.tier",
            (*condition.params, *now),
        ).fetchall()


def strengths_of(
    catalog: Catalog, condition: SqlFilter, recorded_after_ms: int, now_ms: int
) -> list[tuple[int, bytes]]:
    """(id, mutable block) of memories that satisfy a condition, are valid now and not older."""
    alive, now = catalog.ends.alive()
    with catalog.reading() as db:
        return db.execute(
            f"SELECT record.id, record.mutable{_FROM} WHERE ({condition.sql}){alive}"
            " AND record.recorded_ms > ?"
            " AND (record.valid_from_ms IS NULL OR record.valid_from_ms <= ?)"
            " AND (record.valid_until_ms IS NULL OR record.valid_until_ms > ?) ORDER BY record.id",
            (*condition.params, *now, recorded_after_ms, now_ms, now_ms),
        ).fetchall()


def count_by_user(catalog: Catalog) -> list[tuple[Any, int, Any, Any]]:
    """(user, memories, first and last event time) as stored, of each user with a memory.

    What is derived is not counted, and still is of a user.
    """
    alive, now = catalog.ends.alive()
    with catalog.reading() as db:
        return db.execute(
            f"SELECT user_id, sum(NOT {DERIVED_SQL}), min(event_ms), max(event_ms) FROM record"
            f" WHERE user_id IS NOT NULL{alive} GROUP BY user_id",
            now,
        ).fetchall()


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
    with catalog.reading() as db:
        [[count]] = db.execute("SELECT count(DISTINCT user_id) FROM record")
        return int(count)


def outermost_users(catalog: Catalog) -> set[object]:
    """The first and the last user of the index: one value when only one user has memories."""
    ends = " UNION ALL ".join(
        f"SELECT * FROM (SELECT user_id FROM record WHERE user_id IS NOT NULL"
        f" ORDER BY user_id {way} LIMIT 1)"
        for way in ("ASC", "DESC")
    )
    with catalog.reading() as db:
        return {user for (user,) in db.execute(ends)}

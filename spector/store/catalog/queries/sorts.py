"""Which memories are of some sorts, and which have keys of a range: SQL over ``record``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from spector.store.catalog.catalog import Catalog
from spector.store.catalog.queries.filters import SqlFilter
from spector.store.catalog.schema import DERIVED_SQL
from spector.store.payloads import PAYLOAD_FACETS, KeyRange, has_tables, key_condition

__all__ = ["SAID", "of_keys", "of_sorts"]

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
    if condition is None:
        return SqlFilter(sql, ())
    return SqlFilter(f"({condition.sql}) AND {sql}", condition.params)


def of_keys(
    catalog: Catalog, condition: SqlFilter | None, keys: KeyRange | None, *, gathers: bool
) -> SqlFilter | None:
    """A condition on ``record``, and that a memory has a key of a range; None for any memory.

    Args:
        gathers: all of them are looked for, and not which of some memories are.
    """
    if keys is None:
        return condition
    with catalog.reading() as db:
        sql, params = key_condition(db, keys, gathers=gathers)
    if condition is None:
        return SqlFilter(sql, params)
    return SqlFilter(f"({condition.sql}) AND {sql}", (*condition.params, *params))


def _sorts_sql(catalog: Catalog, sorts: Collection[str] | None) -> str | None:
    if sorts is None or len(sorts) == len(PAYLOAD_FACETS) + 2:
        return None
    if not sorts:
        return f"NOT {DERIVED_SQL}"
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

"""Rows of knowledge in a catalog: put, read, delete with what they depend on."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from spector.errors import CatalogCorruptError, InvalidTextError
from spector.language.words import fact_key, folded
from spector.layout import TierCode
from spector.messages import counted
from spector.records import KEY_BYTES, NAMESPACE_END, Attached
from spector.store.payloads.tables import (
    KEYS,
    KNOWLEDGE,
    NAMESPACES_TAGGED,
    PAYLOAD_TABLES,
    SORTS,
    PayloadTable,
    decode,
    table_named,
    texts_in,
    words_in,
)
from spector.store.sqlite import id_chunks, select_among

#: what the functions here work on
Connection = sqlite3.Connection
#: values of a collection that may stand in a condition beside others
_FEW: Final = 112


def has_tables(db: sqlite3.Connection, name: str = "payload") -> bool:
    """Whether this catalog has the tables of knowledge, or the one of a name."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


#: tables with what few memories have beside their row
DETAIL_TABLES: Final = ("payload", "entry")


def detail_tables(db: sqlite3.Connection) -> frozenset[str]:
    """Which of `DETAIL_TABLES` a catalog has, and `NAMESPACES_TAGGED`; no commit takes one away."""
    sql = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)"
        " UNION ALL SELECT key FROM meta WHERE key = ?"
    )
    return frozenset([name for (name,) in db.execute(sql, (*DETAIL_TABLES, NAMESPACES_TAGGED))])


def tables_in(db: sqlite3.Connection) -> tuple[PayloadTable, ...]:
    """The tables of the list that this catalog has: all of a group or none, unless it is damaged."""
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return tuple(each for each in PAYLOAD_TABLES if each.name in found)


def make_tables(db: sqlite3.Connection, group: str = KNOWLEDGE) -> None:
    """Make those tables of a group that are missing, as part of the caller's transaction."""
    known = tables_in(db)
    if group == KEYS and table_named("entry") not in known:
        db.execute("INSERT OR IGNORE INTO meta VALUES (?, '1')", (NAMESPACES_TAGGED,))
    for table in PAYLOAD_TABLES:
        if table.group == group and table not in known:
            for statement in table.statements():
                db.execute(statement)


def put_rows(
    db: sqlite3.Connection, table: PayloadTable, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Put rows, each sealed, in place of those with their keys."""
    with _typed_texts():
        db.executemany(table.insert(), [table.sealed(each) for each in rows])


def delete_rows(db: sqlite3.Connection, table: PayloadTable, keys: Iterable[Sequence[Any]]) -> None:
    """Delete rows by their keys; unknown keys are passed over."""
    condition = " AND ".join(f"{each} = ?" for each in table.key)
    db.executemany(f"DELETE FROM {table.name} WHERE {condition}", [tuple(each) for each in keys])


def delete_owned(db: sqlite3.Connection, ids: Collection[int]) -> int:
    """Delete every row that depends on one of these memories or items; returns how many."""
    gone, tables = 0, tables_in(db) if ids else ()
    for chunk in id_chunks(sorted(ids)):
        marks = ", ".join("?" * len(chunk))
        for table in tables:
            for column in table.owners:
                gone += db.execute(
                    f"DELETE FROM {table.name} WHERE {column} IN ({marks})", chunk
                ).rowcount
    return gone


def rows_of(
    db: sqlite3.Connection,
    table: PayloadTable,
    conditions: Mapping[str, Any] | None = None,
    *,
    order: str = "",
    limit: int | None = None,
    least: Mapping[str, float] | None = None,
    path: str = "the catalog",
    is_there: bool = False,
) -> Iterator[dict[str, Any]]:
    """Rows that meet all conditions, each proved by its seal; none without the tables.

    Args:
        conditions: Column -> a value, or a collection of values of which one has to match. One
            collection may be of any length.
        order: Columns to sort by, for conditions without a long collection.
        least: Column -> the least value that a row may have.
        is_there: The caller knows that the catalog has the tables.

    Raises:
        CatalogCorruptError: A row is not what was written.
    """
    if not (is_there or has_tables(db, table.name)):
        return
    floors = "".join(f" AND {name} >= ?" for name in least or ())
    for where, values in _conditions(table, conditions or {}):
        values = [*values, *(least or {}).values()]
        sql = f"SELECT * FROM {table.name} WHERE {where}{floors}"
        sql += f" ORDER BY {order}" if order else ""
        sql += "" if limit is None else f" LIMIT {limit}"
        with _typed_texts():
            found = db.execute(sql, values)
        for stored in found:
            row, problem = table.read(stored)
            if problem is not None:
                raise damaged_row(table, row, problem, path)
            yield row


def count_of(
    db: sqlite3.Connection, table: PayloadTable, conditions: Mapping[str, Any] | None = None
) -> int:
    """How many rows meet all conditions."""
    if not has_tables(db, table.name):
        return 0
    return sum(
        db.execute(f"SELECT count(*) FROM {table.name} WHERE {where}", values).fetchone()[0]
        for where, values in _conditions(table, conditions or {})
    )


def greatest(
    db: sqlite3.Connection, table: PayloadTable, column: str, conditions: Mapping[str, Any]
) -> int:
    """The greatest value of a column in rows that meet all conditions; -1 without any."""
    [(where, values)] = _conditions(table, conditions)
    sql = f"SELECT coalesce(max({column}), -1) FROM {table.name} WHERE {where}"
    return int(db.execute(sql, values).fetchone()[0])


def keys_below(
    db: sqlite3.Connection, table: PayloadTable, column: str, bound: int
) -> list[tuple[Any, ...]]:
    """Keys of the rows with a lower value in a column."""
    sql = f"SELECT {', '.join(table.key)} FROM {table.name} WHERE {column} < ?"
    return db.execute(sql, (bound,)).fetchall()


def scopes_of_names(db: sqlite3.Connection, most: int) -> list[str] | None:
    """The scopes that have names, ascending; None when there are more than ``most``."""
    found: list[str] = []
    while has_tables(db):
        after = "" if not found else "WHERE scope > ?"
        (scope,) = db.execute(f"SELECT min(scope) FROM name {after}", found[-1:]).fetchone()
        if scope is None:
            break
        if len(found) == most:
            return None
        found.append(scope)
    return found


def owners_of(
    db: sqlite3.Connection, ids: Collection[int]
) -> list[tuple[int, int | None, str, str | None, int]]:
    """(id, code of its tier, user or "", session, event time) of those memories that exist."""
    sql = (
        "SELECT record.id, segment.tier, coalesce(user_id, ''), session_id, event_ms"
        " FROM record LEFT JOIN segment ON segment.id = record.segment_id"
        " WHERE record.id IN (:ids)"
    )
    return select_among(db, sql, sorted(ids))


def last_id_of(db: sqlite3.Connection) -> int:
    """The greatest id that was given so far."""
    (found,) = db.execute("SELECT last_id FROM head").fetchone()
    return int(found)


def mentioning_after(db: sqlite3.Connection, after_id: int, limit: int) -> list[int]:
    """The first memories after an id that mention an entity, ascending."""
    found = db.execute(
        "SELECT DISTINCT b FROM link WHERE b > ? AND kind = 'mention' ORDER BY b LIMIT ?",
        (after_id, limit),
    )
    return [each for (each,) in found]


def count_named(db: sqlite3.Connection) -> int:
    """How many names there are of entities, and of what facts that hold are about, by user."""
    return int(
        db.execute(
            "SELECT count(*) FROM (SELECT scope, folded FROM name WHERE sort = 'entity'"
            " UNION SELECT scope, subject FROM fact WHERE holds = 1)"
        ).fetchone()[0]
    )


def edge_counts(db: sqlite3.Connection) -> tuple[int, dict[str, int]]:
    """How many memories have an edge, and how many edges there are of each kind."""
    if not has_tables(db):
        return 0, {}
    (nodes,) = db.execute(
        "SELECT count(*) FROM (SELECT source_id FROM edge UNION SELECT target_id FROM edge)"
    ).fetchone()
    return nodes, dict(db.execute("SELECT kind, count(*) FROM edge GROUP BY kind ORDER BY kind"))


def edge_columns(db: sqlite3.Connection) -> list[tuple[int, int, float, str, str | None]]:
    """Every edge as (source, target, weight, kind, user of the source), without its seal.

    For computations over all edges: the check proves rows one by one, which would take longer than
    the computation.
    """
    if not has_tables(db):
        return []
    # a join would look up the record of every edge
    users = dict(db.execute("SELECT id, user_id FROM record WHERE user_id IS NOT NULL"))
    rows = db.execute("SELECT source_id, target_id, weight, kind FROM edge").fetchall()
    return [(*row, users.get(row[0])) for row in rows]


def living_among(db: sqlite3.Connection, ids: Collection[int]) -> set[int]:
    """Which of these memories have a row."""
    sql = "SELECT id FROM record WHERE id IN (:ids)"
    return {each for (each,) in select_among(db, sql, sorted(ids))}


def damaged_row(
    table: PayloadTable, row: Mapping[str, Any], problem: str, path: str
) -> CatalogCorruptError:
    """The error of a row whose values are not what was written."""
    named = ", ".join(f"{each}={row[each]!r}" for each in table.key)
    return CatalogCorruptError(
        f"{path}: a row of {table.name} ({named}) is damaged: {problem}",
        hint="run: spector check PATH; salvage what is sound with spector check PATH --repair DEST",
    )


@contextlib.contextmanager
def _typed_texts() -> Iterator[None]:
    """Give the error of a text that no store can hold its type."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"a text cannot be stored as UTF-8: {error.reason} at {error.start}",
            hint='decode it with errors="replace"',
        ) from None


def note_holding(db: sqlite3.Connection, holding: Mapping[int, bool]) -> None:
    """Let facts follow their memories: one that was superseded holds no more, one reinstated does.

    Of two facts with one key only one holds: the one that does already.
    """
    if not holding or not has_tables(db):
        return
    table = table_named("fact")
    for row in list(rows_of(db, table, {"id": list(holding)})):
        holds = int(holding[row["id"]])
        if row["holds"] == holds:
            continue
        same = {"scope": row["scope"], "fact_key": row["fact_key"], "holds": 1}
        if not holds or not count_of(db, table, same):
            put_rows(db, table, [row | {"holds": holds}])


def _conditions(
    table: PayloadTable, conditions: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any]]]:
    """WHERE clauses and their values; a long collection falls into several."""
    fixed: list[tuple[str, list[Any]]] = []
    long: tuple[str, list[Any]] | None = None
    for name, value in conditions.items():
        assert name in table.names, name
        if not isinstance(value, (list, tuple, set, frozenset, range)):
            fixed.append((f"{name} IS ?" if value is None else f"{name} = ?", [value]))
        elif len(value) <= _FEW:
            fixed.append((f"{name} IN ({', '.join('?' * len(value))})", list(value)))
        else:
            assert long is None, "two long collections"
            long = name, sorted(value)
    where = " AND ".join(each for each, _ in fixed) or "1"
    values = [value for _, each in fixed for value in each]
    if long is None:
        yield where, values
        return
    for chunk in id_chunks(long[1]):
        yield f"{where} AND {long[0]} IN ({', '.join('?' * len(chunk))})", [*values, *chunk]


# What is attached to memories: one row each, which nothing reads that does not ask for it.

_ATTACHMENT: Final = table_named("attachment")


def put_attachments(db: sqlite3.Connection, attached: Mapping[int, Attached]) -> None:
    """Write what is attached to memories, in place of what was; their entries say how much."""
    make_tables(db, KEYS)
    rows = ({"id": n, "form": each.form, "data": each.data} for n, each in attached.items())
    put_rows(db, _ATTACHMENT, rows)


def drop_attachments(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete what is attached to memories."""
    if has_tables(db, _ATTACHMENT.name):
        delete_rows(db, _ATTACHMENT, [(each,) for each in ids])


def attachment_of(
    db: sqlite3.Connection, record_id: int, where: str = "the catalog"
) -> Attached | None:
    """What is attached to a memory; None for nothing.

    Raises:
        CatalogCorruptError: It is not what was written.
    """
    for row in rows_of(db, _ATTACHMENT, {"id": record_id}, path=where):
        return Attached(row["form"], row["data"])
    return None


# What the payload tables say of memories: one query for payloads and facts, each row proved.

#: variables of one statement and half of it; older builds of SQLite allow 999
_MOST: Final = 450


def described(
    db: sqlite3.Connection, ids: Sequence[int], path: str
) -> dict[int, dict[str, dict[str, Any]]]:
    """Memory -> sort -> the fields of its payload of that sort; a fact has the sort ``fact``.

    The catalog has the tables.

    Raises:
        CatalogCorruptError: A row is not what was written.
    """
    tables = table_named("fact"), table_named("payload")
    out: dict[int, dict[str, dict[str, Any]]] = {}
    for start in range(0, len(ids), _MOST):
        part = ids[start : start + _MOST]
        for is_payload, *stored in db.execute(_sql(len(part)), [*part, *part]):
            table = tables[is_payload]
            row, problem = table.read(stored[: len(table.names) + 1])
            if problem is not None:
                raise damaged_row(table, row, problem, path)
            if not is_payload:
                out.setdefault(row["id"], {})["fact"] = {}
            elif row["sort"] in SORTS:  # a newer version may know more
                out.setdefault(row["id"], {})[row["sort"]] = decode(row["sort"], row["json"])[0]
    return out


@cache
def _sql(count: int) -> str:
    """The rows of both tables for some ids, padded to one width."""
    marks = ", ".join("?" * count)
    fact, payload = table_named("fact"), table_named("payload")
    padding = ", NULL" * (len(fact.names) - len(payload.names))
    return (
        f"SELECT 1, payload.*{padding} FROM payload WHERE id IN ({marks})"
        f" UNION ALL SELECT 0, fact.* FROM fact WHERE id IN ({marks})"
    )


# Words in rows of knowledge: what a search after an erasure looks for, and what may stay.

#: fields of a fact and of an item whose texts name nothing that a person said
_NO_WORDS: Final = frozenset({"type", "sort", "modality", "origin"})


def owned_rows(
    db: sqlite3.Connection, ids: Collection[int], path: str = "the catalog"
) -> Iterator[tuple[PayloadTable, dict[str, Any]]]:
    """Every row that goes with one of these memories or items; some come twice.

    Raises:
        CatalogCorruptError: A row is not what was written.
    """
    for table in tables_in(db) if ids else ():
        for column in table.owners:
            for row in rows_of(db, table, {column: list(ids)}, path=path):
                yield table, row


def rows_naming(
    db: sqlite3.Connection, record_id: int
) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Table, values and fault of every row that goes with a memory or item, each once."""
    for table in (each for each in tables_in(db) if each.owners):
        where = " OR ".join(f"{column} = ?" for column in table.owners)
        ids = (record_id,) * len(table.owners)
        for stored in db.execute(f"SELECT * FROM {table.name} WHERE {where}", ids):
            row, problem = table.read(stored)
            row = {
                name: counted(len(value), "byte", commas=True) if type(value) is bytes else value
                for name, value in row.items()
            }
            if problem is None:
                row = {
                    column.name: json.loads(row[column.name])
                    if column.json and row[column.name] is not None
                    else row[column.name]
                    for column in table.columns
                }
            yield table.name, row, problem


def words_of_row(table: PayloadTable, row: Mapping[str, Any]) -> Iterator[str]:
    """Texts in a row that a person could read, and its JSON as it stands."""
    if table.name == "attachment" and row["form"] == "json":
        with contextlib.suppress(ValueError, RecursionError):  # a search has its bytes still
            yield from texts_in(json.loads(row["data"]))
    for column in table.columns:
        value = row[column.name]
        if not column.words or not value:
            continue
        yield value
        if column.json and table.name == "payload":
            yield from words_in(row["sort"], value) if row["sort"] in SORTS else ()
        elif column.json:
            named = table.name == "edge"  # its keys are a caller's words, too
            without = frozenset() if named else _NO_WORDS
            yield from texts_in(json.loads(value), keys=named, without=without)


# What a sound row of knowledge satisfies beyond its seal; the check reports what does not.

#: tier of the memories that have a payload of a sort
TIER_OF_SORT: Final[Mapping[str, int]] = {
    "fact": TierCode.SEMANTIC,
    "learning": TierCode.SEMANTIC,
    "concept": TierCode.SEMANTIC,
    "statistic": TierCode.SEMANTIC,
    "procedure": TierCode.PROCEDURAL,
}
_ITEM_SORTS: Final = frozenset({"entity", "association", "relation_kind", "predicate"})


def problems_of_row(
    table: str, row: Mapping[str, Any], kinds: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Code and message of everything that is wrong with the values of a row.

    Args:
        kinds: names of the relations that the store knows.
    """
    sort, key = row.get("sort"), row.get("record_key")
    if table == "payload":
        if sort not in SORTS:
            yield "I25", f"the sort {sort!r} is unknown"
        elif (problem := decode(str(sort), row["json"])[1]) is not None:
            yield "I25", f"the {sort} is malformed: {problem}"
    elif table == "fact":
        said = json.loads(row["json"])
        parts = [said.get(each) for each in ("subject", "predicate", "object")]
        texts = [each for each in parts if isinstance(each, str)]
        stored = [row["subject"], row["predicate"], row["object"]]
        is_key = len(texts) == 3 and fact_key(*texts) == row["fact_key"]
        if not is_key or [folded(each) for each in texts] != stored:
            yield "I24", "the key of the fact does not fit its triple"
        if not 0.0 <= row["confidence"] <= 1.0:
            yield "I25", f"the confidence of the fact is {row['confidence']}"
        if row["holds"] not in (0, 1):
            yield "I25", f"the fact holds {row['holds']} times"
    elif table == "edge":
        if row["kind"] not in kinds:
            yield "I23", f"the relation {row['kind']!r} of an edge is unknown"
        if not 0.0 < row["weight"] <= 1.0:
            yield "I23", f"an edge weighs {row['weight']}"
        if not 0.0 <= row["confidence"] <= 1.0:
            yield "I25", f"the confidence of an edge is {row['confidence']}"
    elif table == "item" and sort not in _ITEM_SORTS:
        yield "I25", f"the sort {sort!r} of an item is unknown"
    elif table == "entry":
        labels = row["namespace"].split(NAMESPACE_END)
        if key is not None and not 0 < len(key.encode("utf-8", "surrogatepass")) <= KEY_BYTES:
            yield "I30", f"its key has {len(key)} characters"
        if row["revision"] < 1:
            yield "I30", f"its revision is {row['revision']}"
        if row["namespace"] and (labels[-1] or "" in labels[:-1]):
            yield "I30", "the namespace of its key has no labels"
    elif table == "attachment":
        if row["form"] not in ("json", "bytes"):
            yield "I31", f"the form {row['form']!r} of its attachment is unknown"
        elif row["form"] == "json":
            try:
                json.loads(row["data"])
            except (ValueError, RecursionError):
                yield "I31", "its attachment is no JSON"
    elif table == "link" and row["n"] is not None and row["n"] < 0:
        yield "I25", f"a {row['kind']} counts {row['n']}"

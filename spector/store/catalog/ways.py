"""Ways to memories by tags and scopes: the index that has the fewest leads, the others are probed.

An index lists the ids of a tag, or of a label, in order. Following one and probing the others costs
as many probes as it has ids, so it matters which one leads; SQLite cannot know, as no statistics
are kept. Nothing is gathered first: a page begins with the first memories that pass.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

__all__ = ["FEW", "Led", "Way", "count_led", "led_by"]

#: an index with so many ids or fewer leads, whatever the others have
FEW: Final = 20_000
_INDEXES: Final = {
    "tag": "record_tag AS there",
    "user_id": "record AS there INDEXED BY record_user",
    "agent_id": "record AS there INDEXED BY record_agent",
    "session_id": "record AS there INDEXED BY record_session",
}


class Way(NamedTuple):
    """A tag, or the value of a label: ``column`` is "tag" or the label's name."""

    column: str
    value: str


@dataclass(frozen=True, slots=True)
class Led:
    """A query that one index leads: what to select from, and what its rows must satisfy."""

    source: str
    id: str
    sql: str
    params: tuple[str, ...]


def led_by(
    db: sqlite3.Connection, ways: Sequence[Way], *, wide: bool = True, every: bool = False
) -> Led:
    """The query for memories that all of some ways lead to; for all memories without any.

    Args:
        wide: other columns of ``record`` are asked for, too.
        every: all of them are wanted, so it is worth knowing which index is the smallest of large
            ones.
    """
    if not ways:
        return Led("record", "record.id", "1", ())
    first = _fewest(db, ways, every=every)
    others = [way for way in ways if way is not first]
    if first.column != "tag":
        source, id_, sql = "record", "record.id", f"record.{first.column} = ?"
    else:
        source, id_, sql = "record_tag AS way", "way.id", "way.tag = ?"
        if wide:
            source += " CROSS JOIN record ON record.id = way.id"
    tests = [_probe(way, id_) for way in others]
    return Led(source, id_, " AND ".join([sql, *tests]), tuple(w.value for w in (first, *others)))


def _probe(way: Way, id_: str) -> str:
    """The condition that an index has an id: the rows of ``record`` itself lie far apart."""
    return (
        f"EXISTS (SELECT 1 FROM {_INDEXES[way.column]}"
        f" WHERE there.{way.column} = ? AND there.id = {id_})"
    )


def count_led(
    db: sqlite3.Connection,
    ways: Sequence[Way],
    sql: str,
    params: Sequence[str | int],
    ended: tuple[str, tuple[Any, ...]] | None,
) -> int:
    """How many memories some ways lead to that satisfy a condition over ``record``, too.

    Args:
        ended: SQL for ids that have ended and are taken off, which are few; None for none.
    """
    led = led_by(db, ways, wide=sql != "1", every=True)
    content = " LEFT JOIN content ON content.id = record.id" if "content." in sql else ""
    counted = f"SELECT count(*) FROM {led.source}{content} WHERE {led.sql} AND ({sql})"
    given = (*led.params, *params)
    if ended is not None:
        counted = f"SELECT ({counted}) - ({counted} AND {led.id} IN ({ended[0]}))"
        given = (*given, *given, *ended[1])
    return int(db.execute(counted, given).fetchone()[0])


def _fewest(db: sqlite3.Connection, ways: Sequence[Way], *, every: bool) -> Way:
    """The way with the fewest ids."""
    if len(ways) == 1:
        return ways[0]
    counts = [_size(db, way, FEW) for way in ways]
    if every and min(counts) >= FEW:
        counts = [_size(db, way, -1) for way in ways]
    return ways[counts.index(min(counts))]


def _size(db: sqlite3.Connection, way: Way, most: int) -> int:
    index = _INDEXES[way.column]
    return int(
        db.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE there.{way.column} = ? LIMIT ?)",
            (way.value, most),
        ).fetchone()[0]
    )

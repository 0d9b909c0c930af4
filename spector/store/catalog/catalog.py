"""The catalog: a SQLite database whose commit is the only commit point of a store."""

from __future__ import annotations

import math
import sqlite3
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from spector.errors import CatalogCorruptError
from spector.records import AttachmentReader
from spector.store.catalog.rows import (
    FROM,
    FROM_ANY,
    ROW_COLUMNS,
    Head,
    Row,
    SegmentRow,
    StoredRow,
    decode_head,
    decode_row,
    decode_segment,
    recovery_hint,
    stored_rows,
)
from spector.store.catalog.schema import (
    APPLICATION_ID,
    FULLTEXT_SQL,
    TABLES,
    check_format,
    create_tables,
    delete_meta,
    put_meta,
    read_meta,
)
from spector.store.payloads import Ends, holds_ends
from spector.store.sqlite import (
    Database,
    id_chunks,
    refuse_foreign_code,
    select_among,
    typed_sql_errors,
)

# Ways to memories by tags and scopes: the index that has the fewest leads, the others are probed.
#
# An index lists the ids of a tag, or of a label, in order. Following one and probing the others costs
# as many probes as it has ids, so it matters which one leads; SQLite cannot know, as no statistics
# are kept. Nothing is gathered first: a page begins with the first memories that pass.

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


# The lineage of a store: which earlier states its catalog has been in.
#
# A change counter does not prove that: two copies of one store that are both written to continue from
# the same number. So the first commit of each opening advances the counter by a random distance
# (``Store.next_change_seq``), and the catalog notes it with the last change before it. A state is an
# ancestor if its last opening is in our lineage and it ends no later than that opening did here.


@dataclass(frozen=True, slots=True)
class Lineage:
    """The openings of a store that committed, and its last change."""

    #: (first change, last change before it), ascending; SQL table ``session``
    openings: tuple[tuple[int, int], ...]
    change_seq: int

    def went_through(self, other: Lineage) -> bool:
        """Whether the catalog with this lineage was once in the state of the other one.

        A catalog from before openings were noted has only its counter.
        """
        if not other.openings:
            return other.change_seq <= self.change_seq
        last = other.openings[-1]
        n = bisect_left(self.openings, last)
        if n == len(self.openings) or self.openings[n] != last:
            return False
        rest = self.openings[n + 1 :]
        return other.change_seq <= (rest[0][1] if rest else self.change_seq)


def lineage_of(db: sqlite3.Connection) -> Lineage:
    """The lineage that a catalog records, without its damaged rows."""
    change_seq = int(db.execute("SELECT CAST(max(change_seq) AS INTEGER) FROM head").fetchone()[0])
    rows = db.execute("SELECT first, after FROM session ORDER BY first")
    return Lineage(tuple((first, after) for first, after in rows if type(after) is int), change_seq)


def note_opening(db: sqlite3.Connection, first: int, after: int) -> None:
    """Note, in the first commit of an opening, its first change and the last one before it."""
    db.execute("INSERT OR REPLACE INTO session VALUES (?, ?)", (first, after))


_ROW_SQL: Final = f"SELECT {ROW_COLUMNS}, seal"
#: no memory has a greater id
_LAST_ID: Final = (1 << 63) - 1


class Catalog(Database):
    """One catalog: the description of its store, and the queries that other rooms share."""

    def __init__(self, path: str, *, mode: str, durability: str, immutable: bool = False) -> None:
        """``immutable`` reads from media that cannot be written, without a log beside the file."""
        #: when its tables were last proved to agree, in seconds of the monotonic clock
        self.agreed_s = -math.inf
        #: `changes` at a moment, and the optional tables that there were then
        self.tables_then: tuple[int, frozenset[str]] = (-1, frozenset())
        self.ends = Ends()
        own = weakref.WeakMethod(self._holds_ends)  # or the two would keep each other
        self.ends.look = lambda: (look := own()) is not None and look()
        along = weakref.WeakMethod(self._ended_along)
        self.ends.look_along = lambda *over: look(*over) if (look := along()) else ()
        #: what is derived from expired memories alone, since and until when, and in which state
        self._along: tuple[frozenset[int], int, float, Any] = (frozenset(), 0, 0.0, None)
        #: reads what is attached to memories, for their records
        self.attachments = AttachmentReader()
        #: other processes write as well
        self.shared = False
        super().__init__(path, mode=mode, durability=durability, immutable=immutable)

    def changes(self) -> int | None:
        """Rows that the only writer has changed so far; None within a transaction, else for others."""
        try:
            return (
                None
                if self._mode == "r" or self.shared or self.main.in_transaction
                else (self.main.total_changes)
            )
        except sqlite3.ProgrammingError:  # it is being closed
            return None

    def tell_time(self, now_ms: Callable[[], int]) -> None:
        """Leave out, from now on, what has expired by a clock."""
        self.ends.now_ms = now_ms
        self.look_for_ends()

    def look_for_ends(self, connection: sqlite3.Connection | None = None) -> None:
        """Note whether any memory expires; once one does, every read looks at the time."""
        if not self.ends.any:
            with typed_sql_errors(self.path):
                self.ends.any = holds_ends(connection or self.main)
        self.ends.are_due = False

    def _holds_ends(self) -> bool:
        with self.reading() as db:
            is_committed = db is not self.main or not db.in_transaction
            return is_committed and holds_ends(db)

    def _ended_along(self, over: str, now_ms: int) -> frozenset[int]:
        """Memories that are derived from nothing but such as have expired at a time."""
        if self.ends.derived is None:
            return frozenset()
        with self.reading() as db:
            state = (over, *db.execute("SELECT change_seq FROM head").fetchone())
            known, since_ms, until_ms, then = self._along
            if then == state and since_ms <= now_ms < until_ms:
                return known
            expired = db.execute(f"SELECT id FROM entry WHERE {over}", (now_ms,)).fetchall()
            known = frozenset(expired and self.ends.derived(db, self.path, [i for (i,) in expired]))
            if db is not self.main or not db.in_transaction:
                (until_ms,) = db.execute(
                    "SELECT min(expires_ms) FROM entry WHERE expires_ms > ?", (now_ms,)
                ).fetchone()
                self._along = (known, now_ms, math.inf if until_ms is None else until_ms, state)
            return known

    # -- description --------------------------------------------------------------------------

    def is_new(self) -> bool:
        """True when no schema has been created yet."""
        with typed_sql_errors(self.path):
            found = self.main.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return int(found[0]) == 0

    def create(self, meta: Mapping[str, str]) -> None:
        """Write the schema and the description of the store, in one transaction."""
        with typed_sql_errors(self.path):
            create_tables(self.main, meta)

    def set_meta(self, lines: Mapping[str, str | None]) -> None:
        """Write or (None) delete entries of ``meta``; durable with every commit before it."""
        with typed_sql_errors(self.path):
            self.main.execute("PRAGMA synchronous=FULL")
            with self.writing() as connection:
                delete_meta(connection, lines)
                put_meta(
                    connection, {key: value for key, value in lines.items() if value is not None}
                )
            self.main.execute(f"PRAGMA synchronous={self._synchronous}")

    def validate(self) -> dict[str, str]:
        """The ``meta`` table, after checking that this is a catalog we can use.

        Raises:
            CatalogCorruptError: it is not a catalog, or holds code.
            FormatVersionError: a newer version has written it.
        """
        with typed_sql_errors(self.path):
            application = self.main.execute("PRAGMA application_id").fetchone()[0]
            if application != APPLICATION_ID:
                raise CatalogCorruptError(
                    f"{self.path} is a SQLite database, but not a spector catalog",
                    hint="pass the directory of a spector store",
                )
            refuse_foreign_code(self.main, self.path, FULLTEXT_SQL, TABLES)
            if self._mode == "rw":
                # SQLite opens a file that it may not write for reading, and reports that here
                self.main.execute("DELETE FROM meta WHERE 0")
                self._note_log()
            meta = read_meta(self.main)
        check_format(meta, self.path)
        return meta

    # -- queries ------------------------------------------------------------------------------

    def head(self, connection: sqlite3.Connection | None = None) -> Head:
        with typed_sql_errors(self.path):
            db = connection or self.main
            found = db.execute("SELECT last_id, change_seq, journal_seq, retire_epoch FROM head")
            row = found.fetchone()
        return decode_head(row, self.path)

    def segments(
        self, connection: sqlite3.Connection | None = None, *, since: int = -1
    ) -> list[SegmentRow]:
        """Partitions changed after ``since``, in the order of tier, day and sequence."""
        with typed_sql_errors(self.path):
            db = connection or self.main
            found = db.execute(
                "SELECT id, tier, day, sequence, generation, path, state, capacity, slots, live,"
                " change_seq FROM segment WHERE change_seq > ? ORDER BY tier, day, sequence",
                (since,),
            ).fetchall()
        return [decode_segment(row, self.path) for row in found]

    def ask(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with self.reading() as connection:
            return connection.execute(sql, params).fetchall()

    def fetch(
        self, ids: Sequence[int], *, sql: str = "1", params: Sequence[Any] = ()
    ) -> dict[int, Row]:
        """Rows of those ids that exist and satisfy the extra condition."""
        with self.reading() as connection:
            found = self._find(connection, ids, sql, params)
            return {each[0]: decode_row(each) for each in found}

    def fetch_stored(
        self, ids: Sequence[int], *, sql: str = "1", params: Sequence[Any] = ()
    ) -> dict[int, StoredRow]:
        """The same, undecoded."""
        with self.reading() as connection:
            found = self._find(connection, ids, sql, params)
            return stored_rows(found)

    def _find(
        self, connection: sqlite3.Connection, ids: Sequence[int], sql: str, params: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        alive, now = self.ends.alive()
        where = f"WHERE record.id IN (:ids) AND ({sql}){alive}"
        return select_among(connection, f"{_ROW_SQL}{FROM} {where}", ids, (*params, *now))

    def select(
        self,
        sql: str,
        params: Sequence[Any] = (),
        *,
        after: int = -1,
        limit: int = -1,
        descending: bool = False,
        ways: Sequence[Way] = (),
    ) -> list[tuple[Any, ...]]:
        """Rows that satisfy a condition and follow an id, in the order of ids, for `decode_row`.

        A memory whose text is missing is included without it; `decode_row` reports the damage.

        Args:
            ways: tags and labels that they have as well.
        """
        follows, order = ("<", "DESC") if descending else (">", "ASC")
        alive, now = self.ends.alive()
        with self.reading() as connection:
            led = led_by(connection, ways)
            tables = f" FROM {led.source} LEFT JOIN content ON content.id = record.id"
            return connection.execute(
                f"{_ROW_SQL}{tables} WHERE {led.id} {follows} ? AND {led.sql} AND ({sql})"
                f"{alive} ORDER BY {led.id} {order} LIMIT ?",
                (after, *led.params, *params, *now, limit),
            ).fetchall()

    def pages(
        self,
        sql: str,
        params: Sequence[Any],
        size: int,
        *,
        after: int | None = None,
        descending: bool = False,
        astray: bool = False,
        ways: Sequence[Way] = (),
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The same rows in pages, each read when it is requested.

        Args:
            after: the id that they follow; None for all.
            ways: as for ``select``; not with ``astray``.
            astray: keys may be damaged, so the last key of a page may not lead to the next page.
                All pages are then read at one moment, which holds the log until the end.

        Raises:
            CatalogCorruptError: not ``astray``, and the last key does not lead to the next page.
        """
        if astray:
            with typed_sql_errors(self.path):
                connection = self.borrow(object())  # for longer than the call that asks for a page
                alive, now = self.ends.alive()
                try:
                    found = connection.execute(
                        f"{_ROW_SQL}{FROM_ANY} WHERE ({sql}){alive} ORDER BY record.id",
                        (*params, *now),
                    )
                    while page := found.fetchmany(size):
                        yield page
                finally:
                    self.give_back(connection)
            return
        if after is None:
            after = _LAST_ID if descending else -1
        while page := self.select(
            sql, params, after=after, limit=size, descending=descending, ways=ways
        ):
            last = page[-1][0]
            if last >= after if descending else last <= after:
                raise self.order_error(last)
            yield page
            after = last
            # A damaged key leads past the start of the next page, and then past this memory as
            # well. Not finding it may also mean that it has been forgotten by now.
            before = after + 1 if descending else after - 1
            if not self.select(
                "record.id = ?", (after,), after=before, limit=1, descending=descending
            ):
                self.refuse_hidden([after])

    def order_error(self, record_id: int) -> CatalogCorruptError:
        """The error to raise when a walk meets a memory twice, or after a greater id."""
        return CatalogCorruptError(
            f"{self.path}: the keys of its memories are out of order at {record_id}",
            hint=recovery_hint(None),
        )

    def places(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[int, int, int]]:
        """(segment id, slot, record id) of every record that satisfies a condition."""
        alive, now = self.ends.alive()
        return self.ask(
            f"SELECT segment_id, slot, record.id{FROM} WHERE ({sql}){alive}", (*params, *now)
        )

    def places_of(self, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """id -> (segment id, slot) of those ids that exist."""
        sql = "SELECT id, segment_id, slot FROM record WHERE id IN (:ids)"
        with self.reading() as connection:
            found = select_among(connection, sql, ids)
        return {record_id: (segment_id, slot) for record_id, segment_id, slot in found}

    def refuse_hidden(self, ids: Sequence[int]) -> None:
        """Raise when one of these ids, which were not found, exists and cannot be reached.

        A damaged key in ``record`` misleads the search for other ids. The index of places has them
        as well; it is read from end to end, which takes 80 ms for a million memories.

        Raises:
            CatalogCorruptError: the index of places, or ``content``, has a memory that ``record``
                does not find.
        """
        for chunk in id_chunks(ids):
            marks = ",".join("?" * len(chunk))
            with self.reading() as connection:
                hidden = connection.execute(_HIDDEN.format(marks=marks), tuple(chunk) * 2)
                found = hidden.fetchone()
            if found is not None:
                raise CatalogCorruptError(
                    f"{self.path}: one table knows memory {found[0]}, another does not find it",
                    hint=recovery_hint(None),
                )

    def has_validity(self) -> bool:
        """True when any live record has a validity window."""
        with self.reading() as connection:
            [[found]] = connection.execute(
                "SELECT EXISTS (SELECT 1 FROM record WHERE valid_until_ms IS NOT NULL)"
                " OR EXISTS (SELECT 1 FROM record WHERE valid_from_ms IS NOT NULL)"
            )
            return bool(found)


#: one statement reads one moment; a plus before a column keeps the planner from searching by it
_HIDDEN = """SELECT id FROM content WHERE id IN ({marks})
  AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = content.id)
UNION ALL SELECT id FROM record AS place INDEXED BY record_place WHERE +id IN ({marks})
  AND NOT EXISTS (SELECT 1 FROM record JOIN content ON content.id = record.id
                  WHERE record.id = place.id)"""

"""The findings of a check, and its parts that read the catalog: files, tables, knowledge."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spector.errors import CatalogCorruptError, SpectorError, StoreError
from spector.layout import PARTITION_HEADER_BYTES, PartitionState
from spector.messages import counted
from spector.records import BUILTIN_KINDS, MAX_PROBLEMS, CheckReport, Problem
from spector.store.catalog import (
    CATALOG_NAME,
    LINKS_SQL,
    LOG_NAME,
    ROW_COLUMNS,
    SPENT,
    SUPERSEDED_SQL,
    Catalog,
    SegmentRow,
    is_sealed,
    is_typed,
    recovery_hint,
)
from spector.store.files import (
    DiskFiles,
    Files,
    Stretch,
    is_io_error,
    name_some,
    unreadable_stretches,
)
from spector.store.payloads import (
    TIER_OF_SORT,
    PayloadTable,
    has_tables,
    problems_of_row,
    tables_in,
)
from spector.store.sqlite import (
    SQL_ERRORS,
    LostTable,
    keep_open,
    problem_of_full_text,
    raw_file,
    read_table,
    read_transaction,
    typed_sql_errors,
)

# The findings of a check, which all parts of ``spector check`` add to.


@dataclass(slots=True)
class Findings:
    """Problems and notes; at most ``limit`` problems are listed, None lists all."""

    limit: int | None = MAX_PROBLEMS
    problems: list[Problem] = field(default_factory=list)
    #: how many problems are not listed
    unlisted: int = 0
    notes: list[Problem] = field(default_factory=list)
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    #: the disk cannot read some of the catalog, so failures of SQLite are not findings of their own
    catalog_unread: bool = False

    def add(
        self,
        code: str,
        file: str,
        message: str,
        *,
        offset: int | None = None,
        slot: int | None = None,
        stride: int = 0,
        record_id: int | None = None,
        ids: Sequence[int] = (),
    ) -> None:
        """Add a problem. With ``stride`` and ``slot``, ``offset`` counts within the record."""
        if self.limit is not None and len(self.problems) >= self.limit:
            self.unlisted += 1
            return
        if slot is not None and stride:
            offset = PARTITION_HEADER_BYTES + slot * stride + (offset or 0)
        self.problems.append(
            Problem(
                code=code,
                where=file if slot is None else f"{file} slot {slot}",
                message=message,
                file=file,
                offset=offset,
                slot=slot,
                id=record_id,
                ids=tuple(ids),
            )
        )

    def unread(self, stretch: Stretch, what: str, ids: Sequence[int] = ()) -> None:
        """Add I20. ``what`` tells what the bytes have; ``ids`` are the memories affected."""
        self.add("I20", stretch.file, f"{stretch}; {what}", offset=stretch.low, ids=ids)

    def catalog(self, code: str, message: str, record_id: int | None = None) -> None:
        self.add(code, CATALOG_NAME, message, record_id=record_id)

    def note(self, where: str, message: str) -> None:
        """Add a note about a derived file, which is rebuilt."""
        if self.limit is None or len(self.notes) < self.limit:
            self.notes.append(Problem(code="N1", where=where, message=message, file=where))

    @contextlib.contextmanager
    def as_missing(self, name: str) -> Iterator[None]:
        """An error becomes a finding about that file: it is missing, or another one."""
        try:
            yield
        except SpectorError as error:
            self.add("I14", name, error.message)

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """An error becomes a finding about the catalog; the check goes on."""
        try:
            yield
        except (
            SpectorError,
            sqlite3.Error,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:
            if self.catalog_unread and is_io_error(error):
                return
            message = f"cannot be read: {error}"
            if not any(p.code == "I15" and p.message == message for p in self.problems):
                self.catalog("I15", message)


#: more lines than SQLite's own check of a catalog returns
_ALL = (1 << 31) - 1


def check_catalog(
    db: sqlite3.Connection, catalog: Catalog, found: Findings
) -> list[SegmentRow] | None:
    """I15 pages, I6 counters, I12 counts; returns the rows of partitions that have a file.

    None when they cannot be read. Pages are not checked when the disk cannot read some of them: the
    others then miss what those have.
    """
    with found.surviving():
        most = _ALL if found.limit is None else found.limit
        lines = () if found.catalog_unread else db.execute(f"PRAGMA integrity_check({most})")
        for (line,) in lines:
            if line != "ok":
                found.catalog("I15", str(line))
    segments: list[SegmentRow] | None = None
    with found.surviving():
        rows = catalog.segments(db)
        segments = [s for s in rows if s.state != PartitionState.COMPACTED]
        for row in rows:
            _check_segment_row(row, found)
        _check_counters(db, catalog, rows, found)
    with found.surviving():
        if segments is not None:
            live = sum(row.live for row in segments)
            (count,) = db.execute("SELECT count(*) FROM record").fetchone()
            if live != count:
                message = f"{counted(count, 'memory')}, but the partitions' counts add up to {live}"
                found.catalog("I12", message)
    return segments


def _check_segment_row(row: SegmentRow, found: Findings) -> None:
    fine = (
        row.state in set(PartitionState)
        and 0 <= row.live <= row.slots <= row.capacity
        and row.capacity < 1 << 32
        and 0 <= row.generation < 1 << 32
    )
    if not fine:
        found.catalog(
            "I12",
            f"the row of {row.path} is impossible: state {row.state}, {row.live} of {row.slots} "
            f"slots live, capacity {row.capacity}, generation {row.generation}",
        )


def _check_counters(
    db: sqlite3.Connection, catalog: Catalog, rows: Sequence[SegmentRow], found: Findings
) -> None:
    """I6: no number is used twice."""
    head = catalog.head(db)  # raises when the counters are lost
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    if has_tables(db):  # items take their ids from the same sequence
        (item,) = db.execute("SELECT coalesce(max(item_id), 0) FROM item").fetchone()
        newest = max(newest, item)
    (logged,) = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
    seen = max((row.change_seq for row in rows), default=0)
    for name, value, least in (
        ("last_id", head.last_id, newest),
        ("change_seq", head.change_seq, seen),
        ("journal_seq", head.journal_seq, logged),
        ("retire_epoch", head.retire_epoch, 0),
    ):
        if not least <= value < SPENT:
            found.catalog("I6", f"the counter {name} is {value}, but {least} was given out")


def check_words(db: sqlite3.Connection, catalog: Catalog, found: Findings) -> None:
    """I5 leftovers of forgotten memories, I7 text, I8 tags, I9 parents, I17 seals, I19 links."""
    for name, table in (("content", "content"), ("full text", "fulltext_docsize")):
        for there, absent, code, message in (
            ("record", table, "I7", f"has no {name}"),
            (table, "record", "I5", f"{name} without a record"),
        ):
            with found.surviving():
                sql = f"SELECT id FROM {there} EXCEPT SELECT id FROM {absent}"
                _list(db, sql, code, message, found)
    with found.surviving():
        _check_rows(db, catalog, found)
    with found.surviving():
        _check_tag_index(db, found)
    with found.surviving():
        _check_links(db, found)
    with found.surviving():
        # I7: the index has every word of every text, and no others; the proof needs a whole copy
        problem = None if found.catalog_unread else problem_of_full_text(db)
        if problem is not None:
            found.catalog("I7", f"the full-text index does not fit the texts: {problem}")


def _list(db: sqlite3.Connection, sql: str, code: str, message: str, found: Findings) -> None:
    for (record_id,) in db.execute(sql):
        found.catalog(code, f"memory {record_id}: {message}", record_id)


def _check_rows(db: sqlite3.Connection, catalog: Catalog, found: Findings) -> None:
    last_id = catalog.head(db).last_id
    cursor = db.execute(
        f"SELECT {ROW_COLUMNS}, seal FROM record JOIN content ON content.id = record.id"
    )
    for row in cursor:
        record_id = row[0]
        if not is_sealed(row):
            found.catalog(
                "I17",
                f"text, tags, times or metadata of memory {record_id} are not what was written; "
                f"forget({record_id}) drops it, --repair tells its words",
                record_id,
            )
        elif not is_typed(row) or (row[13] and not _is_object(row[13])):  # forged, seal and all
            message = f"metadata, scopes or times of memory {record_id} are of other types"
            found.catalog("I17", message, record_id)
        if row[16] is not None:
            try:
                parents = json.loads(row[16])
                fine = all(0 <= p <= last_id and p != record_id for p in parents)
            except (ValueError, TypeError, RecursionError):
                fine = False
            if not fine:
                found.catalog("I9", f"memory {record_id}: parents that never were", record_id)


def _is_object(text: Any) -> bool:
    try:
        return type(json.loads(text)) is dict
    except (ValueError, TypeError, RecursionError):
        return False


def _check_tag_index(db: sqlite3.Connection, found: Findings) -> None:
    """I8. Tags that are not JSON have been reported already; here they would end the statement."""
    for sql, message in (
        (
            "SELECT record_tag.id FROM record_tag LEFT JOIN content ON content.id = record_tag.id"
            " WHERE content.id IS NULL OR NOT json_valid(content.tags)"
            " OR NOT EXISTS (SELECT 1 FROM json_each(content.tags) WHERE value = record_tag.tag)",
            "an exact tag that the memory does not have",
        ),
        (
            "SELECT content.id FROM content, json_each("
            " CASE WHEN json_valid(content.tags) THEN content.tags ELSE '[]' END) AS t"
            " LEFT JOIN record_tag ON record_tag.tag = t.value AND record_tag.id = content.id"
            " WHERE content.tags IS NOT NULL AND record_tag.id IS NULL",
            "a tag that is missing from the tag index",
        ),
    ):
        _list(db, sql, "I8", message, found)


def _check_links(db: sqlite3.Connection, found: Findings) -> None:
    """I19: a superseded memory is older and has ended. A link to a forgotten one may stay."""
    sql = (
        "SELECT newer, older, record.id IS NOT NULL AND record.valid_until_ms IS NULL"
        f" AND NOT {SUPERSEDED_SQL} FROM ({LINKS_SQL})"
        " LEFT JOIN record ON record.id = CAST(older AS INTEGER)"
    )
    for newer, older, goes_on in db.execute(sql):
        if not (
            isinstance(older, str) and older.isascii() and older.isdecimal() and int(older) < newer
        ):
            found.catalog("I19", f"memory {newer}: supersedes what was not there before", newer)
        elif goes_on:
            message = f"memory {older}: superseded by {newer}, and holds all the same"
            found.catalog("I19", message, int(older))


# The part of a check that reads the catalog's files byte by byte, before SQLite opens them.

_MOST_ID: Final = (1 << 63) - 1


def check_disk(files: Files, catalog: Catalog, found: Findings) -> None:
    """I20 of the catalog and of its log, with the memories whose row or text is affected.

    It is unknown which stretch has which memory, so the first one names them all.
    """
    if not files.durable:
        return
    stretches: list[Stretch] = []
    with contextlib.suppress(SpectorError):  # SQLite reports any other error
        stretches += unreadable_stretches(CATALOG_NAME, catalog.raw_file(files))
    stretches += _unread_in_log(files)
    if stretches:
        found.catalog_unread = True
        _tell(stretches, memories_behind(catalog), found)


def check_unopened(files: DiskFiles) -> CheckReport | None:
    """I20 of a catalog that SQLite cannot even open; None when the disk can read all of it."""
    found = Findings()
    stretches: list[Stretch] = []
    path = f"{files.root}/{CATALOG_NAME}"
    with contextlib.suppress(StoreError), keep_open(path):
        stretches += unreadable_stretches(CATALOG_NAME, raw_file(files, CATALOG_NAME, path))
    stretches += _unread_in_log(files)
    _tell(stretches, (), found)
    return CheckReport(problems=tuple(found.problems)) if stretches else None


def _unread_in_log(files: Files) -> tuple[Stretch, ...]:
    with (
        contextlib.suppress(StoreError),  # most often there is none
        contextlib.closing(files.open(LOG_NAME, writable=False)) as log,
    ):
        return unreadable_stretches(LOG_NAME, log)
    return ()


def _tell(stretches: list[Stretch], ids: tuple[int, ...], found: Findings) -> None:
    for n, stretch in enumerate(stretches):
        what = "a check cannot read what is in them"
        if ids and not n:
            what += f"; they belong to {name_some(ids)}"
        found.unread(stretch, f"{what}; --repair goes around them", () if n else ids)


def memories_behind(catalog: Catalog) -> tuple[int, ...]:
    """Ids whose row, text or knowledge cannot be read, as far as other tables tell them."""
    ids: set[int] = set()
    span = "BETWEEN ? AND ?"
    with contextlib.suppress(SpectorError, *SQL_ERRORS), catalog.reading() as db:
        tables = [t for t in tables_in(db) if t.key[0] in t.owners and t.name != "item"]
        named = [
            f"SELECT record.id FROM record WHERE record.id {span} AND"
            f" EXISTS (SELECT 1 FROM {table.name} WHERE {column} = record.id)"
            for table in tables
            for column in table.owners
        ]
        looks = [
            ("record", "id", [f"SELECT id FROM content WHERE id {span}"]),
            ("content", "id", [f"SELECT id FROM record WHERE id {span}"]),
            *((table.name, table.key[0], named) for table in tables),
        ]
        for name, key, queries in looks:
            lost: list[LostTable] = []
            for _ in read_table(db, name, lost, key=key):
                pass
            for each in lost:
                for sql in queries:
                    with contextlib.suppress(*SQL_ERRORS):
                        # a range may end at no number of SQLite's
                        found = db.execute(sql, (each.low, min(each.high, _MOST_ID)))
                        ids.update(record_id for (record_id,) in found)
    return tuple(sorted(i for i in ids if type(i) is int))


# The part of a check that reads the tables of knowledge, keys and attachments: I21 to I31.

#: references of one concept in one layer
_MOST_REFERENCES: Final = 200
_LIVES_BY: Final = ("mention", "evidence")
#: columns of the state of sleep that say up to which id it has come
_CURSORS: Final = ("extracted_id", "abstracted_id")


def check_knowledge(db: sqlite3.Connection, found: Findings) -> None:
    """Every row of knowledge: its seal, its values, and that what it names is there.

    I21 payload of no memory or of a wrong tier, I22 missing end, I23 relation or weight, I24 key of
    a fact, I25 values out of range, I26 entity without mention, I27 seal, I28 too many references,
    I29 a cursor of sleep beyond the last id, I30 a key that is none, or of another user,
    I31 an attachment that is missing, or that its memory does not say it has.
    """
    if not tables_in(db):
        return
    with found.surviving():
        _Look(db, found).all(db)


class _Look:
    def __init__(self, db: sqlite3.Connection, found: Findings) -> None:
        self._found = found
        #: id -> code of its tier; None of an item
        self._known: dict[int, int | None] = dict(
            db.execute(
                "SELECT record.id, segment.tier FROM record"
                " LEFT JOIN segment ON segment.id = record.segment_id"
            )
        )
        self._kinds = {each.name for each in BUILTIN_KINDS}
        self._sorts: dict[int, str] = {}
        self._alive: set[int] = set()
        #: memory -> the user and the agent that its key is of
        self._owners: dict[int, tuple[str, str]] = {}
        #: memory -> bytes of its attachment, by its entry, and in fact
        self._attached: dict[int, int] = {}
        self._found_bytes: dict[int, int] = {}
        #: memories whose entry is damaged
        self._unsaid: set[int] = set()
        self._references: Counter[tuple[int, str]] = Counter()
        (self._last_id,) = db.execute("SELECT last_id FROM head").fetchone()

    def all(self, db: sqlite3.Connection) -> None:
        """Every table; items first, because others name them."""
        tables = sorted(tables_in(db), key=lambda each: each.name != "item")
        names = {each.name for each in tables}
        items = db.execute("SELECT item_id, sort, json FROM item") if "item" in names else ()
        for item_id, sort, text in items:
            if isinstance(item_id, int):
                self._known.setdefault(item_id, None)
                self._sorts[item_id] = sort
                self._register(text)
        for table in tables:
            with self._found.surviving():
                for stored in db.execute(f"SELECT * FROM {table.name}"):
                    self._row(table, stored)
        labels = "SELECT coalesce(user_id, ''), coalesce(agent_id, '') FROM record WHERE id = ?"
        with self._found.surviving():
            for record_id, owner in self._owners.items():
                if db.execute(labels, (record_id,)).fetchone() not in (None, owner):
                    self._add("I30", record_id, "its key is of another user or agent")
        for each in sorted(self._attached.keys() | self._found_bytes.keys()):
            said, there = self._attached.get(each), self._found_bytes.get(each)
            if said != there and each not in self._unsaid:
                self._add("I31", each, f"its attachment has {there} bytes, and should have {said}")
        for item_id, sort in sorted(self._sorts.items()):
            if sort in ("entity", "association") and item_id not in self._alive:
                self._add("I26", item_id, f"no memory is left of the {sort}")
        for (concept, kind), count in sorted(self._references.items()):
            if count > _MOST_REFERENCES:
                layer = kind.partition(":")[2]
                self._add("I28", concept, f"{count} references in {layer}")

    def _register(self, text: object) -> None:
        """Note a registered relation; also of a damaged row, which is one problem and not two."""
        try:
            about = json.loads(str(text))
            if "symmetric" in about:
                self._kinds.add(str(about["name"]))
        except (ValueError, TypeError, KeyError):
            return  # its row is reported

    def _row(self, table: PayloadTable, stored: tuple[Any, ...]) -> None:
        row, problem = table.read(stored)
        if table.name == "attachment" and type(row["data"]) is bytes:
            self._found_bytes[row["id"]] = len(row["data"])
        first = row[table.owners[0]] if table.owners else None
        owner = first if isinstance(first, int) else None
        if problem is not None:
            self._add("I27", owner, f"a row of {table.name} is damaged: {problem}")
            if table.name == "link" and owner is not None:
                self._alive.add(owner)
            elif table.name == "entry" and owner is not None:
                self._unsaid.add(owner)
            return
        for name in table.owners:
            if row[name] is not None and row[name] not in self._known:
                code = "I21" if table.name in ("payload", "fact") else "I22"
                self._add(code, owner, f"a row of {table.name} names {row[name]}, which is gone")
        sort = "fact" if table.name == "fact" else str(row.get("sort"))
        tier = self._known.get(owner) if owner is not None else None
        if table.name in ("payload", "fact") and tier != TIER_OF_SORT.get(sort, tier):
            self._add("I21", owner, f"a {sort} lies in a wrong tier")
        for name in _CURSORS if table.name == "sleep_state" else ():
            if row[name] > self._last_id:
                message = f"{name} of sleep is {row[name]}, the last id is {self._last_id}"
                self._found.catalog("I29", message, None)
        for code, message in problems_of_row(table.name, row, self._kinds):
            self._add(code, owner, message)
        if table.name == "link":
            self._link(row)
        elif table.name == "entry":
            self._owners[row["id"]] = (row["user_id"], row["agent_id"])
            if row["attached_bytes"] is not None:
                self._attached[row["id"]] = row["attached_bytes"]

    def _link(self, row: Mapping[str, Any]) -> None:
        if row["kind"] in _LIVES_BY:
            self._alive.add(row["a"])
        if row["kind"].startswith("reference:") and row["n"] is not None:
            self._references[row["a"], row["kind"]] += 1

    def _add(self, code: str, record_id: int | None, message: str) -> None:
        self._found.catalog(code, f"memory {record_id}: {message}", record_id)


# Prove that the tables of a catalog have the same memories, before a walk over all of them.
#
# A memory has a row in the table of records, one in the table of texts and one in the index of
# places, and its partition counts it. A flipped bit in the key of a row misleads the search for it,
# and a join silently skips the memory. For one id, ``Catalog.refuse_hidden`` raises. A walk cannot
# notice what is missing, so counts and sums of ids are compared first: a key that damage has turned
# into a neighbour's leaves every count unchanged. It takes 40 ms for 150,000 short memories.

#: how many memories there are and which, of one source; halves of 62 bits, of which no store has
#: enough to overflow a sum
_WHICH: Final = "SELECT count(*), sum(id & 4294967295), sum(id >> 32) FROM"
#: each by another way, in one statement, so of one moment. Without NOT INDEXED the planner would
#: take ids from the index of places, which is smaller than the table
_COUNTS: Final = f"""SELECT * FROM
  ({_WHICH} record NOT INDEXED),
  ({_WHICH} record INDEXED BY record_place),
  ({_WHICH} content),
  (SELECT count(*) FROM record NOT INDEXED CROSS JOIN content ON content.id = record.id),
  (SELECT coalesce(sum(live), 0) FROM segment WHERE state <> {int(PartitionState.COMPACTED)})"""
_HIDDEN: Final = """
SELECT id FROM content
  WHERE NOT EXISTS (SELECT 1 FROM record WHERE record.id = content.id)
UNION SELECT id FROM record NOT INDEXED
  WHERE NOT EXISTS (SELECT 1 FROM content WHERE content.id = record.id)
UNION SELECT id FROM record AS place INDEXED BY record_place
  WHERE NOT EXISTS (SELECT 1 FROM record WHERE record.id = place.id) ORDER BY id"""
_NAMED: Final = 10


def refuse_disagreement(
    catalog: Catalog,
    damaged: list[int] | None = None,
    *,
    opening: bool = False,
    trusted_s: float = 0.0,
) -> None:
    """Raise when a walk over all memories would skip one, or a partition counts others.

    Args:
        damaged: collects the ids of memories that cannot be reached; None raises.
        opening: the catalog is not shared yet, so its first connection is used.
        trusted_s: a proof of at most so many seconds ago is not repeated.

    Raises:
        CatalogCorruptError: the tables have different memories, or not as many as the partitions
            count; the latter even with ``damaged``, because the ids are then unknown.
    """
    began_s = time.monotonic()
    if began_s - catalog.agreed_s < trusted_s:
        return
    with catalog.latest() if opening else catalog.reading() as db:
        found = db.execute(_COUNTS).fetchone()
        records, places, texts = found[:3], found[3:6], found[6:9]
        joined, total = found[9:]
        differ = not (records == places == texts and joined == records[0])
        if not differ and total == records[0]:
            catalog.agreed_s = began_s
            return
        catalog.agreed_s = -math.inf
        hidden = [record_id for (record_id,) in db.execute(_HIDDEN)] if differ else []
    if damaged is not None and hidden:
        damaged += hidden
        return
    if hidden:
        names = ", ".join(map(str, hidden[:_NAMED])) + (", ..." if len(hidden) > _NAMED else "")
        problem = f"the memories {names} are in some of its tables and not in others"
    elif differ:
        problem = "its tables have equally many memories, but not the same ones"
    else:
        problem = f"{counted(records[0], 'memory')}, but the partitions' counts add up to {total}"
    raise CatalogCorruptError(f"{catalog.path}: {problem}", hint=recovery_hint(None))


def refuse_damage(catalog: Catalog) -> None:
    """Raise when anything in a catalog is damaged, so that a filter could miss memories.

    Reads all pages, seals, tags and words, as ``check`` does: 16 s for a million memories.

    Raises:
        CatalogCorruptError: naming the first problem, and how many there are.
    """
    found = Findings(1)
    with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
        check_catalog(db, catalog, found)
        check_words(db, catalog, found)
    if found.problems:
        first = found.problems[0].message
        more = f", and {found.unlisted} more" if found.unlisted else ""
        raise CatalogCorruptError(
            f"{catalog.path}: {first}{more}; a filter could miss what is damaged",
            hint=recovery_hint(None),
        )

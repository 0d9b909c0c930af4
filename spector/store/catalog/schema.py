"""The tables of the catalog, the values their keys and kinds may have, and the format check.

Tables::

    meta       what the store is: format, uuid, model, dimension
    head       one row of counters that every transaction advances
    segment    one row per partition: its path, state and number of slots
    record     one narrow row per live memory: place, times, scopes, mutable block
    content    the wide part of that memory: text, tags, metadata, provenance
    record_tag exact tags, which remove the Bloom filter's false positives
    fulltext   FTS5 index over content.text (external content: the text is stored once)
    journal    redo images of what no checkpoint has made durable in a partition yet
    erasure    ids whose erased bytes may be left in some file, and when they must be gone
    session    one row per opening that committed: its first change, and the last one before it
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

from spector._version import __version__
from spector.errors import CatalogCorruptError, FormatVersionError
from spector.layout import FORMAT_VERSION, MAX_DIM
from spector.store.files import SALVAGE
from spector.store.payloads import PAYLOAD_TABLES

CATALOG_NAME: Final = "catalog.db"
#: "SPEC" in SQLite's own header: file(1) and a stray open can tell whose database it is
APPLICATION_ID: Final = 0x53504543

#: key in ``meta``: a relaxed writer has the store open (see ``reconcile``)
UNSYNCED: Final = "unsynced"
#: key in ``meta`` of a backup that no writer has opened yet (see ``backup``)
BACKUP_NOTE: Final = "backup"
#: key in ``meta``: salts of a relaxed writer's log (``Log.salts``), which a power cut may tear
RELAXED_LOG: Final = "relaxed_log"

#: kinds of ``journal`` entries: whole records from a slot on
JOURNAL_RECORDS: Final = 0
#: the 24 mutable bytes of one record
JOURNAL_MUTABLE: Final = 1
#: the same, applied when no snapshot needs the slot any more (see ``retired``)
JOURNAL_RETIRE: Final = 2
#: the partition's header only, which follows from the segment row
JOURNAL_HEADER: Final = 3

#: a condition on ``record``: it repeats others (AUXILIARY), and has a text (not NO_TEXT); both
#: flags are in the second byte of its mutable block, which is tested as a hexadecimal digit
DERIVED_SQL: Final = "substr(hex(substr(mutable, 2, 1)), 2, 1) IN ('2', '3', 'A', 'B')"
#: the ids of these: the index has them, and rows lie far apart
DERIVED_IDS_SQL: Final = (
    f"SELECT id FROM record AS derived INDEXED BY record_derived WHERE {DERIVED_SQL}"
)

FULLTEXT_TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
FULLTEXT_SQL: Final = f"""CREATE VIRTUAL TABLE fulltext USING fts5(
    text, content='content', content_rowid='id',
    tokenize='{FULLTEXT_TOKENIZER}')"""

SCHEMA: Final = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE head(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last_id INTEGER NOT NULL, change_seq INTEGER NOT NULL, journal_seq INTEGER NOT NULL,
    retire_epoch INTEGER NOT NULL);
INSERT INTO head VALUES (1, 0, 0, 0, 0);
CREATE TABLE segment(
    id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, day INTEGER NOT NULL,
    sequence INTEGER NOT NULL, generation INTEGER NOT NULL, path TEXT NOT NULL,
    state INTEGER NOT NULL, capacity INTEGER NOT NULL, slots INTEGER NOT NULL,
    live INTEGER NOT NULL, change_seq INTEGER NOT NULL, UNIQUE (tier, day, sequence));
CREATE INDEX segment_change ON segment(change_seq);
CREATE TABLE record(
    id INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL, slot INTEGER NOT NULL,
    event_ms INTEGER NOT NULL, recorded_ms INTEGER NOT NULL,
    valid_from_ms INTEGER, valid_until_ms INTEGER,
    session_id TEXT, agent_id TEXT, user_id TEXT, mutable BLOB NOT NULL);
CREATE UNIQUE INDEX record_place ON record(segment_id, slot);
CREATE INDEX record_session ON record(session_id) WHERE session_id IS NOT NULL;
CREATE INDEX record_agent ON record(agent_id) WHERE agent_id IS NOT NULL;
CREATE INDEX record_user ON record(user_id) WHERE user_id IS NOT NULL;
CREATE INDEX record_from ON record(valid_from_ms) WHERE valid_from_ms IS NOT NULL;
CREATE INDEX record_until ON record(valid_until_ms) WHERE valid_until_ms IS NOT NULL;
CREATE INDEX record_derived ON record(id) WHERE {DERIVED_SQL};
CREATE TABLE content(
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, tags TEXT, metadata TEXT,
    role TEXT, source TEXT, parents TEXT, seal INTEGER);
CREATE TABLE record_tag(tag TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (tag, id))
    WITHOUT ROWID;
{FULLTEXT_SQL};
CREATE TABLE journal(
    seq INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL, kind INTEGER NOT NULL,
    slot INTEGER NOT NULL, image BLOB NOT NULL);
CREATE TABLE erasure(id INTEGER PRIMARY KEY, due_ms INTEGER NOT NULL);
CREATE TABLE session(first INTEGER PRIMARY KEY, after INTEGER NOT NULL);
"""


#: of a catalog, but for the full text
TABLES: Final = (
    *re.findall(r"CREATE TABLE (\w+)", SCHEMA),
    *(each.name for each in PAYLOAD_TABLES),
)


def create_tables(db: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    """Create the schema and write the description of the store, in one transaction."""
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    try:
        db.execute("BEGIN IMMEDIATE")
        for statement in SCHEMA.split(";"):
            if statement.strip():
                db.execute(statement)
        db.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def read_meta(db: sqlite3.Connection) -> dict[str, str]:
    """The description of the store, by key."""
    return dict(db.execute("SELECT key, value FROM meta ORDER BY key"))


def meta_value(db: sqlite3.Connection, key: str) -> str | None:
    """An entry of the description; None without it."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else str(found[0])


def put_meta(db: sqlite3.Connection, entries: Mapping[str, str]) -> None:
    """Insert or replace entries of the description."""
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(entries.items()))


def delete_meta(db: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Delete entries of the description; absent ones are ignored."""
    db.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in keys])


def check_format(meta: Mapping[str, str], path: str) -> None:
    """Raise unless ``meta`` describes a store of a format that this version can use.

    Raises:
        CatalogCorruptError: it does not describe a store.
        FormatVersionError: this version does not know the format.
    """
    try:
        version, dim = int(meta["format_version"]), int(meta["dim"])
        is_sound = version >= 1 and 1 <= dim <= MAX_DIM
        is_sound = is_sound and len(bytes.fromhex(meta["uuid"])) == 16
        is_sound = is_sound and all(type(meta[key]) is str for key in ("model_id", "fingerprint"))
    except (KeyError, TypeError, ValueError):
        is_sound, version = False, 0
    if not is_sound:
        raise CatalogCorruptError(f"{path} does not say what store it is", hint=SALVAGE)
    if version > FORMAT_VERSION:
        raise FormatVersionError(
            f"{path} has format {version}; spector {__version__} reads up to {FORMAT_VERSION}",
            hint="upgrade: pip install -U spector-memory; there is no way back to an older format",
        )

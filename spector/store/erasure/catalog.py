"""Erasing forgotten content: what is due, and the catalog's share of the work."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from spector.kernel import crc32c_rows
from spector.layout import HEADER_BYTES, Flag, headers_of
from spector.messages import counted
from spector.records import Purged
from spector.store.catalog import (
    CATALOG_NAME,
    delete_meta,
    meta_value,
    parents_after,
    put_meta,
    slots_of,
)
from spector.store.core import Store, Transaction
from spector.store.partitions import record_ids, wrong_checksums
from spector.store.sqlite import truncate_log, vacuum

#: the key in ``meta``
DUE: Final = "purge_due"
#: what an erasure still has to clean: pages, log and partitions; log and partitions; partitions
CATALOG, LOG, PARTITIONS = STAGES = "1", "log", "partitions"

#: attempts to empty a log that recalls may be reading right now
_LOOKS: Final = 8
#: levels of the full-text index after which it is made anew
_MOST_LEVELS: Final = 500
#: pages of the full-text index that are merged at once, and how often at most
_PIECE: Final = 200
_MOST_PIECES: Final = 20_000
_MERGE: Final = "INSERT INTO fulltext(fulltext, rank) VALUES ('merge', ?)"
#: rows that a merge which has done nothing has changed are fewer
_SOME: Final = 2


@dataclass(frozen=True, slots=True)
class DueErasure:
    """The ids of forgotten or changed memories to erase, and the time by which it must be done."""

    ids: tuple[int, ...] = ()
    due_ms: int | None = None


def note_erasure(connection: sqlite3.Connection, ids: Iterable[int], due_ms: int) -> None:
    """Record, in the transaction that deletes text, what must be gone by when."""
    connection.executemany(
        "INSERT INTO erasure VALUES (?, ?)"
        " ON CONFLICT (id) DO UPDATE SET due_ms = min(due_ms, excluded.due_ms)",
        [(record_id, due_ms) for record_id in ids],
    )
    put_meta(connection, {DUE: CATALOG})


def needs_purge(store: Store) -> bool:
    return _stage(store) is not None


def due_of(store: Store) -> DueErasure:
    """What is to be erased."""
    with store.catalog.reading() as db:
        if meta_value(db, DUE) is None:
            return DueErasure()
        ids = tuple(i for (i,) in db.execute("SELECT id FROM erasure ORDER BY id"))
        due_ms = db.execute("SELECT min(due_ms) FROM erasure").fetchone()[0]
    return DueErasure(ids, due_ms if type(due_ms) is int else 0)  # damaged: at once


def awaits_erasure(store: Store, record_id: int) -> bool:
    """True when deleted content of a memory is still to be erased."""
    sql = "SELECT EXISTS (SELECT 1 FROM erasure WHERE id = ?)"
    with store.catalog.reading() as db:
        return bool(db.execute(sql, (record_id,)).fetchone()[0])


def purge(store: Store, between: Callable[[], object] = int) -> tuple[list[Purged], str]:
    """Remove remnants of deleted rows from the catalog's pages and its log.

    Returns what was done, and why the log could not be emptied ("" when it was). Rows are zeroed
    when they are deleted. Two remnants are left: words in the full-text index, which a merge of its
    segments drops (the option ``secure-delete`` would zero them at once, but makes files that
    SQLite before 3.42 cannot read), and copies in the slack of rebalanced pages, which only a
    rewrite of the file removes. Writers wait for one piece of the merge at a time, and for the
    rewrite; recalls do not.

    Args:
        between: called between two pieces of work, without a lock.
    """
    if _stage(store) == CATALOG:
        _merge_in_pieces(store, between)
        between()
    with store.exclusive(), store.noting_failure():
        store.checkpoint()
        done = _rewrite_catalog(store) if _stage(store) == CATALOG else []
    for look in range(_LOOKS):
        if look:
            _pause()  # without the lock, for which the recall that holds the log may be waiting
        with store.exclusive(), store.noting_failure():
            store.checkpoint()  # also removes replaced files, once their last reader is gone
            stage = _stage(store)
            if stage not in (CATALOG, LOG):  # it is CATALOG when something was forgotten meanwhile
                return done, ""
            emptied = truncate_log(store.catalog)
            if emptied is not None:
                done.append(Purged(where=f"{CATALOG_NAME}-wal", what="emptied", bytes=emptied))
                if stage == LOG:
                    with store.catalog.writing() as connection:
                        put_meta(connection, {DUE: PARTITIONS})
                return done, ""
    return done, (
        "a reader held on to the catalog's log, which may repeat old pages; close it and compact "
        "again"
    )


def _merge_in_pieces(store: Store, between: Callable[[], object]) -> None:
    """Merge the segments of the full-text index, so that the last merge has nothing left to do."""
    pages = -_PIECE  # less than 0: it begins a merge of all segments
    for _ in range(_MOST_PIECES):
        between()
        with store.exclusive(), store.noting_failure():
            if _stage(store) != CATALOG:
                return
            with store.catalog.writing() as connection:
                if _levels(connection) > _MOST_LEVELS:
                    return  # it is made anew
                before = connection.total_changes
                connection.execute(_MERGE, (pages,))
                if connection.total_changes - before < _SOME:
                    return
        pages = _PIECE


def _rewrite_catalog(store: Store) -> list[Purged]:
    """Take the catalog from stage CATALOG to LOG."""
    with store.catalog.writing() as connection:
        how = "rebuild" if _levels(connection) > _MOST_LEVELS else "optimize"
        connection.execute("INSERT INTO fulltext(fulltext) VALUES (?)", (how,))
    before, free, after = vacuum(store.catalog)
    with store.catalog.writing() as connection:
        put_meta(connection, {DUE: LOG})
    return [
        Purged(where=CATALOG_NAME, what="full text merged without deleted words"),
        Purged(
            where=CATALOG_NAME,
            bytes=before,
            what=f"all pages rewritten, {counted(free, 'byte', commas=True)} of free ones among"
            f" them; now {counted(after, 'byte', commas=True)}",
        ),
    ]


def _levels(connection: sqlite3.Connection) -> int:
    """Levels of the full-text index: each merge of all adds one, and SQLite refuses 2,001."""
    found = connection.execute("SELECT block FROM fulltext_data WHERE id = 10").fetchone()
    if found is None or type(found[0]) is not bytes:
        return 0
    levels = 0
    for byte in found[0][4:6]:  # after a number of four bytes, seven bits a byte
        levels = levels << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return levels


def _pause() -> None:
    time.sleep(0.02)


def wipe_dead(store: Store, segment_id: int) -> int:
    """Zero the dead records of a partition in place; returns how many bytes.

    For partitions that are never rewritten. A record keeps its id, by which a ring finds its
    oldest, and its tombstone.
    """
    with store.exclusive(), store.noting_failure():
        store.checkpoint()  # slots of moved memories become tombstones here
        segment = store.segments.get(segment_id)
        if segment is None:
            return 0
        headers, records = segment.partition().headers(), segment.records()
        dead = np.flatnonzero(headers["flags"] & int(Flag.TOMBSTONE))
        # no checksum covers the flags: a record that the catalog names stays, whatever they are
        with store.catalog.reading() as db:
            dead = np.setdiff1d(
                dead, [slot for slot in slots_of(db, segment_id) if type(slot) is int]
            )
        dead = dead[records[dead, HEADER_BYTES:].any(axis=1)]
        if not len(dead):
            return 0
        blank = np.zeros((len(dead), store.stride), dtype=np.uint8)
        written = headers_of(blank)
        for name in ("id", "tier"):
            written[name] = headers[name][dead]
        written["flags"] = Flag.TOMBSTONE
        written["crc"] = crc32c_rows(blank, seed=store.uuid)
        with store.transaction() as tx:
            for slot, image in zip(dead.tolist(), blank, strict=True):
                tx.evict(segment_id)
                tx.overwrite(segment_id, slot, image)
        return blank.nbytes


def mark_erased(store: Store, ids: Collection[int]) -> None:
    """Note that these ids are erased; when no others are due, no erasure is due any more."""
    with store.exclusive(), store.noting_failure(), store.catalog.writing() as connection:
        connection.executemany("DELETE FROM erasure WHERE id = ?", [(i,) for i in ids])
        if connection.execute("SELECT EXISTS (SELECT 1 FROM erasure)").fetchone()[0]:
            return
        if meta_value(connection, DUE) == PARTITIONS:
            delete_meta(connection, [DUE])


def postpone(store: Store, ids: Collection[int], due_ms: int) -> None:
    """Note that these ids could not be erased; no sleep tries them again before ``due_ms``."""
    with store.exclusive(), store.noting_failure(), store.catalog.writing() as connection:
        connection.executemany(
            "UPDATE erasure SET due_ms = ? WHERE id = ?", [(due_ms, i) for i in ids]
        )


def ids_left_in(store: Store, segment_id: int, ids: Collection[int]) -> set[int]:
    """Which of those ids the dead slots of a partition have, or may have; without ids, all.

    The catalog tells which slots are dead, because flags may be damaged. The id of a record with a
    wrong checksum may be damaged, too, so such a record may be any of them.
    """
    segment = store.segments.get(segment_id)
    if segment is None:
        return set()
    partition = segment.partition()
    dead = np.ones(partition.slots, dtype=np.bool_)
    with store.catalog.reading() as db:
        for slot in slots_of(db, segment_id):
            if slot in range(len(dead)):  # any other value is damage, which check reports
                dead[slot] = False
    images = np.ascontiguousarray(partition.data[dead])
    found = set(record_ids(images).tolist())
    if not ids:
        return found
    return set(ids) if len(wrong_checksums(images, store.uuid)) else found & set(ids)


def derived_from(store: Store, erased: set[int]) -> tuple[int, ...]:
    """Living descendants of erased memories, at any depth."""
    if not erased:
        return ()
    children: dict[int, list[int]] = {}
    with store.catalog.reading() as db:
        for record_id, parent in parents_after(db):
            children.setdefault(parent, []).append(record_id)
    found: set[int] = set()
    waiting = list(erased)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found and child not in erased:
                found.add(child)
                waiting.append(child)
    return tuple(sorted(found))


def _stage(store: Store) -> str | None:
    """The stage of the catalog as of the last commit.

    It is read each time: a copy in memory would keep the stage of a commit that failed.
    """
    with store.catalog.reading() as db:
        return meta_value(db, DUE)


# What other processes of a shared store learn of a user who was forgotten, without a name.
#
# The row ``user_gone`` of the table ``meta`` has a note of each of the last such users: the last id
# of a memory at that moment, the change that forgot, and one byte of a hash, which every 256th name
# has. Who has a memory of before it, which a filter would have found, is not the user of a note.

#: the key in ``meta``
_KEY: Final = "user_gone"
_MOST: Final = 64
_HELD: Final = int(Flag.PINNED | Flag.IMMUTABLE)


def note_user_gone(tx: Transaction, store: Store, user_id: str) -> None:
    """Note, under the lock that forgets the memories of a user, who was forgotten."""
    head = tx.head()
    moment = f"{head.last_id}.{head.change_seq}"
    notes = [*users_gone(store), f"{moment}.{_byte_of(moment, user_id)}"]
    put_meta(tx.connection, {_KEY: " ".join(notes[-_MOST:])})


def users_gone(store: Store) -> tuple[str, ...]:
    """The notes of users who were forgotten by any process, in order."""
    with store.catalog.reading() as db:
        return tuple((meta_value(db, _KEY) or "").split())


def may_be_gone(
    store: Store, users: Iterable[str], notes: tuple[str, ...], seen: tuple[str, ...]
) -> set[str]:
    """Those of some users that a note may be of which had not been seen."""
    first = notes.index(seen[-1]) + 1 if seen and seen[-1] in notes else 0
    if not notes[first:]:
        return set()
    any_user = first == 0 and len(notes) == _MOST  # more have gone than there are notes
    last, fresh = int(notes[-1].split(".")[0]), [each.rpartition(".") for each in notes[first:]]
    return {
        user
        for user in users
        if (any_user or any(_byte_of(moment, user) == byte for moment, _, byte in fresh))
        and not _is_known(store, user, last)
    }


def memories_of(stores: Iterable[Store], user_id: str) -> list[int]:
    """The ids of a user's memories in some stores, of ended ones too."""
    sql, out = "SELECT id FROM record WHERE user_id = ?", list[int]()
    for each in stores:
        with each.catalog.reading() as db:
            out += [record_id for (record_id,) in db.execute(sql, (user_id,))]
    return out


def _is_known(store: Store, user_id: str, last_id: int) -> bool:
    """Whether a user has a memory of before, which forgetting the user would have taken."""
    sql = "SELECT mutable FROM record WHERE user_id = ? AND id <= ?"
    with store.catalog.reading() as db:
        return any(
            not int.from_bytes(block[:2], "little") & _HELD
            for (block,) in db.execute(sql, (user_id, last_id))
        )


def _byte_of(moment: str, user_id: str) -> str:
    text = f"{moment} {user_id}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=1).hexdigest()

"""Check that a store is whole: every header, checksum, row, count and word."""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections.abc import Mapping

from spector._types import Progress
from spector.errors import (
    FormatVersionError,
    SpectorError,
    StoreError,
    StoreNotFoundError,
)
from spector.kernel.contract import Kernel
from spector.layout import PARTITION_HEADER_BYTES, PartitionState, stride_of
from spector.messages import counted
from spector.records import MAX_PROBLEMS, CheckReport, Problem
from spector.store.catalog import CATALOG_NAME, LOG_NAME, UNSYNCED, Catalog, SegmentRow
from spector.store.core import TierFiles
from spector.store.files import LOCK_NAME, Files, Raw, is_io_error, read_durable_mark, read_raw
from spector.store.integrity.check_catalog import check_catalog, check_words
from spector.store.integrity.check_disk import check_disk
from spector.store.integrity.check_knowledge import check_knowledge
from spector.store.integrity.check_records import Expected, check_partition
from spector.store.integrity.findings import Findings
from spector.store.integrity.lost_commits import broken_log, lost_by_mark, lost_in_log
from spector.store.integrity.redo import is_entry
from spector.store.integrity.strays import STRANGE, judge_stray, read_stray
from spector.store.ops_log import is_ops_log
from spector.store.partitions import idx_of, is_idx, problem_of_file
from spector.store.sqlite import SQL_ERRORS, read_transaction, typed_sql_errors
from spector.store.words import is_words, notes_on_words

__all__ = ["check_files", "check_settled"]

_OWN = {LOCK_NAME, CATALOG_NAME, LOG_NAME, f"{CATALOG_NAME}-shm"}
#: findings here are final; partitions are checked again, because a writer may be ahead with them
_SETTLED = {CATALOG_NAME, LOG_NAME}


def check_files(
    files: Files,
    catalog: Catalog,
    tiers: Mapping[int, TierFiles],
    kernel: Kernel,
    progress: Progress | None = None,
    *,
    limit: int | None = MAX_PROBLEMS,
) -> CheckReport:
    """Check a store from its files alone; changes nothing.

    The whole check is one read transaction, so that the catalog is of one moment. Until it ends, a
    writer's log grows, and retired slots and files stay.

    The journal is part of the partitions: it is applied to their bytes first.
    docs/manual/store-care.md explains the code of each problem. Notes have the code N1: a scan
    index or a file of words that cannot be used and will be rebuilt, or a replaced file that will
    be removed.

    Args:
        limit: problems to list, None for all; the others are counted.
    """
    started = time.perf_counter()
    found = Findings(limit)
    segments: list[SegmentRow] | None = None
    mark = read_durable_mark(files.root) if files.durable else None
    check_disk(files, catalog, found)
    try:
        catalog.refuse_replaced()
        with found.as_missing(LOCK_NAME):
            catalog.refuse_unlocked()
        meta = catalog.validate()
        # a power cut may have undone commits; a writer of this process has reconciled that already
        unsynced = UNSYNCED in meta and not catalog.relaxed
        with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
            segments = check_catalog(db, catalog, found)
            if segments is not None:
                _check_segments(db, files, meta, segments, tiers, found, progress, unsynced)
            check_words(db, catalog, found)
            check_knowledge(db, found)
            with found.surviving():
                rows = catalog.segments(db)
                _check_unknown(files, rows, found, meta["uuid"], unsynced=unsynced)
            for name, message in notes_on_words(files, bytes.fromhex(meta["uuid"]), kernel):
                found.note(name, message)
            with found.surviving():
                lost = lost_by_mark(mark, meta, catalog.head(db).change_seq)
                if lost:
                    found.catalog("I18", lost)
        with found.surviving():
            if not found.catalog_unread:
                _check_log(files, catalog, meta, found)
    except FormatVersionError:
        raise
    except (SpectorError, sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        if not (found.catalog_unread and is_io_error(error)):
            found.catalog("I15", str(error))
    return CheckReport(
        problems=tuple(found.problems),
        notes=tuple(found.notes),
        partitions=len(segments or ()),
        records=found.records,
        tombstones=found.tombstones,
        bytes=found.bytes,
        elapsed_ms=(time.perf_counter() - started) * 1000,
        unlisted=found.unlisted,
    )


def _check_segments(
    db: sqlite3.Connection,
    files: Files,
    meta: Mapping[str, str],
    segments: list[SegmentRow],
    tiers: Mapping[int, TierFiles],
    found: Findings,
    progress: Progress | None,
    unsynced: bool,
    earlier: Raw | None = None,
    *,
    only: bool = False,
) -> None:
    """``earlier``: the bytes of the one segment given; ``only``: check no other files."""
    dim, uuid = int(meta["dim"]), bytes.fromhex(meta["uuid"])
    pending = _pending(db, found)
    if pending is None:
        return
    for done, row in enumerate(segments):
        tier = tiers.get(row.tier)
        expected = Expected(
            row,
            dim=dim,
            uuid=uuid,
            magic=None if tier is None else tier.magic,
            pending=pending.get(row.id, []),
            unsynced=unsynced,
            version=int(meta["format_version"]),
        )
        try:
            check_partition(db, files, expected, found, earlier)
            useless = problem_of_file(files, row, dim=dim, uuid=uuid)
            if useless is not None:
                found.note(idx_of(row.path), f"{useless}; it will be rebuilt")
        except StoreError as error:
            found.add("I14" if not files.exists(row.path) else "I1", row.path, error.message)
        if progress is not None:
            progress(done + 1, len(segments))
    if only:
        return
    for stray in pending.keys() - {row.id for row in segments}:
        found.catalog("I4", f"the journal names partition {stray}, which does not exist")
    known = ",".join(str(row.id) for row in segments) or "-1"
    with found.surviving():
        sql = f"SELECT count(*) FROM record WHERE segment_id NOT IN ({known})"
        lost = int(db.execute(sql).fetchone()[0])
        if lost:
            found.catalog("I4", f"{counted(lost, 'record')} in partitions that do not exist")


def _pending(
    db: sqlite3.Connection, found: Findings
) -> dict[int, list[tuple[int, int, bytes]]] | None:
    """Redo images that the partitions may not have yet, by segment.

    None when the disk cannot read them: no partition can then be held against the catalog.
    """
    out: dict[int, list[tuple[int, int, bytes]]] = {}
    complete = False
    with found.surviving():
        for entry in db.execute("SELECT segment_id, kind, slot, image FROM journal ORDER BY seq"):
            if is_entry(entry):
                segment_id, kind, slot, image = entry
                out.setdefault(segment_id, []).append((kind, slot, image))
            else:
                found.catalog("I18", "an entry of the journal is damaged: a commit may lack bytes")
        complete = True
    return out if complete or not found.catalog_unread else None


def _check_log(files: Files, catalog: Catalog, meta: Mapping[str, str], found: Findings) -> None:
    """I18: commits behind a place where the log is damaged."""
    broken = broken_log(files, catalog, meta)
    if broken is not None:
        found.add("I18", LOG_NAME, lost_in_log(broken), offset=broken.offset)


def _check_unknown(
    files: Files, rows: list[SegmentRow], found: Findings, uuid: str, *, unsynced: bool
) -> None:
    """I14, and I18 for partitions of this store; ``unsynced``: of commits that were taken back."""
    own = bytes.fromhex(uuid)
    named = {row.path for row in rows if row.state != PartitionState.COMPACTED}
    derived = {idx_of(path) for path in named}
    for name in files.listing():
        if name in named or name in derived or name in _OWN or is_words(name) or is_ops_log(name):
            continue
        if is_idx(files, name):
            found.note(name, "a scan index without a partition; the next opening removes it")
            continue
        code, message = "I14", STRANGE
        try:
            if name.endswith(".mem"):
                stray = read_stray(files, name, own)
                code, message = judge_stray(files, stray, rows, unsynced=unsynced)
        except StoreNotFoundError:  # it has just been removed
            continue
        except SpectorError as error:  # a link, a pipe, another program's
            message = f"{STRANGE}: {error.message}"
        if code == "N1":
            found.note(name, message)
        else:
            found.add(code, name, message)


def check_settled(
    files: Files,
    catalog: Catalog,
    tiers: Mapping[int, TierFiles],
    kernel: Kernel,
    progress: Progress | None = None,
    *,
    limit: int | None = MAX_PROBLEMS,
) -> CheckReport:
    """``check_files``, repeated when a writer in another process commits meanwhile.

    A finding is real when the catalog did not change meanwhile. Beside a writer that never pauses
    the catalog always changes, and partitions are ahead of the snapshot that they are compared
    with. So each finding in a partition is checked again by itself, until it is gone or has been
    seen every time.
    """
    most = None if limit is None else max(limit, MAX_PROBLEMS)  # a real one may come after others
    for _ in range(_PASSES):
        before = _change_seq(catalog)
        report = check_files(files, catalog, tiers, kernel, progress, limit=most)
        if report.ok or _change_seq(catalog) == before:
            break
        seen = {str(p.file) for p in report.problems if p.file not in _SETTLED}
        stayed: set[_Key] = set()
        replaced = False
        for path in sorted(seen):
            keys = {_key(p) for p in report.problems if p.file == path}
            for _ in range(_LOOKS):
                again = _look_again(files, catalog, tiers, path)
                replaced = replaced or again is None
                keys &= {_key(p) for p in again or ()}
                if not keys:
                    break
            stayed |= keys
        problems = tuple(p for p in report.problems if p.file in _SETTLED or _key(p) in stayed)
        listed_all = not report.unlisted
        report = dataclasses.replace(report, problems=problems)
        # a finding in a file that is gone may be in its replacement; and the unlisted problems are
        # unknown until there are fewer
        if not replaced and (listed_all or problems):
            break
    return _shortened(report, limit)


def _shortened(report: CheckReport, limit: int | None) -> CheckReport:
    more = 0 if limit is None else max(0, len(report.problems) - limit)
    if not more:
        return report
    return dataclasses.replace(
        report, problems=report.problems[:limit], unlisted=report.unlisted + more
    )


_PASSES = 5
_LOOKS = 25
_Key = tuple[str, str | None, int | None, int | None, int | None]


def _key(problem: Problem) -> _Key:
    """A problem without its message, whose numbers may change."""
    return problem.code, problem.file, problem.slot, problem.offset, problem.id


def _look_again(
    files: Files, catalog: Catalog, tiers: Mapping[int, TierFiles], path: str
) -> list[Problem] | None:
    """The problems of one file now; None if it is no longer the store's.

    Its bytes are read before the catalog: headers and records are written after their commit, so
    they cannot be ahead of a catalog that is read later. What they lack is in the journal, unless
    a checkpoint came in between.
    """
    found = Findings()
    try:
        meta = catalog.validate()
        unsynced = UNSYNCED in meta and not catalog.relaxed
        room = {row.path: row.capacity * stride_of(int(meta["dim"])) for row in catalog.segments()}
        earlier = None
        if path in room and files.exists(path):
            earlier = read_raw(files, path, PARTITION_HEADER_BYTES + room[path])
        with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
            rows = catalog.segments(db)
            own = [r for r in rows if r.path == path and r.state != PartitionState.COMPACTED]
            if not own and not files.exists(path):
                return None
            _check_segments(db, files, meta, own, tiers, found, None, unsynced, earlier, only=True)
            _check_unknown(files, rows, found, meta["uuid"], unsynced=unsynced)
    except (SpectorError, sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        found.add("I1", path, str(error))
    return [problem for problem in found.problems if problem.file == path]


def _change_seq(catalog: Catalog) -> int:
    try:
        return catalog.head().change_seq
    except (SpectorError, *SQL_ERRORS):  # the report has what is wrong with such a catalog
        return -1

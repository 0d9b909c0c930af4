"""Check that a store is whole: every header, checksum, row, count and word."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.errors import (
    CatalogCorruptError,
    FormatVersionError,
    SpectorError,
    StoreError,
    StoreNotFoundError,
)
from spector.kernel.contract import Kernel, namespace_mask, record_mask
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    RECORD_VERSION,
    Flag,
    PartitionState,
    headers_of,
    stride_of,
)
from spector.messages import counted
from spector.records import MAX_PROBLEMS, CheckReport, Problem
from spector.store.catalog import (
    CATALOG_NAME,
    JOURNAL_RECORDS,
    LOG_NAME,
    UNSYNCED,
    Catalog,
    SegmentRow,
)
from spector.store.core import TierFiles
from spector.store.files import (
    LOCK_NAME,
    Bytes,
    Files,
    Raw,
    Stretch,
    is_io_error,
    name_some,
    read_durable_mark,
    read_raw,
)
from spector.store.integrity.check_catalog import (
    Findings,
    check_catalog,
    check_disk,
    check_knowledge,
    check_words,
)
from spector.store.integrity.recovery import (
    STRANGE,
    broken_log,
    is_entry,
    judge_stray,
    lay_over,
    lost_by_mark,
    lost_in_log,
    mutable_halves,
    read_stray,
)
from spector.store.ops_log import is_ops_log
from spector.store.partitions import (
    idx_of,
    is_ahead,
    is_idx,
    problem_of_file,
    unpack_header,
    wrong_checksums,
)
from spector.store.payloads import NAMESPACES_TAGGED, detail_tables, entries_of
from spector.store.sqlite import SQL_ERRORS, read_transaction, typed_sql_errors
from spector.store.words import is_words, notes_on_words

# The part of a check that reads a partition: its header, its records and the catalog's rows.

#: of a header, what never changes while its file lives
_LASTING = ("magic", "version", "stride", "dim", "day", "sequence", "generation")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the catalog says of one partition; ``pending`` are its entries of the journal."""

    row: SegmentRow
    dim: int
    uuid: bytes
    magic: int | None
    pending: list[tuple[int, int, bytes]]
    #: a relaxed writer has not closed it; the next writer will ``reconcile``
    unsynced: bool = False
    #: format of the store
    version: int = FORMAT_VERSION

    @property
    def stride(self) -> int:
        return stride_of(self.dim)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a partition with the journal applied: (slots, stride) u8."""

    images: Bytes
    #: (slots,) bool: some of the record cannot be read, and the journal does not have it either
    unread: NDArray[np.bool_]
    bad: tuple[Stretch, ...]


def check_partition(
    db: sqlite3.Connection,
    files: Files,
    expected: Expected,
    found: Findings,
    earlier: Raw | None = None,
) -> None:
    """I1, I2, I3, I4, I8, I10, I11, I16, I20 of one partition.

    ``earlier`` are its bytes, if they were read before.
    """
    row = expected.row
    records = _read(files, expected, found, earlier)
    if records is None:
        return
    images, unread = records.images, records.unread
    lost = _check_unread(db, expected, records, found)
    if not len(images):
        return
    if expected.unsynced and _reconciled(db, row, images) and not records.bad:
        _note_later(row.path, found)
    headers = headers_of(images)
    alive = ((headers["flags"] & int(Flag.TOMBSTONE)) == 0) & ~unread
    live = int(alive.sum()) + lost
    found.records += live
    found.tombstones += len(images) - live
    with found.surviving():
        _check_checksums(db, expected, images, alive, unread, found)
    if live != row.live:
        found.add("I4", row.path, f"{live} live slots, the catalog says {row.live}")
    with found.surviving():
        _check_bijection(db, expected, headers, images, alive, unread, found)
    for code, slot, offset, message in _strange_values(headers, images, expected.dim):
        if alive[slot]:
            found.add(
                code,
                row.path,
                message,
                slot=slot,
                stride=expected.stride,
                offset=offset,
                record_id=int(headers["id"][slot]),
            )


def _read(
    files: Files, expected: Expected, found: Findings, earlier: Raw | None
) -> _Records | None:
    row, stride = expected.row, expected.stride
    need = PARTITION_HEADER_BYTES + row.slots * stride
    raw = earlier or read_raw(files, row.path, need)
    found.bytes += raw.size
    if raw.size < need and not expected.pending:
        found.add(
            "I2",
            row.path,
            f"{raw.size} bytes, but {row.slots} records need {need}",
            offset=raw.size,
        )
        return None
    body = raw.data[PARTITION_HEADER_BYTES:need]
    if not any(stretch.low < PARTITION_HEADER_BYTES for stretch in raw.bad):
        _check_header(raw.data[:PARTITION_HEADER_BYTES], expected, found)
    flat = np.zeros(row.slots * stride, dtype=np.uint8)
    flat[: len(body)] = np.frombuffer(body, dtype=np.uint8)
    images: Bytes = flat.reshape(row.slots, stride)
    refused = lay_over(images, expected.pending, expected.uuid)
    for slot in refused:
        message = "the journal's image of this record is damaged; what the partition has stays"
        found.add("I3", row.path, message, slot=slot, stride=stride)
    unread = np.zeros(row.slots, dtype=bool)
    bad = tuple(each for each in raw.bad if each.low < need)
    for stretch in bad:
        unread[_slots_in(stretch, stride)] = True
    for kind, first, image in expected.pending:
        if kind == JOURNAL_RECORDS and first >= 0:
            own = np.arange(first, min(first + len(image) // stride, row.slots))
            unread[np.setdiff1d(own, refused)] = False
    return _Records(images, unread, bad)


def _slots_in(stretch: Stretch, stride: int) -> slice:
    """The slots of which a stretch has at least one byte."""
    low, high = (max(0, at - PARTITION_HEADER_BYTES) for at in (stretch.low, stretch.high))
    return slice(low // stride, -(-high // stride))


def _check_unread(
    db: sqlite3.Connection, expected: Expected, records: _Records, found: Findings
) -> int:
    """I20: a finding for each stretch. Returns how many memories they have."""
    if not records.bad:
        return 0
    names: dict[int, int] = {}
    with found.surviving():
        names = {
            slot: record_id
            for slot, record_id in db.execute(
                "SELECT slot, id FROM record WHERE segment_id = ?", (expected.row.id,)
            )
            if type(slot) is int and type(record_id) is int
        }
    told = 0
    waiting = records.unread.copy()
    for stretch in records.bad:
        here = np.flatnonzero(waiting[_slots_in(stretch, expected.stride)])
        slots = here + _slots_in(stretch, expected.stride).start
        waiting[slots] = False
        ids = [names[slot] for slot in slots.tolist() if slot in names]
        parts = ["the partition's header"] if stretch.low < PARTITION_HEADER_BYTES else []
        if ids:
            parts.append(name_some(ids))
        what = " and ".join(parts) or "no memory, only what is left of forgotten ones"
        keeps = "; --repair keeps the words" if ids else "; --repair goes around them"
        found.unread(stretch, f"in them: {what}{keeps}", ids)
        told += len(ids)
    return told


def _check_header(raw: bytes, expected: Expected, found: Findings) -> None:
    """I1. Fields that the next writer will write anyway may be old or torn; others may not."""
    row, pending = expected.row, bool(expected.pending) or expected.unsynced
    try:
        header = unpack_header(raw, where=row.path, uuid=expected.uuid)
    except FormatVersionError as error:
        found.add("I1", row.path, error.message, offset=4)
        return
    except SpectorError as error:
        torn = len(raw) == PARTITION_HEADER_BYTES and "checksum" in error.message
        if not (pending and torn):
            found.add("I1", row.path, error.message, offset=0)
        return
    wanted = {
        "version": expected.version,
        "count": row.live,
        "tombstone_count": row.dead,
        "capacity": row.capacity,
        "state": row.state,
        "stride": expected.stride,
        "dim": expected.dim,
        "day": row.day,
        "sequence": row.sequence,
        "generation": row.generation,
    }
    if expected.magic is not None:
        wanted["magic"] = expected.magic
    assert PARTITION_DTYPE.fields is not None
    if pending and not expected.unsynced and is_ahead(header, row):
        found.add("I1", row.path, "the header is of a later commit than the catalog", offset=8)
    for name, value in wanted.items():
        if header[name] != value and not (pending and name not in _LASTING):
            found.add(
                "I1",
                row.path,
                f"{name} is {header[name]}, the catalog says {value}",
                offset=PARTITION_DTYPE.fields[name][1],
            )


def _reconciled(db: sqlite3.Connection, row: SegmentRow, images: Bytes) -> bool:
    """Give (slots, stride) images the mutable halves that ``reconcile`` would give them.

    True when a power cut has left later ones. Rows that the next writer would refuse change
    nothing; the comparison of records and rows finds them.
    """
    halves = images[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
    try:
        wanted = mutable_halves(db, row, halves)
    except (SpectorError, sqlite3.Error, ValueError, TypeError, IndexError):
        return False
    later = bool((halves != wanted).any())
    halves[:] = wanted
    return later


def _note_later(path: str, found: Findings) -> None:
    found.note(path, "of a later moment than the catalog; the next writer takes it back to that")


def _check_checksums(
    db: sqlite3.Connection,
    expected: Expected,
    images: Bytes,
    alive: NDArray[np.bool_],
    unread: NDArray[np.bool_],
    found: Findings,
) -> None:
    """Name each damaged record by the catalog's id, which ``forget`` takes."""
    wrong = [n for n in wrong_checksums(images, expected.uuid).tolist() if not unread[n]]
    if not wrong:
        return
    row = expected.row
    names: dict[int, int] = {}
    with found.surviving():
        names = dict(db.execute("SELECT slot, id FROM record WHERE segment_id = ?", (row.id,)))
    for slot in wrong:
        message = "the record's checksum does not match"
        if not alive[slot]:
            message += "; it is forgotten, and compact removes it"
        elif slot in names:
            message = (
                f"the checksum of memory {names[slot]} does not match; --repair keeps its words, "
                f"forget({names[slot]}) drops it"
            )
        found.add(
            "I3", row.path, message, slot=slot, stride=expected.stride, record_id=names.get(slot)
        )


def _check_bijection(
    db: sqlite3.Connection,
    expected: Expected,
    headers: NDArray[np.void],
    images: Bytes,
    alive: NDArray[np.bool_],
    unread: NDArray[np.bool_],
    found: Findings,
) -> None:
    row, stride = expected.row, expected.stride
    seen = np.zeros(len(images), dtype=bool)

    def add(code: str, slot: int, message: str, record_id: int | None, offset: int = 0) -> None:
        found.add(
            code, row.path, message, slot=slot, stride=stride, offset=offset, record_id=record_id
        )

    details = detail_tables(db)
    keys = "NULL FROM record"
    if "entry" in details:
        keys = (
            "entry.namespace FROM record"
            " LEFT JOIN entry ON entry.id = record.id AND record_key IS NOT NULL"
        )
    cursor = db.execute(
        "SELECT record.id, slot, event_ms, record.user_id, record.agent_id, session_id, mutable,"
        f" tags, {keys} LEFT JOIN content ON content.id = record.id WHERE segment_id = ?",
        (row.id,),
    )
    for record_id, slot, event_ms, user, agent, session, mutable, tags, namespace in cursor:
        if isinstance(slot, int) and 0 <= slot < len(images) and unread[slot]:
            continue  # reported already
        if not isinstance(slot, int) or not 0 <= slot < len(images) or not alive[slot]:
            message = f"memory {record_id} points to slot {slot}, which is not alive"
            found.add(
                "I4",
                row.path,
                message,
                slot=slot if isinstance(slot, int) else None,
                stride=stride,
                record_id=record_id,
            )
            continue
        seen[slot] = True
        header = headers[slot]
        if int(header["id"]) != record_id or int(header["tier"]) != row.tier:
            message = f"memory {record_id} points to the record {int(header['id'])}"
            add("I4", slot, message, record_id)
            continue
        if int(header["event_ms"]) != event_ms:
            add("I4", slot, "the event time differs from the catalog's", record_id, 16)
        if images[slot, MUTABLE_OFFSET:HEADER_BYTES].tobytes() != mutable:
            message = f"the flags and strength of memory {record_id} differ from the catalog's copy"
            add("I16", slot, message, record_id, MUTABLE_OFFSET)
        try:
            said, bits = json.loads(tags or "[]"), int(header["tags"])
            bare = record_mask([str(tag) for tag in said], user, agent, session)
            whole = bare if namespace is None else bare | namespace_mask(str(namespace))
            # a record may be older than the tags of namespaces
            if bits == whole or (bits == bare and NAMESPACES_TAGGED not in details):
                continue
            if bits & bare == bare:
                entries_of(db, [record_id])
        except CatalogCorruptError:
            continue  # a damaged entry is I27, and says nothing of the namespace
        except (ValueError, TypeError, RecursionError):
            pass
        add("I8", slot, "the Bloom filter does not fit the exact tags", record_id, 24)
    for slot in np.flatnonzero(alive & ~seen).tolist():
        add("I4", slot, "a live record that the catalog does not know", int(headers["id"][slot]))


def _strange_values(
    headers: NDArray[np.void], images: Bytes, dim: int
) -> Iterator[tuple[str, int, int, str]]:
    """(code, slot, offset, message) of values that no version of spector writes."""
    with np.errstate(invalid="ignore", over="ignore"):
        scale = headers["scale"].astype(np.float64)
        codes = images[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
        norms = scale * np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))
        # each component of a code is at most half a step off
        loose = np.abs(norms - 1.0) > scale * np.sqrt(dim) / 2 + 1e-3
        tests = (
            ("I10", 0, "the record's version is not known", headers["version"] != RECORD_VERSION),
            ("I10", 4, "scale is not a finite number >= 0", ~(np.isfinite(scale) & (scale >= 0))),
            ("I10", 64, "the vector is not of length 1", loose & (scale != 0)),
            ("I10", 64, "a code of the vector is -128", (codes == -128).any(axis=1)),
            (
                "I10",
                64 + dim,
                "the vector's padding is not zero",
                images[:, HEADER_BYTES + dim :].any(axis=1),
            ),
            (
                "I11",
                44,
                "importance is not in 0..1",
                ~((headers["importance"] >= 0) & (headers["importance"] <= 1)),
            ),
            (
                "I11",
                52,
                "utility is not in 0..1",
                ~((headers["utility"] >= 0) & (headers["utility"] <= 1)),
            ),
            (
                "I11",
                48,
                "stability is not a positive number",
                ~(np.isfinite(headers["stability_days"]) & (headers["stability_days"] > 0)),
            ),
        )
    for code, offset, message, wrong in tests:
        for slot in np.flatnonzero(wrong).tolist():
            yield code, slot, offset, message


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

"""Check that a store is whole: every header, checksum, row, count and word."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

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
    ExpectedHeader,
    idx_of,
    is_ahead,
    is_idx,
    problem_of_file,
    rows_in,
    unpack_header,
    wrong_checksums,
)
from spector.store.payloads import NAMESPACES_TAGGED, detail_tables, entries_of
from spector.store.sqlite import SQL_ERRORS, read_transaction, typed_sql_errors
from spector.store.words import is_words, notes_on_words

# The part of a check that reads a partition: its header, its records and the catalog's rows.


class _PartitionCheck:
    """I1, I2, I3, I4, I8, I10, I11, I16, I20 of one partition.

    Args:
        header: its magic is 0 where the tier is unknown.
        pending: entries of the journal that the partition may not have yet.
        unsynced: a relaxed writer has not closed it; the next writer will ``reconcile``.
    """

    def __init__(
        self,
        files: Files,
        found: Findings,
        row: SegmentRow,
        header: ExpectedHeader,
        pending: list[tuple[int, int, bytes]],
        *,
        unsynced: bool,
    ) -> None:
        self._files, self._found, self._row = files, found, row
        self._header, self._stride = header, header.stride
        self._pending, self._unsynced = pending, unsynced
        #: (slots, stride) u8: the records with the journal applied
        self._images: Bytes
        #: (slots,) bool: some of the record cannot be read, and the journal does not have it either
        self._unread: NDArray[np.bool_] = np.zeros(row.slots, dtype=bool)
        self._bad: tuple[Stretch, ...] = ()

    def run(self, db: sqlite3.Connection, earlier: Raw | None = None) -> None:
        """``earlier`` are its bytes, if they were read before."""
        found, row = self._found, self._row
        if not self._read(earlier):
            return
        images, lost = self._images, self._check_unread(db)
        if not len(images):
            return
        if self._unsynced and self._reconciled(db) and not self._bad:
            said = "of a later moment than the catalog; the next writer takes it back to that"
            found.note(row.path, said)
        headers = headers_of(images)
        alive = ((headers["flags"] & int(Flag.TOMBSTONE)) == 0) & ~self._unread
        live = int(alive.sum()) + lost
        found.records += live
        found.tombstones += len(images) - live
        with found.surviving():
            self._check_checksums(db, alive)
        if live != row.live:
            found.add("I4", row.path, f"{live} live slots, the catalog says {row.live}")
        with found.surviving():
            self._check_bijection(db, headers, alive)
        for code, slot, offset, message in _strange_values(headers, images, self._header.dim):
            if alive[slot]:
                self._add(code, message, slot, int(headers["id"][slot]), offset)

    def _add(
        self,
        code: str,
        message: str,
        slot: int | None,
        record_id: int | None = None,
        offset: int = 0,
    ) -> None:
        """Add a finding at an offset in a record."""
        self._found.add(
            code,
            self._row.path,
            message,
            slot=slot,
            stride=self._stride,
            offset=None if slot is None else offset,
            record_id=record_id,
        )

    def _read(self, earlier: Raw | None) -> bool:
        """Read the records; False where there are fewer than the catalog says."""
        row, stride, found = self._row, self._stride, self._found
        need = PARTITION_HEADER_BYTES + row.slots * stride
        raw = earlier or read_raw(self._files, row.path, need)
        found.bytes += raw.size
        if raw.size < need and not self._pending:
            message = f"{raw.size} bytes, but {row.slots} records need {need}"
            found.add("I2", row.path, message, offset=raw.size)
            return False
        if not any(stretch.low < PARTITION_HEADER_BYTES for stretch in raw.bad):
            self._check_header(raw.data[:PARTITION_HEADER_BYTES])
        self._images = rows_in(raw.data[PARTITION_HEADER_BYTES:need], row.slots, stride)
        refused = lay_over(self._images, self._pending, self._header.uuid)
        for slot in refused:
            message = "the journal's image of this record is damaged; what the partition has stays"
            self._add("I3", message, slot)
        self._bad = tuple(each for each in raw.bad if each.low < need)
        for stretch in self._bad:
            self._unread[_slots_in(stretch, stride)] = True
        for kind, first, image in self._pending:
            if kind == JOURNAL_RECORDS and first >= 0:
                own = np.arange(first, min(first + len(image) // stride, row.slots))
                self._unread[np.setdiff1d(own, refused)] = False
        return True

    def _check_header(self, raw: bytes) -> None:
        """I1. Fields that the next writer will write anyway may be old or torn; others may not."""
        row, found, pending = self._row, self._found, bool(self._pending) or self._unsynced
        try:
            header = unpack_header(raw, where=row.path, uuid=self._header.uuid)
        except SpectorError as error:
            is_format = isinstance(error, FormatVersionError)
            torn = len(raw) == PARTITION_HEADER_BYTES and "checksum" in error.message
            if is_format or not (pending and torn):
                found.add("I1", row.path, error.message, offset=4 if is_format else 0)
            return
        assert PARTITION_DTYPE.fields is not None
        if pending and not self._unsynced and is_ahead(header, row):
            found.add("I1", row.path, "the header is of a later commit than the catalog", offset=8)
        for name, value in self._header.differences(header, row, lasting=pending):
            message = f"{name} is {header[name]}, the catalog says {value}"
            found.add("I1", row.path, message, offset=PARTITION_DTYPE.fields[name][1])

    def _names(self, db: sqlite3.Connection) -> dict[int, int]:
        """Slot -> id of the memories that the catalog has in the partition."""
        with self._found.surviving():
            sql = "SELECT slot, id FROM record WHERE segment_id = ?"
            rows = db.execute(sql, (self._row.id,))
            return {slot: each for slot, each in rows if type(slot) is type(each) is int}
        return {}

    def _check_unread(self, db: sqlite3.Connection) -> int:
        """I20: a finding for each stretch. Returns how many memories they have."""
        names = self._names(db) if self._bad else {}
        told, waiting = 0, self._unread.copy()
        for stretch in self._bad:
            at = _slots_in(stretch, self._stride)
            slots = np.flatnonzero(waiting[at]) + at.start
            waiting[slots] = False
            ids = [names[slot] for slot in slots.tolist() if slot in names]
            parts = ["the partition's header"] if stretch.low < PARTITION_HEADER_BYTES else []
            if ids:
                parts.append(name_some(ids))
            what = " and ".join(parts) or "no memory, only what is left of forgotten ones"
            keeps = "; --repair keeps the words" if ids else "; --repair goes around them"
            self._found.unread(stretch, f"in them: {what}{keeps}", ids)
            told += len(ids)
        return told

    def _reconciled(self, db: sqlite3.Connection) -> bool:
        """Give the records the mutable halves that ``reconcile`` would give them.

        True when a power cut has left later ones. Rows that the next writer would refuse change
        nothing; the comparison of records and rows finds them.
        """
        halves = self._images[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
        try:
            wanted = mutable_halves(db, self._row, halves)
        except (SpectorError, sqlite3.Error, ValueError, TypeError, IndexError):
            return False
        later = bool((halves != wanted).any())
        halves[:] = wanted
        return later

    def _check_checksums(self, db: sqlite3.Connection, alive: NDArray[np.bool_]) -> None:
        """Name each damaged record by the catalog's id, which ``forget`` takes."""
        wrong = wrong_checksums(self._images, self._header.uuid).tolist()
        wrong = [slot for slot in wrong if not self._unread[slot]]
        names = self._names(db) if wrong else {}
        for slot in wrong:
            message = "the record's checksum does not match"
            if not alive[slot]:
                message += "; it is forgotten, and compact removes it"
            elif slot in names:
                message = (
                    f"the checksum of memory {names[slot]} does not match; --repair keeps its words,"
                    f" forget({names[slot]}) drops it"
                )
            self._add("I3", message, slot, names.get(slot))

    def _check_bijection(
        self, db: sqlite3.Connection, headers: NDArray[np.void], alive: NDArray[np.bool_]
    ) -> None:
        row, images = self._row, self._images
        seen = np.zeros(len(images), dtype=bool)
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
        for record_id, slot, event_ms, *labels, mutable, tags, namespace in cursor:
            is_slot = isinstance(slot, int) and 0 <= slot < len(images)
            if is_slot and self._unread[slot]:
                continue  # reported already
            if not is_slot or not alive[slot]:
                message = f"memory {record_id} points to slot {slot}, which is not alive"
                self._add("I4", message, slot if isinstance(slot, int) else None, record_id)
                continue
            seen[slot] = True
            header = headers[slot]
            if int(header["id"]) != record_id or int(header["tier"]) != row.tier:
                message = f"memory {record_id} points to the record {int(header['id'])}"
                self._add("I4", message, slot, record_id)
                continue
            if int(header["event_ms"]) != event_ms:
                self._add("I4", "the event time differs from the catalog's", slot, record_id, 16)
            if images[slot, MUTABLE_OFFSET:HEADER_BYTES].tobytes() != mutable:
                message = (
                    f"the flags and strength of memory {record_id} differ from the catalog's copy"
                )
                self._add("I16", message, slot, record_id, MUTABLE_OFFSET)
            try:
                said, bits = json.loads(tags or "[]"), int(header["tags"])
                bare = record_mask([str(tag) for tag in said], *labels)
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
            message = "the Bloom filter does not fit the exact tags"
            self._add("I8", message, slot, record_id, 24)
        for slot in np.flatnonzero(alive & ~seen).tolist():
            message = "a live record that the catalog does not know"
            self._add("I4", message, slot, int(headers["id"][slot]))


def _slots_in(stretch: Stretch, stride: int) -> slice:
    """The slots of which a stretch has at least one byte."""
    low, high = (max(0, at - PARTITION_HEADER_BYTES) for at in (stretch.low, stretch.high))
    return slice(low // stride, -(-high // stride))


def _strange_values(
    headers: NDArray[np.void], images: Bytes, dim: int
) -> Iterator[tuple[str, int, int, str]]:
    """(code, slot, offset, message) of values that no version of spector writes."""
    with np.errstate(invalid="ignore", over="ignore"):
        scale = headers["scale"].astype(np.float64)
        importance, utility = headers["importance"], headers["utility"]
        days, padding = headers["stability_days"], images[:, HEADER_BYTES + dim :]
        codes = images[:, HEADER_BYTES : HEADER_BYTES + dim].view(np.int8)
        norms = scale * np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))
        # each component of a code is at most half a step off
        loose = np.abs(norms - 1.0) > scale * np.sqrt(dim) / 2 + 1e-3
        tests = (
            ("I10", 0, "the record's version is not known", headers["version"] != RECORD_VERSION),
            ("I10", 4, "scale is not a finite number >= 0", ~(np.isfinite(scale) & (scale >= 0))),
            ("I10", 64, "the vector is not of length 1", loose & (scale != 0)),
            ("I10", 64, "a code of the vector is -128", (codes == -128).any(axis=1)),
            ("I10", 64 + dim, "the vector's padding is not zero", padding.any(axis=1)),
            ("I11", 44, "importance is not in 0..1", ~((importance >= 0) & (importance <= 1))),
            ("I11", 52, "utility is not in 0..1", ~((utility >= 0) & (utility <= 1))),
            ("I11", 48, "stability is not a positive number", ~(np.isfinite(days) & (days > 0))),
        )
    for code, offset, message, wrong in tests:
        for slot in np.flatnonzero(wrong).tolist():
            yield code, slot, offset, message


_OWN = {LOCK_NAME, CATALOG_NAME, LOG_NAME, f"{CATALOG_NAME}-shm"}
#: findings here are final; partitions are checked again, because a writer may be ahead with them
_SETTLED = {CATALOG_NAME, LOG_NAME}
_PASSES = 5
_LOOKS = 25
_FAILURES = (SpectorError, sqlite3.Error, ValueError, TypeError, OverflowError)


class StoreCheck:
    """Checks a store from its files alone; changes nothing.

    The journal is part of the partitions: it is applied to their bytes first.
    docs/manual/store-care.md explains the code of each problem. Notes have the code N1: a scan
    index or a file of words that cannot be used and will be rebuilt, or a replaced file that will
    be removed.
    """

    def __init__(
        self, files: Files, catalog: Catalog, tiers: Mapping[int, TierFiles], kernel: Kernel
    ) -> None:
        self._files, self._catalog, self._tiers, self._kernel = files, catalog, tiers, kernel

    def run(
        self, progress: Progress | None = None, *, limit: int | None = MAX_PROBLEMS
    ) -> CheckReport:
        """Check everything at one moment.

        It is one read transaction. Until it ends, a writer's log grows, and retired slots and files
        stay.

        Args:
            limit: problems to list, None for all; the others are counted.
        """
        started = time.perf_counter()
        files, catalog, found = self._files, self._catalog, Findings(limit)
        segments: list[SegmentRow] | None = None
        mark = read_durable_mark(files.root) if files.durable else None
        check_disk(files, catalog, found)
        try:
            catalog.refuse_replaced()
            with found.as_missing(LOCK_NAME):
                catalog.refuse_unlocked()
            meta = catalog.validate()
            uuid = bytes.fromhex(meta["uuid"])
            with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
                segments = check_catalog(db, catalog, found)
                if segments is not None:
                    known = self._check_segments(db, meta, segments, found, progress)
                    if known is not None:
                        _check_places(db, segments, known, found)
                check_words(db, catalog, found)
                check_knowledge(db, found)
                with found.surviving():
                    self._check_unknown(meta, catalog.segments(db), found)
                for name, message in notes_on_words(files, uuid, self._kernel):
                    found.note(name, message)
                with found.surviving():
                    lost = lost_by_mark(mark, meta, catalog.head(db).change_seq)
                    if lost:
                        found.catalog("I18", lost)
            with found.surviving():
                broken = None if found.catalog_unread else broken_log(files, catalog, meta)
                if broken is not None:
                    found.add("I18", LOG_NAME, lost_in_log(broken), offset=broken.offset)
        except FormatVersionError:
            raise
        except _FAILURES as error:
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

    def settled(
        self, progress: Progress | None = None, *, limit: int | None = MAX_PROBLEMS
    ) -> CheckReport:
        """The same, repeated when a writer in another process commits meanwhile.

        A finding is real when the catalog did not change meanwhile. Beside a writer that never
        pauses the catalog always changes, and partitions are ahead of the snapshot that they are
        compared with. So each finding in a partition is checked again by itself, until it is gone
        or has been seen every time.
        """
        most = None if limit is None else max(limit, MAX_PROBLEMS)  # a real one may come last
        for _ in range(_PASSES):
            before = self._change_seq()
            report = self.run(progress, limit=most)
            if report.ok or self._change_seq() == before:
                break
            stayed: set[Problem] = set()
            replaced = False
            for path in sorted({str(p.file) for p in report.problems if p.file not in _SETTLED}):
                keys = {_key(p) for p in report.problems if p.file == path}
                for _ in range(_LOOKS):
                    again = self._look_again(path)
                    replaced = replaced or again is None
                    keys &= {_key(p) for p in again or ()}
                    if not keys:
                        break
                stayed |= keys
            problems = tuple(p for p in report.problems if p.file in _SETTLED or _key(p) in stayed)
            # a finding in a file that is gone may be in its replacement; and the unlisted problems
            # are unknown until there are fewer
            is_known = not replaced and (not report.unlisted or problems)
            report = replace(report, problems=problems)
            if is_known:
                break
        shown = report.problems[:limit]
        more = len(report.problems) - len(shown)
        return replace(report, problems=shown, unlisted=report.unlisted + more)

    def _change_seq(self) -> int:
        try:
            return self._catalog.head().change_seq
        except (SpectorError, *SQL_ERRORS):  # the report has what is wrong with such a catalog
            return -1

    def _look_again(self, path: str) -> list[Problem] | None:
        """The problems of one file now; None if it is no longer the store's.

        Its bytes are read before the catalog: headers and records are written after their commit,
        so they cannot be ahead of a catalog that is read later. What they lack is in the journal,
        unless a checkpoint came in between.
        """
        files, catalog, found = self._files, self._catalog, Findings()
        try:
            meta = catalog.validate()
            stride = stride_of(int(meta["dim"]))
            room = {row.path: row.capacity * stride for row in catalog.segments()}
            earlier = None
            if path in room and files.exists(path):
                earlier = read_raw(files, path, PARTITION_HEADER_BYTES + room[path])
            with catalog.reading() as db, typed_sql_errors(catalog.path), read_transaction(db):
                rows = catalog.segments(db)
                own = [r for r in rows if r.path == path and r.state != PartitionState.COMPACTED]
                if not own and not files.exists(path):
                    return None
                self._check_segments(db, meta, own, found, None, earlier)
                self._check_unknown(meta, rows, found)
        except _FAILURES as error:
            found.add("I1", path, str(error))
        return [problem for problem in found.problems if problem.file == path]

    def _is_unsynced(self, meta: Mapping[str, str]) -> bool:
        """Whether a power cut may have undone commits; a writer of this process has mended that."""
        return UNSYNCED in meta and not self._catalog.relaxed

    def _check_segments(
        self,
        db: sqlite3.Connection,
        meta: Mapping[str, str],
        segments: list[SegmentRow],
        found: Findings,
        progress: Progress | None,
        earlier: Raw | None = None,
    ) -> set[int] | None:
        """Check partitions; returns those that the journal names. ``earlier``: bytes of the only one.

        None when the disk cannot read the journal: no partition can then be held against the
        catalog.
        """
        files, dim, uuid = self._files, int(meta["dim"]), bytes.fromhex(meta["uuid"])
        pending: dict[int, list[tuple[int, int, bytes]]] = {}
        complete = False
        with found.surviving():
            sql = "SELECT segment_id, kind, slot, image FROM journal ORDER BY seq"
            for entry in db.execute(sql):
                if is_entry(entry):
                    pending.setdefault(entry[0], []).append(entry[1:])
                else:
                    message = "an entry of the journal is damaged: a commit may lack bytes"
                    found.catalog("I18", message)
            complete = True
        if found.catalog_unread and not complete:
            return None
        unsynced = self._is_unsynced(meta)
        for done, row in enumerate(segments):
            tier = self._tiers.get(row.tier)
            magic = 0 if tier is None else tier.magic
            header = ExpectedHeader(magic, stride_of(dim), dim, uuid, int(meta["format_version"]))
            due = pending.get(row.id, [])
            try:
                _PartitionCheck(files, found, row, header, due, unsynced=unsynced).run(db, earlier)
                useless = problem_of_file(files, row, dim=dim, uuid=uuid)
                if useless is not None:
                    found.note(idx_of(row.path), f"{useless}; it will be rebuilt")
            except StoreError as error:
                found.add("I14" if not files.exists(row.path) else "I1", row.path, error.message)
            if progress is not None:
                progress(done + 1, len(segments))
        return set(pending)

    def _check_unknown(
        self, meta: Mapping[str, str], rows: list[SegmentRow], found: Findings
    ) -> None:
        """I14, and I18 for partitions of this store."""
        files, uuid, unsynced = self._files, bytes.fromhex(meta["uuid"]), self._is_unsynced(meta)
        named = {row.path for row in rows if row.state != PartitionState.COMPACTED}
        known = named | {idx_of(path) for path in named} | _OWN
        for name in files.listing():
            if name in known or is_words(name) or is_ops_log(name):
                continue
            if is_idx(files, name):
                found.note(name, "a scan index without a partition; the next opening removes it")
                continue
            code, message = "I14", STRANGE
            try:
                if name.endswith(".mem"):
                    stray = read_stray(files, name, uuid)
                    code, message = judge_stray(files, stray, rows, unsynced=unsynced)
            except StoreNotFoundError:  # it has just been removed
                continue
            except SpectorError as error:  # a link, a pipe, another program's
                message = f"{STRANGE}: {error.message}"
            if code == "N1":
                found.note(name, message)
            else:
                found.add(code, name, message)


def _check_places(
    db: sqlite3.Connection, segments: list[SegmentRow], named: set[int], found: Findings
) -> None:
    """I4: what the journal and the rows of memories name is there."""
    ids = {row.id for row in segments}
    for stray in named - ids:
        found.catalog("I4", f"the journal names partition {stray}, which does not exist")
    with found.surviving():
        known = ",".join(map(str, ids)) or "-1"
        sql = f"SELECT count(*) FROM record WHERE segment_id NOT IN ({known})"
        lost = int(db.execute(sql).fetchone()[0])
        if lost:
            found.catalog("I4", f"{counted(lost, 'record')} in partitions that do not exist")


def _key(problem: Problem) -> Problem:
    """A problem without its message, whose numbers may change."""
    return replace(problem, message="", where="", ids=())

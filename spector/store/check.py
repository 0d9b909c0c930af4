"""Proof that a store is whole: every header, checksum, row, count and word."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spector.errors import FormatVersionError, SpectorError, StoreError
from spector.kernel.tags import scope_tag, tags_mask
from spector.layout import (
    FORMAT_VERSION,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    RECORD_DTYPE,
    RECORD_VERSION,
    Flag,
    PartitionState,
    stride_of,
)
from spector.records import CheckReport, Problem
from spector.store.catalog import CATALOG_NAME, Catalog, SegmentRow, translated_sql
from spector.store.compact import wrong_checksums
from spector.store.files import Bytes, Files
from spector.store.idx import idx_of, is_idx, problem_of_file
from spector.store.segment import unpack_header
from spector.store.store import TierFiles
from spector.store.transaction import JOURNAL_RECORDS

__all__ = ["check_files"]

#: never more than this many problems: a ruined partition has as many as it has records
MAX_PROBLEMS = 1000
_OWN = {"LOCK", CATALOG_NAME, f"{CATALOG_NAME}-wal", f"{CATALOG_NAME}-shm"}

#: called with (partitions done, partitions in total)
Progress = Callable[[int, int], None]


@dataclass(slots=True)
class _Findings:
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    #: format of the store, which says what the bits of tags are
    version: int = FORMAT_VERSION

    def add(self, code: str, where: str, message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(code=code, where=where, message=message))

    def note(self, where: str, message: str) -> None:
        """Something about a derived file, which costs nothing but making it anew."""
        if len(self.notes) < MAX_PROBLEMS:
            self.notes.append(Problem(code="N1", where=where, message=message))


def check_files(
    files: Files, catalog: Catalog, tiers: Mapping[int, TierFiles],
    progress: Progress | None = None,
) -> CheckReport:
    """Check a store from its files alone; changes nothing.

    The journal counts as part of the partitions: what it holds is laid over their bytes first.
    Problem codes: I1 header, I2 size, I3 record checksum, I4 rows and slots are not a bijection,
    I7 full text, I8 tags, I10 vector, I11 strength, I14 unknown or missing file, I15 catalog,
    I16 the mutable half differs between partition and catalog. Notes have the code N1: a scan index
    that cannot be used, and will be built anew.
    """
    started = time.perf_counter()
    found = _Findings()
    segments: list[SegmentRow] = []
    try:
        meta = catalog.validate()
        with catalog.reading() as db, translated_sql(catalog.path):
            db.execute("BEGIN")
            try:
                segments = _check_catalog(db, catalog, found)
                _check_segments(db, files, meta, segments, tiers, found, progress)
                _check_tags_and_text(db, found)
                _check_unknown(files, segments, found)
            finally:
                db.execute("COMMIT")
    except FormatVersionError:
        raise
    except (SpectorError, sqlite3.Error) as error:
        found.add("I15", CATALOG_NAME, str(error))
    return CheckReport(
        problems=tuple(found.problems), notes=tuple(found.notes), partitions=len(segments),
        records=found.records, tombstones=found.tombstones, bytes=found.bytes,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _check_catalog(db: sqlite3.Connection, catalog: Catalog, found: _Findings) -> list[SegmentRow]:
    for (line,) in db.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            found.add("I15", CATALOG_NAME, str(line))
    catalog.head(db)  # raises when the counters are lost
    return [s for s in catalog.segments(db) if s.state != PartitionState.COMPACTED]


def _check_segments(
    db: sqlite3.Connection, files: Files, meta: Mapping[str, str], segments: list[SegmentRow],
    tiers: Mapping[int, TierFiles], found: _Findings, progress: Progress | None,
) -> None:
    dim, uuid = int(meta["dim"]), bytes.fromhex(meta["uuid"])
    found.version = int(meta["format_version"])
    pending = _pending(db)
    for done, row in enumerate(segments):
        try:
            images = _read_partition(files, row, dim, uuid, tiers, pending.get(row.id, []), found)
            useless = problem_of_file(files, row, dim=dim, uuid=uuid)
            if useless is not None:
                found.note(idx_of(row.path), f"{useless}; it will be built anew")
            if images is not None:
                _check_records(db, row, images, uuid, dim, found)
        except StoreError as error:
            found.add("I14" if not files.exists(row.path) else "I1", row.path, str(error))
        if progress is not None:
            progress(done + 1, len(segments))
    for stray in pending.keys() - {row.id for row in segments}:
        found.add("I4", CATALOG_NAME, f"the journal names partition {stray}, which does not exist")
    known = ",".join(str(row.id) for row in segments) or "-1"
    sql = f"SELECT count(*) FROM record WHERE segment_id NOT IN ({known})"
    lost = int(db.execute(sql).fetchone()[0])
    if lost:
        found.add("I4", CATALOG_NAME, f"{lost} records lie in partitions that do not exist")


def _pending(db: sqlite3.Connection) -> dict[int, list[tuple[int, int, bytes]]]:
    """Redo images that the partitions may not have yet, by segment."""
    out: dict[int, list[tuple[int, int, bytes]]] = {}
    for segment_id, kind, slot, image in db.execute(
        "SELECT segment_id, kind, slot, image FROM journal ORDER BY seq"
    ):
        out.setdefault(segment_id, []).append((kind, slot, image))
    return out


def _read_partition(
    files: Files, row: SegmentRow, dim: int, uuid: bytes, tiers: Mapping[int, TierFiles],
    pending: list[tuple[int, int, bytes]], found: _Findings,
) -> Bytes | None:
    """(slots, stride) u8 copy of the records with the journal laid over, or None."""
    stride = stride_of(dim)
    file = files.open(row.path, writable=False)
    try:
        raw = file.read_at(0, PARTITION_HEADER_BYTES)
        size = file.size()
        found.bytes += size
        need = PARTITION_HEADER_BYTES + row.slots * stride
        if size < need and not pending:
            found.add("I2", row.path, f"{size} bytes, but {row.slots} records need {need}")
            return None
        body = file.read_at(PARTITION_HEADER_BYTES, row.slots * stride)
    finally:
        file.close()
    if not pending:
        header = unpack_header(raw, where=row.path, uuid=uuid)
        expected = {
            "version": found.version,
            "magic": tiers[row.tier].magic if row.tier in tiers else header["magic"],
            "count": row.live, "tombstone_count": row.dead, "capacity": row.capacity,
            "state": row.state, "stride": stride, "dim": dim, "day": row.day,
            "sequence": row.sequence, "generation": row.generation,
        }
        for name, value in expected.items():
            if header[name] != value:
                found.add("I1", row.path, f"{name} is {header[name]}, the catalog says {value}")
    flat = np.zeros(row.slots * stride, dtype=np.uint8)
    flat[: len(body)] = np.frombuffer(body, dtype=np.uint8)
    images: Bytes = flat.reshape(row.slots, stride)
    for kind, slot, image in pending:
        data = np.frombuffer(image, dtype=np.uint8)
        if kind == JOURNAL_RECORDS:
            images[slot : slot + len(data) // stride] = data.reshape(-1, stride)
        elif len(data):
            images[slot, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = data
    return images


def _check_records(
    db: sqlite3.Connection, row: SegmentRow, images: Bytes, uuid: bytes, dim: int, found: _Findings
) -> None:
    if not len(images):
        return
    headers: NDArray[np.void] = np.ndarray(
        (len(images),), RECORD_DTYPE, images, strides=(images.shape[1],)
    )
    alive = (headers["flags"] & Flag.TOMBSTONE) == 0
    found.records += int(alive.sum())
    found.tombstones += int((~alive).sum())
    _check_checksums(db, row, images, alive, uuid, found)
    if int(alive.sum()) != row.live:
        found.add("I4", row.path, f"{int(alive.sum())} live slots, the catalog says {row.live}")
    _check_bijection(db, row, headers, images, alive, found)
    for slot, message in _strange_values(headers, images, dim):
        if alive[slot]:
            found.add("I11", f"{row.path} slot {slot}", message)


def _check_checksums(
    db: sqlite3.Connection, row: SegmentRow, images: Bytes, alive: NDArray[np.bool_], uuid: bytes,
    found: _Findings,
) -> None:
    """Name each damaged record as the catalog knows it: that id is what ``forget`` takes."""
    wrong = wrong_checksums(images, uuid).tolist()
    if not wrong:
        return
    names = dict(db.execute("SELECT slot, id FROM record WHERE segment_id = ?", (row.id,)))
    for slot in wrong:
        message = "the record's checksum does not match"
        if not alive[slot]:
            message += "; it is forgotten, and compact removes it"
        elif slot in names:
            message = (
                f"the checksum of memory {names[slot]} does not match; "
                f"forget({names[slot]}) drops it"
            )
        found.add("I3", f"{row.path} slot {slot}", message)


def _check_bijection(
    db: sqlite3.Connection, row: SegmentRow, headers: NDArray[np.void], images: Bytes,
    alive: NDArray[np.bool_], found: _Findings,
) -> None:
    seen = np.zeros(len(images), dtype=bool)
    cursor = db.execute(
        "SELECT record.id, slot, event_ms, user_id, agent_id, session_id, mutable, tags"
        " FROM record LEFT JOIN content ON content.id = record.id WHERE segment_id = ?",
        (row.id,),
    )
    for record_id, slot, event_ms, user, agent, session, mutable, tags in cursor:
        where = f"{row.path} slot {slot}"
        if not 0 <= slot < len(images) or not alive[slot]:
            found.add("I4", where, f"memory {record_id} points to a slot that is not alive")
            continue
        seen[slot] = True
        header = headers[slot]
        if int(header["id"]) != record_id or int(header["tier"]) != row.tier:
            found.add("I4", where, f"memory {record_id} points to the record {int(header['id'])}")
            continue
        if int(header["event_ms"]) != event_ms:
            found.add("I4", where, "the event time differs from the catalog's")
        block = images[slot, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()
        if block != mutable:
            found.add("I16", where, "the mutable half differs from the catalog's copy")
        scopes = [
            scope_tag(kind, value)  # type: ignore[arg-type]
            for kind, value in (("user", user), ("agent", agent), ("session", session))
            if value is not None
        ]
        names = _json_names(tags)
        if int(header["tags"]) != tags_mask((*names, *scopes), found.version):
            found.add("I8", where, "the Bloom filter does not fit the exact tags")
    for slot in np.flatnonzero(alive & ~seen).tolist():
        found.add("I4", f"{row.path} slot {slot}", "a live record that the catalog does not know")


def _json_names(tags: str | None) -> list[str]:
    return list(json.loads(tags)) if tags else []


def _strange_values(
    headers: NDArray[np.void], images: Bytes, dim: int
) -> Iterator[tuple[int, str]]:
    """Values that no version of spector writes."""
    tests = {
        "version is not known": headers["version"] != RECORD_VERSION,
        "scale is not a finite number >= 0": ~(np.isfinite(headers["scale"])
                                               & (headers["scale"] >= 0)),
        "importance is not in 0..1": ~((headers["importance"] >= 0) & (headers["importance"] <= 1)),
        "utility is not in 0..1": ~((headers["utility"] >= 0) & (headers["utility"] <= 1)),
        "stability is not a positive number": ~(np.isfinite(headers["stability_days"])
                                                & (headers["stability_days"] > 0)),
        "the vector's padding is not zero": images[:, 64 + dim :].any(axis=1),
    }
    for message, wrong in tests.items():
        for slot in np.flatnonzero(wrong).tolist():
            yield slot, message


def _check_tags_and_text(db: sqlite3.Connection, found: _Findings) -> None:
    for name, table in (("content", "content"), ("full text", "fulltext_docsize")):
        for sql, message in (
            (f"SELECT id FROM record EXCEPT SELECT id FROM {table}", f"has no {name}"),
            (f"SELECT id FROM {table} EXCEPT SELECT id FROM record", f"{name} without a record"),
        ):
            for (record_id,) in db.execute(sql + " LIMIT 20"):
                found.add("I7", CATALOG_NAME, f"memory {record_id}: {message}")
    for sql, message in (
        (
            "SELECT record_tag.id FROM record_tag LEFT JOIN content ON content.id = record_tag.id"
            " WHERE content.id IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(content.tags)"
            " WHERE value = record_tag.tag)",
            "an exact tag that the memory does not have",
        ),
        (
            "SELECT content.id FROM content, json_each(content.tags) AS t LEFT JOIN record_tag"
            " ON record_tag.tag = t.value AND record_tag.id = content.id"
            " WHERE content.tags IS NOT NULL AND record_tag.id IS NULL",
            "a tag that is missing from the tag index",
        ),
    ):
        for (record_id,) in db.execute(sql + " LIMIT 20"):
            found.add("I8", CATALOG_NAME, f"memory {record_id}: {message}")


def _check_unknown(files: Files, segments: list[SegmentRow], found: _Findings) -> None:
    named = {row.path for row in segments}
    derived = {idx_of(path) for path in named}
    for name in files.listing():
        if name in named or name in derived or name in _OWN or name.startswith("lexical/"):
            continue
        if is_idx(files, name):
            found.note(name, "a scan index without a partition; the next opening removes it")
        else:
            found.add("I14", name, "a file that does not belong to the store")


def check_settled(
    files: Files, catalog: Catalog, tiers: Mapping[int, TierFiles],
    progress: Progress | None = None,
) -> CheckReport:
    """``check_files`` beside a writer in another process: again, when it committed meanwhile.

    A finding that stays while the catalog stands still is real.
    """
    for _ in range(5):
        before = _change_seq(catalog)
        report = check_files(files, catalog, tiers, progress)
        if report.ok or _change_seq(catalog) == before:
            break
    return report


def _change_seq(catalog: Catalog) -> int:
    try:
        return catalog.head().change_seq
    except (SpectorError, sqlite3.Error):  # a catalog this broken is the report's business
        return -1


__all__ += ["check_settled"]

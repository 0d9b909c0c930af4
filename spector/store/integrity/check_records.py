"""The part of a check that reads a partition: its header, its records and the catalog's rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spector.errors import FormatVersionError, SpectorError
from spector.kernel.contract import scope_tag, tags_mask
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    RECORD_VERSION,
    Flag,
    headers_of,
    stride_of,
)
from spector.store.catalog import JOURNAL_RECORDS, SegmentRow
from spector.store.files import Bytes, Files, Raw, Stretch, name_some, read_raw
from spector.store.integrity.findings import Findings
from spector.store.integrity.reconciling import mutable_halves
from spector.store.integrity.redo import lay_over
from spector.store.partitions import is_ahead, unpack_header, wrong_checksums

__all__ = ["Expected", "check_partition"]

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
    #: format of the store, which says what the bits of tags are
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

    cursor = db.execute(
        "SELECT record.id, slot, event_ms, user_id, agent_id, session_id, mutable, tags"
        " FROM record LEFT JOIN content ON content.id = record.id WHERE segment_id = ?",
        (row.id,),
    )
    for record_id, slot, event_ms, user, agent, session, mutable, tags in cursor:
        if isinstance(slot, int) and 0 <= slot < len(images) and unread[slot]:
            continue  # reported already
        if not isinstance(slot, int) or not 0 <= slot < len(images) or not alive[slot]:
            message = f"memory {record_id} points to slot {slot}, which is not alive"
            at = slot if isinstance(slot, int) else None
            found.add("I4", row.path, message, slot=at, stride=stride, record_id=record_id)
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
        names = [
            scope_tag(kind, value)  # type: ignore[arg-type]
            for kind, value in (("user", user), ("agent", agent), ("session", session))
            if value is not None
        ]
        try:
            names += [str(tag) for tag in json.loads(tags)] if tags else []
            fits = int(header["tags"]) == tags_mask(tuple(names))
        except (ValueError, TypeError, RecursionError):
            fits = False
        if not fits:
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

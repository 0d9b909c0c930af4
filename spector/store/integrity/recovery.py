"""What a crash has left: redo images, commits that are lost, partitions that are not in the catalog."""

from __future__ import annotations

import contextlib
import datetime
import enum
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from spector.errors import (
    CatalogCorruptError,
    ForeignPartitionError,
    PartitionCorruptError,
    SpectorError,
    StoreNotFoundError,
)
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    Flag,
    PartitionState,
)
from spector.messages import counted
from spector.store.catalog import (
    JOURNAL_MUTABLE,
    JOURNAL_RECORDS,
    JOURNAL_RETIRE,
    LOG_NAME,
    RELAXED_LOG,
    UNSYNCED,
    Catalog,
    SegmentRow,
)
from spector.store.core import Store
from spector.store.files import SALVAGE, Bytes, DurableMark, Files, as_bytes
from spector.store.partitions import Segment, unpack_header, wrong_checksums
from spector.store.sqlite import Broken, broken_at, page_bytes, salts_of

# Redo images of the journal, applied to records unless they are damaged themselves.
#
# SQLite's pages have no checksums, so an image in the journal may be damaged while the record that it
# replaces, where it was copied right after the commit, is whole. One whose checksum fails never
# replaces existing bytes.

#: segment, kind, slot and image, as the journal keeps them
Entry = tuple[int, int, int, bytes]


def is_entry(found: tuple[Any, ...]) -> TypeGuard[Entry]:
    """True when the values of a journal entry have the right types: SQLite stores any."""
    segment_id, kind, slot, image = found
    whole = all(type(each) is int for each in (segment_id, kind, slot))
    return whole and type(image) is bytes and 0 <= slot < 1 << 32


def require_entry(found: tuple[Any, ...], where: str) -> Entry:
    """Raise for an entry with impossible values: what was committed with it is unknown."""
    if not is_entry(found):
        raise CatalogCorruptError(f"{where}: an entry of the journal is damaged", hint=SALVAGE)
    return found


def sound_runs(image: bytes, stride: int, uuid: bytes) -> Iterator[tuple[int, Bytes, bool]]:
    """(first row, (n, stride) u8, sound) for each run of sound or damaged records of an image.

    An image that does not consist of whole records is damaged and has no rows.
    """
    if len(image) % stride:
        return
    rows = np.frombuffer(image, dtype=np.uint8).reshape(-1, stride)
    wrong = wrong_checksums(rows, uuid)
    sound = np.ones(len(rows), dtype=bool)
    sound[wrong] = False
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and sound[end] == sound[start]:
            end += 1
        yield start, rows[start:end], bool(sound[start])
        start = end


def lay_over(images: Bytes, pending: list[tuple[int, int, bytes]], uuid: bytes) -> list[int]:
    """Apply redo images in order to records (slots, stride); what does not fit is skipped.

    Returns the slots whose image is damaged: of these only the mutable half is taken, which the
    catalog's row can prove.
    """
    slots, stride = images.shape
    refused: list[int] = []
    for kind, slot, image in pending:
        if kind == JOURNAL_RECORDS:
            if slot < 0 or slot + len(image) // stride > slots:
                continue
            for first, rows, sound in sound_runs(image, stride, uuid):
                at = slice(slot + first, slot + first + len(rows))
                if sound:
                    images[at] = rows
                else:
                    end = MUTABLE_OFFSET + MUTABLE_BYTES
                    images[at, MUTABLE_OFFSET:end] = rows[:, MUTABLE_OFFSET:end]
                    refused += range(at.start, at.stop)
        elif len(image) == MUTABLE_BYTES and 0 <= slot < slots:
            half = np.frombuffer(image, dtype=np.uint8)
            images[slot, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = half
    return refused


class Replay:
    """Writes the journal into one partition; a damaged image does not replace a record."""

    def __init__(self, segment: Segment, stride: int, uuid: bytes) -> None:
        self._segment = segment
        self._stride = stride
        self._uuid = uuid
        #: slots whose image is damaged and which kept their bytes
        self.kept: list[int] = []

    def write(self, db: sqlite3.Connection, kind: int, slot: int, image: bytes) -> None:
        """Apply one entry of the journal; other kinds are applied later."""
        if kind == JOURNAL_MUTABLE and len(image) == MUTABLE_BYTES:
            self._write_half(db, slot, image, self._present(slot, 1))
        elif kind == JOURNAL_RECORDS:
            for first, rows, sound in sound_runs(image, self._stride, self._uuid):
                self._write_rows(db, slot + first, rows, sound)

    def _write_rows(self, db: sqlite3.Connection, slot: int, rows: Bytes, sound: bool) -> None:
        present = self._present(slot, len(rows))
        copied = len(present) == len(rows) and bool((_lasting(present) == _lasting(rows)).all())
        if sound and not copied:
            self._segment.write_records(slot, as_bytes(rows))
            return
        if not sound:
            self.kept += range(slot, slot + len(rows))
        if len(present) < len(rows):  # its room is gone, too: a reader must see the damage
            self._segment.write_records(slot + len(present), as_bytes(rows[len(present) :]))
        for n in range(len(present)):
            half = rows[n, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
            self._write_half(db, slot + n, half.tobytes(), present[n : n + 1])

    def _write_half(self, db: sqlite3.Connection, slot: int, half: bytes, present: Bytes) -> None:
        """Apply a mutable half, which has no checksum, unless the file has the newest already."""
        own = present[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()
        if own != half and own != self._newest(db, slot):
            self._segment.write_mutable(slot, half)

    def _newest(self, db: sqlite3.Connection, slot: int) -> object:
        found = db.execute(
            "SELECT mutable FROM record WHERE segment_id = ? AND slot = ?",
            (self._segment.row.id, slot),
        ).fetchone()
        return found and found[0]

    def _present(self, slot: int, count: int) -> Bytes:
        """(n, stride) u8: at most ``count`` records that the file has from ``slot`` on."""
        raw = self._segment.file().read_at(self._segment.bytes_used(slot), count * self._stride)
        whole = len(raw) // self._stride
        found = np.frombuffer(raw, dtype=np.uint8, count=whole * self._stride)
        return found.reshape(whole, self._stride)


def _lasting(rows: Bytes) -> Bytes:
    """(n, stride - 24) u8: what never changes after the append."""
    return np.delete(rows, np.s_[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES], axis=1)


# Roll partitions back to the catalog after a power cut in relaxed mode.
#
# ``durability="relaxed"`` does not sync the log at a commit, but still copies the bytes to the
# partitions, and the operating system may write those first: a power cut can leave partitions that
# are ahead of the catalog, which has the mutable half of every record. While a relaxed writer has the
# store open, a durable note in the catalog says so. An opening that finds it reconciles.


def reconcile(store: Store) -> None:
    """Set the header and mutable halves of every partition to those of the catalog.

    Slots beyond the catalog's count stay: nothing refers to them until an append overwrites them.

    Raises:
        PartitionCorruptError: a partition is missing or too short, or a row points outside it.
    """
    for row in store.catalog.segments():
        if row.state != PartitionState.COMPACTED:
            _reconcile_one(store, row)


def _reconcile_one(store: Store, row: SegmentRow) -> None:
    segment = store.partitions.handle_of(row)
    segment.open(verify=False)
    found = segment.records()[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].copy()
    with store.catalog.latest() as db:
        wanted = mutable_halves(db, row, found)
    for slot in np.flatnonzero((found != wanted).any(axis=1)).tolist():
        segment.write_mutable(slot, wanted[slot].tobytes())
    segment.write_header(row)
    segment.sync()
    segment.close()


def mutable_halves(
    db: sqlite3.Connection, row: SegmentRow, found: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """(slots, 24) u8: the catalog's mutable halves for a partition that has ``found``.

    Raises:
        PartitionCorruptError: a row points outside the partition.
    """
    wanted = found.copy()
    left = [  # of memories that have moved: tombstones once no scan needs them any more
        slot
        for (slot,) in db.execute(
            "SELECT slot FROM journal WHERE segment_id = ? AND kind = ?", (row.id, JOURNAL_RETIRE)
        )
    ]
    wanted[:, 0] |= int(Flag.TOMBSTONE)  # a slot without a row is dead
    wanted[left] = found[left]
    for slot, mutable in db.execute(
        "SELECT slot, mutable FROM record WHERE segment_id = ?", (row.id,)
    ):
        if not 0 <= slot < row.slots:
            raise PartitionCorruptError(
                f"{row.path}: the catalog names slot {slot} of {row.slots}", hint=SALVAGE
            )
        wanted[slot] = np.frombuffer(mutable, dtype=np.uint8)
    return wanted


# Commits that a catalog has lost, although SQLite finds nothing wrong with it.
#
# SQLite ends a log at the first damaged frame and silently drops the rest. It cannot notice either
# that its log was deleted, or that an older file took its place. Evidence outside the catalog does:
#
# - the durable mark in LOCK: the last change that the writer knew to be durable (see ``lock``);
# - partitions, which are written after the commit has become durable. One that is ahead of its row
#   (``header.is_ahead``), or has records and no row, belongs to a lost commit;
# - the log itself: commits after the damage (see ``wal_frames``).
#
# In relaxed mode a power cut may undo the newest commits, which looks like the last two. So these
# count only when the catalog does not note a relaxed writer.

#: a partition's name: that of all its generations, and which one it is
NAME = re.compile(r"(?P<stem>.+?)(?:\.g(?P<generation>\d+))?\.mem")


def refuse_lost(
    files: Files, catalog: Catalog, meta: Mapping[str, str], mark: DurableMark | None
) -> None:
    """Raise when the catalog is known to have lost commits. Nothing is changed.

    Args:
        mark: of the last writer, read before the catalog.

    Raises:
        CatalogCorruptError: it is behind the durable mark, or its log is damaged.
        PartitionCorruptError: there are partitions of commits that it has lost.
    """
    lost = lost_by_mark(mark, meta, catalog.head().change_seq)
    if lost:
        raise CatalogCorruptError(
            f"{catalog.path}: {lost}",
            hint=f"{SALVAGE}; if an older copy of the whole store was put here on purpose, close the"
            " store everywhere and delete the file LOCK",
        )
    broken = broken_log(files, catalog, meta)
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=SALVAGE)
    if UNSYNCED not in meta:
        for name, records in unnamed_partitions(files, catalog, bytes.fromhex(meta["uuid"])):
            raise PartitionCorruptError(f"{name}: {lost_with(records)}", hint=SALVAGE)


def refuse_lost_schema(files: Files, catalog: Catalog) -> None:
    """Raise when a catalog that looks new has lost even its tables.

    Raises:
        CatalogCorruptError: its log is damaged before commits.
    """
    broken = broken_log(files, catalog, {})
    if broken is not None:
        raise CatalogCorruptError(f"{catalog.path}-wal: {lost_in_log(broken)}", hint=SALVAGE)


def lost_by_mark(mark: DurableMark | None, meta: Mapping[str, str], change_seq: int) -> str:
    """How a catalog that ends at ``change_seq`` contradicts the durable mark; "" if it does not."""
    if mark is None or mark.uuid.hex() != meta["uuid"] or mark.change_seq <= change_seq:
        return ""
    return (
        f"the catalog ends at change {change_seq}, but change {mark.change_seq} had become durable:"
        " it has lost commits"
    )


def lost_in_log(broken: Broken) -> str:
    return (
        f"the log is damaged at byte {broken.offset}, and {broken.commits} or more commits after"
        " that place are lost"
    )


def lost_with(records: int) -> str:
    return (
        f"a partition of this store with {counted(records, 'record')} that the catalog does not"
        " know: it has lost commits"
    )


def broken_log(files: Files, catalog: Catalog, meta: Mapping[str, str]) -> Broken | None:
    """Where the log of a catalog is certainly damaged."""
    if not files.durable or UNSYNCED in meta:
        return None
    try:
        file = files.open(LOG_NAME, writable=False)
    except StoreNotFoundError:
        return None
    try:
        # anything may follow the end of a relaxed writer's log
        if not file.size() or meta.get(RELAXED_LOG) == salts_of(file):
            return None
        return broken_at(file, page_bytes(catalog), partial(catalog.raw_file, files))
    finally:
        file.close()


def unnamed_partitions(files: Files, catalog: Catalog, uuid: bytes) -> Iterator[tuple[str, int]]:
    """(name, records) of partitions of this store whose commits the catalog lacks.

    Headers are read before the rows: a writer writes a header after the commit, so a partition that
    it makes meanwhile has a row by then. Another generation of a known partition does not count: a
    compaction writes it before its commit.
    """
    known = _paths(catalog)
    strange = [name for name in files.listing() if name.endswith(".mem") and name not in known]
    if not strange:
        return
    found: dict[str, int] = {}
    for name in strange:
        with contextlib.suppress(SpectorError):
            found[name] = read_stray(files, name, uuid).records
    stems = {stem_of(path) for path in _paths(catalog)}
    for name, records in found.items():
        if records and stem_of(name) not in stems:
            yield name, records


def stem_of(path: str) -> str:
    """The name that all generations of a partition share."""
    match = NAME.fullmatch(path)
    return match["stem"] if match else path


def _paths(catalog: Catalog) -> set[str]:
    """Paths of every partition that the catalog has, dropped or not."""
    with catalog.latest() as db:
        return {str(path) for (path,) in db.execute("SELECT path FROM segment")}


# Partition files that the catalog does not name: where they come from, and what to do with them.
#
# A file is made before the commit that names it and removed after the one that drops it; a crash in
# between leaves it. Any other file with such a name was put there by another program.

#: how tiers name their partitions: by tier, or by day
_GRAMMAR: Final = re.compile(
    r"(?P<tier>[^/]+)/(?:(?P=tier)|(?P<date>\d{4}-\d\d-\d\d))-(?P<sequence>\d{3,})"
    r"(?:\.g(?P<generation>[1-9]\d*))?\.mem"
)
#: a larger file was not cut short while it was made
_MOST_UNBORN: Final = 64 * 1024 * 1024

STRANGE: Final = "a file that does not belong to the store"


class StrayHead(enum.Enum):
    """What a file begins with."""

    OURS = enum.auto()
    #: of another store
    FOREIGN = enum.auto()
    #: zeros, or nothing at all: it may have been cut short before its header was written
    BLANK = enum.auto()
    BROKEN = enum.auto()


@dataclass(frozen=True, slots=True)
class Stray:
    """A partition file that the catalog does not name."""

    name: str
    head: StrayHead
    #: fields of the header of one of ours
    header: dict[str, Any] | None = None

    @property
    def records(self) -> int:
        """How many records its header counts, including dead ones."""
        return 0 if self.header is None else self.header["count"] + self.header["tombstone_count"]

    def is_uncommitted(
        self, files: Files, stems: Collection[str], *, all_unnamed: bool = False
    ) -> bool:
        """True when a writer may remove it.

        It is another generation of one of ``stems``, or has no record yet; or, with
        ``all_unnamed``, its commit is lost. A file without a readable header must have the name of
        a partition.
        """
        if self.head is StrayHead.FOREIGN:
            return False
        if stem_of(self.name) in stems:
            return True
        if self.head is StrayHead.OURS:
            return all_unnamed or not self.records
        # cut short while it was made, or while its header was written
        return _is_named_so(self) and _has_no_record(files, self.name)


def read_stray(files: Files, name: str, uuid: bytes) -> Stray:
    """Read a file that may be a partition of the store with this ``uuid``.

    Raises:
        StoreError: it is not a file, is gone, or cannot be read. FormatVersionError
    """
    with contextlib.closing(files.open(name, writable=False)) as file:
        raw = file.read_at(0, PARTITION_HEADER_BYTES)
        if not any(raw) and file.size() <= _MOST_UNBORN:
            return Stray(name, StrayHead.BLANK)
    try:
        return Stray(name, StrayHead.OURS, unpack_header(raw, where=name, uuid=uuid))
    except ForeignPartitionError:
        return Stray(name, StrayHead.FOREIGN)
    except PartitionCorruptError:
        return Stray(name, StrayHead.BROKEN)


def judge_stray(
    files: Files, stray: Stray, rows: Iterable[SegmentRow], *, unsynced: bool
) -> tuple[str, str]:
    """(code, reason) that a check reports for a file; the code N1 is not damage.

    Args:
        unsynced: a power cut may have undone commits.
    """
    if stray.head is not StrayHead.FOREIGN and is_replaced(stray.name, rows):
        return "N1", "a partition that was replaced; the next checkpoint removes it"
    if unsynced and stray.head is StrayHead.OURS:
        return "N1", "a partition whose commit a power cut has undone; the next writer removes it"
    # A compaction writes the next generation beside the present one. Where that one is missing, the
    # compaction was committed, and this file may be all that is left of its memories.
    beside = any(
        stem_of(row.path) == stem_of(stray.name) and files.exists(row.path) for row in rows
    )
    if stray.records and not beside:
        return "I18", lost_with(stray.records)
    unborn = stray.head is StrayHead.OURS or (
        stray.head is StrayHead.BLANK and _has_no_record(files, stray.name)
    )
    if unborn and _is_named_so(stray):
        return "N1", (
            "a partition that is not committed yet; its writer commits it, or the next writer"
            " removes it"
        )
    return "I14", STRANGE


def is_replaced(name: str, rows: Iterable[SegmentRow]) -> bool:
    """True for an older generation of a partition, and for one that was dropped."""
    match = NAME.fullmatch(name)
    if match is None:
        return False
    stem, generation = match["stem"], int(match["generation"] or 0)
    return any(
        stem_of(row.path) == stem
        and (row.generation > generation or row.state == PartitionState.COMPACTED)
        for row in rows
    )


def _is_named_so(stray: Stray) -> bool:
    """True when a tier would give this name to a file with the numbers in its header."""
    match = _GRAMMAR.fullmatch(stray.name)
    if match is None:
        return False
    day, numbers = -1, (int(match["sequence"]), int(match["generation"] or 0))
    if match["date"] is not None:
        try:
            day = datetime.date.fromisoformat(match["date"]).toordinal() - _EPOCH
        except ValueError:
            return False
    header = stray.header
    return header is None or (
        header["day"] == day and (header["sequence"], header["generation"]) == numbers
    )


_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def _has_no_record(files: Files, name: str) -> bool:
    """True for a file that no record was ever written to."""
    if files.size_of(name) > _MOST_UNBORN:
        return False
    _, mapped = files.glance(name, 0, writable=False, most=_MOST_UNBORN)
    return not mapped[PARTITION_HEADER_BYTES:].any()

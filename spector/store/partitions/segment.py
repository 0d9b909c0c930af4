"""The handle of one partition file: a header and fixed-stride records, written with pwrite."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector._version import __version__
from spector.errors import (
    CatalogCorruptError,
    ForeignPartitionError,
    FormatVersionError,
    PartitionCorruptError,
    SpectorError,
    StateTransitionError,
    StoreError,
    StoreNotFoundError,
)
from spector.kernel import crc32c, crc32c_rows
from spector.kernel.contract import ScanIndex
from spector.layout import (
    FORMAT_VERSION,
    HEADER_BYTES,
    LEGAL_TRANSITIONS,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_DTYPE,
    PARTITION_HEADER_BYTES,
    PartitionState,
    headers_of,
)
from spector.messages import counted
from spector.process import managed
from spector.store.catalog import SegmentRow
from spector.store.files import (
    CHECK_OR_SALVAGE,
    SALVAGE,
    Bytes,
    File,
    Files,
    is_of_disk,
    is_time_limit,
    populate,
)

# Many records at once: their bytes, ids and checksums.


def image_rows(headers: NDArray[np.void], codes: NDArray[np.int8], stride: int) -> Bytes:
    """Whole records from their headers and int8 codes; (n, stride) u8, checksum not yet set."""
    images = np.zeros((len(headers), stride), dtype=np.uint8)
    images[:, :HEADER_BYTES] = headers.view(np.uint8).reshape(len(headers), HEADER_BYTES)
    images[:, HEADER_BYTES : HEADER_BYTES + codes.shape[1]] = codes.view(np.uint8)
    return images


def rows_in(data: bytes, slots: int, stride: int) -> Bytes:
    """(slots, stride) u8 of the bytes that records begin with; zeros beyond them."""
    flat = np.zeros(slots * stride, dtype=np.uint8)
    flat[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    return flat.reshape(slots, stride)


def record_ids(images: Bytes) -> NDArray[np.uint64]:
    found: NDArray[np.uint64] = images[:, 8:16].copy().view("<u8")[:, 0]
    return found


def wrong_checksums(images: Bytes, uuid: bytes) -> NDArray[np.intp]:
    """Indices of records (n, stride) whose checksum does not match their bytes."""
    expected = np.empty(len(images), dtype=np.uint32)
    if len(images):
        crc32c_rows(images, expected, uuid)
    stored = images[:, 36:40].copy().view("<u4")[:, 0] if len(images) else expected
    return np.flatnonzero(stored != expected)


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """What a scan sees of a segment: an immutable snapshot that keeps its map alive.

    ``data`` is (slots, stride) u8, read-only. Where ``index`` has no row yet, scans look at the
    records themselves.
    """

    segment_id: int
    tier: int
    day: int
    sequence: int
    state: int
    slots: int
    live: int
    data: Bytes
    #: image of the partition's scan index, see ``spector.kernel.contract.index``
    index: Bytes | None = None
    #: +1 with each rewrite of the partition, which may give its memories other slots
    generation: int = 0
    #: +1 whenever slots that had memories get others; on disk that never happens
    overwrites: int = 0

    def headers(self) -> NDArray[np.void]:
        """(slots,) view of the record headers."""
        return headers_of(self.data[: self.slots])


# Pages of a map that are read before they are used: an error now instead of a signal later.


def require_readable(view: Bytes, where: str) -> bool:
    """Read every page under an array from a map now; False where the system does not know how.

    This costs nothing where all of it is going to be read anyway.

    Raises:
        PartitionCorruptError: the disk cannot read some of it, or the file was cut off.
    """
    try:
        return populate(view)
    except OSError as error:
        if is_time_limit(error):
            raise
        raise unreadable(where, error.errno) from error


def unreadable(where: str, code: int | None) -> PartitionCorruptError:
    found = PartitionCorruptError(
        f"{where}: the disk cannot read some of it, or it was cut off",
        hint="run: spector check PATH; what can be read is salvaged by spector check PATH"
        " --repair DEST",
    )
    found.errno = code
    return found


@dataclass(slots=True, eq=False)
class IndexState:
    """The scan index of one partition, and what it lacks of its records."""

    index: ScanIndex | None = None
    #: there may be an index file that has not been read
    unread: bool = False
    #: records were overwritten: no index for this partition
    refused: bool = False
    #: any mutable half may have changed: no scan may use the index until it is refreshed
    stale: bool = False
    #: slots whose mutable half has changed since the last update of the index
    changed: list[int] = field(default_factory=list)
    #: mutable halves updated since the extremes were tight
    loose: int = 0
    #: rows that the centre was computed from
    centred_rows: int = 0
    #: rows and change counter of the file
    saved_rows: int = 0
    saved_seq: int = -1
    #: slots of the partition when this process met it
    adopted_rows: int = 0

    @property
    def rows(self) -> int:
        return 0 if self.index is None else self.index.rows

    def adopt(self, index: ScanIndex) -> None:
        """Take an index that matches the records at this moment."""
        self.index = index
        self.stale, self.loose, self.centred_rows = False, 0, index.rows
        self.changed.clear()

    def refuse(self) -> None:
        self.index, self.refused = None, True
        self.changed.clear()


# The 64 bytes that a partition file begins with: what they should be, and what they are.

_FOREIGN = (
    "move it away, over no other file, and put this store's own one back; without it, salvage what"
    " there is: spector check PATH --repair DEST"
)
#: ``PARTITION_DTYPE`` without the checksum
_HEADER = struct.Struct("<8IiI16sI")


def check_transition(before: int, after: int, where: str) -> None:
    """Refuse every state change that the life of a partition does not have."""
    if (before, after) not in LEGAL_TRANSITIONS:
        names = f"{PartitionState(before).name} -> {PartitionState(after).name}"
        raise StateTransitionError(f"{where}: {names} is not a legal transition")


def unpack_header(raw: bytes, *, where: str, uuid: bytes | None) -> dict[str, Any]:
    """Fields of a partition header after checking magic-independent invariants.

    Raises:
        PartitionCorruptError: too short, wrong checksum, impossible values.
        FormatVersionError: newer than this code.
        ForeignPartitionError: a partition of another store.
    """
    hint = "run: spector check PATH"
    if len(raw) < PARTITION_HEADER_BYTES:
        message = f"{where}: only {counted(len(raw), 'byte')}, no room for a header"
        raise PartitionCorruptError(message, hint=hint)
    header = np.frombuffer(raw[:PARTITION_HEADER_BYTES], dtype=PARTITION_DTYPE)[0]
    if int(header["crc"]) != crc32c(raw[:60]):
        raise PartitionCorruptError(f"{where}: the header's checksum does not match", hint=hint)
    if int(header["version"]) > FORMAT_VERSION:
        raise FormatVersionError(
            f"{where} has format {int(header['version'])}; spector {__version__} reads up to "
            f"{FORMAT_VERSION}",
            hint="upgrade: pip install -U spector-memory",
        )
    if uuid is not None and header["store_uuid"].tobytes() != uuid:
        raise ForeignPartitionError(f"{where} belongs to another store", hint=_FOREIGN)
    names = PARTITION_DTYPE.names or ()
    return {
        name: header[name].tobytes() if name == "store_uuid" else int(header[name])
        for name in names
    }


def is_ahead(header: dict[str, Any], row: SegmentRow) -> bool:
    """True for the header of a later commit than the catalog's row of the same file.

    Headers are written after the commit has become durable, and within a generation slots and
    tombstones only grow. So the catalog has lost commits: an old copy, or damage to its log.
    """
    dead = int(header["tombstone_count"])
    return header["generation"] == row.generation and (
        header["count"] + dead > row.slots or dead > row.dead
    )


def later_than_catalog(where: str) -> PartitionCorruptError:
    return PartitionCorruptError(
        f"{where} is of a later commit than the catalog, which has lost some", hint=SALVAGE
    )


@dataclass(frozen=True, slots=True)
class ExpectedHeader:
    """What a store's rows and the headers of its partition files must agree in."""

    #: 0 where the tier is unknown
    magic: int
    stride: int
    dim: int
    uuid: bytes
    version: int = FORMAT_VERSION

    def pack(self, row: SegmentRow) -> bytes:
        """The 64 header bytes that a segment row implies.

        Raises:
            CatalogCorruptError: it counts more live slots than slots.
        """
        if row.dead < 0:
            raise CatalogCorruptError(
                f"the catalog's row of {row.path} is impossible: {row.live} of {row.slots} slots"
                " live",
                hint=CHECK_OR_SALVAGE,
            )
        counts = self.version, row.live, row.dead, row.capacity, row.state, self.stride, self.dim
        body = _HEADER.pack(self.magic, *counts, row.day, row.sequence, self.uuid, row.generation)
        return body + crc32c(body).to_bytes(4, "little")

    def differences(
        self, found: dict[str, Any], row: SegmentRow, *, lasting: bool
    ) -> Iterator[tuple[str, int]]:
        """Fields that are not what the catalog says, with what it says.

        With ``lasting`` only those that no commit of one generation changes.
        """
        expected = {
            "magic": self.magic or found["magic"],
            "version": self.version,
            "stride": self.stride,
            "dim": self.dim,
            "day": row.day,
            "sequence": row.sequence,
            "generation": row.generation,
        }
        if not lasting:
            expected |= {"count": row.live, "tombstone_count": row.dead}
            expected |= {"state": row.state, "capacity": row.capacity}
        return ((name, value) for name, value in expected.items() if found[name] != value)

    def check(self, raw: bytes, row: SegmentRow) -> None:
        """Raise when a header is not the one that the catalog's row implies."""
        if raw != self.pack(row):  # the checksum is in it, so equal bytes need no further look
            found = unpack_header(raw, where=row.path, uuid=self.uuid)
            hint = "partition and catalog are from different moments; restore both together"
            self.refuse(found, row, hint, lasting=False)

    def refuse(self, found: dict[str, Any], row: SegmentRow, hint: str, *, lasting: bool) -> None:
        """Raise when a header's fields are not what the catalog says, see `differences`."""
        for name, value in self.differences(found, row, lasting=lasting):
            raise PartitionCorruptError(
                f"{row.path}: {name} is {found[name]}, but the catalog says {value}", hint=hint
            )


_NO_RECORDS: Bytes = np.zeros((0, 0), np.uint8)
_READ_AHEAD_BYTES = 1 << 20


class Segment:
    """The writer's handle of one partition file."""

    def __init__(
        self,
        files: Files,
        row: SegmentRow,
        header: ExpectedHeader,
        *,
        writable: bool = True,
        guard: bool = False,
    ) -> None:
        """``guard``: read every page of a map before its use, see ``require_readable``."""
        self.row = row
        self._guard = guard
        self._writable = writable
        self.dirty = False
        self._files = files
        self._header = header
        self._file: File | None = None
        self._mapped: Bytes | None = None
        #: bytes of the map that were read before they were used
        self._ahead = 0
        self._partition: Partition | None = None
        #: a reader's private copy with committed bytes that are not in the file yet
        self.patched: Bytes | None = None
        self.scan = IndexState()
        #: how often slots with memories were given to others
        self.overwrites = 0
        #: the header's bytes when the file was first read
        self.glanced = b""

    @property
    def where(self) -> str:
        return self.row.path

    def create(self, path: str, *, allocate: int) -> None:
        """Make the file durable under ``path``, with its header, before any row names it."""
        self._file = self._files.open(path, create=True)
        try:
            self._file.extend(PARTITION_HEADER_BYTES + allocate)
            self._file.write_at(0, self._header.pack(self.row))
            self._file.sync()
            self._files.sync_dir(path)
            self.release()
        except BaseException:  # or it would be in the way of the next attempt
            self.close()
            self._files.discard(path)
            raise

    def open(self, *, verify: bool = True, sized: bool = True) -> None:
        """Open the file and check that it is the partition that the catalog describes.

        With ``verify`` the full header is compared; a reader beside a writer may see it during an
        update and does not. Without ``sized`` the file may be too short: a power cut may have
        undone the allocation of a commit that is in the journal.
        """
        if self._file is not None:
            return
        with self._named_if_missing():
            file = self._files.open(self.row.path, writable=self._writable)
        try:
            if verify:
                self._header.check(file.read_at(0, PARTITION_HEADER_BYTES), self.row)
            if sized:
                self._check_size(file.size())
        except BaseException:
            file.close()
            raise
        self._file = file

    def look(self, *, verify: bool, sized: bool = True) -> None:
        """Check and map the file like :meth:`open`, but keep no descriptor."""
        with self._named_if_missing():
            raw, mapped = self._files.glance(
                self.row.path,
                PARTITION_HEADER_BYTES,
                writable=self._writable,
                most=self._most_bytes(),
            )
        if verify:
            self._header.check(raw, self.row)
        if sized:
            self._check_size(len(mapped))
        self._adopt_map(mapped)
        self.glanced = raw

    def was_met_later(self) -> bool:
        """True when the header first read is of a later commit than the row is by now."""
        if self.glanced != self._header.pack(self.row):
            with contextlib.suppress(SpectorError):
                found = unpack_header(self.glanced, where=self.where, uuid=self._header.uuid)
                return is_ahead(found, self.row)
        return False

    def refuse_other(self, *, later: bool) -> None:
        """Raise when the header is whole, but of another file or (``later``) of a later commit."""
        raw = self.file().read_at(0, PARTITION_HEADER_BYTES)
        if raw == self._header.pack(self.row):
            return
        try:
            found = unpack_header(raw, where=self.where, uuid=self._header.uuid)
        except PartitionCorruptError as error:
            if "checksum" in error.message:
                return  # torn, and about to be written again
            raise
        if later and is_ahead(found, self.row):
            raise later_than_catalog(self.where)
        hint = (
            "this is another partition's file; move it away and put the right one back, or salvage"
            " what there is: spector check PATH --repair DEST"
        )
        self._header.refuse(found, self.row, hint, lasting=True)

    def check_room(self) -> None:
        """Refuse a file that is too short for its records, unless a private copy has them all."""
        if self.patched is None and (self._mapped is None or len(self._mapped) < self.bytes_used()):
            self._check_size(self.file_bytes())

    @contextlib.contextmanager
    def _named_if_missing(self) -> Iterator[None]:
        try:
            yield
        except StoreNotFoundError:
            raise PartitionCorruptError(
                f"{self.row.path} is missing, but the catalog has"
                f" {counted(self.row.live, 'record')} in it",
                hint="put the file back if it was moved; else restore a backup, or salvage what"
                " there is: spector check PATH --repair DEST",
            ) from None

    def _check_size(self, size: int) -> None:
        need = self.bytes_used()
        if size < need:
            raise PartitionCorruptError(
                f"{self.where}: {size} bytes, but its {self.row.slots} records need {need}",
                hint="the file was truncated; run: spector check PATH",
            )

    def bytes_used(self, slots: int | None = None) -> int:
        count = self.row.slots if slots is None else slots
        return PARTITION_HEADER_BYTES + count * self._header.stride

    def _most_bytes(self) -> int:
        """The largest size that a writer gives the file; another program may have extended it."""
        return self.bytes_used(max(self.row.capacity, self.row.slots))

    def file(self) -> File:
        self.open(verify=False)
        assert self._file is not None
        return self._file

    def allocate(self, slots: int, *, low: int, high: int) -> None:
        """Make room for ``slots`` records in total, growing by a quarter within [low, high]."""
        with self._borrowed() as file:
            need, present = self.bytes_used(slots), file.size()
            if need <= present:
                return
            step = max(low, min(high, present // 4))
            full = self.bytes_used(self.row.capacity)
            file.extend(max(need, min(present + step, full)))

    def write_records(self, slot: int, images: bytes | memoryview) -> None:
        """Write whole records at ``slot``; their room must have been allocated."""
        file = self.file()
        end = self.bytes_used(slot) + len(images)
        if file.size() < end:  # only a replay can find the allocation gone
            if file.size() < self.bytes_used(slot):
                raise PartitionCorruptError(
                    f"{self.where}: {file.size()} bytes, but slot {slot} begins at "
                    f"{self.bytes_used(slot)}",
                    hint="the file was truncated; run: spector check PATH",
                )
            file.extend(end)
        file.write_at(self.bytes_used(slot), images)
        self.dirty = True
        if slot < self.row.slots:
            self.scan.refuse()

    def write_mutable(self, slot: int, block: bytes) -> None:
        """Rewrite the 24 mutable bytes of one record in one write."""
        assert len(block) == MUTABLE_BYTES
        self.file().write_at(self.bytes_used(slot) + MUTABLE_OFFSET, block)
        self.dirty = True
        if self.scan.index is not None:
            self.scan.changed.append(slot)

    def write_header(self, row: SegmentRow) -> None:
        """Adopt ``row`` and write the header that it implies."""
        self.row = row
        self.file().write_at(0, self._header.pack(self.row))
        self.dirty = True

    def sync(self) -> None:
        if self.dirty:
            self.file().sync()
            self.dirty = False

    @managed
    def _borrowed(self) -> Iterator[File]:
        """The open file; closed afterwards if it was closed before, to save descriptors."""
        was_open = self._file is not None
        try:
            yield self.file()
        finally:
            if not was_open:
                self.release()

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def release(self) -> None:
        """Close the descriptor; maps stay, and the next write opens the file again."""
        if self._file is not None and not self.dirty:
            file, self._file = self._file, None  # first: a closed file is never used
            file.close()

    def partition(self) -> Partition:
        """Snapshot of the records committed so far."""
        current = self._partition
        row = self.row
        scan = self.scan  # scans may use an index that has everything
        usable = scan.index is not None and not scan.stale and self.patched is None
        image = scan.index.image if usable and scan.index is not None else None
        if (
            current is not None
            and current.index is image
            and (current.slots, current.live, current.state) == (row.slots, row.live, row.state)
            and current.overwrites == self.overwrites
        ):
            return current
        snapshot = Partition(
            segment_id=row.id,
            tier=row.tier,
            day=row.day,
            sequence=row.sequence,
            state=row.state,
            slots=row.slots,
            live=row.live,
            data=self.records(),
            index=image,
            generation=row.generation,
            overwrites=self.overwrites,
        )
        self._partition = snapshot
        return snapshot

    def shown(self) -> Bytes:
        """(slots, stride) u8: the records of the last snapshot; needs no lock.

        A commit in progress may have more. Empty when there is no snapshot yet.
        """
        partition = self._partition
        return _NO_RECORDS if partition is None else partition.data

    def records(self) -> Bytes:
        """(slots, stride) u8 read-only view of the committed records.

        Only under the store's lock: it may open the file, which the writer closes under it.
        """
        slots = self.row.slots
        need = self.bytes_used(slots)
        if self.patched is not None and len(self.patched) >= slots:
            return self.patched[:slots]
        if self._mapped is None or len(self._mapped) < need:
            with self._borrowed() as file:
                self._adopt_map(file.map(max(need, min(file.size(), self._most_bytes()))))
        elif self._guard and self._ahead < need:  # rows that came into it since
            self._ahead = self._read_ahead(self._mapped, self._ahead)
        assert self._mapped is not None
        body = self._mapped[PARTITION_HEADER_BYTES:need]
        return body.reshape(slots, self._header.stride)

    def _adopt_map(self, mapped: Bytes) -> None:
        """Take the records from this map from now on; raises first if they cannot be read."""
        ahead = self._read_ahead(mapped, 0) if self._guard else 0
        self._mapped, self._ahead = mapped, ahead

    def _read_ahead(self, mapped: Bytes, low: int) -> int:
        """Raise now where a scan would end the process; returns the end of the records.

        Reads the pages from ``low`` on. Where the system cannot do that for a map, the file is read
        by calls, which puts its pages into the cache and so into the map.
        """
        end = min(self.bytes_used(), len(mapped))
        if not require_readable(mapped[low:end], self.where):
            with self._borrowed() as file:
                try:
                    at = low
                    while at < end and (data := file.read_at(at, _READ_AHEAD_BYTES)):
                        at += len(data)
                except StoreError as error:
                    if is_of_disk(error):
                        raise unreadable(self.where, error.errno) from error
                    raise
        return end

    def forget_partition(self) -> None:
        """Drop the cached snapshot (after bytes changed in place in a memory slab)."""
        self._partition = None

    def file_bytes(self) -> int:
        return self._files.size_of(self.row.path)

    def close(self) -> None:
        """Close the descriptor. Maps that a scan still holds stay valid."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
        self._mapped, self._ahead = None, 0
        self._partition = None

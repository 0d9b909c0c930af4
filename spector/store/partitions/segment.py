"""The handle of one partition file: a header and fixed-stride records, written with pwrite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from spector.errors import PartitionCorruptError, StoreError, StoreNotFoundError
from spector.layout import (
    FORMAT_VERSION,
    MUTABLE_BYTES,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
)
from spector.messages import counted
from spector.process import managed
from spector.store.catalog import SegmentRow
from spector.store.files import Bytes, File, Files, is_of_disk
from spector.store.partitions.header import ExpectedHeader
from spector.store.partitions.index_state import IndexState
from spector.store.partitions.partition import Partition
from spector.store.partitions.readable import require_readable, unreadable

__all__ = ["Segment"]

_NO_RECORDS: Bytes = np.zeros((0, 0), np.uint8)
_READ_AHEAD_BYTES = 1 << 20


class Segment:
    """The writer's handle of one partition file."""

    def __init__(
        self,
        files: Files,
        row: SegmentRow,
        *,
        magic: int,
        stride: int,
        dim: int,
        uuid: bytes,
        writable: bool = True,
        version: int = FORMAT_VERSION,
        guard: bool = False,
    ) -> None:
        """``guard``: read every page of a map before its use, see ``require_readable``."""
        self.row = row
        self._guard = guard
        self._writable = writable
        self.dirty = False
        self._files = files
        self._header = ExpectedHeader(magic, stride, dim, uuid, version)
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
        return self._header.is_later(self.glanced, self.row)

    def refuse_other(self, *, later: bool) -> None:
        """Raise when the header is sound, but of another file or (``later``) of a later commit."""
        raw = self.file().read_at(0, PARTITION_HEADER_BYTES)
        self._header.refuse_other(raw, self.row, later=later)

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
        image = self._image()
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

    def _image(self) -> Bytes | None:
        """The image of the scan index, if scans may use it."""
        scan = self.scan
        usable = scan.index is not None and not scan.stale and self.patched is None
        return scan.index.image if usable and scan.index is not None else None

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

"""The life of scan indexes: loaded when a scan wants them, kept up by commits, saved now and then."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from spector.config import Config
from spector.errors import StoreError, StoreNotFoundError
from spector.kernel import crc32c
from spector.kernel.contract import (
    INDEX_DTYPE,
    INDEX_HEADER_BYTES,
    INDEX_MAX_DIM,
    Centre,
    Kernel,
    ScanIndex,
    centre_of,
    image_layout,
    problem_of,
)
from spector.layout import PartitionState
from spector.messages import counted
from spector.store.catalog import SegmentRow
from spector.store.files import Bytes, Files, first_bytes, is_of_disk, read_file
from spector.store.partitions.segment import ExpectedHeader, Segment

# Files that are derived from others: replaced as a whole, never synced.
#
# Nothing depends on one: whatever is lost of it is built anew. A crash leaves the old file, the new
# one, or a temporary one beside it, which the next writer removes.

#: a file that is being written bears this behind its name
TEMPORARY: Final = ".tmp"


def replace_derived(files: Files, name: str, image: bytearray) -> None:
    """Put a file with these bytes in the place of ``name``.

    Raises:
        StoreError, MemoryError: that failed, and the temporary file is gone.
    """
    fresh = name + TEMPORARY
    try:
        try:
            file = files.open(fresh, create=True)
        except StoreError as error:
            if error.errno != errno.EEXIST:
                raise
            files.remove(fresh)  # left by a process that was killed
            file = files.open(fresh, create=True)
        with contextlib.closing(file):
            file.write_at(0, memoryview(image))
        files.replace(fresh, name)
    except (StoreError, MemoryError):
        with contextlib.suppress(StoreError):
            files.remove(fresh)
        raise


# Files of scan indexes: their names, their seals, and when one may be used.
#
# The kernel's contract defines the layout of the bytes; this module ties them to a partition.

#: suffix of an index; its partition's is ``.mem``
IDX: Final = ".idx"

_MAGIC: Final = b"SIDX"
_RECORD_CRC: Final = slice(36, 40)


def idx_of(path: str) -> str:
    """Name of the index of the partition ``path``."""
    return path.removesuffix(".mem") + IDX


def seal_image(index: ScanIndex, row: SegmentRow, *, uuid: bytes, records: Bytes) -> bytearray:
    """The bytes of an index file; the index must match ``row`` and (n, stride) records."""
    stamped = index.stamp(
        uuid=uuid,
        segment_id=row.id,
        generation=row.generation,
        change_seq=row.change_seq,
        checksum=crc32c,
    )
    image = bytearray(stamped)
    header = _fields_of(np.frombuffer(image, np.uint8))
    header["records_crc"] = records_crc(records[: index.rows])
    header["header_crc"] = crc32c(image[: INDEX_HEADER_BYTES - 4])
    return image


def read_image(
    files: Files, row: SegmentRow, *, dim: int, uuid: bytes, records: Bytes
) -> tuple[Bytes, int] | None:
    """The image in the index file of a partition, in private memory, and its ``change_seq``.

    None when it cannot be used.

    The page of its header is copied. A private map shows another program's writes to the file until
    the page is written to, and a scan takes the size of every section from the header.

    If its ``change_seq`` is not the row's, the mutable halves have to be read again.
    """
    try:
        image = files.map_private(idx_of(row.path), most=_most_bytes(row, dim))
    except StoreError:
        return None
    if image is None or len(image) < INDEX_HEADER_BYTES:
        return None
    header = _fields_of(own_header(image))
    change_seq = int(header["change_seq"])
    if _problem_of(image, row, dim, uuid, min(row.slots, len(records))) is not None:
        return None
    if change_seq != row.change_seq:
        found = records_crc(records[: int(header["rows"])])
        if found != int(header["records_crc"]):
            return None
    return image, change_seq


def _most_bytes(row: SegmentRow, dim: int) -> int:
    """The largest possible size of a partition's index file; a larger one is not read."""
    room = -(-max(row.slots, row.capacity) // 64) * 64
    return image_layout(dim, room).nbytes if dim <= INDEX_MAX_DIM else 0


def own_header(image: Bytes) -> Bytes:
    """Copy the header page of a private map by writing to it; returns the header."""
    image[0] = image[0]
    return image[:INDEX_HEADER_BYTES]


def problem_of_file(files: Files, row: SegmentRow, *, dim: int, uuid: bytes) -> str | None:
    """Return why the index file is unusable; None when it is usable or absent.

    It is read by calls, because a bad sector in a map would end the process.
    """
    if not files.durable:
        return None
    try:
        most = _most_bytes(row, dim)
        image = np.frombuffer(read_file(files, idx_of(row.path), most=most), np.uint8)
    except StoreNotFoundError:
        return None
    except StoreError as error:
        return error.message
    if len(image) < INDEX_HEADER_BYTES:
        return f"only {counted(len(image), 'byte')}" if len(image) else None
    return _problem_of(image, row, dim, uuid, row.slots)


def _problem_of(image: Bytes, row: SegmentRow, dim: int, uuid: bytes, rows: int) -> str | None:
    """Why an image is none of an index of this partition, at whatever moment."""
    return problem_of(
        image,
        dim=dim,
        uuid=uuid,
        segment_id=row.id,
        generation=row.generation,
        change_seq=int(_fields_of(image)["change_seq"]),
        rows=rows,
        verify=True,
        checksum=crc32c,
    )


def remove_idx(files: Files, path: str) -> None:
    """Remove the index of the partition ``path``, if any: it has codes of forgotten vectors."""
    with contextlib.suppress(StoreNotFoundError):
        files.remove(idx_of(path))


def is_idx(files: Files, name: str) -> bool:
    """True for an index file, finished or not."""
    if not name.endswith((IDX, IDX + TEMPORARY)) or "/" not in name:
        return False
    try:
        head = first_bytes(files, name, 4)
    except StoreNotFoundError:  # it has just been replaced or removed
        return True
    except StoreError as error:  # where the disk cannot read it, the name decides
        return is_of_disk(error)
    return not head or head in (_MAGIC, bytes(4))


def _fields_of(image: Bytes) -> Any:
    """The header of an image, field by field; what is set there is set in the image."""
    return image[:INDEX_HEADER_BYTES].view(INDEX_DTYPE)[0]


def records_crc(records: Bytes) -> int:
    """CRC-32C of the checksums of records (n, stride): equal for equal vectors in equal order."""
    return crc32c(np.ascontiguousarray(records[:, _RECORD_CRC]))


#: a scan indexes one in so many of the rows that no index covers yet, which takes about as long as
#: the straight scan over all of them
_STRAIGHT_PER_BUILT: Final = 64
#: ... but never fewer than this
_LEAST_ROWS: Final = 1024
#: an index whose centre was computed from this many records keeps it; one that started with fewer
#: is built anew once it has grown by this factor
_CENTRED_ROWS: Final = 512
_RECENTRE: Final = 8
#: squared distance up to which an index shares the centre of another one instead of the mean of its
#: own unit vectors: the errors of its codes grow by less than 2 %, and a scan prepares its cue once
#: for all indexes of one centre. Days of one store are about 0.01 apart
_NEAR: Final = 0.03
_MOST_CENTRES: Final = 64
#: rows appended beyond an unread index that make closing update its file
_WORTH_READING: Final = 256
_SAVED_PER_CHECKPOINT: Final = 8 << 20
_SAVED_AT_CLOSE: Final = 1 << 30


class Indexes:
    """The scan indexes of a store's partitions.

    Args:
        segments: the store's own dictionary. Not the store: it has these indexes, and a reference
            back would keep both until the next garbage collection.
    """

    def __init__(
        self,
        kernel: Kernel,
        files: Files,
        config: Config,
        segments: Mapping[int, Segment],
        header: ExpectedHeader,
        *,
        writable: bool,
    ) -> None:
        self._files = files
        self._config = config
        self._segments = segments
        self._dim, self._uuid = header.dim, header.uuid
        self._kernel = kernel
        self._possible = kernel.indexes and header.dim <= INDEX_MAX_DIM
        #: this process may write the files of indexes now
        self.keeps_files = writable and files.durable
        #: partitions whose index is not complete, in the order of their turn
        self.behind: dict[int, None] = {}
        #: centres of the indexes met so far, by id
        self._centres: dict[int, Centre] = {}

    # -- with every commit ----------------------------------------------------------------------

    def follow(self, segments: Iterable[Segment]) -> None:
        """Update the indexes in memory after a commit, so that no scan misses it.

        A partition that this process has made gets its index here, too, within the budget of a
        recall: a migration makes all partitions at once.
        """
        left = self._config.index_rows_per_recall
        for segment in segments:
            state, slots = segment.scan, segment.row.slots
            if not self._wanted(segment):
                self.behind.pop(segment.row.id, None)
                continue
            if state.index is None or state.stale or segment.patched is not None:
                self.behind[segment.row.id] = None
                if state.index is not None or state.unread or slots > left:
                    continue
                left -= slots
            try:
                self._bring_up(segment, slots)
            except (StoreError, MemoryError):  # the commit stands; a recall rebuilds it
                state.index = None
                self.behind[segment.row.id] = None

    def _bring_up(self, segment: Segment, slots: int) -> None:
        state = segment.scan
        self._touch_up(segment)
        self._extend(segment, slots)
        if state.centred_rows < _CENTRED_ROWS and state.rows >= _RECENTRE * state.centred_rows:
            self._rebuild(segment, slots)  # the centre is that of a small part of the records
        self._is_complete(segment)
        if segment.row.state != PartitionState.ACTIVE and state.rows > state.saved_rows:
            self._save(segment)

    def forget(self, segment_id: int) -> None:
        """Drop a partition that is gone."""
        self.behind.pop(segment_id, None)

    def release(self) -> None:
        """Drop the queue and the shared centres when the store is closed."""
        self.behind.clear()
        self._centres.clear()

    def _wanted(self, segment: Segment) -> bool:
        enough = segment.row.slots >= self._config.index_min_rows
        return self._possible and enough and not segment.scan.refused

    # -- with every scan ------------------------------------------------------------------------

    def catch_up(self, rows: int | None = None) -> list[int]:
        """Load indexes, then index at most ``rows``; returns the partitions to publish.

        ``rows`` None: as many as take about as long as the straight scan of rows without an index.
        """
        changed: list[int] = []
        missing: dict[int, int] = {}
        for segment_id in list(self.behind):
            segment = self._segments.get(segment_id)
            if segment is None or not self._wanted(segment):
                del self.behind[segment_id]
                continue
            if segment.patched is not None:
                continue  # a temporary copy; its file will have everything soon
            with contextlib.suppress(StoreError, MemoryError):
                self._touch_up(segment)
                if segment.scan.index is not None:
                    changed.append(segment_id)
                if not self._is_complete(segment):
                    missing[segment_id] = segment.row.slots - segment.scan.rows
        straight = max(_LEAST_ROWS, sum(missing.values()) // _STRAIGHT_PER_BUILT)
        left = min(self._config.index_rows_per_recall, straight) if rows is None else rows
        for segment_id, count in missing.items():
            if left <= 0:
                break
            segment = self._segments[segment_id]
            with contextlib.suppress(StoreError, MemoryError):
                self._extend(segment, segment.scan.rows + min(left, count))
                self._is_complete(segment)
                changed.append(segment_id)
            left -= count
        return changed

    def _is_complete(self, segment: Segment) -> bool:
        """True when the index has all rows; then the partition leaves the queue."""
        done = segment.scan.index is not None and segment.scan.rows == segment.row.slots
        if done and not segment.scan.unread:
            self.behind.pop(segment.row.id, None)
        return done

    # -- one partition --------------------------------------------------------------------------

    def _touch_up(self, segment: Segment) -> None:
        """Load the index if that has not been tried, and update changed rows."""
        state = segment.scan
        if state.unread:
            self._load(segment)
        index = state.index
        if index is None:
            return
        if state.stale or state.loose > max(state.rows, _LEAST_ROWS):
            index.refresh(segment.records())
            state.stale, state.loose = False, 0
        elif state.changed:
            # usually a single slot, for which the checks of ``update`` would cost more
            rows = index.rows
            slots = np.array([slot for slot in state.changed if slot < rows], np.uint32)
            self._kernel.index_update(index.image, segment.records(), slots)
            state.loose += len(slots)
        state.changed.clear()

    def _load(self, segment: Segment) -> None:
        state = segment.scan
        state.unread = False
        records, dim, uuid = segment.records(), self._dim, self._uuid
        found = read_image(self._files, segment.row, dim=dim, uuid=uuid, records=records)
        if found is None:
            return
        image, change_seq = found
        index = ScanIndex.attach(self._kernel, image)
        state.adopt(index)
        state.saved_rows, state.saved_seq = index.rows, change_seq
        state.stale = change_seq != segment.row.change_seq
        self._offer_centre(index, index.rows)

    def _extend(self, segment: Segment, rows: int) -> None:
        """Index the slots up to ``rows``; a new index when there is none."""
        state = segment.scan
        index = state.index
        if index is None:
            self._rebuild(segment, rows)
            return
        if rows > index.rows:
            if rows > index.room:
                index = state.index = index.grow(_room(segment, rows))
            index.append(segment.records()[:rows])

    def _rebuild(self, segment: Segment, rows: int) -> None:
        """A new index of the first ``rows`` slots, around the centre of all or one near it."""
        records = segment.records()
        centre = centre_of(records, self._dim)
        index = ScanIndex.create(self._kernel, self._dim, _room(segment, rows), centre)
        shared = self._share_centre(index)
        self._offer_centre(index, len(records))
        index.append(records[:rows])
        segment.scan.adopt(index)
        segment.scan.centred_rows = max(len(records), _CENTRED_ROWS) if shared else len(records)

    def _share_centre(self, index: ScanIndex) -> bool:
        """Give an index without rows the nearest known centre, if it is near enough."""
        own = index.centre
        known = min(self._centres.values(), key=own.distance2, default=None)
        if known is None or not own.distance2(known) <= _NEAR:
            return False
        index.use_centre(known)
        return True

    def _offer_centre(self, index: ScanIndex, rows: int) -> None:
        """Let later indexes share the centre of this one, if it is from enough records."""
        if rows >= _CENTRED_ROWS and len(self._centres) < _MOST_CENTRES:
            centre = index.centre
            self._centres.setdefault(centre.id, centre)

    # -- files ----------------------------------------------------------------------------------

    def save(self, *, at_most: int, active: bool) -> None:
        """Write the files that lack the most rows, up to ``at_most`` bytes.

        ``active``: also those of partitions that still take appends.
        """
        due = [
            segment
            for segment in self._segments.values()
            if segment.scan.index is not None
            and not segment.scan.stale
            and (
                segment.scan.rows > segment.scan.saved_rows
                or (active and segment.scan.saved_seq != segment.row.change_seq)
            )
            and (active or segment.row.state != PartitionState.ACTIVE)
        ]
        due.sort(key=lambda segment: segment.scan.saved_rows - segment.scan.rows)
        for written, segment in enumerate(due):
            index = segment.scan.index
            size = 0 if index is None else index.bytes_of(segment.scan.rows)
            if written and size > at_most:
                continue  # the first is written whatever its size, or it never would be
            at_most -= size
            if not self._save(segment):
                break

    def save_some(self) -> None:
        """At a checkpoint, save indexes that would have to be rebuilt after a crash."""
        self.save(at_most=_SAVED_PER_CHECKPOINT, active=False)

    def save_all(self) -> None:
        """Before closing, finish indexes of this process and save changed ones."""
        left = self._config.index_rows_per_recall
        for segment_id in list(self.behind):
            segment = self._segments.get(segment_id)
            if segment is None or not self._wanted(segment):
                continue
            state = segment.scan
            if state.unread and segment.row.slots - state.adopted_rows < _WORTH_READING:
                continue
            with contextlib.suppress(StoreError, MemoryError):
                self._touch_up(segment)
                rows = min(segment.row.slots, state.rows + left)
                left -= rows - state.rows
                if rows > state.rows:
                    self._extend(segment, rows)
        self.save(at_most=_SAVED_AT_CLOSE, active=True)

    def _save(self, segment: Segment) -> bool:
        """Replace the file of an index. False when that failed, which is not an error."""
        state, row = segment.scan, segment.row
        if not self.keeps_files or state.index is None:
            return False
        try:
            image = seal_image(state.index, row, uuid=self._uuid, records=segment.records())
            replace_derived(self._files, idx_of(row.path), image)
        except (StoreError, MemoryError):
            return False
        state.saved_rows, state.saved_seq = state.rows, row.change_seq
        if row.state != PartitionState.ACTIVE:
            self._exchange_for_file(segment, bytes(image[:INDEX_HEADER_BYTES]), len(image))
        return True

    def _exchange_for_file(self, segment: Segment, header: bytes, size: int) -> None:
        """Use a map of the file instead of memory, because the system can evict its pages.

        Args:
            header, size: of the image that was written to it.
        """
        with contextlib.suppress(StoreError, MemoryError):
            image = self._files.map_private(idx_of(segment.row.path), most=size)
            if image is not None and own_header(image).tobytes() == header:
                segment.scan.index = ScanIndex.attach(self._kernel, image)


def _room(segment: Segment, rows: int) -> int:
    """Slots to allocate: doubling, up to what the partition can have."""
    row = segment.row
    if row.state != PartitionState.ACTIVE:
        return row.slots
    return max(rows, min(row.capacity, max(_CENTRED_ROWS, 2 * row.slots)))

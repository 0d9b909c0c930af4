"""Writes partitions anew: compaction, other vectors, another format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.errors import PartitionCorruptError
from spector.faces import on_first_use
from spector.kernel import crc32c_rows
from spector.layout import Flag, PartitionState, headers_of, stride_of
from spector.store.catalog import (
    Row,
    SegmentRow,
    clear_journal,
    move_rows,
    replace_files,
    slots_of,
)
from spector.store.core import Store, damaged_record
from spector.store.files import CHECK, Bytes, as_bytes
from spector.store.integrity import refuse_disagreement
from spector.store.partitions import (
    ExpectedHeader,
    Segment,
    record_ids,
    remove_idx,
    require_readable,
    wrong_checksums,
)

__getattr__ = on_first_use(__name__)


# Steps from one format to the next; there is one format so far, and so no step.
#
# The catalog has the format of its store in ``format_version``, and every partition repeats it. A
# later format than this code knows is refused, whatever the mode. An opening to write runs the steps
# that lead on from an earlier one.
#
# A step converts a store to the next format, all or nothing: one commit of the catalog sets the new
# version together with everything that it implies. So a migration that is killed continues with the
# next opening after the last finished step. There is no way back.


@dataclass(frozen=True, slots=True)
class Step:
    """How a store of format ``before`` becomes one of format ``before + 1``."""

    before: int
    #: commits the new version together with what it means, or nothing
    run: Callable[[Store], object]


STEPS: Final[tuple[Step, ...]] = ()


def next_step(version: int, steps: tuple[Step, ...] = STEPS) -> Step | None:
    """The step that leads on from a format, if one does."""
    return next((step for step in steps if step.before == version), None)


# Rewrite partitions without tombstones, in a better order, or into smaller ones.

#: the chain that every partition walks before it may be replaced
_CHAIN = (
    PartitionState.ACTIVE,
    PartitionState.SEALED,
    PartitionState.REFLECTABLE,
    PartitionState.TOMBSTONED,
)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What rewriting one partition did."""

    path: str
    kept: int
    reclaimed: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """The order and clusters for the records of a sealed partition.

    Records are named by id, so memories that are forgotten or moved meanwhile do not matter.
    """

    #: (n,) u64, in the wanted order
    ids: NDArray[np.uint64]
    #: (n,) u16 cluster numbers of the same records; not 0, which means "none"
    centroids: NDArray[np.uint16]


def compact_partition(
    store: Store, segment_id: int, arrangement: Arrangement | None = None
) -> Rewrite | None:
    """Rebuild one partition densely and swap it in; an empty one is removed.

    None when there is nothing to do: another thread has compacted or removed it meanwhile.

    Writers wait for the rebuild of this partition. Scans never wait: they keep their map, and the
    next scan takes the new file.

    Args:
        arrangement: also put the records in this order, even if none is dead. Only for partitions
            that take no appends; it is ignored if it lacks a record.

    Raises:
        PartitionCorruptError: a live record's checksum is wrong. The old file stays untouched.
    """
    with store.exclusive():
        store.ensure_usable(write=True)
        store.checkpoint()
        segment = store.segments.get(segment_id)
        if segment is None or (arrangement is None and not segment.row.dead):
            return None
        row = segment.row
        stays_active = row.state == PartitionState.ACTIVE
        assert arrangement is None or not stays_active, "appends come in the order of time"
        images = live_images(store, segment)
        arranged = None if arrangement is None else _arranged(images, arrangement, store.uuid)
        if arranged is None and not row.dead:
            return None
        images = images if arranged is None else arranged
        bytes_before = segment.file_bytes()
        advance(store, segment_id, PartitionState.TOMBSTONED)
        with store.transaction() as tx:
            if not len(images):
                tx.drop_segment(segment_id)
            else:
                state = PartitionState.ACTIVE if stays_active else PartitionState.SEALED
                tx.replace_segment(row, images, state)
                ids = record_ids(images)
                move_rows(
                    tx.connection, [(int(i), segment_id, n) for n, i in enumerate(ids.tolist())]
                )
        after = store.segments.get(segment_id)
        return Rewrite(
            path=row.path,
            kept=len(images),
            reclaimed=row.slots - len(images),
            bytes_before=bytes_before,
            bytes_after=after.file_bytes() if after else 0,
        )


def _arranged(images: Bytes, wanted: Arrangement, uuid: bytes) -> Bytes | None:
    """Copy of record images in the wanted order, with their clusters and new checksums.

    None when the arrangement lacks one of them.
    """
    by_id = np.argsort(wanted.ids)
    known, ids = wanted.ids[by_id], record_ids(images)
    found = np.searchsorted(known, ids)
    if not len(ids) or found.max() >= len(known) or not np.array_equal(known[found], ids):
        return None
    place = by_id[found]
    turn = np.argsort(place)
    arranged: Bytes = images[turn]
    headers = headers_of(arranged)
    headers["centroid"] = wanted.centroids[place[turn]]
    headers["crc"] = crc32c_rows(arranged, seed=uuid)
    return arranged


def advance(store: Store, segment_id: int, target: PartitionState) -> None:
    """Walk a partition to ``target``, one legal step at a time."""
    while store.segments[segment_id].row.state < target:
        step = _CHAIN[store.segments[segment_id].row.state + 1]
        with store.transaction() as tx:
            tx.set_state(segment_id, step)


def live_images(store: Store, segment: Segment) -> Bytes:
    """(live, stride) u8 copy of the live records, after verifying their checksums.

    Raises:
        PartitionCorruptError: a checksum is wrong, or rows and slots do not agree.
    """
    partition = segment.partition()
    require_readable(partition.data, segment.where)
    alive: NDArray[np.bool_] = (partition.headers()["flags"] & int(Flag.TOMBSTONE)) == 0
    retired = store.partitions.retired_slots
    alive[[each.slot for each in retired if each.segment_id == segment.row.id]] = False
    images: Bytes = np.ascontiguousarray(partition.data[alive])
    if len(images) != segment.row.live:
        raise PartitionCorruptError(
            f"{segment.where}: {len(images)} live records, but the catalog has {segment.row.live}",
            hint=CHECK,
        )
    with store.catalog.latest() as db:
        ids = slots_of(db, segment.row.id)
    if [*ids] != np.flatnonzero(alive).tolist():  # damage killed as many as it revived
        raise PartitionCorruptError(
            f"{segment.where}: the live records are not those of the catalog", hint=CHECK
        )
    wrong = wrong_checksums(images, store.uuid)
    if len(wrong):
        slot = [*ids][wrong[0]]
        raise damaged_record(segment.where, slot, ids[slot], more=len(wrong) - 1)
    return images


# Rewrite all partitions of a store and switch them by one commit.
#
# For changes in which no partition may lag behind: another model, another format. The next generation
# of every partition is written and synced first; one transaction of the catalog then switches all of
# them together with the description of the store. Killed before it, the store is unchanged, and the
# next opening removes the new files; killed after it, the change is complete.

#: record images (n, stride) u8 and their rows -> images of the new stride, with new checksums
Transform = Callable[[Bytes, list[Row]], Bytes]
_BATCH = 256


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """The next generation of a partition on disk, with the order of its records."""

    old: SegmentRow
    new: SegmentRow
    #: (live,) ids in the order of their slots
    ids: NDArray[np.int64]


def rewrite_all(
    store: Store,
    transform: Transform,
    meta: Mapping[str, str],
    *,
    progress: Progress | None = None,
) -> int:
    """Rewrite all partitions without tombstones; returns how many memories they have.

    The caller must close and open the store afterwards.

    Args:
        meta: the catalog's new description of the store; "dim" and "format_version" also determine
            the new partitions.

    Raises:
        PartitionCorruptError: a live record's checksum is wrong, or rows and slots do not agree.
        CatalogCorruptError: its tables have different memories.
    """
    with store.exclusive(), store.noting_failure():
        store.ensure_usable(write=True)
        refuse_disagreement(store.catalog)
        store.checkpoint()
        fresh: list[_Rewritten] = []
        try:
            done = _write_all(store, transform, meta, fresh, progress)
        except BaseException:  # nothing names the new files; on a full disk they would keep it full
            for each in fresh:
                store.files.discard(each.new.path)
            raise
        try:
            _switch(store, meta, fresh)
        except BaseException as error:  # the commit may be made, while this store has the old state
            store.fail_unless_unchanged(error)
            raise
        return done


def _write_all(
    store: Store,
    transform: Transform,
    meta: Mapping[str, str],
    fresh: list[_Rewritten],
    progress: Progress | None,
) -> int:
    """Write the next generation of every partition into ``fresh``; returns how many memories."""
    total = sum(segment.row.live for segment in store.segments.values())
    done = 0
    shape = {**store.meta, **meta}
    dim, version = int(shape["dim"]), int(shape["format_version"])
    for segment in list(store.segments.values()):
        images = live_images(store, segment)
        with store.catalog.latest() as db:
            ids = np.array([*slots_of(db, segment.row.id).values()], dtype=np.int64)
        new = np.zeros((len(images), stride_of(dim)), dtype=np.uint8)
        for start in range(0, len(ids), _BATCH):
            part = slice(start, start + _BATCH)
            names = ids[part].tolist()
            rows = store.catalog.fetch(names)
            store.catalog.refuse_hidden([each for each in names if each not in rows])
            new[part] = transform(images[part], [rows[i] for i in names])
            done += len(names)
            if progress is not None:
                progress(done, total)
        fresh.append(_Rewritten(segment.row, _write(store, segment.row, new, dim, version), ids))
    return done


def _write(store: Store, row: SegmentRow, images: Bytes, dim: int, version: int) -> SegmentRow:
    """Write the next generation of a partition, durable, not yet named by the catalog."""
    tier = store.partitions.tiers[row.tier]
    state = row.state if row.state == PartitionState.ACTIVE else int(PartitionState.SEALED)
    new_row = replace(
        row,
        generation=row.generation + 1,
        slots=len(images),
        live=len(images),
        state=state,
        path=tier.path(row.day, row.sequence, row.generation + 1),
    )
    header = ExpectedHeader(tier.magic, stride_of(dim), dim, store.uuid, version)
    segment = Segment(store.files, new_row, header)
    if store.files.exists(new_row.path):
        store.files.remove(new_row.path)  # left by an earlier run that was killed
    segment.create(new_row.path, allocate=len(images) * stride_of(dim))
    try:
        segment.write_records(0, as_bytes(images))
        segment.write_header(new_row)
        segment.sync()
    except BaseException:
        store.files.discard(new_row.path)
        raise
    finally:  # partitions may outnumber the descriptors of a process
        segment.close()
    return new_row


def _switch(store: Store, meta: Mapping[str, str], fresh: list[_Rewritten]) -> None:
    with store.catalog.writing() as db:
        change_seq = store.next_change_seq()
        clear_journal(db)
        for each in fresh:
            move_rows(db, [(i, each.old.id, n) for n, i in enumerate(each.ids.tolist())])
        replace_files(db, [each.new for each in fresh], meta, change_seq)
        store.note_change(db, change_seq)
    store.partitions.retired_slots.keep([])  # they were in the files that go
    if store.catalog.relaxed:
        store.sync_log()  # the old files must not go before the commit that lets them go is safe
    for each in fresh:
        store.files.remove(each.old.path)
        remove_idx(store.files, each.old.path)
        store.files.sync_dir(each.old.path)

"""Rewrite all partitions of a store and switch them by one commit.

For changes in which no partition may lag behind: another model, another format. The next generation
of every partition is written and synced first; one transaction of the catalog then switches all of
them together with the description of the store. Killed before it, the store is unchanged, and the
next opening removes the new files; killed after it, the change is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.errors import PartitionCorruptError
from spector.layout import PartitionState, stride_of
from spector.store.catalog import (
    Row,
    SegmentRow,
    clear_journal,
    move_rows,
    put_meta,
    replace_file,
    write_change_seq,
)
from spector.store.core import Store
from spector.store.files import Bytes, as_bytes
from spector.store.integrity import refuse_disagreement
from spector.store.partitions import Segment, remove_idx
from spector.store.rewriting.compaction import alive_in, live_images

__all__ = ["Progress", "Transform", "rewrite_all"]

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
        ids = _ids_of(store, segment, len(images))
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


def _ids_of(store: Store, segment: Segment, count: int) -> NDArray[np.int64]:
    """(live,) ids of a partition's live records in the order of their slots, from the catalog."""
    alive = np.flatnonzero(alive_in(store, segment))
    places = sorted(
        (slot, record_id)
        for _, slot, record_id in store.catalog.places("segment_id = ?", (segment.row.id,))
    )
    if [slot for slot, _ in places] != alive.tolist() or len(places) != count:
        raise PartitionCorruptError(
            f"{segment.where}: {count} live records, but the catalog has {len(places)}, or others",
            hint="run: spector check PATH",
        )
    return np.array([record_id for _, record_id in places], dtype=np.int64)


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
    segment = Segment(
        store.files,
        new_row,
        magic=tier.magic,
        stride=stride_of(dim),
        dim=dim,
        uuid=store.uuid,
        version=version,
    )
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
            replace_file(db, each.old.id, each.new, change_seq)
            move_rows(db, [(i, each.old.id, n) for n, i in enumerate(each.ids.tolist())])
        put_meta(db, meta)
        store.note_change(db, change_seq)
        write_change_seq(db, change_seq)
    store.partitions.retired_slots.keep([])  # they were in the files that go
    if store.catalog.relaxed:
        store.sync_log()  # the old files must not go before the commit that lets them go is safe
    for each in fresh:
        store.files.remove(each.old.path)
        remove_idx(store.files, each.old.path)
        store.files.sync_dir(each.old.path)

"""Give every memory of a store a new vector: another model, another dimension, one commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spector.embed.protocols import Embedder
from spector.embed.validate import embedded
from spector.kernel.quantize import normalize, quantize
from spector.layout import HEADER_BYTES, RECORD_DTYPE, PartitionState, stride_of, vector_bytes
from spector.store.catalog import SegmentRow
from spector.store.compact import live_images, record_ids
from spector.store.files import Bytes, as_bytes
from spector.store.idx import remove_idx
from spector.store.rows import move_rows
from spector.store.segment import Segment, image_rows
from spector.store.store import Store
from spector.write.encode import reseal

__all__ = ["reembed_store"]

#: called with (memories done, memories in total)
Progress = Callable[[int, int], None]
_BATCH = 256


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """A partition's next generation, which is on disk; of its records only the order is kept."""

    old: SegmentRow
    new: SegmentRow
    #: (live,) ids in the order of their slots
    ids: NDArray[np.uint64]


def reembed_store(store: Store, embedder: Embedder, progress: Progress | None = None) -> int:
    """Rewrite all partitions with vectors of ``embedder``; returns how many memories it embedded.

    New generations of all partitions are written and synced first; one transaction of the catalog
    then switches every partition and the store's model together. Killed before it, the store is as
    it was (the new files are leftovers that the next open removes); after it, it is converted.
    The caller must close and open the store afterwards.
    """
    with store.lock:
        store.ensure_usable(write=True)
        store.checkpoint()
        total = sum(segment.row.live for segment in store.segments.values())
        done = 0
        fresh: list[_Rewritten] = []
        for segment in list(store.segments.values()):
            images = live_images(store, segment)
            new = np.zeros((len(images), stride_of(embedder.dim)), dtype=np.uint8)
            ids = record_ids(images)
            for start in range(0, len(ids), _BATCH):
                part = slice(start, start + _BATCH)
                names = ids[part].tolist()
                rows = store.catalog.fetch(names)
                vectors = embedded(embedder, [rows[i].text for i in names])
                new[part] = _with_vectors(images[part], vectors, embedder.dim, store.uuid)
                done += len(names)
                if progress is not None:
                    progress(done, total)
            row = _write(store, segment.row, new, embedder.dim)
            fresh.append(_Rewritten(segment.row, row, ids))
        _switch(store, embedder, fresh)
        return done


def _with_vectors(images: Bytes, vectors: np.ndarray, dim: int, uuid: bytes) -> Bytes:
    codes, scales = quantize(normalize(vectors))
    headers = images[:, :HEADER_BYTES].copy().view(RECORD_DTYPE)[:, 0]
    headers["scale"] = scales
    headers["centroid"] = 0  # the cluster was one of other vectors
    return reseal(image_rows(headers, codes, HEADER_BYTES + vector_bytes(dim)), uuid).images


def _write(store: Store, row: SegmentRow, images: Bytes, dim: int) -> SegmentRow:
    """Write the next generation of a partition, durable, not yet named by the catalog."""
    tier = store.tier_files(row.tier)
    state = row.state if row.state == PartitionState.ACTIVE else int(PartitionState.SEALED)
    new_row = replace(
        row, generation=row.generation + 1, slots=len(images), live=len(images), state=state,
        path=tier.path(row.day, row.sequence, row.generation + 1),
    )
    segment = Segment(
        store.files, new_row, magic=tier.magic, stride=stride_of(dim), dim=dim, uuid=store.uuid
    )
    if store.files.exists(new_row.path):
        store.files.remove(new_row.path)  # left by an earlier run that was killed
    segment.create(new_row.path, allocate=len(images) * stride_of(dim))
    segment.write_records(0, as_bytes(images))
    segment.write_header(new_row)
    segment.sync()
    segment.close()  # a store may have more partitions than the process may have descriptors
    return new_row


def _switch(store: Store, embedder: Embedder, fresh: list[_Rewritten]) -> None:
    with store.catalog.writing() as db:
        change_seq = store.next_change_seq()
        db.execute("DELETE FROM journal")
        for each in fresh:
            row = each.new
            db.execute(
                "UPDATE segment SET generation = ?, path = ?, state = ?, slots = ?, live = ?,"
                " change_seq = ? WHERE id = ?",
                (row.generation, row.path, row.state, row.slots, row.live, change_seq,
                 each.old.id),
            )
            move_rows(db, [(i, each.old.id, n) for n, i in enumerate(each.ids.tolist())])
        db.executemany(
            "INSERT OR REPLACE INTO meta VALUES (?, ?)",
            [("dim", str(embedder.dim)), ("model_id", embedder.model_id),
             ("fingerprint", embedder.fingerprint)],
        )
        db.execute("UPDATE head SET change_seq = ?", (change_seq,))
    for each in fresh:
        store.files.remove(each.old.path)
        remove_idx(store.files, each.old.path)
        store.files.sync_dir(each.old.path)

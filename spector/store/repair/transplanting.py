"""Write what a repair has found into a new store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.kernel import crc32c_rows
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, Flag, headers_of
from spector.records import Loss
from spector.store.catalog import ROW, WORDS, insert_rows, tags_json
from spector.store.core import Store, Transaction
from spector.store.files import Bytes
from spector.store.repair.salvage import Salvage, SavedMemory

__all__ = ["Place", "transplant"]

_BATCH = 1024

#: a tier's way to stage records, (n, stride) u8 with their event times; says partitions and slots
Place = Callable[[Transaction, Bytes, NDArray[np.int64]], Any]


def transplant(
    store: Store, found: Salvage, places: Mapping[int, Place], *, last_id: int,
    progress: Progress | None = None,
) -> None:
    """Write every saved memory into an empty store; ``places`` maps a tier to its ``Place``."""
    for each in found.saved:
        if each.tier not in places:
            found.lost.append(Loss(
                id=each.id, text=each.words.get("text"),
                reason=f"it belongs to tier {each.tier}, which is not registered",
            ))
    found.saved = [each for each in found.saved if each.tier in places]
    ordered = sorted(found.saved, key=lambda each: (each.tier, each.id))
    done = 0
    for tier, members in groupby(ordered, key=lambda each: each.tier):
        for part in _batched(list(members)):
            _write(store, places[tier], part, last_id)
            done += len(part)
            if progress is not None:
                progress(done, len(ordered))


def _batched(members: list[SavedMemory]) -> Iterator[list[SavedMemory]]:
    for start in range(0, len(members), _BATCH):
        yield members[start : start + _BATCH]


def _write(store: Store, place: Place, part: list[SavedMemory], last_id: int) -> None:
    images = np.ascontiguousarray(np.stack([each.image for each in part]))
    headers = headers_of(images)
    headers["tier"], headers["centroid"] = part[0].tier, 0
    headers["flags"] &= ~np.uint16(Flag.TOMBSTONE)
    headers["crc"] = crc32c_rows(images, seed=store.uuid)
    record: dict[str, list[Any]] = {
        name: [each.row.get(name) for each in part] for name in ROW if name != "mutable"
    }
    record["mutable"] = [
        bytearray(image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]) for image in images
    ]
    content: dict[str, list[Any]] = {
        name: [each.words.get(name) for each in part] for name in WORDS
    }
    tags = [tuple(json.loads(t)) if t else () for t in content["tags"]]
    content["tags"] = [tags_json(each) for each in tags]
    content["id"] = record["id"]
    with store.transaction() as tx:
        placed = place(tx, images, np.array(record["event_ms"], dtype=np.int64))
        record["segment_id"] = placed.segment_ids.tolist()
        record["slot"] = placed.slots.tolist()
        insert_rows(tx.connection, record, content, tags)
        tx.note_id(max(last_id, part[-1].id))

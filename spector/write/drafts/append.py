"""Appends a batch of new records to a store: places, rows, and the records that callers get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import RESERVED
from spector.records import MemoryRecord, make_records
from spector.store.catalog import rows as catalog_rows
from spector.store.core import Transaction, header_columns, tags_and_links
from spector.tiers import PlacesByUser, TierStore
from spector.write.drafts.batch import Batch
from spector.write.drafts.encode import Encoded

__all__ = ["append_batch", "records_of"]

#: columns of the catalog's record table with the name of a draft's field
_RECORD = ("valid_from_ms", "valid_until_ms", "session_id", "agent_id", "user_id")
#: fields of `MemoryRecord` with the name of a draft's field
_VIEW = ("text", "tags", *_RECORD, "role", "source", "parents", "decision")


def append_batch(
    tx: Transaction,
    tiers: Sequence[TierStore],
    batch: Batch,
    ids: list[int],
    encoded: Encoded,
    now_ms: int,
) -> None:
    """Stage the images and rows of new records, tier by tier."""
    record = {
        "id": ids,
        "event_ms": encoded.headers["event_ms"].tolist(),
        "recorded_ms": [now_ms] * batch.size,
        "mutable": encoded.mutables(),
        **batch.given(*_RECORD),
    }
    content = {"id": ids, **_content(batch)}
    tags = batch.column("tags", ())
    for tier, members in _grouped(tiers):
        for start in range(0, len(members), tier.max_batch):
            part = members[start : start + tier.max_batch]
            if len(part) == batch.size:
                _place(tx, tier, encoded.images, record, content, tags)
            else:
                _place(
                    tx,
                    tier,
                    np.ascontiguousarray(encoded.images[part]),
                    _part_of(record, part),
                    _part_of(content, part),
                    [tags[n] for n in part],
                )


def _content(batch: Batch) -> dict[str, list[Any]]:
    columns = batch.given("text", "tags", "role", "source", "parents")
    if "tags" in columns:
        columns["tags"] = [catalog_rows.tags_json(tags) for tags in columns["tags"]]
    if "parents" in columns:
        columns["parents"] = [catalog_rows.to_json(parents) for parents in columns["parents"]]
    for encoded in batch.given("metadata_json").values():
        columns["metadata"] = [None if text == "{}" else text for text in encoded]
    return columns


def _place(
    tx: Transaction,
    tier: TierStore,
    images: NDArray[np.uint8],
    record: dict[str, list[Any]],
    content: dict[str, list[Any]],
    tags: list[tuple[str, ...]],
) -> None:
    if hasattr(tier, "place_by_user"):  # what ``isinstance`` finds out in ten calls
        users = record.get("user_id") or [None] * len(images)
        placed = cast("PlacesByUser", tier).place_by_user(tx, images, users)
    else:
        placed = tier.place(tx, images, np.array(record["event_ms"], dtype=np.int64))
    if placed.evicted:
        gone = tx.catalog.fetch(placed.evicted)
        catalog_rows.delete_rows(tx.connection, gone.values())
    places = {"segment_id": placed.segment_ids.tolist(), "slot": placed.slots.tolist()}
    catalog_rows.insert_rows(tx.connection, record | places, content, tags)


def _part_of(columns: dict[str, list[Any]], part: list[int]) -> dict[str, list[Any]]:
    return {name: [column[n] for n in part] for name, column in columns.items()}


def _grouped(tiers: Sequence[TierStore]) -> list[tuple[TierStore, list[int]]]:
    found: dict[str, tuple[TierStore, list[int]]] = {}
    for n, tier in enumerate(tiers):
        found.setdefault(tier.name, (tier, []))[1].append(n)
    return list(found.values())


def records_of(
    batch: Batch,
    ids: list[int],
    tier_names: list[str],
    headers: NDArray[np.void],
    now_ms: int,
) -> list[MemoryRecord]:
    """The records that were just stored, as callers get them."""
    columns: dict[str, list[Any]] = {
        "id": ids,
        "tier": tier_names,
        "recorded_ms": [now_ms] * batch.size,
        "read_ms": [now_ms] * batch.size,
        "metadata": [{} if given is None else given for given in batch.column("metadata")],
        **batch.given(*_VIEW),
        **header_columns(headers),
    }
    if any(tags and tags[-1].startswith(RESERVED) for tags in columns.get("tags", ())):
        columns.update(tags_and_links(columns["tags"]))
    return make_records(columns)

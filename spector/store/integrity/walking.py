"""Walk over records by ascending id, verifying each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spector.errors import CatalogCorruptError, PartitionCorruptError
from spector.layout import HEADER_BYTES, MUTABLE_OFFSET, headers_of
from spector.records import MemoryRecord
from spector.store.catalog import (
    ANYBODY,
    Row,
    Scope,
    Way,
    decode_row,
    has_ended,
    is_sealed,
    newer_than,
    successors,
)
from spector.store.core import (
    Store,
    complete_records,
    current_image,
    header_of,
    is_of_one_moment,
    to_record,
    to_records,
)
from spector.store.files import Bytes
from spector.store.integrity.check_catalog import refuse_disagreement
from spector.store.partitions import record_ids, wrong_checksums

_BATCH = 256


def walk(
    store: Store,
    tier_name: Callable[[int], str],
    sql: str,
    params: Sequence[Any],
    damaged: list[int] | None = None,
    *,
    trusted_s: float | None = 0.0,
    scope: Scope = ANYBODY,
    after: int | None = None,
    most: int | None = None,
    newest_first: bool = False,
    ways: Sequence[Way] = (),
) -> Iterator[tuple[MemoryRecord, Bytes]]:
    """(record, its (stride,) u8 bytes) of every row that satisfies a condition, in order of ids.

    Rows are read, verified and turned into records by the batch. After a commit, the rest of a
    batch is looked up one by one, so no record is yielded that has been forgotten or changed by
    then.

    Args:
        damaged: collects the ids of damaged records, and the walk goes on; None raises.
        trusted_s: prove first, by reading every page of texts, that damage hides no memory, unless
            it was proved so many seconds ago; None skips the proof.
        scope: memories that are looked up one by one must still be in it, as by the condition.
        after: the id that they follow; None for all. most: so many are wanted at first.
        newest_first: by descending ids. ways: tags and labels of them, without ``damaged``.

    Raises:
        PartitionCorruptError, CatalogCorruptError: a memory is not what was written.
    """
    if trusted_s is not None:
        store.ensure_usable()
        store.view()  # a reader follows the writer here
        refuse_disagreement(store.catalog, damaged, trusted_s=trusted_s)
    # a damaged key must not lead a walk that goes on after damage away from the next page
    astray = damaged is not None and not store.catalog.in_memory
    size = _BATCH if most is None else min(most, _BATCH)
    pages = store.catalog.pages(
        sql, params, size, after=after, descending=newest_first, astray=astray, ways=ways
    )
    shown = set[int]()
    last: int | None = None
    while True:
        store.ensure_usable()
        seen = store.view().change_seq
        stored = next(pages, [])
        rows = _decoded(stored, damaged)
        images, sound = _gather(store, rows)
        records = _records_of(store, rows, images, sound, tier_name, damaged)
        # a commit between the two reads would give the words of before the revision of after
        is_torn = False
        if any(each.key is not None for each in records):
            with store.catalog.reading() as db:
                is_torn = store.catalog.head(db).change_seq != seen
        for n, row in enumerate(rows):
            store.ensure_usable()
            if row.id in shown:  # a damaged key is another memory's, to which the search then led
                continue
            if last is not None and not astray and (row.id < last) is not newest_first:
                raise store.catalog.order_error(row.id)
            found: tuple[MemoryRecord, Bytes] | None = records[n], images[n]
            # a reader looks at the catalog here
            if not sound[n] or is_torn or store.view().change_seq != seen:
                found = _look_up(store, row, tier_name, damaged, scope)
            if found is None:
                continue
            last = row.id
            if astray:
                shown.add(row.id)
            yield found
        if len(stored) < size:
            return


def _records_of(
    store: Store,
    rows: Sequence[Row],
    images: Bytes,
    sound: Sequence[bool],
    tier_name: Callable[[int], str],
    damaged: list[int] | None,
) -> list[MemoryRecord]:
    """The records of a batch, with the ids of what superseded those that have ended."""
    headers = headers_of(images)
    tiers = [
        tier_name(code) if fine else ""
        for code, fine in zip(headers["tier"].tolist(), sound, strict=True)
    ]
    records = to_records(rows, headers, tiers)
    found = successors(store.catalog, [row.id for row in rows if has_ended(row)])
    for n, row in enumerate(rows):
        if newer := found.get(row.id):
            records[n] = replace(records[n], superseded_by=newer)
    complete_records(store.catalog, records, leniently=damaged is not None)
    return records


def _look_up(
    store: Store,
    row: Row,
    tier_name: Callable[[int], str],
    damaged: list[int] | None,
    scope: Scope,
) -> tuple[MemoryRecord, Bytes] | None:
    """One memory as it is now; None when it is forgotten, out of scope or damaged."""
    while True:
        try:
            found = current_image(store, row)
        except (PartitionCorruptError, CatalogCorruptError):
            if damaged is None:
                raise
            damaged.append(row.id)
            return None
        if found is None or not scope.holds(found[0]):
            return None
        row, header = found[0], header_of(found[1])
        newer = newer_than(store.catalog, row)
        record = to_record(row, header, tier_name(int(header["tier"])), newer)
        complete_records(store.catalog, [record], leniently=damaged is not None)
        if is_of_one_moment(store.catalog, record, row):
            return record, found[1]
        fresh = store.catalog.fetch([row.id]).get(row.id)
        if fresh is None:
            return None
        row = fresh


def _decoded(stored: Sequence[tuple[Any, ...]], damaged: list[int] | None) -> list[Row]:
    """The rows that can be decoded; ids of the others go to ``damaged``, None raises."""
    rows = []
    for each in stored:
        try:
            rows.append(decode_row(each))
        except CatalogCorruptError:
            if damaged is None:
                raise
            damaged.append(each[0])
    return rows


def _gather(store: Store, rows: Sequence[Row]) -> tuple[Bytes, list[bool]]:
    """(n, stride) u8 copies of the bytes that rows name, and which are exactly what they say."""
    images: Bytes = np.zeros((len(rows), store.stride), dtype=np.uint8)
    by_segment: dict[int, list[int]] = {}
    for n, row in enumerate(rows):
        by_segment.setdefault(row.segment_id, []).append(n)
    for segment_id, places in by_segment.items():
        segment = store.segments.get(segment_id)
        slots = [rows[n].slot for n in places]
        present = None if segment is None else segment.shown()
        if present is None or max(slots) >= len(present):
            continue  # zeros are not sound: these are looked up one by one
        images[places] = present[slots]
    sound = np.ones(len(rows), dtype=bool)
    sound[wrong_checksums(images, store.uuid)] = False
    ids = record_ids(images).tolist()
    raw = images[:, MUTABLE_OFFSET:HEADER_BYTES].tobytes()
    width = HEADER_BYTES - MUTABLE_OFFSET
    return images, [
        fine
        and ids[n] == row.id
        and raw[n * width : (n + 1) * width] == row.mutable
        and row.stored is not None
        and is_sealed(row.stored)
        for n, (fine, row) in enumerate(zip(sound.tolist(), rows, strict=True))
    ]

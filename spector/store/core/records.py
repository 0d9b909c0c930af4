"""Turns rows of the catalog and bytes of records into the records that a user sees."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import CatalogCorruptError, PartitionCorruptError
from spector.kernel import crc32c_rows
from spector.layout import (
    HEADER_BYTES,
    MUTABLE_BYTES,
    MUTABLE_DTYPE,
    MUTABLE_OFFSET,
    RECORD_DTYPE,
    Category,
    Flag,
    Modality,
)
from spector.records import Details, MemoryRecord, complete, details_of, make_records
from spector.store.catalog import (
    Catalog,
    Row,
    StoredRow,
    labels_after,
    labels_of,
    recovery_hint,
    split_reserved_tags,
    strength_of,
    verify_row,
)
from spector.store.core.snapshots import View
from spector.store.core.store import Store
from spector.store.files import CHECK, Bytes
from spector.store.payloads import described, detail_tables, entries_of

#: attempts to read a memory whose mutable half is stable in the catalog and differs in the file
_ATTEMPTS = 20


def current_image(store: Store, row: Row) -> tuple[Row, Bytes] | None:
    """A memory's row and bytes, (stride,) u8, of one moment; None when it has been forgotten.

    The row was read before the bytes, and a writer may have moved the memory in between. So when
    the two do not fit, both are read again: by a writer's own threads under its lock, by reading
    processes in a snapshot.

    Raises:
        PartitionCorruptError: they do not fit although no writer changes them.
    """
    verify_row(row, store.catalog.path)
    found = _fitting(store, row)
    if found is not None:
        return row, found
    if not store.writes_alone:
        return _image_in_snapshot(store, row.id)
    with store.lock:
        fresh = store.catalog.fetch([row.id]).get(row.id)
        if fresh is None:
            return None
        verify_row(fresh, store.catalog.path)
        found = _fitting(store, fresh)
        if found is not None:
            return fresh, found
        verified_image(store, fresh)  # raises, unless it is the mutable half that differs
        raise _other_mutable(store, fresh)


def _image_in_snapshot(store: Store, record_id: int) -> tuple[Row, Bytes] | None:
    """The same in a reading process, which cannot take the writer's lock.

    The immutable half is that of the snapshot. The mutable half in the file may be newer, and then
    the catalog's is the right one. It is damaged when it differs although the catalog's is stable:
    a snapshot taken after a read has everything that was in the file before that read.
    """
    before: Row | None = None
    for attempt in range(_ATTEMPTS):
        with store.snapshot() as view:
            row = store.catalog.fetch([record_id]).get(record_id)
            if row is None:
                return None
            verify_row(row, store.catalog.path)
            image = _image_in(view, row).copy()
        check_image(store, row, image)
        block = image[MUTABLE_OFFSET:HEADER_BYTES]
        moving = before is not None and before.mutable != row.mutable
        if moving or block.tobytes() == row.mutable:
            block[:] = np.frombuffer(row.mutable, dtype=np.uint8)
            return row, image
        before = row
        time.sleep(0.0005 * attempt)
    assert before is not None
    raise _other_mutable(store, before)


def verify_strength(store: Store, row: Row | StoredRow) -> None:
    """Raise when the partition's mutable half of a memory is not the catalog's, now.

    For a recall that saw the two differ: a commit may have come between its reads. It reads the
    latest commit, not the moment that the recall sees.
    """
    if store.writes_alone and _changed_since(store, row):
        return
    for attempt in range(1 if store.writes_alone else _ATTEMPTS):
        with store.lock, store.catalog.latest() as db:
            store.view()
            found = strength_of(db, row.id)
            if found is None:
                return  # forgotten
            segment_id, slot, block = found
            segment = store.segments.get(segment_id)
            if segment is None or slot not in range(segment.row.slots):
                return  # it has moved to where this view does not reach
            image = segment.records()[slot]
            if block != row.mutable or image[MUTABLE_OFFSET:HEADER_BYTES].tobytes() == block:
                return  # it has changed since, or fits
        time.sleep(0.0005 * attempt)
    raise _other_mutable(store, row)


def _changed_since(store: Store, row: Row | StoredRow) -> bool:
    """Whether the catalog now has another mutable half of a memory, or none.

    It takes no lock of the store: the thread that holds it may be waiting for the calling recall,
    so that the catalog's log can start over.
    """
    with store.catalog.beside_snapshots() as db:
        found = strength_of(db, row.id)
    return found is None or found[2] != row.mutable


def _image_in(view: View, row: Row) -> Bytes:
    """(stride,) u8 view of the place that a row names, in the partitions of its moment."""
    for partition in view.partitions:
        if partition.segment_id == row.segment_id and row.slot < partition.slots:
            image: Bytes = partition.data[row.slot]
            return image
    raise PartitionCorruptError(
        f"the catalog names slot {row.slot} of partition {row.segment_id}, which does not exist",
        hint=CHECK,
    )


def _partition_of(store: Store, row: Row | StoredRow) -> str:
    segment = store.segments.get(row.segment_id)
    return segment.where if segment else f"partition {row.segment_id}"


def _other_mutable(store: Store, row: Row | StoredRow) -> PartitionCorruptError:
    return PartitionCorruptError(
        f"{_partition_of(store, row)} slot {row.slot}: the flags and strength of memory {row.id} are not what the "
        "catalog says",
        hint=recovery_hint(row.id),
    )


def _fitting(store: Store, row: Row) -> Bytes | None:
    """A copy of the bytes that the row names, if they are exactly what the row says."""
    try:
        image = verified_image(store, row).copy()
    except PartitionCorruptError:
        return None
    return image if image[MUTABLE_OFFSET:HEADER_BYTES].tobytes() == row.mutable else None


def verified_image(store: Store, row: Row) -> Bytes:
    """(stride,) u8: a record's bytes, after checking that they are this record, undamaged.

    Raises:
        PartitionCorruptError: the checksum or the id does not match.
    """
    image = store.record_image(row.segment_id, row.slot)
    check_image(store, row, image)
    return image


def check_image(store: Store, row: Row, image: Bytes) -> None:
    """Raise when the bytes are not the undamaged record of ``row``."""
    crc, header = crc32c_rows(image.reshape(1, -1), seed=store.uuid), header_of(image)
    if int(header["crc"]) != int(crc[0]) or int(header["id"]) != row.id:
        raise damaged_record(_partition_of(store, row), row.slot, row.id)


def damaged_record(
    where: str, slot: int, record_id: int | None, *, more: int = 0
) -> PartitionCorruptError:
    """The error for a record whose bytes are not what was written, with a recovery hint.

    ``record_id`` is the catalog's, because the one in the bytes may be damaged.
    """
    name = "a record the catalog does not know" if record_id is None else f"memory {record_id}"
    others = f", nor do those of {more} more" if more else ""
    return PartitionCorruptError(
        f"{where} slot {slot}: the checksum or id of {name} does not match{others}",
        hint=recovery_hint(record_id),
    )


def header_of(image: Bytes) -> Any:
    """The header fields of one record image."""
    return image[:HEADER_BYTES].view(RECORD_DTYPE)[0]


def to_record(
    row: Row, header: Any, tier: str, superseded_by: tuple[int, ...] = ()
) -> MemoryRecord:
    """The user's view of a record."""
    tags, supersedes, own_until_ms = split_reserved_tags(row.tags)
    event_ms, confidence, importance, valence, arousal, stability_days, utility, *rest = _of_fields(
        header.item()
    )
    access_count, last_access_s, flags, category, modality = rest
    # by name and without a dictionary: a get, and each shown hit, makes one
    return MemoryRecord(
        id=row.id,
        text=row.text,
        tier=tier,
        tags=tags,
        metadata=row.metadata,
        event_ms=event_ms,
        recorded_ms=row.recorded_ms,
        valid_from_ms=row.valid_from_ms,
        valid_until_ms=row.valid_until_ms,
        session_id=row.session_id,
        agent_id=row.agent_id,
        user_id=row.user_id,
        role=row.role,
        source=row.source,
        confidence=confidence / 255,
        importance=importance,
        valence=max(-1.0, valence / 127),
        arousal=arousal / 255,
        stability_days=stability_days,
        utility=utility,
        access_count=access_count,
        last_access_s=last_access_s,
        flags=_FLAGS[flags & 0x7FF],
        # a newer version may have written values that have no name here
        category=_CATEGORIES.get(category, Category.OTHER),
        modality=_MODALITIES.get(modality, Modality.TEXT),
        parents=row.parents,
        supersedes=supersedes,
        superseded_by=superseded_by,
        own_until_ms=own_until_ms,
    )


def to_records(
    rows: Sequence[Row], headers: NDArray[np.void], tiers: Sequence[str]
) -> list[MemoryRecord]:
    """The user's views of many records, column by column."""
    given = {name: [getattr(row, name) for row in rows] for name in _ROW_FIELDS}
    given.update(tags_and_links(given["tags"]))
    return make_records({**given, "tier": tiers, **header_columns(headers)})


def tags_and_links(tags: Sequence[tuple[str, ...]]) -> dict[str, list[Any]]:
    """The fields of the user's view that come from stored tags, a list each."""
    found = [split_reserved_tags(each) for each in tags]
    return {
        "tags": [each.own for each in found],
        "supersedes": [each.supersedes for each in found],
        "own_until_ms": [each.until_ms for each in found],
    }


def header_columns(headers: NDArray[np.void]) -> dict[str, list[Any]]:
    """The fields of the user's view that come from a record's header, a list each."""
    out = {name: headers[name].tolist() for name in _FIELDS}
    out["confidence"] = (headers["confidence"].astype(np.float64) / 255).tolist()
    out["valence"] = np.maximum(headers["valence"].astype(np.float64) / 127, -1.0).tolist()
    out["arousal"] = (headers["arousal"].astype(np.float64) / 255).tolist()
    out["flags"] = [_FLAGS[flags & 0x7FF] for flags in out["flags"]]
    # a newer version may have written values that have no name here
    out["category"] = [_CATEGORIES.get(value, Category.OTHER) for value in out["category"]]
    out["modality"] = [_MODALITIES.get(value, Modality.TEXT) for value in out["modality"]]
    return out


_FIELDS = tuple(
    "event_ms confidence importance valence arousal stability_days utility access_count"
    " last_access_s flags category modality".split()
)
_of_fields = itemgetter(*map((RECORD_DTYPE.names or ()).index, _FIELDS))
_ROW_FIELDS = tuple(
    "id text tags metadata recorded_ms valid_from_ms valid_until_ms session_id agent_id user_id"
    " role source parents".split()
)


class _Flags(dict[int, Flag]):
    """Flags by their number, made when they are met: all 2,048 take as long as to open a store."""

    def __missing__(self, value: int) -> Flag:
        made = self[value] = Flag(value)
        return made


_FLAGS = _Flags()
_CATEGORIES = {int(member): member for member in Category}
_MODALITIES = {int(member): member for member in Modality}


# Fills in what records lack that rows alone made: details from payloads, and when they were read.


def details_in(catalog: Catalog, ids: Sequence[int]) -> dict[int, Details]:
    """The details of those memories that have any.

    Raises:
        CatalogCorruptError: a row of them is not what was written.
    """
    with catalog.reading() as db:
        names = _tables_of(catalog, db) if ids else ()
        if not names:
            return {}
        entries = entries_of(db, ids, catalog.path) if "entry" in names else {}
        for row in entries.values() if catalog.ends.noted else ():
            row["expires_ms"] = catalog.ends.end_of(row)
        payloads: dict[int, dict[str, dict[str, Any]]] = {}
        if "payload" in names:
            payloads = described(db, ids, catalog.path)
    found = {
        each: details_of(payloads.get(each, {}), entries.get(each), catalog.attachments)
        for each in {*payloads, *entries}
    }
    return {each: some for each, some in found.items() if some is not None}


def _tables_of(catalog: Catalog, db: sqlite3.Connection) -> Collection[str]:
    """Which of the tables of details a catalog has.

    Only the writer makes tables. Between two of its commits it knows them without asking; a
    snapshot may be older than what it knows, and is asked.
    """
    stamp = None if db.in_transaction else catalog.changes()
    if stamp is not None and catalog.tables_then[0] == stamp:
        return catalog.tables_then[1]
    found = detail_tables(db)
    if stamp is not None and catalog.changes() == stamp:
        catalog.tables_then = stamp, found
    return found


def is_of_one_moment(catalog: Catalog, record: MemoryRecord, row: Row) -> bool:
    """Whether a record that is complete has the revision of its row, and not of a later one.

    The two are read one after the other; who compares and swaps relies on both.
    """
    return record.key is None or catalog.fetch([row.id]) == {row.id: row}


def complete_records(
    catalog: Catalog,
    records: Sequence[MemoryRecord],
    read_ms: int | None = None,
    *,
    leniently: bool = False,
) -> None:
    """Fill in the details of records that were just made, and when they were read.

    Args:
        leniently: a memory whose details are damaged stays without them instead of raising.
    """
    ids = [record.id for record in records]
    try:
        found = details_in(catalog, ids)
    except CatalogCorruptError:
        if not leniently:
            raise
        found = {}
        if len(records) > 1:
            for record in records:
                complete_records(catalog, [record], leniently=True)
    for record in records:
        complete(record, found.get(record.id), read_ms)


# The strengths and labels of memories as columns, for what looks at very many of them.

#: ``until_ms`` of a memory that does not end
NO_END: Final = np.iinfo(np.int64).max

#: one row a memory: what the catalog has of it, what its header has, and its mutable half
STRENGTH_DTYPE: Final = np.dtype(
    [
        *((name, "<i8") for name in "id segment_id slot event_ms recorded_ms until_ms".split()),
        *((name, "<i4") for name in ("user", "session")),
        *((name, "u1") for name in ("tier", "category", "confidence")),
        *((name, MUTABLE_DTYPE[name].str) for name in MUTABLE_DTYPE.names or ()),
    ]
)


@dataclass(frozen=True, slots=True)
class Strengths:
    """Memories by ascending id.

    Attributes:
        rows: (n,) of `STRENGTH_DTYPE`; ``user`` and ``session`` count in the lists below.
        users: users by number; None for memories without one. sessions: the same of sessions.
    """

    rows: NDArray[np.void]
    users: tuple[str | None, ...]
    sessions: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, chosen: NDArray[np.bool_]) -> list[bytes]:
        """The mutable halves of the chosen rows, 24 bytes each."""
        picked = self.rows[chosen]
        halves = np.zeros(len(picked), MUTABLE_DTYPE)
        for name in MUTABLE_DTYPE.names or ():
            halves[name] = picked[name]
        raw = halves.tobytes()
        return [raw[at : at + MUTABLE_BYTES] for at in range(0, len(raw), MUTABLE_BYTES)]


def read_strengths(
    store: Store, *, ids: Sequence[int] | None = None, after: int = -1, limit: int = -1
) -> Strengths:
    """Memories of a store as columns, of one moment.

    Args:
        ids: these, of which unknown ones are left out; or else
        after, limit: at most so many with a greater id.
    """
    with store.exclusive():
        store.ensure_usable()
        if ids is None:
            found = labels_after(store.catalog, after, limit)
        else:
            found = labels_of(store.catalog, sorted(ids))
        rows = np.zeros(len(found), STRENGTH_DTYPE)
        if not found:
            return Strengths(rows, (), ())
        columns = list(zip(*found, strict=True))
        for name, column in zip(
            ("id", "segment_id", "slot", "event_ms", "recorded_ms"), columns, strict=False
        ):
            rows[name] = column
        rows["until_ms"] = [NO_END if each is None else each for each in columns[5]]
        rows["session"], sessions = _numbered(columns[6])
        rows["user"], users = _numbered(columns[7])
        halves = np.frombuffer(b"".join(columns[8]), MUTABLE_DTYPE)
        for name in MUTABLE_DTYPE.names or ():
            rows[name] = halves[name]
        _add_headers(store, rows)
    return Strengths(rows, users, sessions)


def _numbered(values: Sequence[Any]) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
    """A number for each value, and the values by number."""
    numbers = {each: n for n, each in enumerate(dict.fromkeys(values))}
    return np.array([numbers[each] for each in values], np.int32), tuple(numbers)


def _add_headers(store: Store, rows: NDArray[np.void]) -> None:
    """Tier, category and confidence, which only the partitions have."""
    for segment_id in np.unique(rows["segment_id"]).tolist():
        here = np.flatnonzero(rows["segment_id"] == segment_id)
        segment, slots = store.segments.get(segment_id), rows["slot"][here]
        if segment is None or slots.min() < 0 or slots.max() >= segment.row.slots:
            raise PartitionCorruptError(
                f"the catalog names places of partition {segment_id} that do not exist", hint=CHECK
            )
        headers = segment.records()[:, :HEADER_BYTES][slots].copy().view(RECORD_DTYPE)[:, 0]
        for name in ("tier", "category", "confidence"):
            rows[name][here] = headers[name]

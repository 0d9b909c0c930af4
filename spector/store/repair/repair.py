"""Repair: copy what is intact in a damaged store into a new one, and list the rest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector._types import Progress
from spector.kernel import crc32c_rows
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, Flag, headers_of
from spector.records import BUILTIN_KINDS, Loss
from spector.store.catalog import CATALOG_NAME, ROW, WORDS, insert_rows, tags_json
from spector.store.core import Store, Transaction
from spector.store.files import Bytes
from spector.store.payloads import PAYLOAD_TABLES, PayloadTable, make_tables, put_rows, table_named
from spector.store.repair.remnants import Spooled
from spector.store.repair.salvage import Salvage, SavedMemory

_BATCH = 1024
#: bytes of attachments from which they are committed
_MOST_ATTACHED: Final = 64 << 20

_ATTACHMENT: Final = table_named("attachment")
#: sorts of items that live by ties to memories
_TIED: Final = frozenset({"entity", "association"})
_TIES: Final = frozenset({"mention", "evidence"})
_Rows = dict[str, list[dict[str, Any]]]

#: a tier's way to stage records, (n, stride) u8 with their event times; says partitions and slots
Place = Callable[[Transaction, Bytes, NDArray[np.int64]], Any]


def transplant(
    store: Store,
    found: Salvage,
    places: Mapping[int, Place],
    *,
    last_id: int,
    knowledge: Mapping[str, Sequence[Mapping[str, Any]]],
    progress: Progress | None = None,
) -> None:
    """Write every saved memory into an empty store, and the whole rows of knowledge about them.

    Args:
        places: tier -> its ``Place``.
        knowledge: table -> rows as they were read.
    """
    for each in found.saved:
        if each.tier not in places:
            reason = f"it belongs to tier {each.tier}, which is not registered"
            found.lost.append(Loss(id=each.id, text=each.words.get("text"), reason=reason))
    found.saved = [each for each in found.saved if each.tier in places]
    ordered = sorted(found.saved, key=lambda each: (each.tier, each.id))
    done = 0
    for tier, members in groupby(ordered, key=lambda each: each.tier):
        of_tier = list(members)
        for start in range(0, len(of_tier), _BATCH):
            part = of_tier[start : start + _BATCH]
            _write(store, places[tier], part, last_id)
            done += len(part)
            if progress is not None:
                progress(done, len(ordered))
    _transplant_knowledge(store, found, knowledge)


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


def _transplant_knowledge(
    store: Store, found: Salvage, recovered: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Write rows of knowledge beside the memories that they are of; list the damaged ones.

    Args:
        recovered: table -> rows as they were read.
    """
    if not any(recovered.values()):
        return
    saved = {each.id for each in found.saved}
    rows = _sound(recovered, saved, found)
    items = _items(rows, saved)
    rows["item"] = [row for row in rows["item"] if row["item_id"] in items]
    rows["edge"] = _edges(rows, found)
    rows["entry"] = list(_entries(rows, found))
    with store.transaction() as tx:
        for group in sorted({each.group for each in PAYLOAD_TABLES if rows[each.name]}):
            make_tables(tx.connection, group)
        for table in PAYLOAD_TABLES:
            for row in rows[table.name] if table is not _ATTACHMENT else ():
                ends = [row[each] for each in table.owners if row[each] is not None]
                if all(each in saved or each in items for each in ends):
                    _put(tx.connection, table, row, found)
        tx.note_id(max(items, default=0))
    for part in _by_weight([row for row in rows[_ATTACHMENT.name] if row["id"] in saved]):
        with store.transaction() as tx:
            for row in part:
                data = row["data"]
                whole = row | {"data": data.read() if isinstance(data, Spooled) else data}
                _put(tx.connection, _ATTACHMENT, whole, found)


def _by_weight(rows: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Attachments in parts that a commit has room for."""
    part, weight = list[dict[str, Any]](), 0
    for row in rows:
        part.append(row)
        weight += len(row["data"])
        if weight > _MOST_ATTACHED:
            yield part
            part, weight = [], 0
    if part:
        yield part


def _sound(
    recovered: Mapping[str, Sequence[Mapping[str, Any]]], saved: Collection[int], found: Salvage
) -> _Rows:
    """Rows whose seal fits; of the others, those of saved memories are listed."""
    rows: _Rows = {}
    for table in PAYLOAD_TABLES:
        kept = rows[table.name] = []
        for stored in recovered.get(table.name, ()):
            row, problem = _read(table, stored)
            if problem is None:
                kept.append(row)
                continue
            owner = next((row[each] for each in table.owners if row[each] in saved), None)
            found.lost.append(_loss(owner, table, problem))
    return rows


def _read(table: PayloadTable, stored: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """A row, and what is wrong with it, which is known of one whose data was put aside."""
    data = stored.get("data")
    if not isinstance(data, Spooled):
        return table.read(list(stored.values()))
    return {name: stored[name] for name in table.names}, data.problem


def _edges(rows: _Rows, found: Salvage) -> list[dict[str, Any]]:
    """Edges of relations that are known; what a registered one means may be lost."""
    known = {each.name for each in BUILTIN_KINDS} | {
        json.loads(row["json"]).get("name")
        for row in rows["item"]
        if row["sort"] == "relation_kind"
    }
    for row in rows["edge"]:
        if row["kind"] not in known:
            reason = f"its edge has the relation {row['kind']!r}, whose meaning is lost"
            found.lost.append(Loss(id=row["source_id"], file=CATALOG_NAME, reason=reason))
    return [row for row in rows["edge"] if row["kind"] in known]


def _entries(rows: _Rows, found: Salvage) -> Iterator[dict[str, Any]]:
    """Entries that say what is attached to their memories still; one that is lost is made anew."""
    sizes = {row["id"]: len(row["data"]) for row in rows["attachment"]}
    for row in rows["entry"]:
        yield row | {"attached_bytes": sizes.pop(row["id"], None)}
    for each in found.saved:
        if each.id in sizes:
            yield {
                "id": each.id,
                "user_id": each.row.get("user_id") or "",
                "agent_id": each.row.get("agent_id") or "",
                "namespace": "",
                "revision": 1,
                "attached_bytes": sizes[each.id],
            }


def _items(rows: _Rows, saved: Collection[int]) -> set[int]:
    """Items that something saved is left of, and those that live by nothing."""
    tied = {row["a"] for row in rows["link"] if row["kind"] in _TIES and row["b"] in saved}
    return {
        row["item_id"]
        for row in rows["item"]
        if row["item_id"] not in saved and (row["sort"] not in _TIED or row["item_id"] in tied)
    }


def _put(
    db: sqlite3.Connection, table: PayloadTable, row: Mapping[str, Any], found: Salvage
) -> None:
    try:
        put_rows(db, table, [row])
    except sqlite3.IntegrityError as error:  # an older row that holds as well
        found.lost.append(_loss(row[table.owners[0]], table, str(error)))


def _loss(owner: int | None, table: PayloadTable, problem: str) -> Loss:
    reason = f"its row of {table.name} is damaged: {problem}"
    return Loss(id=owner, file=CATALOG_NAME, reason=reason)

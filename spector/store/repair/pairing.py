"""Pair records, rows and texts: each memory whole, or what is left of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.layout import HEADER_BYTES, MUTABLE_BYTES, MUTABLE_OFFSET, RECORD_DTYPE, Flag
from spector.records import Loss
from spector.store.catalog import UNSYNCED, bloom, is_sealed_pair, row_of_words
from spector.store.files import Bytes
from spector.store.repair.remnants import RecoveredCatalog, SavedPartition
from spector.store.repair.salvage import (
    MisplacedRecord,
    Salvage,
    SavedMemory,
    is_lost,
    is_row,
    is_usable,
    loss_of,
    tier_of,
)

__all__ = ["pair_misplaced", "pair_partition"]

_FLAGS: Final = sum(Flag)


def pair_partition(
    partition: SavedPartition,
    segment: dict[str, Any] | None,
    own: dict[int, dict[str, Any]],
    recovered: RecoveredCatalog,
    out: Salvage,
) -> list[tuple[dict[str, Any], int]]:
    """Match a partition's records with the catalog's rows; returns the rows without a record."""
    unpaired = []
    headers, alive = partition.headers, partition.alive
    tier = tier_of(segment)
    if tier < 0:
        tier = partition.tier or 0
    for slot in range(len(partition.images)):
        row = own.pop(slot, None)
        record_id = int(headers["id"][slot])
        whole = bool(partition.sound[slot]) and 0 < record_id < 1 << 62
        if row is not None and (not whole or record_id != row["id"]):
            unpaired.append((row, tier))
            if not whole:
                out.hit.add(row["id"])
            row = None
        if whole and out.history is not None:
            _keep_newest(partition, slot, tier, record_id, row, recovered, out)
        elif row is not None:
            _keep(partition.images[slot], partition.path, slot, tier, row, recovered, out)
        elif whole and alive[slot] and record_id not in out.seen:
            known = recovered.records.get(record_id)
            if known is None and is_lost(recovered, "record", record_id):
                _keep(partition.images[slot], partition.path, slot, tier, None, recovered, out)
            elif known is None:
                continue
            elif segment is None:  # its partition's row is lost, not its own
                _keep(partition.images[slot], partition.path, slot, tier, known, recovered, out)
            else:
                found = MisplacedRecord(partition.images[slot].copy(), partition.path, slot, tier)
                out.misplaced.setdefault(record_id, []).append(found)
        elif not whole and alive[slot] and is_lost(recovered, "record", 0):
            out.lost.append(
                Loss(
                    file=partition.path, slot=slot, reason="its record is damaged, its row is lost"
                )
            )
    return unpaired + [(row, tier) for row in own.values()]


def pair_misplaced(
    unpaired: Iterable[tuple[dict[str, Any], int]], recovered: RecoveredCatalog, out: Salvage
) -> None:
    """Find memories whose rows name a wrong place by the ids in the records.

    No checksum covers a place. A damaged record shows at the place itself, and a record that a
    memory has left shows in the journal; without the journal nothing is taken.
    """
    if any(lost.table in ("*", "journal") for lost in recovered.lost):
        return
    for row, _ in unpaired:
        found, words = out.misplaced.get(row["id"], ()), recovered.contents.get(row["id"])
        if len(found) != 1 or words is None or row["id"] in out.seen or row["id"] in out.hit:
            continue
        each = found[0]
        header = each.image[:HEADER_BYTES].view(RECORD_DTYPE)
        if (
            not is_sealed_pair(row, words)
            or int(header["event_ms"][0]) != row["event_ms"]
            or int(header["tags"][0]) != bloom(row, words)
        ):
            continue
        before = len(out.saved)
        _keep(each.image, each.path, each.slot, each.tier, row, recovered, out)
        if len(out.saved) > before:
            out.mended += 1
            reason = "its place in the catalog is damaged; its record was found by its id"
            out.notes.append(Loss(id=row["id"], file=each.path, slot=each.slot, reason=reason))


def _keep_newest(
    partition: SavedPartition,
    slot: int,
    tier: int,
    record_id: int,
    row: dict[str, Any] | None,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> None:
    """Keep a record of a catalog that has lost commits: only the newest image of a memory."""
    assert out.history is not None
    if record_id in out.seen or out.history.places[record_id] != (partition.path, slot):
        return
    if record_id in out.history.dead:
        out.seen.add(record_id)
        if record_id in recovered.records:
            reason = "it was forgotten in a lost commit, or its newer record is lost"
            out.notes.append(Loss(id=record_id, file=partition.path, slot=slot, reason=reason))
        return
    if row is None and record_id not in out.history.moved:
        # it has another place only after a compaction, or by an outdated page
        row = recovered.records.get(record_id, recovered.older_records.get(record_id))
        row = row if row is None or is_row(row) else None
    _keep(partition.images[slot], partition.path, slot, tier, row, recovered, out, newest=True)


def _keep(
    record: Bytes,
    path: str,
    slot: int,
    tier: int,
    row: dict[str, Any] | None,
    recovered: RecoveredCatalog,
    out: Salvage,
    *,
    newest: bool = False,
) -> None:
    """Keep one memory. With ``newest``, row and text may be older than the record."""
    image = record.copy()
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    record_id = int(header["id"][0])
    words = recovered.contents.get(record_id)
    if row is not None and words is not None and not newest and not is_sealed_pair(row, words):
        out.lost.append(loss_of(row, recovered, path, "its text is not what was written"))
        out.seen.add(record_id)
        return
    if row is not None and not newest:
        _choose_strength(image, row, path, slot, recovered, out)
    if row is None or words is None or newest:
        row, words = _matching_pair(header, row, recovered, out)
    if words is None or row is None:
        out.wordless += 1
        reason = "its text is lost; its vector is kept, in quarantine and without a text"
        text = _text_of(record_id, recovered)
        if text is not None:
            reason += "; an older text of it may be this one"
        out.notes.append(Loss(id=record_id, file=path, slot=slot, reason=reason, text=text))
        row = _row_of(header, row)
        words = {"id": record_id, "text": ""}
        header["flags"] |= int(Flag.QUARANTINED)
    if not is_usable(header, row["event_ms"]):
        reason = "its strength or time is damaged"
        out.lost.append(loss_of(row, recovered, path, reason))
        out.seen.add(record_id)
        return
    header["tags"] = bloom(row, words)
    out.seen.add(record_id)
    out.saved.append(SavedMemory(record_id, tier, image, row, words))


def _choose_strength(
    image: Bytes,
    row: dict[str, Any],
    path: str,
    slot: int,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> None:
    """Choose the mutable half of a record: the catalog's, unless only the partition's is possible.

    No checksum covers either copy. After the journal has been applied they are equal, except after
    a power cut in relaxed mode, when the catalog is right. So a difference means damage, and a note
    asks the user to look at it.
    """
    block = image[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
    if block.tobytes() == row["mutable"]:
        return
    out.mended += 1
    header = image[:HEADER_BYTES].view(RECORD_DTYPE)
    own = block.copy()
    in_partition = _is_possible_half(header, row["event_ms"])
    block[:] = np.frombuffer(row["mutable"], np.uint8)
    taken = "catalog"
    if in_partition and not _is_possible_half(header, row["event_ms"]):
        block[:] = own
        taken = "partition"
    if UNSYNCED not in recovered.meta:
        reason = (
            "its flags or strength differ in partition and catalog, so one copy is damaged; the "
            f"{taken}'s was taken"
        )
        out.notes.append(Loss(id=row["id"], file=path, slot=slot, reason=reason))


def _is_possible_half(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a living record may have this mutable half."""
    flags = int(header["flags"][0])
    return is_usable(header, event_ms) and not flags & ~_FLAGS and not flags & Flag.TOMBSTONE


def _matching_pair(
    header: NDArray[np.void], row: dict[str, Any] | None, recovered: RecoveredCatalog, out: Salvage
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """A row and a text that the seal proves to belong together, and to this record."""
    record_id, event_ms = int(header["id"][0]), int(header["event_ms"][0])
    moved = out.history is not None and record_id in out.history.moved
    if moved and row is None:  # its text was changed, and it is unknown which one this is
        return None, None
    rows = [row, recovered.older_records.get(record_id)]
    found = [recovered.contents.get(record_id), recovered.older_contents.get(record_id)]
    for words in filter(None, found):
        for each in filter(None, rows):
            if each.get("event_ms") == event_ms and is_sealed_pair(each, words):
                return each, words
        again = row_of_words(record_id, event_ms, recovered.hints.get(record_id, {}), words)
        if again is not None and int(header["tags"][0]) == bloom(again, words):
            return again, words
    return row, None


def _text_of(record_id: int, recovered: RecoveredCatalog) -> str | None:
    for contents in (recovered.contents, recovered.older_contents):
        text = contents.get(record_id, {}).get("text")
        if isinstance(text, str):
            return text
    return None


def _row_of(header: NDArray[np.void], row: dict[str, Any] | None) -> dict[str, Any]:
    if row is not None:
        return row
    event_ms = int(header["event_ms"][0])
    return {"id": int(header["id"][0]), "event_ms": event_ms, "recorded_ms": event_ms}

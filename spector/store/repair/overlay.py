"""Partitions as a repair sees them: the file with the entries of the journal applied."""

from __future__ import annotations

from typing import Any

import numpy as np

from spector.errors import SpectorError
from spector.kernel import crc32c_rows
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, Flag, stride_of
from spector.records import Loss
from spector.store.catalog import JOURNAL_RECORDS
from spector.store.files import Bytes, DiskFiles
from spector.store.integrity import is_entry, lay_over
from spector.store.repair.remnants import RecoveredCatalog, SavedPartition, read_partition
from spector.store.repair.salvage import Identity, Salvage, is_lost

__all__ = ["read_saved"]


def read_saved(
    files: DiskFiles,
    path: str,
    segment: dict[str, Any] | None,
    identity: Identity,
    recovered: RecoveredCatalog,
    out: Salvage,
) -> SavedPartition | None:
    if segment is None and path not in out.later and not is_lost(recovered, "segment", 0):
        out.notes.append(Loss(file=path, reason="not a partition of this store; left out"))
        return None
    try:
        if not files.exists(path):
            out.notes.append(Loss(file=path, reason="the partition is missing"))
            return None
        found = read_partition(
            files,
            path,
            uuid=identity.uuid,
            dim=identity.dim,
            slots=None if segment is None else segment["slots"],
            ahead=out.commits_lost,
            placed=segment is not None,
        )
    except SpectorError as error:
        out.notes.append(Loss(file=path, reason=error.message))
        return None
    if found is None:
        out.notes.append(Loss(file=path, reason="it belongs to another store; left out"))
        return None
    if found.problem is not None:
        out.notes.append(Loss(file=path, reason=found.problem))
    if segment is not None and segment["slots"] is None:
        reason = "the catalog's count of its records is damaged"
        out.notes.append(Loss(file=path, reason=reason))
    if segment is not None:
        _overlay(found, segment, recovered, identity, out)
    return found


def _overlay(
    found: SavedPartition,
    segment: dict[str, Any],
    recovered: RecoveredCatalog,
    identity: Identity,
    out: Salvage,
) -> None:
    """Apply what was committed and not yet copied, as a recovery would."""
    entries = (
        tuple(row.get(name) for name in ("segment_id", "kind", "slot", "image"))
        for row in recovered.journal
        if row.get("segment_id") == segment["id"]
    )
    pending = [entry[1:] for entry in entries if is_entry(entry)]
    if not pending:
        return
    stride = stride_of(identity.dim)
    whole = np.zeros((_room(found, segment, pending, recovered, stride), stride), np.uint8)
    whole[: len(found.images)] = found.images
    before = whole.copy() if out.commits_lost else whole
    refused = lay_over(whole, pending, identity.uuid)
    if out.commits_lost:
        _keep_later_halves(before, whole)
    for slot in refused:
        reason = "the journal's image of this record is damaged; the partition's was taken"
        out.notes.append(Loss(file=found.path, slot=slot, reason=reason))
    found.images = whole
    crc = np.empty(len(whole), dtype=np.uint32)
    crc32c_rows(whole, crc, identity.uuid)
    found.sound = whole[:, 36:40].copy().view("<u4")[:, 0] == crc


def _room(
    found: SavedPartition,
    segment: dict[str, Any],
    pending: list[tuple[int, int, bytes]],
    recovered: RecoveredCatalog,
    stride: int,
) -> int:
    """How many slots the file has and the journal adds.

    A damaged entry may name any slot. One beyond the end of the file is accepted where the journal
    continues from there, or where the row of a memory is as far: then the file was cut off.
    """
    new = [(slot, len(image) // stride) for kind, slot, image in pending if kind == JOURNAL_RECORDS]
    present = len(found.images)
    most = present + sum(count for _, count in new)
    furthest = max((slot + count for slot, count in new), default=0)
    if furthest > most:
        own = [
            row["slot"]
            for row in recovered.records.values()
            if row.get("segment_id") == segment["id"] and type(row.get("slot")) is int
        ]
        most = max([most, *(slot + 1 for slot in own)])
    if segment["slots"] is not None:
        most = min(most, segment["slots"])
    return max([present, *(slot + count for slot, count in new if slot + count <= most)])


def _keep_later_halves(before: Bytes, after: Bytes) -> None:
    """Undo older mutable halves that the journal put over records (n, stride).

    An outdated journal lacks later writes: it would revive forgotten memories. Only its tombstones
    count.
    """
    end = MUTABLE_OFFSET + MUTABLE_BYTES
    same = (before[:, :MUTABLE_OFFSET] == after[:, :MUTABLE_OFFSET]).all(axis=1)
    same &= (before[:, end:] == after[:, end:]).all(axis=1)
    flags = after[:, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy().view("<u2")[:, 0]
    same &= (flags & int(Flag.TOMBSTONE)) == 0
    after[same, MUTABLE_OFFSET:end] = before[same, MUTABLE_OFFSET:end]

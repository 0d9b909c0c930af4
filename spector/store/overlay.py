"""Partitions as a repair sees them: what is sound in the file, under what the journal still has."""

from __future__ import annotations

from typing import Any

import numpy as np

from spector.errors import SpectorError
from spector.kernel.crc import crc32c_rows
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET, Flag, stride_of
from spector.records import Loss
from spector.store.files import Bytes, DiskFiles
from spector.store.redo import is_entry, lay_over
from spector.store.salvage import Remains, SavedPartition, read_partition
from spector.store.salvaged import Identity, Salvage, is_lost

__all__ = ["read_saved"]


def read_saved(
    files: DiskFiles, path: str, segment: dict[str, Any] | None, who: Identity, remains: Remains,
    out: Salvage,
) -> SavedPartition | None:
    if segment is None and path not in out.later and not is_lost(remains, "segment", 0):
        out.notes.append(Loss(file=path, reason="no partition of this store; left out"))
        return None
    try:
        if not files.exists(path):
            out.notes.append(Loss(file=path, reason="the partition is missing"))
            return None
        found = read_partition(
            files, path, uuid=who.uuid, dim=who.dim,
            slots=None if segment is None else segment["slots"], ahead=out.commits_lost,
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
        reason = "how many records the catalog counts in it is damaged; its own header was asked"
        out.notes.append(Loss(file=path, reason=reason))
    if segment is not None:
        _overlay(found, segment, remains, who, out)
    return found


def _overlay(
    found: SavedPartition, segment: dict[str, Any], remains: Remains, who: Identity, out: Salvage
) -> None:
    """What was committed and not yet copied, as a recovery would have."""
    entries = (
        tuple(row.get(name) for name in ("segment_id", "kind", "slot", "image"))
        for row in remains.journal if row.get("segment_id") == segment["id"]
    )
    pending = [entry[1:] for entry in entries if is_entry(entry)]
    if not pending:
        return
    stride, slots = stride_of(who.dim), segment["slots"]
    ends = [slot + max(1, len(image) // stride) for _, slot, image in pending]
    if slots is not None:  # what lies behind is no record of this partition's
        ends = [end for end in ends if end <= slots]
    whole = np.zeros((max([len(found.images), *ends]), stride), np.uint8)
    whole[: len(found.images)] = found.images
    before = whole.copy() if out.commits_lost else whole
    refused = lay_over(whole, pending, who.uuid)
    if out.commits_lost:
        _keep_later_halves(before, whole)
    for slot in refused:
        reason = "the journal's image of this record is damaged; what the partition has was taken"
        out.notes.append(Loss(file=found.path, slot=slot, reason=reason))
    found.images = whole
    crc = np.empty(len(whole), dtype=np.uint32)
    crc32c_rows(whole, crc, who.uuid)
    found.sound = whole[:, 36:40].copy().view("<u4")[:, 0] == crc


def _keep_later_halves(before: Bytes, after: Bytes) -> None:
    """Take back older mutable halves from records (n, stride) that had been copied long ago.

    A journal of a moment ago does not know what has been written since: it would bring back to life
    what was forgotten. Only the deaths that it knows of count.
    """
    end = MUTABLE_OFFSET + MUTABLE_BYTES
    same = (before[:, :MUTABLE_OFFSET] == after[:, :MUTABLE_OFFSET]).all(axis=1)
    same &= (before[:, end:] == after[:, end:]).all(axis=1)
    flags = after[:, MUTABLE_OFFSET : MUTABLE_OFFSET + 2].copy().view("<u2")[:, 0]
    same &= (flags & int(Flag.TOMBSTONE)) == 0
    after[same, MUTABLE_OFFSET:end] = before[same, MUTABLE_OFFSET:end]

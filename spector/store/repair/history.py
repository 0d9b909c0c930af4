"""What became of each memory, as the partitions alone tell it.

A catalog that has lost commits has rows that are out of date, while partitions are written right
after each commit. Slots are assigned in order and never reused, so of two images of one memory the
one in the later slot is newer, and a later tombstone means that it was forgotten.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spector.errors import SpectorError
from spector.layout import PARTITION_HEADER_BYTES
from spector.messages import counted
from spector.records import Loss
from spector.store.catalog import UNSYNCED
from spector.store.files import DiskFiles
from spector.store.repair.remnants import RecoveredCatalog, SavedPartition, whole_header

__all__ = ["PartitionHistory", "later_partitions", "read_history", "stem_of"]

_GENERATION = re.compile(r"(?:\.g\d+)?\.mem$")


@dataclass(slots=True)
class PartitionHistory:
    """The last state of every memory of which some partition has a sound image."""

    #: id -> (path, slot) of its newest image
    places: dict[int, tuple[str, int]] = field(default_factory=dict)
    #: ids whose newest image is a tombstone
    dead: set[int] = field(default_factory=set)
    #: ids that had another place before, not counting moves by a compaction
    moved: set[int] = field(default_factory=set)


def stem_of(path: str) -> str:
    """The name that all generations of a partition share."""
    return _GENERATION.sub("", path)


def read_history(
    paths: Iterable[str], read: Callable[[str], SavedPartition | None]
) -> PartitionHistory:
    """Read every partition once, in the order in which they were written."""
    found: list[tuple[tuple[int, int, int], str]] = []
    parts: dict[str, tuple[Any, Any, Any]] = {}
    for path in paths:
        part = read(path)
        if part is None:
            continue
        found.append((part.order, path))
        slots = np.flatnonzero(part.sound)
        parts[path] = slots, part.headers["id"][slots].copy(), part.alive[slots]
    out = PartitionHistory()
    days: dict[int, int] = {}
    for order, path in sorted(found):
        slots, ids, alive = parts[path]
        for slot, record_id, lives in zip(
            slots.tolist(), ids.tolist(), alive.tolist(), strict=True
        ):
            before = out.places.get(record_id)
            if before is not None and (before[0] == path or stem_of(before[0]) != stem_of(path)):
                out.moved.add(record_id)
            if (
                before is not None
                and not lives
                and days[record_id] != order[0]
                and record_id not in out.dead
            ):
                continue  # it moved from one day to another, in an unknown order
            out.places[record_id], days[record_id] = (path, slot), order[0]
            out.dead.discard(record_id)
            if not lives:
                out.dead.add(record_id)
    return out


def later_partitions(
    files: DiskFiles,
    recovered: RecoveredCatalog,
    uuid: bytes,
    named: Mapping[int, Mapping[str, Any]],
) -> list[Loss]:
    """Partitions with commits that the catalog has lost.

    None for a relaxed writer, whose newest commits a power cut may undo.
    """
    if UNSYNCED in recovered.meta or any(lost.table in ("*", "segment") for lost in recovered.lost):
        return []
    by_path = {str(row["path"]): row for row in named.values()}
    present = files.listing()
    # generations that a compaction was replacing, or had replaced
    known = {
        stem_of(str(row["path"]))
        for row in recovered.segments
        if row["id"] not in named or row["path"] in present
    }
    out = []
    for path in present:
        header = _header(files, path, uuid) if path.endswith(".mem") else None
        if header is None:
            continue
        slots, dead = int(header["count"] + header["tombstone_count"]), header["tombstone_count"]
        row = by_path.get(path)
        if row is None:
            if slots and stem_of(path) not in known:
                reason = f"{counted(slots, 'record')} of this store that the catalog does not know"
                out.append(Loss(file=path, reason=reason))
        elif (
            header["generation"] == row.get("generation")
            and _has_counts(row)
            and (slots > row["slots"] or dead > row["slots"] - row["live"])
        ):
            reason = "it is of a later commit than the catalog, which has lost some"
            out.append(Loss(file=path, reason=reason))
    return out


def _has_counts(row: Mapping[str, Any]) -> bool:
    """True when the row has possible counts of slots and living memories."""
    live, slots = row.get("live"), row["slots"]
    return type(live) is int and slots is not None and 0 <= live <= slots


def _header(files: DiskFiles, path: str, uuid: bytes) -> Any:
    with contextlib.suppress(SpectorError):
        file = files.open(path, writable=False)
        try:
            header = whole_header(file.read_at(0, PARTITION_HEADER_BYTES))
        finally:
            file.close()
        if header is not None and header["store_uuid"].tobytes() == uuid:
            return {name: int(header[name]) for name in ("count", "tombstone_count", "generation")}
    return None

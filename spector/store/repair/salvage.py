"""What a repair has found of a store so far, and the questions that all of its parts ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.clock import MAX_MS, MIN_MS
from spector.layout import MUTABLE_BYTES
from spector.records import Loss
from spector.store.catalog import ROW
from spector.store.files import Bytes
from spector.store.repair.history import PartitionHistory
from spector.store.repair.remnants import RecoveredCatalog

__all__ = [
    "Embed",
    "Identity",
    "MisplacedRecord",
    "Salvage",
    "SavedMemory",
    "is_lost",
    "is_row",
    "is_usable",
    "loss_of",
    "tier_of",
]

#: texts -> (n, dim) f32 vectors by the model of the store; None if it does not work
Embed = Callable[[list[str]], NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which store this is; what is unknown of the model is empty."""

    uuid: bytes
    dim: int
    model_id: str = ""
    fingerprint: str = ""
    #: False when nothing tells which model made the vectors, or that none did
    model_known: bool = True


@dataclass(slots=True)
class SavedMemory:
    """One memory on its way into the new store."""

    id: int
    tier: int
    #: (stride,) u8, its checksum still that of the source
    image: Bytes
    row: dict[str, Any]
    words: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class MisplacedRecord:
    """A living record at another place than the row of its memory names."""

    #: (stride,) u8
    image: Bytes
    path: str
    slot: int
    tier: int


@dataclass(slots=True)
class Salvage:
    """Everything that was found."""

    saved: list[SavedMemory] = field(default_factory=list)
    lost: list[Loss] = field(default_factory=list)
    notes: list[Loss] = field(default_factory=list)
    wordless: int = 0
    mended: int = 0
    seen: set[int] = field(default_factory=set)
    #: by id
    misplaced: dict[int, list[MisplacedRecord]] = field(default_factory=dict)
    #: ids whose rows name a damaged record
    hit: set[int] = field(default_factory=set)
    #: the catalog has lost commits: there may have been memories that nothing names
    commits_lost: bool = False
    #: what became of each memory after the commits that the catalog has lost
    history: PartitionHistory | None = None
    #: partitions of commits that the catalog does not have
    later: set[str] = field(default_factory=set)


def is_row(row: dict[str, Any]) -> bool:
    whole = all(type(row.get(name)) is int for name in ROW[:5])
    mutable = row.get("mutable")
    return whole and row["slot"] >= 0 and type(mutable) is bytes and len(mutable) == MUTABLE_BYTES


def is_lost(recovered: RecoveredCatalog, table: str, record_id: int) -> bool:
    return any(
        lost.table in ("*", table) and (table == "segment" or lost.low <= record_id <= lost.high)
        for lost in recovered.lost
    )


def tier_of(segment: dict[str, Any] | None) -> int:
    """The tier of a partition's row, or -1 when it is unknown."""
    return -1 if segment is None or segment["tier"] is None else int(segment["tier"])


def is_usable(header: NDArray[np.void], event_ms: int) -> bool:
    """True when a check of the new store would accept the header's numbers and time."""
    numbers = [float(header[name][0]) for name in ("scale", "importance", "utility")]
    stability = float(header["stability_days"][0])
    sound = all(0 <= n <= 1 for n in numbers) and 0 < stability < 1e30
    return sound and MIN_MS <= event_ms <= MAX_MS


def loss_of(
    row: dict[str, Any], recovered: RecoveredCatalog, path: str | None, reason: str
) -> Loss:
    text = recovered.contents.get(row["id"], {}).get("text")
    slot = row.get("slot")
    return Loss(
        id=row["id"],
        file=path,
        slot=slot if isinstance(slot, int) else None,
        reason=reason,
        text=text if isinstance(text, str) else None,
    )

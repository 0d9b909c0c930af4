"""What a scan sees of a store: all partitions at one moment, and the tiers they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spector.store.partitions import Partition

__all__ = ["TierFiles", "View"]


@dataclass(frozen=True, slots=True)
class TierFiles:
    """What the store must know about a tier to name and stamp its files."""

    code: int
    name: str
    magic: int
    #: path of a partition from its day (or -1), sequence and generation
    path: Callable[[int, int, int], str]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All partitions with live records at one moment, in the order of tier, day, sequence."""

    partitions: tuple[Partition, ...]
    change_seq: int
    retire_epoch: int
    #: ``Store.moves`` at that moment
    moves: int = 0

"""Episodic tier: events, in partitions by the UTC day of the event (not of the write)."""

from __future__ import annotations

from spector.clock import MS_PER_DAY, day_of_ms, iso_of_day
from spector.config import Config
from spector.layout import TierCode
from spector.store.catalog import SegmentRow
from spector.store.partitions import Partition
from spector.tiers.base import PartitionedTier, _suffix

__all__ = ["EpisodicTier"]


class EpisodicTier(PartitionedTier):
    """Unbounded; a late event goes to its own day, into a new partition if that is sealed."""

    name = "episodic"
    code = int(TierCode.EPISODIC)

    def default_capacity(self, config: Config) -> int:
        return config.episodic_capacity

    def group_of(self, event_ms: int) -> int:
        return day_of_ms(event_ms)

    def path(self, day: int, sequence: int, generation: int) -> str:
        return f"{self.name}/{iso_of_day(day)}-{sequence:03d}{_suffix(generation)}.mem"

    def finished(self, row: SegmentRow, now_ms: int) -> bool:
        return row.slots >= row.capacity or row.day < day_of_ms(now_ms)

    def may_hold(self, partition: Partition, min_ms: int, max_ms: int) -> bool:
        start = partition.day * MS_PER_DAY
        return start < max_ms and start + MS_PER_DAY > min_ms

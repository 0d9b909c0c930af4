"""Semantic tier: knowledge without a day, in partitions that roll when full."""

from __future__ import annotations

from spector.config import Config
from spector.layout import TierCode
from spector.store.core import Store
from spector.store.rewriting import Rewrite, split_partition
from spector.tiers.base import PartitionedTier

__all__ = ["LEGACY_PATHS", "SemanticTier"]

#: paths of the whole tier before it was partitioned
LEGACY_PATHS = ("semantic.mem", "semantic/semantic.mem")


class SemanticTier(PartitionedTier):
    """Unbounded, in ``semantic-NNN.mem`` files of a fixed capacity."""

    name = "semantic"
    code = int(TierCode.SEMANTIC)

    def default_capacity(self, config: Config) -> int:
        return config.semantic_capacity

    def attach(self, store: Store, config: Config) -> None:
        super().attach(store, config)
        if store.writable:
            self.migrate()

    def migrate(self) -> list[Rewrite]:
        """Split a single-file tier into partitions, in one transaction."""
        old = [s.row.id for s in self.store.segments.values() if s.row.path in LEGACY_PATHS]
        return [split_partition(self.store, i, capacity=self.capacity) for i in old]

"""Procedural tier: rules and learned procedures; append-only, small partitions."""

from __future__ import annotations

from spector.config import Config
from spector.layout import TierCode
from spector.tiers.base import PartitionedTier

__all__ = ["ProceduralTier"]


class ProceduralTier(PartitionedTier):
    """Unbounded; forgotten records are compacted as in other tiers."""

    name = "procedural"
    code = int(TierCode.PROCEDURAL)

    def default_capacity(self, config: Config) -> int:
        return config.procedural_capacity

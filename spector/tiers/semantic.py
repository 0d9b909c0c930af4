"""Semantic tier: knowledge without a day, in partitions that roll when full."""

from __future__ import annotations

from spector.config import Config
from spector.layout import TierCode
from spector.tiers.base import PartitionedTier

__all__ = ["SemanticTier"]


class SemanticTier(PartitionedTier):
    """Unbounded, in ``semantic-NNN.mem`` files of a fixed capacity."""

    name = "semantic"
    code = int(TierCode.SEMANTIC)

    def default_capacity(self, config: Config) -> int:
        return config.semantic_capacity

"""A tier from outside the package, as a user would write one."""

from __future__ import annotations

from spector import PartitionedTier
from spector.config import Config


class FlashTier(PartitionedTier):
    """Vivid moments, a few to a file."""

    name = "flash"
    code = 40

    def default_capacity(self, config: Config) -> int:
        return 4


class SparkTier(PartitionedTier):
    """The same, but gone with the process."""

    name = "spark"
    code = 41
    volatile = True

    def default_capacity(self, config: Config) -> int:
        return 4

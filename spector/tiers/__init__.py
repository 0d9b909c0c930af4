"""The memory tiers, which differ in where records go, and their registry."""

from __future__ import annotations

from spector.tiers.base import PartitionedTier, Placement, PlacesByUser, TierStore
from spector.tiers.router import Finder, TierRouter, default_tiers, key_path, unknown

"""Writes partitions anew: compaction, other vectors, another format."""

from __future__ import annotations

from spector.store.rewriting.compaction import (
    Arrangement,
    Rewrite,
    compact_partition,
    live_images,
)
from spector.store.rewriting.migrations import next_step
from spector.store.rewriting.rewriting import Progress, rewrite_all

__all__ = [
    "Arrangement",
    "Progress",
    "Rewrite",
    "compact_partition",
    "live_images",
    "next_step",
    "rewrite_all",
]

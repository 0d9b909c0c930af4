"""Writes partitions anew: compaction, other vectors, another format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
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

__getattr__ = on_first_use(__name__)

"""What a recall asks of a scan, and what the scan says of its phases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spector.config import Config
from spector.kernel.contract import (
    DROP_PHASES,
    Query,
    ScanResult,
    empty_result,
    make_query,
    tag_mask,
)
from spector.layout import Flag
from spector.lexical import WordView
from spector.records import ScanStats
from spector.search.view.plan import RecallRequest
from spector.search.view.snapshot import Snapshot

__all__ = ["lacks_words", "query_of", "scored_all", "stats_of"]


def query_of(request: RecallRequest, config: Config, version: int) -> Query:
    """The question to a scan."""
    selection = request.selection
    drop = request.drop_flags
    if request.by_catalog:
        drop &= ~int(Flag.SUPERSEDED)
    any_masks = [tag_mask(tag, version) for tag in selection.any_tags]
    tags_all = selection.bloom_all(version)
    overlap = tags_all
    for mask in any_masks:
        overlap |= mask
    return make_query(
        now_ms=request.now_ms, vector=request.vector, profile=request.profile,
        tags_all=tags_all, any_masks=any_masks, overlap_mask=overlap,
        valence_min=request.valence[0], valence_max=request.valence[1],
        event_min_ms=selection.min_ms, event_max_ms=selection.max_ms,
        importance_floor=request.min_importance, drop_flags=drop,
        modality_mask=request.modality_mask, category_mask=request.category_mask,
        mood=request.mood,
        recall_confidence=0.0 if request.exact else config.recall_confidence,
    )


def lacks_words(snap: Snapshot, views: Sequence[WordView]) -> bool:
    """Whether there are records that the words know nothing of: rows of the catalog are damaged."""
    live = sum(partition.live for view in snap.views for partition in view.partitions)
    return live != sum(view.n_rows for view in views)


def scored_all(snap: Snapshot, scored: int) -> ScanResult:
    """What a scan without gates would say of its phases."""
    rows = int(snap.table.rows)
    drops = np.zeros(len(DROP_PHASES), np.uint64)
    drops[DROP_PHASES.index("state")] = rows - scored
    return empty_result(drops, rows, scored)


def stats_of(
    snap: Snapshot, select: list[int] | None, result: ScanResult, backend: str
) -> ScanStats:
    state, dropped_filter, tags, valence, strength, similarity, bound = (
        result.drops.tolist()
    )
    used = len(snap.table) if select is None else len(select)
    return ScanStats(
        scanned=result.scanned, dropped_state=state, dropped_filter=dropped_filter,
        dropped_tags=tags, dropped_valence=valence, dropped_strength=strength,
        dropped_similarity=similarity, skipped_bound=bound, scored=result.scored,
        partitions=used, partitions_skipped=len(snap.table) - used, backend=backend,
    )

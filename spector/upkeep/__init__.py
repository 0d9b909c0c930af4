"""Keeps the files small and clean: compaction, order, erasure, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.upkeep.compaction import compact_all, due_paths
    from spector.upkeep.counting import (
        FlagCounts,
        count_flags,
        count_of,
        has_one_user,
        receipt_within,
        tiers_of,
        users_of,
    )
    from spector.upkeep.erasure import is_overdue
    from spector.upkeep.keeper import Keeper
    from spector.upkeep.ordering import Clustered, cluster_due
    from spector.upkeep.sealing import (
        has_failed,
        index_rest,
        mark_reflectable,
        seal_finished,
    )

__all__ = [
    "Clustered",
    "FlagCounts",
    "Keeper",
    "cluster_due",
    "compact_all",
    "count_flags",
    "count_of",
    "due_paths",
    "has_failed",
    "has_one_user",
    "index_rest",
    "is_overdue",
    "mark_reflectable",
    "receipt_within",
    "seal_finished",
    "tiers_of",
    "users_of",
]

__getattr__ = on_first_use(__name__)

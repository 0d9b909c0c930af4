"""Keeps the files small and clean: compaction, order, erasure, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.upkeep.compaction import (
        Clustered,
        cluster_due,
        compact_all,
        due_paths,
        has_failed,
        index_rest,
        mark_reflectable,
        seal_finished,
    )
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


__getattr__ = on_first_use(__name__)

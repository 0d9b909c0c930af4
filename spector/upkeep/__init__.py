"""Keeps the files small and clean: compaction, order, erasure, counts."""

from __future__ import annotations

from spector.upkeep.compaction import (
    compact_all,
    due_partitions,
)
from spector.upkeep.counting import (
    count_of,
    has_one_user,
    receipt_within,
    tiers_of,
    users_of,
)
from spector.upkeep.erasure import (
    is_overdue,
)
from spector.upkeep.ordering import (
    cluster_due,
)

__all__ = [
    "cluster_due",
    "compact_all",
    "count_of",
    "due_partitions",
    "has_one_user",
    "is_overdue",
    "receipt_within",
    "tiers_of",
    "users_of",
]

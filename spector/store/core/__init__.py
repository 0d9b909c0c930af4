"""The store itself: its state, its transactions, its records."""

from __future__ import annotations

from spector.store.core.details import complete_records, details_in, is_of_one_moment
from spector.store.core.records import (
    current_image,
    damaged_record,
    header_columns,
    header_of,
    tags_and_links,
    to_record,
    to_records,
    verified_image,
    verify_strength,
)
from spector.store.core.store import Store
from spector.store.core.strengths import NO_END, STRENGTH_DTYPE, Strengths, read_strengths
from spector.store.core.transaction import Transaction
from spector.store.core.view import TierFiles, View

__all__ = [
    "NO_END",
    "STRENGTH_DTYPE",
    "Store",
    "Strengths",
    "TierFiles",
    "Transaction",
    "View",
    "complete_records",
    "current_image",
    "damaged_record",
    "details_in",
    "header_columns",
    "header_of",
    "is_of_one_moment",
    "read_strengths",
    "tags_and_links",
    "to_record",
    "to_records",
    "verified_image",
    "verify_strength",
]

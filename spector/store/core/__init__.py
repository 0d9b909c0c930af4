"""The store itself: its state, its transactions, its records."""

from __future__ import annotations

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
from spector.store.core.store import (
    Store,
    TierFiles,
    View,
)
from spector.store.core.transaction import (
    Transaction,
)

__all__ = [
    "Store",
    "TierFiles",
    "Transaction",
    "View",
    "current_image",
    "damaged_record",
    "header_columns",
    "header_of",
    "tags_and_links",
    "to_record",
    "to_records",
    "verified_image",
    "verify_strength",
]

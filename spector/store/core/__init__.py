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
    BACKUP_NOTE,
    RELAXED_LOG,
    UNSYNCED,
    Store,
    TierFiles,
    View,
)
from spector.store.core.transaction import (
    JOURNAL_MUTABLE,
    JOURNAL_RECORDS,
    JOURNAL_RETIRE,
    Transaction,
)

__all__ = [
    "BACKUP_NOTE",
    "JOURNAL_MUTABLE",
    "JOURNAL_RECORDS",
    "JOURNAL_RETIRE",
    "RELAXED_LOG",
    "UNSYNCED",
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

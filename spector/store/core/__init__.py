"""The store itself: its state, its transactions, its records."""

from __future__ import annotations

from spector.store.core.records import (
    NO_END,
    STRENGTH_DTYPE,
    Strengths,
    complete_records,
    current_image,
    damaged_record,
    header_columns,
    header_of,
    is_of_one_moment,
    read_strengths,
    tags_and_links,
    to_record,
    to_records,
    verified_image,
    verify_strength,
)
from spector.store.core.snapshots import StoreContext, TierFiles, View
from spector.store.core.store import Store, record_nothing
from spector.store.core.transaction import Transaction

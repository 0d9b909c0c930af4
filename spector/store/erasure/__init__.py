"""Makes forgotten words unreadable, and searches every byte for what is left of them."""

from __future__ import annotations

from spector.store.erasure.catalog import (
    Due,
    awaits_erasure,
    derived_from,
    due_of,
    left_in,
    needs_purge,
    note_erasure,
    postpone,
    purge,
    settle,
    wipe_dead,
)
from spector.store.erasure.search import (
    Needles,
    strange_files,
    verify,
)

__all__ = [
    "Due",
    "Needles",
    "awaits_erasure",
    "derived_from",
    "due_of",
    "left_in",
    "needs_purge",
    "note_erasure",
    "postpone",
    "purge",
    "settle",
    "strange_files",
    "verify",
    "wipe_dead",
]

"""Copies whole stores, at once or not at all."""

from __future__ import annotations

from spector.store.backup.copy import copy_store
from spector.store.backup.destination import Destination, building, clear, file_beside

__all__ = [
    "Destination",
    "building",
    "clear",
    "copy_store",
    "file_beside",
]

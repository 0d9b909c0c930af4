"""Copies whole stores, at once or not at all."""

from __future__ import annotations

from spector.store.backup.copy import copy_store
from spector.store.backup.destination import Destination, file_beside
from spector.store.backup.staging import building, clear

__all__ = [
    "Destination",
    "building",
    "clear",
    "copy_store",
    "file_beside",
]

"""Copies whole stores, at once or not at all."""

from __future__ import annotations

from spector.store.backup.copy import copy_store
from spector.store.backup.destination import Destination, building, clear, file_beside

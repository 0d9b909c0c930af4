"""Who takes part. Engines are imported when their turn comes, each in a process of its own."""

from __future__ import annotations

from bench.rivals.contenders.base import Contender, Entry, UnsupportedError
from bench.rivals.contenders.registry import ENTRIES, entry_named

__all__ = ["ENTRIES", "Contender", "Entry", "UnsupportedError", "entry_named"]

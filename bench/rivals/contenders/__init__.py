"""The contenders. Each engine is imported when its turn comes, in its own process."""

from __future__ import annotations

from bench.rivals.contenders.base import Contender, Entry, UnsupportedError
from bench.rivals.contenders.registry import ENTRIES, entry_named

__all__ = ["ENTRIES", "Contender", "Entry", "UnsupportedError", "entry_named"]

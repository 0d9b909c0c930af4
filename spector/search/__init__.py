"""Finding memories: what is ranked, by which evidence, in which order."""

from __future__ import annotations

from spector.search.searcher import (
    Reader,
)

__all__ = [
    "Reader",
]

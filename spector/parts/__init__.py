"""The parts of one memory: what its verbs hand their work to, and when these may be used."""

from __future__ import annotations

from spector.parts.lifetime import Access, Lifetime
from spector.parts.parts import Parts
from spector.parts.stores import abandon, cycle_turn, open_stores

__all__ = [
    "Access",
    "Lifetime",
    "Parts",
    "abandon",
    "cycle_turn",
    "open_stores",
]

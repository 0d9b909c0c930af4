"""Finds memories for a plan, ranked by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.associations import is_bare_node, known_from
    from spector.search.hot import HotTier, hot_hit
    from spector.search.listing import TRUSTED_S, Listing, parse_page
    from spector.search.neighbours import Neighbour, Neighbours, Slot
    from spector.search.searcher import POOL, Searcher
    from spector.search.survey import NO_END, Strengths, Surveyor, Words

__all__ = [
    "NO_END",
    "POOL",
    "TRUSTED_S",
    "HotTier",
    "Listing",
    "Neighbour",
    "Neighbours",
    "Searcher",
    "Slot",
    "Strengths",
    "Surveyor",
    "Words",
    "hot_hit",
    "is_bare_node",
    "known_from",
    "parse_page",
]

__getattr__ = on_first_use(__name__)

"""Kinds of memories within a tier, by origin, category and words (Cognitive Memory v9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from spector.layout import Category

__all__ = ["SUB_TIERS", "sub_tier_of"]

#: sub-tier -> factor of the score of a memory
SUB_TIERS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "personal": 1.1,
        "observed": 1.0,
        "vicarious": 0.9,
        "schematic": 1.1,
        "procedural": 1.05,
        "factual": 1.0,
    }
)
#: words of what holds always; suffixes of Turkish words may follow
_SCHEMATIC: Final = re.compile(
    r"\b(?:always|never|rules?|asla|her zaman|daima|kural\w*)\b", re.IGNORECASE
)
_PROCEDURAL: Final = re.compile(r"\b(?:how to|how do (?:i|we|you)|nas[ıi]l)\b", re.IGNORECASE)


def sub_tier_of(tier: str, category: Category, data_source: str, text: str) -> str:
    """The sub-tier of a memory; "" in tiers that have none."""
    judge = _JUDGES.get(tier)
    return "" if judge is None else judge(category, data_source, text)


def _by_source(category: Category, data_source: str, text: str) -> str:
    sources = {"user_message": "personal", "federation": "vicarious"}
    return sources.get(data_source, "observed")


def _by_words(category: Category, data_source: str, text: str) -> str:
    if category is Category.PATTERN or _SCHEMATIC.search(text):
        return "schematic"
    if category is Category.PROCEDURE or _PROCEDURAL.search(text):
        return "procedural"
    return "factual"


#: tier -> what tells its kinds apart; other tiers have none
_JUDGES: Final[Mapping[str, Callable[[Category, str, str], str]]] = MappingProxyType(
    {"episodic": _by_source, "semantic": _by_words}
)

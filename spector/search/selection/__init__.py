"""Which of the ranked memories are shown: different words, newer first, no floods."""

from __future__ import annotations

from spector.search.selection.diversity import (
    CUT,
    SEMANTIC,
    SEMANTIC_CUT,
    few_of_each,
    most_diverse,
    near_the_best,
    unrepeated,
)
from spector.search.selection.floods import (
    DEEP,
    WINDOW,
    believed,
    is_doubted,
    without_floods,
)
from spector.search.selection.newer import (
    LOOKED_AT,
    MOST_VERSIONS,
    asks_for_now,
    continued,
    newer_first,
    outdated,
)
from spector.search.selection.origins import (
    label,
    origin_beside,
    origin_of,
    quoted,
)
from spector.search.selection.rescoring import (
    rescored,
)
from spector.search.selection.standing import (
    MOST,
    Embed,
    Standing,
    is_looked_for,
)

__all__ = [
    "CUT",
    "DEEP",
    "LOOKED_AT",
    "MOST",
    "MOST_VERSIONS",
    "SEMANTIC",
    "SEMANTIC_CUT",
    "WINDOW",
    "Embed",
    "Standing",
    "asks_for_now",
    "believed",
    "continued",
    "few_of_each",
    "is_doubted",
    "is_looked_for",
    "label",
    "most_diverse",
    "near_the_best",
    "newer_first",
    "origin_beside",
    "origin_of",
    "outdated",
    "quoted",
    "rescored",
    "unrepeated",
    "without_floods",
]

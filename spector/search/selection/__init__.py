"""Which of the ranked memories are shown: different words, newer first, no floods."""

from __future__ import annotations

from spector.search.selection.diversity import (
    CUT,
    SEMANTIC,
    SEMANTIC_CUT,
    choose_diverse,
    limit_per_session,
    near_the_best,
    without_repeats,
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
    move_newer_first,
    outdated,
)
from spector.search.selection.origins import (
    label,
    origin_beside,
    origin_of,
    quote_text,
)
from spector.search.selection.rescoring import (
    with_score,
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
    "choose_diverse",
    "continued",
    "is_doubted",
    "is_looked_for",
    "label",
    "limit_per_session",
    "move_newer_first",
    "near_the_best",
    "origin_beside",
    "origin_of",
    "outdated",
    "quote_text",
    "with_score",
    "without_floods",
    "without_repeats",
]

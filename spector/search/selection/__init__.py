"""Which of the ranked memories are shown: different words, newer first, no floods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.selection.diversity import (
        CUT,
        SEMANTIC,
        SEMANTIC_CUT,
        choose_diverse,
        limit_per_session,
        near_the_best,
        own_scores,
        without_repeats,
    )
    from spector.search.selection.floods import (
        DEEP,
        WINDOW,
        demote_floods,
        is_doubted,
        trusted_candidates,
    )
    from spector.search.selection.newer import (
        LOOKED_AT,
        MOST_VERSIONS,
        extend_series,
        has_value_asked,
        move_newer_first,
        newer_values,
        newer_versions,
        put_newer_before,
    )
    from spector.search.selection.origins import (
        is_word_of_user,
        label,
        origin_beside,
        origin_of,
        quote_text,
    )
    from spector.search.selection.rescoring import raise_above, with_score
    from spector.search.selection.standing import MOST, Embed, Standing

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
    "choose_diverse",
    "demote_floods",
    "extend_series",
    "has_value_asked",
    "is_doubted",
    "is_word_of_user",
    "label",
    "limit_per_session",
    "move_newer_first",
    "near_the_best",
    "newer_values",
    "newer_versions",
    "origin_beside",
    "origin_of",
    "own_scores",
    "put_newer_before",
    "quote_text",
    "raise_above",
    "trusted_candidates",
    "with_score",
    "without_repeats",
]

__getattr__ = on_first_use(__name__)

"""Finds memories for a plan, ranked by evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.associations import is_bare_node, known_from
    from spector.search.hot import HotTier, hot_hit
    from spector.search.listing import TRUSTED_S, Listing, parse_page
    from spector.search.neighbours import Neighbour, Neighbours
    from spector.search.origins import (
        is_word_of_user,
        label,
        origin_beside,
        origin_of,
        quote_text,
        visible,
    )
    from spector.search.probes import Limits, Probes
    from spector.search.request import (
        EVERYTHING_SAID,
        NO_READING,
        Asked,
        Cue,
        Reading,
        RecallRequest,
        Selection,
        pinned_request,
        told_within,
        until,
        with_rested,
        within,
    )
    from spector.search.searcher import POOL, Searcher
    from spector.search.selection import (
        CUT,
        SEMANTIC,
        SEMANTIC_CUT,
        near_the_best,
        own_scores,
        with_score,
        without_repeats,
    )
    from spector.search.snapshot import confine
    from spector.search.survey import NO_END, Strengths, SurveyedText, Surveyor


__getattr__ = on_first_use(__name__)

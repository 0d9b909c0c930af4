"""What a cue or a memory brings to mind: names, ties and typed items, read for a recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.knowledge.association.names import (
        entities_of_cue,
        facts_of_cue,
        procedures_of_cue,
    )
    from spector.knowledge.association.themes import (
        MOST_MEMBERS,
        themes_about,
        themes_among,
        themes_named,
    )
    from spector.knowledge.association.ties import (
        GAIN,
        conflicts_of,
        kin_of,
        neighbours_of,
        order_of,
        partners_of,
        plan_pairs,
        reached_from,
    )
    from spector.knowledge.association.typed import typed_items

__all__ = [
    "GAIN",
    "MOST_MEMBERS",
    "conflicts_of",
    "entities_of_cue",
    "facts_of_cue",
    "kin_of",
    "neighbours_of",
    "order_of",
    "partners_of",
    "plan_pairs",
    "procedures_of_cue",
    "reached_from",
    "themes_about",
    "themes_among",
    "themes_named",
    "typed_items",
]

__getattr__ = on_first_use(__name__)

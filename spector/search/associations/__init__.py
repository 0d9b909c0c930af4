"""What knowledge adds to a search: scores by entities and use, ties of the best hits, types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.associations.expansion import (
        Associations,
    )
    from spector.search.associations.knowing import is_bare_node, known_from, themes_of_cue
    from spector.search.associations.modifiers import (
        ASSOCIATIVE,
    )
    from spector.search.associations.reading import (
        has_details,
        knowledge_of,
    )

__all__ = [
    "ASSOCIATIVE",
    "Associations",
    "has_details",
    "is_bare_node",
    "knowledge_of",
    "known_from",
    "themes_of_cue",
]

__getattr__ = on_first_use(__name__)

"""What knowledge adds to a search: scores by entities and use, ties of the best hits, types."""

from __future__ import annotations

from spector.search.associations.expansion import (
    Associations,
)
from spector.search.associations.modifiers import (
    ASSOCIATIVE,
)

__all__ = [
    "ASSOCIATIVE",
    "Associations",
]

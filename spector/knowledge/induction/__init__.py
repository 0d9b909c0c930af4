"""What episodes teach by themselves: concepts, associations, patterns, rhythms, their ageing."""

from __future__ import annotations

from spector.knowledge.induction.extraction import (
    Element,
    Extracted,
    Named,
    concept_of,
    elements_among,
    named_after,
    plan_extraction,
    shared_entities,
)

__all__ = [
    "Element",
    "Extracted",
    "Named",
    "concept_of",
    "elements_among",
    "named_after",
    "plan_extraction",
    "shared_entities",
]

"""What episodes teach by themselves: concepts, associations, patterns, rhythms, their ageing."""

from __future__ import annotations

from spector.knowledge.induction.ageing import ConceptUse, concepts_to_retire
from spector.knowledge.induction.associations import (
    Association,
    associations_of,
    evidence_of,
    plan_associations,
)
from spector.knowledge.induction.extraction import (
    Element,
    Extracted,
    Named,
    concept_of,
    elements_among,
    named_after,
    named_in,
    plan_extraction,
    shared_entities,
)
from spector.knowledge.induction.moving import plan_moved_references
from spector.knowledge.induction.operations import Trend, trend_of
from spector.knowledge.induction.promotion import (
    CAUSAL,
    OPERATIONAL,
    Admitted,
    admitted,
    causal_candidates,
    is_same_pattern,
    operational_candidates,
    plan_promotion,
)
from spector.knowledge.induction.rhythms import TIME_OF_DAY, phases_of, plan_rhythms

__all__ = [
    "CAUSAL",
    "OPERATIONAL",
    "TIME_OF_DAY",
    "Admitted",
    "Association",
    "ConceptUse",
    "Element",
    "Extracted",
    "Named",
    "Trend",
    "admitted",
    "associations_of",
    "causal_candidates",
    "concept_of",
    "concepts_to_retire",
    "elements_among",
    "evidence_of",
    "is_same_pattern",
    "named_after",
    "named_in",
    "operational_candidates",
    "phases_of",
    "plan_associations",
    "plan_extraction",
    "plan_moved_references",
    "plan_promotion",
    "plan_rhythms",
    "shared_entities",
    "trend_of",
]

"""What episodes teach by themselves: concepts, associations, patterns, rhythms, their ageing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.knowledge.induction.ageing import ConceptUse, concepts_to_retire
    from spector.knowledge.induction.associations import (
        associations_of,
    )
    from spector.knowledge.induction.extraction import (
        Element,
        Extracted,
        Named,
        concept_of,
        members_of_shared_entities,
        named_after,
        named_in,
        plan_extraction,
    )
    from spector.knowledge.induction.lessons import Lesson, lessons_of, plan_lesson
    from spector.knowledge.induction.moving import plan_moved_references
    from spector.knowledge.induction.operations import Trend, trend_text
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
    from spector.knowledge.induction.runs import (
        Practice,
        plan_practice,
        practice_text,
        practices_of,
        runs_of,
    )

__all__ = [
    "CAUSAL",
    "OPERATIONAL",
    "TIME_OF_DAY",
    "Admitted",
    "ConceptUse",
    "Element",
    "Extracted",
    "Lesson",
    "Named",
    "Practice",
    "Trend",
    "admitted",
    "associations_of",
    "causal_candidates",
    "concept_of",
    "concepts_to_retire",
    "is_same_pattern",
    "lessons_of",
    "members_of_shared_entities",
    "named_after",
    "named_in",
    "operational_candidates",
    "phases_of",
    "plan_extraction",
    "plan_lesson",
    "plan_moved_references",
    "plan_practice",
    "plan_promotion",
    "plan_rhythms",
    "practice_text",
    "practices_of",
    "runs_of",
    "trend_text",
]

__getattr__ = on_first_use(__name__)

"""What the memories say, typed: facts, entities, relations and the graph that ties them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use
from spector.language.words import concept_key, entity_uri, folded, normalize_tokens
from spector.store.payloads import DESCRIBING, PAYLOAD_FACETS, checked_json, encode

if TYPE_CHECKING:
    from spector.knowledge.changes import Changes, New
    from spector.knowledge.concepts import (
        LAYERS,
        PROVENANCES,
        checked_pair,
        checked_properties,
        concept_text,
        concepts_named,
        concepts_with,
        layer_name,
        layer_of,
        plan_concept,
        plan_concept_met,
        plan_reference,
        plan_reinforcement,
        plan_without_reference,
        references_of,
    )
    from spector.knowledge.derivation import (
        derived_of,
        facts_of_alone,
        plan_new_words,
        plan_other_user,
    )
    from spector.knowledge.entities import (
        ENTITY_NAMES,
        plan_alias,
        plan_mentions,
        plan_merge,
        plan_split,
        spellings,
    )
    from spector.knowledge.facts import (
        Declared,
        FactToAdd,
        checked_part,
        contradiction,
        current_facts,
        declared,
        fact_steps,
        held_fact,
        is_single_valued,
        plan_fact,
        predicate_named,
        sentence,
    )
    from spector.knowledge.grounding import (
        Experience,
        Figure,
        concepts_to_ground,
        figure_text,
        figures_of,
        plan_cooccurrence,
        plan_new_figures,
        plan_restated_figure,
        predicted_outcomes,
    )
    from spector.knowledge.learnings import (
        learning_title,
        plan_application,
        plan_learning,
        plan_validation,
    )
    from spector.knowledge.merges import plan_lost_mentions
    from spector.knowledge.procedures import (
        ProcedureToAdd,
        learned_procedure,
        parse_steps,
        plan_outcome,
        plan_procedure,
        plan_status,
        procedure_score,
        procedure_text,
        tools_of,
    )
    from spector.knowledge.reader import KnowledgeReader, edge_row
    from spector.knowledge.statistics import ENOUGH, certainty

__all__ = [
    "DESCRIBING",
    "ENOUGH",
    "ENTITY_NAMES",
    "LAYERS",
    "PAYLOAD_FACETS",
    "PROVENANCES",
    "Changes",
    "Declared",
    "Experience",
    "FactToAdd",
    "Figure",
    "KnowledgeReader",
    "New",
    "ProcedureToAdd",
    "certainty",
    "checked_json",
    "checked_pair",
    "checked_part",
    "checked_properties",
    "concept_key",
    "concept_text",
    "concepts_named",
    "concepts_to_ground",
    "concepts_with",
    "contradiction",
    "current_facts",
    "declared",
    "derived_of",
    "edge_row",
    "encode",
    "entity_uri",
    "fact_steps",
    "facts_of_alone",
    "figure_text",
    "figures_of",
    "folded",
    "held_fact",
    "is_single_valued",
    "layer_name",
    "layer_of",
    "learned_procedure",
    "learning_title",
    "normalize_tokens",
    "parse_steps",
    "plan_alias",
    "plan_application",
    "plan_concept",
    "plan_concept_met",
    "plan_cooccurrence",
    "plan_fact",
    "plan_learning",
    "plan_lost_mentions",
    "plan_mentions",
    "plan_merge",
    "plan_new_figures",
    "plan_new_words",
    "plan_other_user",
    "plan_outcome",
    "plan_procedure",
    "plan_reference",
    "plan_reinforcement",
    "plan_restated_figure",
    "plan_split",
    "plan_status",
    "plan_validation",
    "plan_without_reference",
    "predicate_named",
    "predicted_outcomes",
    "procedure_score",
    "procedure_text",
    "references_of",
    "sentence",
    "spellings",
    "tools_of",
]

__getattr__ = on_first_use(__name__)

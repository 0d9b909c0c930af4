"""What the memories say, typed: facts, entities, relations and the graph that ties them."""

from __future__ import annotations

from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import (
    PROVENANCES,
    concept_text,
    concepts_named,
    concepts_with,
    layer_name,
    plan_concept,
    plan_concept_met,
    plan_reference,
    plan_reinforcement,
    plan_without_reference,
    property_name,
    references_of,
)
from spector.knowledge.derivation import (
    Derived,
    derived_of,
    plan_new_words,
    plan_other_user,
)
from spector.knowledge.entities import (
    ENTITY_NAMES,
    plan_alias,
    plan_mentions,
    plan_merge,
    plan_split,
)
from spector.knowledge.facts import (
    FactToAdd,
    checked_part,
    fact_steps,
    is_single_valued,
    plan_fact,
    sentence,
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
from spector.knowledge.reader import KnowledgeReader, edge_row, ids_in
from spector.knowledge.reading import (
    Reading,
    is_user_said,
    plan_reading,
    read_text,
    with_names,
)
from spector.language.words import concept_key, entity_uri, fact_key, folded, normalized_tokens
from spector.store.payloads import PAYLOAD_FACETS, decode, encode

__all__ = [
    "ENTITY_NAMES",
    "PAYLOAD_FACETS",
    "PROVENANCES",
    "Changes",
    "Derived",
    "FactToAdd",
    "KnowledgeReader",
    "New",
    "ProcedureToAdd",
    "Reading",
    "checked_part",
    "concept_key",
    "concept_text",
    "concepts_named",
    "concepts_with",
    "decode",
    "derived_of",
    "edge_row",
    "encode",
    "entity_uri",
    "fact_key",
    "fact_steps",
    "folded",
    "ids_in",
    "is_single_valued",
    "is_user_said",
    "layer_name",
    "learned_procedure",
    "learning_title",
    "normalized_tokens",
    "parse_steps",
    "plan_alias",
    "plan_application",
    "plan_concept",
    "plan_concept_met",
    "plan_fact",
    "plan_learning",
    "plan_lost_mentions",
    "plan_mentions",
    "plan_merge",
    "plan_new_words",
    "plan_other_user",
    "plan_outcome",
    "plan_procedure",
    "plan_reading",
    "plan_reference",
    "plan_reinforcement",
    "plan_split",
    "plan_status",
    "plan_validation",
    "plan_without_reference",
    "procedure_score",
    "procedure_text",
    "property_name",
    "read_text",
    "references_of",
    "sentence",
    "tools_of",
    "with_names",
]

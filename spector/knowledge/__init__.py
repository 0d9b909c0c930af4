"""What the memories say, typed: facts, entities, relations and the graph that ties them."""

from __future__ import annotations

from spector.knowledge.changes import Changes, New
from spector.knowledge.derivation import (
    Derived,
    derived_of,
    plan_new_words,
    plan_other_user,
)
from spector.knowledge.entities import plan_alias, plan_mentions, plan_merge, plan_split
from spector.knowledge.facts import (
    FactToAdd,
    checked_part,
    fact_steps,
    is_single_valued,
    plan_fact,
    sentence,
)
from spector.knowledge.reader import KnowledgeReader, edge_row, ids_in
from spector.language.words import concept_key, entity_uri, fact_key, folded, normalized_tokens
from spector.store.payloads import PAYLOAD_FACETS, decode, encode

__all__ = [
    "PAYLOAD_FACETS",
    "Changes",
    "Derived",
    "FactToAdd",
    "KnowledgeReader",
    "New",
    "checked_part",
    "concept_key",
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
    "normalized_tokens",
    "plan_alias",
    "plan_fact",
    "plan_mentions",
    "plan_merge",
    "plan_new_words",
    "plan_other_user",
    "plan_split",
    "sentence",
]

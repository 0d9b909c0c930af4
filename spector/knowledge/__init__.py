"""What the memories say, typed: facts, entities, relations and the graph that ties them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use
from spector.language.words import concept_key, entity_uri, folded, normalize_tokens
from spector.store.payloads import DESCRIBING, PAYLOAD_FACETS, checked_json, encode

if TYPE_CHECKING:
    from spector.knowledge.association import (
        GAIN,
        conflicts_of,
        entities_of_cue,
        facts_of_cue,
        kin_of,
        neighbours_of,
        order_of,
        partners_of,
        plan_pairs,
        procedures_of_cue,
        reached_from,
        themes_about,
        themes_among,
        themes_named,
    )
    from spector.knowledge.changes import Changes, New
    from spector.knowledge.concepts import (
        LAYERS,
        PROVENANCES,
        TIME_OF_DAY,
        checked_pair,
        checked_properties,
        concepts_named,
        concepts_with,
        layer_name,
        layer_of,
        phases_of,
        plan_concept,
        plan_concept_met,
        plan_references,
        plan_reinforcement,
        plan_rhythms,
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
        plan_lost_mentions,
        plan_mentions,
        plan_merge,
        plan_split,
        spellings,
    )
    from spector.knowledge.facts import (
        FACT_GROWTH,
        Declared,
        FactToAdd,
        checked_part,
        confirm_fact,
        contradict,
        current_facts,
        declared,
        fact_steps,
        fields_of_fact,
        held_fact,
        is_single_valued,
        predicate_named,
        put_fact,
        sentence,
    )
    from spector.knowledge.graph import (
        Registry,
        StoreEdges,
        activate,
        best_path,
        levels,
        plan_kind,
        ranks_by_user,
        reach,
        scaled,
    )
    from spector.knowledge.grounding import (
        Experience,
        Figure,
        concepts_to_ground,
        experiences,
        figure_text,
        figures_of,
        plan_cooccurrence,
        plan_new_figures,
        plan_restated_figure,
        statistics_of,
    )
    from spector.knowledge.induction import (
        CAUSAL,
        OPERATIONAL,
        Admitted,
        Element,
        Extracted,
        Named,
        admitted,
        causal_candidates,
        concept_of,
        is_same_pattern,
        members_of_shared_entities,
        named_after,
        named_in,
        operational_candidates,
        plan_extraction,
        plan_promotion,
        trend_text,
    )
    from spector.knowledge.items import facts_made, items_made, typed_items
    from spector.knowledge.lessons import (
        ConceptUse,
        Lesson,
        Practice,
        concepts_to_retire,
        lessons_of,
        plan_moved_references,
        practices_of,
        runs_of,
    )
    from spector.knowledge.lines import (
        ITEM_KEY,
        MEMORY_KEYS,
        NO_KNOWLEDGE,
        Arrival,
        Arrivals,
        Knowledge,
        KnowledgeLines,
        MetError,
        Place,
        parse_item,
        parse_memory,
    )
    from spector.knowledge.procedures import (
        ProcedureToAdd,
        learned_procedure,
        learning_title,
        parse_steps,
        plan_item,
        plan_procedure,
        procedure_score,
        procedure_text,
        tools_of,
    )
    from spector.knowledge.reader import KnowledgeReader
    from spector.knowledge.reading import (
        DENIED,
        Reading,
        ToName,
        heard_in,
        is_still_said,
        plan_reading,
        read_text,
        stated_of,
        statement_of,
        statement_of_fact,
        statements_of,
        with_facts,
        with_names,
    )
    from spector.knowledge.statistics import ENOUGH, certainty, running_rate


__getattr__ = on_first_use(__name__)

"""Limits and steps of facts, concepts and the graph, and what associations add to a recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from spector.config.sections import Amount, Count, Positive, Range, Section, Share, Whole

__all__ = ["AssociationConfig", "KnowledgeConfig"]

_Cosine: TypeAlias = Annotated[float, Range(-1.0, 1.0)]
_Hops: TypeAlias = Annotated[int, Range(0, 16)]
_Steps: TypeAlias = Annotated[int, Range(1, 16)]
#: a store with more references of one concept is damaged
_References: TypeAlias = Annotated[int, Range(1, 200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeConfig(Section):
    """Facts, relations, concepts, learnings and procedures."""

    NAME: ClassVar[str] = "knowledge"

    #: confidence that each new source adds to a fact
    fact_step: Share = 0.05
    #: prunable edges of a user that sleep always leaves
    max_edges: Whole = 1000
    #: prunable edges for each memory of a user that sleep leaves; the greater limit counts
    edges_per_memory: Whole = 10
    #: share of the limit to which sleep prunes
    pruned_share: Share = 0.9
    #: shared entities from which two memories are "same_entity"
    same_entity: Count = 2
    #: overlap of words above which a new memory elaborates another
    elaborates_overlap: Share = 0.30
    #: overlap of words above which memories of a category are related
    related_overlap: Share = 0.15
    #: share of a node's rank that follows its edges
    pagerank_damping: Share = 0.85
    #: rounds of PageRank
    pagerank_iterations: Count = 20
    #: rank above which a memory is central and protected
    pagerank_protection: Share = 0.01
    #: central is also more than 1.5 times the mean rank, or in small graphs all would be
    pagerank_relative: bool = True
    #: share of activation that one step hands on
    spread_decay: Share = 0.5
    #: least activation that counts
    spread_threshold: Share = 0.05
    #: steps that activation spreads
    spread_hops: _Steps = 3
    #: references of a concept in a layer; the first is dropped for one more
    max_refs: _References = 200
    #: concepts of a user; beyond it, weak ones that are not used are retired
    max_concepts: Count = 5000
    #: days without use after which a weak concept is retired
    concept_max_age_days: Positive = 30
    #: days for which episodes are in the window of their layer
    episode_max_age_days: Positive = 7
    #: episodes of a concept from which it has statistics
    ground_from: Count = 8
    #: least share of common episodes that relates two concepts
    jaccard: Share = 0.2
    #: step of the strength of a causal link towards success or failure
    association_rate: Share = 0.3
    #: where concepts are made: in "sleep", in a "worker" after each commit, or nowhere ("off")
    extract: Literal["sleep", "worker", "off"] = "sleep"
    #: confidence that a successful use adds to a learning
    learning_success: Share = 0.10
    #: confidence that a failed use takes from a learning
    learning_failure: Share = 0.15
    #: executions from which the success rate of a procedure counts in full
    procedure_trust: Count = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationConfig(Section):
    """What entities, pairs, sessions and edges add to a recall and to a context."""

    NAME: ClassVar[str] = "association"

    #: share of a "followed_by" edge's weight that counts in a recall
    adjacency: Share = 0.3
    #: an entity that more memories mention ties none of them
    max_entity_mentions: Count = 25
    #: added to a score for each entity of the cue that a memory mentions, at most three times
    entity: Amount = 0.10
    #: added to a score for a memory of the same session
    episode: Amount = 0.15
    #: added to a score for a memory that was often used together with one of the best
    coactivation: Amount = 0.05
    #: common uses from which two memories are such a pair
    coactivation_from: Count = 3
    #: pairs that are kept; sleep drops the least used above it
    max_pairs: Count = 20_000
    #: personal, observed, schematic memories weigh differently
    subtiers: bool = True
    #: memories of the hot tier
    hot_items: Whole = 15
    #: least utility of a hot memory
    hot_utility: Share = 0.8
    #: least number of accesses of a hot memory
    hot_accesses: Whole = 10
    #: days after which no memory is hot
    hot_days: Positive = 30
    #: seconds for which the hot tier is kept
    hot_ttl_s: Amount = 300
    #: what is tied to the best hits is recalled too, unless a recall says otherwise
    expand: bool = False
    #: best hits from which a recall expands
    expand_top: Whole = 3
    #: steps from each
    expand_hops: _Hops = 1
    #: least weight of an edge that is followed
    expand_weight: Share = 0.5
    #: share of a hit's score that a step hands on
    expand_factor: Share = 0.7
    #: cosine below which a memory is no hit, unless the profile says otherwise
    min_similarity: _Cosine = -1.0
    #: milliseconds for the context of concepts
    budget_ms: Amount = 50
    #: concepts of a context
    concept_limit: Whole = 5
    #: lines of knowledge in a context
    knowledge_limit: Whole = 8
    #: newest episodes that predictions are made from
    completion_episodes: Count = 20

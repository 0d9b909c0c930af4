"""Kinds of cues, by name; their rules are in `intent`."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kind of a cue, which chooses the weights of words against similarity."""

    FACT = "fact"  # a question about a fact
    TALK = "talk"  # conversation, for which memories may be relevant
    REQUEST = "request"  # a request for help; preferences and standing instructions matter


class Intent(StrEnum):
    """The category of information that a cue asks for."""

    FACTUAL = "factual"
    TEMPORAL = "temporal"
    CAUSAL = "causal"
    ENTITY_PROFILE = "entity_profile"
    PREFERENCE = "preference"
    PROCEDURAL = "procedural"
    GENERAL = "general"


class Mode(StrEnum):
    """The leading channel of a search; the others always run too."""

    SEMANTIC = "semantic"  # similarity
    STRUCTURED = "structured"  # a procedure or one entity: tags, tiers and names
    TEMPORAL = "temporal"  # times of the memories
    GRAPH_SEED = "graph_seed"  # relations of the best hits are followed
    HYBRID = "hybrid"  # words and similarity together

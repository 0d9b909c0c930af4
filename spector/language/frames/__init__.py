"""Statements of texts as triples, their values, and what contradicts what."""

from __future__ import annotations

from spector.language.frames.amounts import are_of_kind, values_and_rest
from spector.language.frames.asked import Given, ValueAsked, value_asked
from spector.language.frames.conflicts import NO_CONFLICT, Verdict, compare, verdicts
from spector.language.frames.extraction import extract
from spector.language.frames.limits import is_of_before
from spector.language.frames.predicates import (
    ONE_VALUED,
    is_label,
    is_single_valued,
    names_of_predicate,
)
from spector.language.frames.relations import canonical, predicates_like
from spector.language.frames.statement import (
    AGENT,
    USER,
    Modality,
    Statement,
    Tense,
)
from spector.language.frames.subjects import are_of_same
from spector.language.frames.values import normal_value, values_differ

__all__ = [
    "AGENT",
    "NO_CONFLICT",
    "ONE_VALUED",
    "USER",
    "Given",
    "Modality",
    "Statement",
    "Tense",
    "ValueAsked",
    "Verdict",
    "are_of_kind",
    "are_of_same",
    "canonical",
    "compare",
    "extract",
    "is_label",
    "is_of_before",
    "is_single_valued",
    "names_of_predicate",
    "normal_value",
    "predicates_like",
    "value_asked",
    "values_and_rest",
    "values_differ",
    "verdicts",
]

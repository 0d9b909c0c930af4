"""Statements of texts as triples, their values, and what contradicts what."""

from __future__ import annotations

from spector.language.frames.chat import (
    Given,
    ValueAsked,
    are_of_kind,
    changed_in_chat,
    spoken,
    value_asked,
    values_and_rest,
)
from spector.language.frames.conflicts import NO_CONFLICT, Verdict, compare, verdicts
from spector.language.frames.extraction import extract
from spector.language.frames.limits import are_limited_apart, is_of_before
from spector.language.frames.pairs import Replacement, denial_in, replacement, tension
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
from spector.language.frames.subjects import of_same_subjects
from spector.language.frames.values import normal_value, values_differ

__all__ = [
    "AGENT",
    "NO_CONFLICT",
    "ONE_VALUED",
    "USER",
    "Given",
    "Modality",
    "Replacement",
    "Statement",
    "Tense",
    "ValueAsked",
    "Verdict",
    "are_limited_apart",
    "are_of_kind",
    "canonical",
    "changed_in_chat",
    "compare",
    "denial_in",
    "extract",
    "is_label",
    "is_of_before",
    "is_single_valued",
    "names_of_predicate",
    "normal_value",
    "of_same_subjects",
    "predicates_like",
    "replacement",
    "spoken",
    "tension",
    "value_asked",
    "values_and_rest",
    "values_differ",
    "verdicts",
]

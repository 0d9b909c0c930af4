"""Statements of texts as triples, their values, and what contradicts what."""

from __future__ import annotations

from spector.language.frames.amounts import are_of_kind, values_and_rest
from spector.language.frames.asked import Given, ValueAsked, value_asked
from spector.language.frames.conflicts import Verdict, compare, verdicts
from spector.language.frames.extraction import extract
from spector.language.frames.limits import is_of_before
from spector.language.frames.predicates import (
    ONE_VALUED,
    is_label,
    is_single_valued,
    names_of_predicate,
)
from spector.language.frames.relations import canonical, canonical_name, predicates_like
from spector.language.frames.statement import (
    Statement,
)
from spector.language.frames.subjects import are_of_same
from spector.language.frames.understanding import (
    CLAUSE,
    is_read,
    meets,
    sentence_spans,
    unread_clauses,
)
from spector.language.frames.values import forms_differ, normal_value

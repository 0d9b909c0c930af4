"""Statements of texts as triples, their values, and what contradicts what."""

from __future__ import annotations

from spector.language.frames.amounts import (
    Given,
    ValueAsked,
    are_of_kind,
    value_asked,
    values_and_rest,
)
from spector.language.frames.conflicts import Verdict, compare, verdicts
from spector.language.frames.extraction import (
    CLAUSE,
    extract,
    is_read,
    meets,
    sentence_spans,
    unread_clauses,
)
from spector.language.frames.head import StatementHead, load_statement_head
from spector.language.frames.predicates import (
    ONE_VALUED,
    canonical,
    canonical_name,
    is_label,
    is_single_valued,
    names_of_predicate,
    noun_of_slot,
    predicates_like,
)
from spector.language.frames.sentences import (
    Statement,
)
from spector.language.frames.subjects import are_of_same
from spector.language.frames.tagged import BY_HEAD, Tagged, tagged_statements
from spector.language.frames.values import forms_differ, is_of_before, normal_value

"""Names in texts: who and what is meant, by rules in two languages and a small trained head."""

from __future__ import annotations

from spector.language.entities.extraction import LEAST, Whole, WordVectors, entities_of
from spector.language.entities.head import EntityHead, load_head
from spector.language.entities.rules import (
    Mention,
    is_first_name,
    person_mentions,
    rule_mentions,
)
from spector.language.entities.words import split_words

__all__ = [
    "LEAST",
    "EntityHead",
    "Mention",
    "Whole",
    "WordVectors",
    "entities_of",
    "is_first_name",
    "load_head",
    "person_mentions",
    "rule_mentions",
    "split_words",
]

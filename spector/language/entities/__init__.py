"""Names in texts: who and what is meant, by rules in two languages and a small trained head."""

from __future__ import annotations

from spector.language.entities.extraction import (
    LEAST,
    MOST_WORDS,
    Seen,
    Whole,
    WordVectors,
    entities_of,
    parts_of,
    seen_in,
)
from spector.language.entities.head import EntityHead, load_head
from spector.language.entities.rules import (
    Mention,
    is_first_name,
    person_mentions,
    rule_mentions,
)
from spector.language.entities.words import affix_buckets, shape_features, split_words

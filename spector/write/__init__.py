"""Stores, changes and forgets: drafts become records, and each call is one commit."""

from __future__ import annotations

from spector.write.draft import (
    FIELDS,
    Draft,
    make_draft,
    with_aliases,
)
from spector.write.reembed import (
    reembed_store,
)
from spector.write.source_models import (
    source_model,
)
from spector.write.speakers import (
    draft_words,
)
from spector.write.writer import (
    Writer,
    unknown,
)

__all__ = [
    "FIELDS",
    "Draft",
    "Writer",
    "draft_words",
    "make_draft",
    "reembed_store",
    "source_model",
    "unknown",
    "with_aliases",
]

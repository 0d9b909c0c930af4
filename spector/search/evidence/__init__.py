"""What speaks for a memory: words, likeness, names, and the signals of the whole."""

from __future__ import annotations

from spector.search.evidence.fusion import (
    Corpus,
    Fuser,
    LexicalQuery,
    is_open,
)
from spector.search.evidence.probes import (
    Probes,
)
from spector.search.evidence.signals import (
    SignalCollector,
    is_scoped,
)
from spector.search.evidence.words import (
    LexicalChannel,
    id_in,
    kind_of,
)

__all__ = [
    "Corpus",
    "Fuser",
    "LexicalChannel",
    "LexicalQuery",
    "Probes",
    "SignalCollector",
    "id_in",
    "is_open",
    "is_scoped",
    "kind_of",
]

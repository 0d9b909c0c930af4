"""The evidence for a memory: words, similarity, names; and signals about a whole ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spector.faces import on_first_use

if TYPE_CHECKING:
    from spector.search.evidence.fusion import Corpus, Fuser
    from spector.search.evidence.lexical_query import LexicalQuery
    from spector.search.evidence.limits import Limits, is_like
    from spector.search.evidence.probes import Probes
    from spector.search.evidence.signals import SignalCollector
    from spector.search.evidence.words import LexicalChannel

__all__ = [
    "Corpus",
    "Fuser",
    "LexicalChannel",
    "LexicalQuery",
    "Limits",
    "Probes",
    "SignalCollector",
    "is_like",
]

__getattr__ = on_first_use(__name__)

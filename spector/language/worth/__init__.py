"""How much a text says, by which sleep chooses what to keep."""

from __future__ import annotations

from spector.language.worth.density import content_density, keep_score
from spector.language.worth.extract import extract_of, sentences_of

__all__ = ["content_density", "extract_of", "keep_score", "sentences_of"]

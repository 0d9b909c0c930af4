"""The grammar of dates in English."""

from __future__ import annotations

from spector.language.dates.english.grammar import english_date
from spector.language.dates.english.places import english_places

__all__ = ["english_date", "english_places"]

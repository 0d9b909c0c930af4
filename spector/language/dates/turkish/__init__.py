"""The grammar of dates in Turkish."""

from __future__ import annotations

from spector.language.dates.turkish.grammar import turkish_date
from spector.language.dates.turkish.places import turkish_places
from spector.language.dates.turkish.words import number

__all__ = ["number", "turkish_date", "turkish_places"]

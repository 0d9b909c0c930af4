"""The grammar of dates in English."""

from __future__ import annotations

from spector.language.dates.english.grammar import english_date
from spector.language.dates.english.numbers import number
from spector.language.dates.english.places import english_places
from spector.language.dates.english.words import DAYS

__all__ = ["DAYS", "english_date", "english_places", "number"]

"""The grammar of dates in English."""

from __future__ import annotations

from spector.language.dates.english.grammar import english_date

__all__ = ["english_date"]

"""The grammar of dates in Turkish."""

from __future__ import annotations

from spector.language.dates.turkish.grammar import turkish_date

__all__ = ["turkish_date"]

"""The grammar of dates in Turkish."""

from __future__ import annotations

from spector.language.dates.turkish.grammar import turkish_date
from spector.language.dates.turkish.places import turkish_places

__all__ = ["turkish_date", "turkish_places"]

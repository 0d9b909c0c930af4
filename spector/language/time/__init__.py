"""Expressions of time, as ranges."""

from __future__ import annotations

from spector.language.time.calendar import (
    Span,
    hull,
)
from spector.language.time.ranges import (
    when,
)

__all__ = [
    "Span",
    "hull",
    "when",
]

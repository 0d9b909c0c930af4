"""Expressions of time in texts, resolved to ranges."""

from __future__ import annotations

from spector.language.time.calendar import Span, hull, shifted
from spector.language.time.ranges import TimeRange, time_range_in

__all__ = [
    "Span",
    "TimeRange",
    "hull",
    "shifted",
    "time_range_in",
]

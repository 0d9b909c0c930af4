"""Dates that texts name, resolved to days from the day of the message."""

from __future__ import annotations

from spector.language.dates.period import Period
from spector.language.dates.ranges import (
    Bound,
    Span,
    TimeRange,
    Window,
    hull,
    time_range_in,
    window_of,
)
from spector.language.dates.scan import (
    DateExpression,
    Moment,
    dates_in,
    iso_of,
    moments_in,
    reads_turkish,
)

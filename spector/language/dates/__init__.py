"""Dates that texts name, resolved to days from the day of the message."""

from __future__ import annotations

from spector.language.dates.moments import Moment, moments_in
from spector.language.dates.period import Period
from spector.language.dates.ranges import Span, TimeRange, hull, time_range_in
from spector.language.dates.scan import DateExpression, dates_in, iso_of
from spector.language.dates.windows import Bound, Window, window_of
from spector.language.dates.wording import reads_turkish

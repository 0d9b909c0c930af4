"""Dates as tables of a country write them: "13.05.2024 22:00", "5/13/2024 10:00 PM".

Points stand between day, month and year. With other signs the order is the one that all rows of the
table allow; where they allow both, it is not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["clock_of", "iso_of", "order_of"]

_LOCAL: Final = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})"
    r"(?:[ ,T]+(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:\s?([AaPp])\.?[Mm]\.?)?)?"
)

_CLOCK: Final = re.compile(r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?: ?([AaPp])\.?[Mm]\.?)?")


def clock_of(value: str) -> str:
    """A time of the day, as ISO 8601 writes it; "" for anything else."""
    found = _CLOCK.fullmatch(value.strip())
    if found is None:
        return ""
    hour, minute, seconds, half = found.groups()
    if half and not 1 <= int(hour) <= 12:
        return ""
    hours = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return f"{hours:02}:{minute}:{seconds or '00'}" if hours < 24 else ""


def order_of(values: Iterable[str]) -> bool | None:
    """Whether the day stands first in the dates of a column; None where that is not clear."""
    day_first = month_first = False
    for value in values:
        found = _LOCAL.fullmatch(value.strip())
        if found is not None:
            day_first = day_first or found[2] == "." or int(found[1]) > 12
            month_first = month_first or int(found[3]) > 12
    return day_first if day_first != month_first else None


def iso_of(value: str, day_first: bool | None) -> str | None:
    """A date as ISO 8601 writes it; anything else as it is; None where its order is not clear."""
    found = _LOCAL.fullmatch(value.strip())
    if found is None:
        return value
    if day_first is None:
        return None
    first, _, second, year, hour, minute, seconds, half = found.groups()
    day, month = (first, second) if day_first else (second, first)
    out = f"{year}-{int(month):02}-{int(day):02}"
    if hour is None:
        return out
    if half and not 1 <= int(hour) <= 12:
        return value
    hours = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    return f"{out}T{hours:02}:{minute}:{seconds or '00'}"

"""Single values of plain types: each check returns the value as it is used, or names its fault."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from spector.errors import InvalidFilterError, InvalidInputError
from spector.messages import items_of, reading, shown

__all__ = [
    "parse_callback",
    "parse_duration_ms",
    "parse_enum",
    "parse_integer",
    "parse_number",
    "parse_switch",
    "parse_truth",
    "several",
]

#: a thousand years
_MOST_SECONDS = 31_556_952_000.0
_Callback = TypeVar("_Callback")


def parse_number(value: Any, name: str, low: float, high: float, advice: str = "") -> float:
    """A finite number in ``low..high`` as a float; booleans are not numbers."""
    if type(value) is float and low <= value <= high:  # NaN fails the comparison
        return value
    numbers = (int, float, np.floating, np.integer)
    is_number = isinstance(value, numbers) and not isinstance(value, bool)
    # compared before it is converted: an integer may be too large for a float
    if not is_number or not low <= value <= high:
        raise InvalidInputError(
            f"{name} is {shown(value)}",
            hint=f"pass a number in {low:g}..{high:g}{advice and f'; {advice}'}",
        )
    return float(value)


def parse_integer(
    value: Any, name: str, low: int, high: int | None = None, advice: str = ""
) -> int:
    """An integer of Python or NumPy in ``low..high``; booleans are not integers."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or value < low or (high is not None and value > high):
        wanted = f"of at least {low}" if high is None else f"in {low}..{high}"
        raise InvalidInputError(
            f"{name} is {shown(value)}",
            hint=f"pass an integer {wanted}{advice and f'; {advice}'}",
        )
    return int(value)


def parse_duration_ms(value: Any, name: str) -> int:
    """Milliseconds of a positive time, which is a number of seconds or a `timedelta`."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, (int, float, np.integer, np.floating)) and seconds == 0:
        raise InvalidInputError(f"{name} is 0", hint="pass more seconds, or forget it instead")
    return max(
        1,
        round(
            1000
            * parse_number(
                seconds, name, 0.0, _MOST_SECONDS, "it is the number of seconds, or a timedelta"
            )
        ),
    )


def parse_switch(value: Any, name: str) -> bool:
    """True or False, of Python or NumPy; nothing else counts as either."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(
            f"{name} is {shown(value)}", hint=f"pass {name}=True or {name}=False"
        )
    return bool(value)


def parse_truth(value: object, name: str) -> bool:
    """The truth of any value, for switches that take whatever Python can test.

    Raises:
        InvalidInputError: testing it fails.
    """
    with reading(name, hint=f"pass {name}=True or {name}=False"):
        return bool(value)


def parse_callback(value: _Callback, name: str) -> _Callback:
    """A function that is called later, or None.

    Raises:
        InvalidInputError: it cannot be called.
    """
    if value is None or callable(value):
        return value
    raise InvalidInputError(
        f"{name} is {shown(value)}", hint=f"pass a function, or leave {name} out"
    )


def parse_enum(kind: Any, value: Any, name: str) -> Any:
    """A member of ``kind`` from itself, its name in any case, or its number."""
    if isinstance(value, kind):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in iter(kind):
        return kind(value)
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    known = ", ".join(member.lower() for member in kind.__members__)
    raise InvalidInputError(f"unknown {name} {shown(value)}", hint=f"one of: {known}")


def several(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """One or several values as a tuple."""
    if isinstance(value, (str, int)):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidFilterError(
            f"{name}: got {type(value).__name__}", hint=f"pass {expected}, or leave it out"
        )
    return tuple(items_of(value, name, InvalidFilterError))

"""Arguments of sleep: which steps, how long, which cycle."""

from __future__ import annotations

from typing import Any

from spector.arguments.values import parse_integer, parse_number
from spector.config import STEPS
from spector.errors import InvalidInputError
from spector.messages import hint_for_argument, items_of, shown

__all__ = ["parse_cycle", "parse_seconds", "parse_steps"]


def parse_steps(value: Any) -> tuple[str, ...]:
    """Steps by name, in the order of a cycle, each once.

    Raises:
        InvalidInputError: There is no such step, or none is named.
    """
    names = [value] if isinstance(value, str) else list(items_of(value, "steps"))
    for each in names:
        if each not in STEPS:
            hint = hint_for_argument(each, STEPS) if isinstance(each, str) else "name a step"
            raise InvalidInputError(f"there is no step {shown(each)}", hint=hint)
    if not names:
        raise InvalidInputError("steps names no step", hint="leave steps out for a whole cycle")
    return tuple(each for each in STEPS if each in names)


def parse_seconds(value: Any, usual: float) -> float:
    """Seconds of a cycle; 0 is no limit."""
    return usual if value is None else parse_number(value, "max_seconds", 0.0, 1e9)


def parse_cycle(value: Any) -> int:
    """The number of a cycle, which its report gives."""
    return parse_integer(value, "cycle", 1, (1 << 63) - 1, "a report of reflect has it as .cycle")

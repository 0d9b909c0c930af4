"""Checks of the values in a line that `remember` does not take, and would not check."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from spector.clock import to_ms
from spector.errors import InvalidTimeError
from spector.layout import Flag

__all__ = ["CHECKS", "LINKS"]

#: keys with ids of other memories, which get new ones
LINKS: Final = ("parents", "supersedes")


def _is_number(value: Any, low: float, high: float) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and low <= value <= high  # NaN is not


def _is_count(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= high


def _is_instant(value: Any) -> bool:
    try:
        to_ms(value)
    except InvalidTimeError:
        return False
    return True


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and base64.b64decode(value, validate=True) is not None
    except ValueError:
        return False


#: key -> its check, for keys that ``remember`` does not take and would not check
CHECKS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "vector": (lambda v: isinstance(v, list), "a list of numbers"),
    "vector_model": (lambda v: isinstance(v, str), "the fingerprint that export wrote"),
    "id": (lambda v: _is_count(v, (1 << 63) - 1), "an integer"),
    **{
        name: (
            lambda v: isinstance(v, list) and all(_is_count(p, (1 << 63) - 1) for p in v),
            "a list of ids",
        )
        for name in (*LINKS, "superseded_by")
    },
    "stability_days": (lambda v: _is_number(v, 1e-3, 1e6), "a number of days from 0.001 on"),
    "utility": (lambda v: _is_number(v, 0.0, 1.0), "a number in 0..1"),
    "access_count": (lambda v: _is_count(v, 0xFFFF_FFFF), "an integer from 0 on"),
    "refresh_s": (lambda v: _is_number(v, 1e-3, 1e11), "a number of seconds"),
    "revision": (lambda v: _is_count(v, (1 << 53) - 1) and v > 0, "an integer from 1 on"),
    "attachment_base64": (_is_base64, "the bytes in base64"),
    "own_until": (_is_instant, "a time like 2026-05-04T17:30:00Z, or null"),
    "last_access": (_is_instant, "a time like 2026-05-04T17:30:00Z"),
    "flags": (
        lambda v: (
            isinstance(v, list)
            and all(isinstance(f, str) and f.upper() in Flag.__members__ for f in v)
        ),
        f"a list of {', '.join(name.lower() for name in Flag.__members__)}",
    ),
}

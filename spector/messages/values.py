"""Render and read arguments of callers without failing, whatever they are.

Arguments may be nested to any depth or contain themselves, have numbers of thousands of digits, or
be objects whose own methods raise. An error message about such an argument must not fail itself.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from spector.errors import InvalidInputError, SpectorError

__all__ = ["items_of", "reading", "said", "shown"]

_MOST_CHARS: Final = 200


def _short() -> reprlib.Repr:
    short = reprlib.Repr()
    short.maxlevel = 4
    short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 20
    short.maxarray = short.maxdeque = 20
    return short


def shown(value: object) -> str:
    """``repr`` of anything in about 200 characters; its type where that raises."""
    try:
        if isinstance(value, (str, bytes)):
            text = repr(value[: _MOST_CHARS + 1])
        elif isinstance(value, (list, tuple, set, frozenset, dict)):
            text = _SHORT.repr(value)
        else:
            text = repr(value)
    except Exception:  # whatever its own method raises, RecursionError and MemoryError among it
        return f"an object of type {type(value).__name__}"
    if "\n" in text:  # of an array
        text = " ".join(text.split())
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."


_SHORT: Final = _short()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _MOST_CHARS


def said(value: object) -> str:
    """``str`` of anything in about 200 characters; its type where that raises."""
    try:
        text = str(value[: _MOST_CHARS + 1]) if isinstance(value, (str, bytes)) else str(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}..."


class reading(contextlib.ContextDecorator):  # noqa: N801 - used like a function
    """Turn what an argument raises while it is read into an error that names it.

    Raises:
        InvalidInputError: of the class ``error``; what was raised is its cause.
    """

    def __init__(
        self, name: str, error: type[InvalidInputError] = InvalidInputError, hint: str = ""
    ) -> None:
        self.name, self._error, self._hint = name, error, hint

    def __enter__(self) -> reading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: object
    ) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, (SpectorError, MemoryError)):
            raise self._error(
                f"{said(self.name)} cannot be read: {type(problem).__name__}: {said(problem)}",
                hint=self._hint or "pass a plain value, not an object that fails when it is asked",
            ) from problem


def items_of(
    values: Iterable[Any], name: str, error: type[InvalidInputError] = InvalidInputError
) -> Iterator[Any]:
    """The items of an argument; what it raises becomes an error that names it.

    Raises:
        InvalidInputError: of the class ``error``.
    """
    about = reading(name, error, "pass a list")
    with about:
        items = iter(values)
    while True:
        with about:
            item = next(items, _END)
        if item is _END:
            return
        yield item


_END: Final = object()

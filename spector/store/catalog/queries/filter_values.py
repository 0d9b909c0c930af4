"""Values and paths of a metadata filter: checked, and as SQL operands.

A value that cannot be compared is an error that names its place within the filter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final

from spector.clock import iso_of_ms, to_ms
from spector.errors import InvalidFilterError, InvalidTimeError

__all__ = [
    "MAX_DEPTH",
    "OPERATORS",
    "check_text",
    "display_name",
    "kind_of",
    "make_operand",
    "shorten",
    "split_path",
    "unknown_name",
]

MAX_DEPTH: Final = 16
OPERATORS: Final = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "exists", "not")
_INT64: Final = range(-(2**63), 2**63)

#: the kinds of values that compare with one another, as tests of a json_each row
_NUMBER: Final = "{row}.type IN ('integer', 'real')"
_STRING: Final = "{row}.type = 'text'"
#: julianday() also reads 'now' and bare numbers, so the shape is checked first
_INSTANT: Final = (
    "{row}.type = 'text' AND {row}.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
)


def make_operand(value: object, at: str) -> tuple[str, str, str, str | int]:
    """For a number, string or instant: the test of kind, both sides, and the bound parameter."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in _INT64:
            raise InvalidFilterError(
                f"{at}: the integer does not fit into 64 bits", hint="compare with a float instead"
            )
        return _NUMBER, "{row}.value", "?", int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidFilterError(
                f"{at}: {value} is not a JSON number", hint="use exists to find absent values"
            )
        # parsed by the code that parses the stored digits; other code of SQLite may round otherwise
        return _NUMBER, "{row}.value", "json_extract(?, '$')", float.__repr__(value)
    if isinstance(value, str):
        return _STRING, "{row}.value", "?", check_text(value, at)
    if isinstance(value, datetime):
        try:
            instant = iso_of_ms(to_ms(value))
        except InvalidTimeError as error:
            raise InvalidFilterError(f"{at}: {error.message}", hint=error.hint) from None
        return _INSTANT, "julianday({row}.value)", "julianday(?)", instant
    hint = "use a string, number, bool, None or aware datetime"
    if isinstance(value, list | tuple | set | frozenset):
        hint = "use in to test for one of several values, contains to look into a list"
    elif isinstance(value, Mapping):
        hint = 'reach into an object with a dotted key, like {"author.name": "Maya"}'
    elif isinstance(value, date):
        hint = "use a string like 2026-05-04, or an aware datetime"
    raise InvalidFilterError(f"{at}: cannot compare with {kind_of(value)}", hint=hint)


def check_text(value: str, at: str) -> str:
    """A plain ``str`` that SQLite can hold and that its JSON functions do not cut short."""
    if "\0" in value:
        raise InvalidFilterError(f"{at}: {shorten(ascii(value))} holds a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidFilterError(
            f"{at}: {shorten(ascii(value))} holds half a surrogate pair",
            hint="decode the text properly before filtering by it",
        ) from None
    return str.__str__(value)


def split_path(field: str, at: str) -> tuple[str, ...]:
    """Keys of a dotted path; a backslash takes the next character literally."""
    at = shorten(at)
    keys = [""]
    characters = iter(check_text(field, at))
    for character in characters:
        if character == ".":
            keys.append("")
        elif character == "\\":
            keys[-1] += next(characters, "\\")
        else:
            keys[-1] += character
    if not all(keys):
        raise InvalidFilterError(
            f"{at}: {shorten(ascii(field))} has an empty key",
            hint="separate keys by single dots; a literal dot is written \\.",
        )
    if len(keys) > MAX_DEPTH:
        raise InvalidFilterError(f"{at}: {len(keys)} nested keys, the limit is {MAX_DEPTH}")
    return tuple(keys)


def unknown_name(name: object, at: str, accepted: tuple[str, ...], what: str) -> InvalidFilterError:
    import difflib

    bare = str(name).removeprefix("$").lower()
    close = difflib.get_close_matches(bare, accepted, n=1, cutoff=0.5)
    close = close or difflib.get_close_matches(_SYNONYMS.get(bare, ""), accepted, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    hint += f"accepted: {', '.join(accepted)}"
    if what == "operator":
        hint += "; a nested field is written with a dot"
    return InvalidFilterError(f"{shorten(at)}: unknown {what} {shorten(ascii(name))}", hint=hint)


#: operators of other query languages
_SYNONYMS: Final = {
    "==": "eq",
    "=": "eq",
    "equals": "eq",
    "is": "eq",
    "!=": "ne",
    "<>": "ne",
    "neq": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "ge": "gte",
    "le": "lte",
    "like": "contains",
    "has": "contains",
    "any": "in",
    "&&": "and",
    "||": "or",
    "!": "not",
}


def kind_of(value: object) -> str:
    return "None" if value is None else type(value).__name__


def display_name(key: str) -> str:
    return shorten(key if key.isprintable() else ascii(key), 60)


def shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."

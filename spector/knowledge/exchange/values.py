"""Values in a line of an import, each checked once; a fault names the value and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.arguments import parse_integer, parse_switch
from spector.clock import to_ms
from spector.errors import InvalidInputError
from spector.language.words import folded
from spector.store.payloads import compact_json

__all__ = [
    "MOST_COUNT",
    "MOST_NAME",
    "fields_of",
    "flag_in",
    "folded_of",
    "id_of",
    "json_of",
    "list_of",
    "moment_of",
    "object_of",
    "refuse_halves",
    "text_of",
]

_MOST_ID: Final = (1 << 63) - 1
MOST_COUNT: Final = (1 << 53) - 1
#: characters of a type, a kind, an origin
MOST_NAME: Final = 64


def refuse_halves(line: Mapping[str, Any]) -> None:
    """Refuse texts that no encoding has: halves of a surrogate pair."""
    try:
        json_of(line, "the line").encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            "half of a surrogate pair is no character", hint="write it in UTF-8"
        ) from error


def flag_in(line: Mapping[str, Any], name: str) -> bool:
    return parse_switch(False if line[name] is None else line[name], name)


def object_of(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON object: {...}")
    return value


def list_of(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON list: [...]")
    return list(value)


def fields_of(value: Any, name: str, keys: str) -> Mapping[str, Any]:
    """An object of a list that has these keys only."""
    found = object_of(value, f"an entry of {name}")
    unknown = sorted(set(found) - set(keys.split()))
    if unknown:
        raise InvalidInputError(
            f"an entry of {name} has the unknown key {unknown[0]!r:.60}",
            hint=f"its keys: {', '.join(keys.split())}",
        )
    return found


def text_of(value: Any, name: str, most: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise InvalidInputError(
            f"{name} is {value!r:.60}", hint=f"write a text of 1..{most} characters"
        )
    return value


def folded_of(value: Any, name: str) -> tuple[str, ...]:
    """Folded names, each once."""
    found = [folded(text_of(each, name, 10_000)) for each in list_of(value, name)]
    if not all(found):
        raise InvalidInputError(f"{name} has an empty name", hint="use letters or digits")
    return tuple(dict.fromkeys(found))


def id_of(value: Any, name: str) -> int:
    return parse_integer(value, name, low=0, high=_MOST_ID)


def moment_of(value: Any, name: str) -> int | None:
    return None if value is None else to_ms(value, name=name)


def json_of(value: Mapping[str, Any], name: str) -> str:
    try:
        return compact_json(dict(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no JSON: {error}", hint="use finite numbers") from error

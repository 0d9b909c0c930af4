"""The fields of each sort of payload, as JSON keeps them.

A sort is a list of fields with a type, a bound and a default. Encoding leaves defaults out, so a
payload is as long as what it says; decoding refuses what no encoder wrote, which the check reports.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spector.errors import InvalidInputError

__all__ = [
    "DESCRIBING",
    "PAYLOAD_FACETS",
    "SORTS",
    "Field",
    "checked_json",
    "compact_json",
    "decode",
    "encode",
    "words_in",
]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a payload: which values it takes, and the one that is left out."""

    name: str
    accepts: Callable[[Any], bool]
    default: Any = None
    #: text that a person could read
    words: bool = False


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 53


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _share(value: Any) -> bool:
    return _number(value) and 0.0 <= value <= 1.0


def _object(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value)


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(map(_object, value))


def _numbers(value: Any) -> bool:
    return _object(value) and all(map(_number, value.values()))


def _notes(value: Any) -> bool:
    """Start, end, kind and text of each."""
    return isinstance(value, list) and all(
        isinstance(each, list)
        and [type(part) for part in each] == [int, int, str, str]
        and 0 <= each[0] <= each[1] < 1 << 53
        for each in value
    )


def _one_of(*names: str) -> Callable[[Any], bool]:
    return lambda value: value in names


def _moment(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 53


#: sort -> its fields
SORTS: Final[Mapping[str, tuple[Field, ...]]] = {
    "procedure": (
        Field("name", _text, words=True),
        Field("description", _text, "", words=True),
        Field("steps", _objects, [], words=True),
        Field("status", _one_of("draft", "active", "deprecated"), "draft"),
        Field("success_rate", _share, 0.0),
        Field("execution_count", _count, 0),
        Field("last_used_ms", _moment),
        Field("failed_steps", _numbers, {}, words=True),
    ),
    "learning": (
        Field("type", _text),
        Field("title", _text, words=True),
        Field("confidence", _share, 0.5),
        Field("impact", _share, 0.5),
        Field("validated", _flag, False),
        Field("application_count", _count, 0),
        Field("last_applied_ms", _moment),
    ),
    "concept": (
        Field("name", _text, words=True),
        Field("category", _text, "object"),
        Field("definition", _text, "", words=True),
        Field("properties", _object, {}, words=True),
        Field("provenance", _text, "episodic_consolidation"),
        Field("reinforcement_count", _count, 0),
        Field("confidence", _share, 0.5),
    ),
    "statistic": (
        Field("concept_id", _count),
        Field("name", _text, words=True),
        Field("category", _one_of("summary", "pattern"), "summary"),
        Field("domain", _one_of("concept_grounding", "operations"), "concept_grounding"),
        Field("values", _numbers, {}),
        Field("code", _text, ""),
        Field("confidence", _share, 0.5),
        Field("computed_ms", _moment),
    ),
    "episode": (
        Field("objects", _texts, [], words=True),
        Field("people", _texts, [], words=True),
        Field("goal", _text, words=True),
        Field("context", _object, words=True),
        Field("decision", _text, words=True),
        Field("decision_confidence", _share),
        Field("tool", _text, words=True),
        Field("success", _flag),
        Field("salience", _share),
        Field("novelty", _share),
        Field("run_id", _text),
        Field("summary", _text, words=True),
        Field("abstracted", _flag, False),
    ),
    "observed": (
        Field("write_source", _one_of("manual", "observer", "formation", "dream"), "manual"),
        Field("data_source", _text),
        Field("kind", _text),
        Field("emotion", _text),
        Field("class_confidence", _share),
        Field("novelty", _share),
        Field("arousal_channel", _share),
        Field("reward", _share),
        Field("attention", _share),
        Field("boost", _number),
        Field("decision", _text),
        Field("likeness", _number),
        Field("nearest_id", _count),
        Field("notes", _notes, [], words=True),
        Field("raw", _text, words=True),
        Field("reply", _flag, False),
    ),
    "rest": (
        Field("since_ms", _moment),
        Field("rule", _text),
    ),
}


#: sorts that say something of a memory, and make no item of it
DESCRIBING: Final = frozenset({"observed", "episode", "rest"})
#: sorts that make a memory an item of knowledge -> the facet that changes it
PAYLOAD_FACETS: Final[Mapping[str, str]] = {
    "fact": "facts",
    "procedure": "procedures",
    "learning": "learnings",
    "concept": "concepts",
    "statistic": "concepts",
}


def compact_json(value: Any) -> str:
    """JSON as rows of knowledge keep it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def checked_json(value: Any, what: str) -> str:
    """The same of what a caller gave.

    Raises:
        InvalidInputError: It is no JSON, or a text in it is no UTF-8.
    """
    try:
        text = compact_json(value)
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{what} cannot be written as JSON: {_shown(str(error))}",
            hint="use texts, finite numbers, booleans, lists and dictionaries with text keys",
        ) from error
    return text


def encode(sort: str, values: Mapping[str, Any]) -> str:
    """Compact JSON of a payload, without what is at its default.

    Raises:
        InvalidInputError: A field is unknown, or a value is none of its values.
    """
    fields = {each.name: each for each in SORTS[sort]}
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if name not in fields:
            raise InvalidInputError(
                f"a {sort} has no field {name!r}", hint=f"its fields: {', '.join(fields)}"
            )
        if value is None or value == fields[name].default:
            continue
        if not fields[name].accepts(value):
            raise InvalidInputError(
                f"{name} of a {sort} cannot be {_shown(value)}", hint="pass a value of its type"
            )
        kept[name] = value
    return checked_json(kept, f"this {sort}")


def decode(sort: str, text: str) -> tuple[dict[str, Any], str | None]:
    """All fields of a payload, defaults filled in, and what is wrong with them (None: nothing)."""
    given = json.loads(text)
    out: dict[str, Any] = {}
    for each in SORTS[sort]:
        value = given.pop(each.name, None)
        if value is not None and not each.accepts(value):
            return out, f"{each.name} cannot be {_shown(value)}"
        if value is None:
            value = each.default.copy() if isinstance(each.default, (dict, list)) else each.default
        out[each.name] = value
    return out, f"unknown fields {sorted(given)}" if given else None


def words_in(sort: str, text: str) -> list[str]:
    """Every text in a payload that a person could read, for a search after an erasure."""
    values, _ = decode(sort, text)
    found: list[str] = []
    waiting = [values.get(each.name) for each in SORTS[sort] if each.words]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return [each for each in found if each]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."

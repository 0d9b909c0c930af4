"""Proves by the seal which words, row and record belong to one memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from spector.kernel.contract import scope_tag, tags_mask
from spector.store.catalog.row_codec import is_sealed, is_typed

__all__ = ["ROW", "WORDS", "bloom", "is_sealed_pair", "row_of_words"]

ROW: Final = (
    "id",
    "segment_id",
    "slot",
    "event_ms",
    "recorded_ms",
    "valid_from_ms",
    "valid_until_ms",
    "session_id",
    "agent_id",
    "user_id",
    "mutable",
)
WORDS: Final = ("text", "tags", "metadata", "role", "source", "parents")
#: an id is a millisecond followed by this many bits, a counter within a batch
_ID_BITS: Final = 10
#: milliseconds by which a batch may have run ahead of the clock
_COUNTED_ON: Final = 64


def is_sealed_pair(row: Mapping[str, Any], words: Mapping[str, Any]) -> bool:
    """Whether the seal proves that these words and this row were written together."""
    values = [row.get(name) for name in ROW] + [words.get(name) for name in WORDS]
    if not is_typed(values):
        return False
    try:
        fine = isinstance(words["text"], str) and all(
            _is_json_of(words[name], kind, item)
            for name, kind, item in (
                ("tags", list, str),
                ("metadata", dict, str),
                ("parents", list, int),
            )
            if words.get(name)
        )
    except (ValueError, TypeError, RecursionError):
        return False
    return fine and is_sealed([*values, words.get("seal")])


def _is_json_of(text: Any, kind: type[Any], item: type) -> bool:
    """Whether a text is JSON of a list or dictionary with items or keys of one type."""
    value: Any = json.loads(text)
    if not isinstance(value, kind) or not all(type(each) is item for each in value):
        return False
    if item is str:
        "".join(value).encode()  # half a surrogate pair is a ValueError, too
    return True


def row_of_words(
    record_id: int, event_ms: int, hints: Mapping[str, Any], words: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The lost row of some words, rebuilt from what is left beside it; None without proof.

    Scopes and validity are in indexes of their own (``hints``), and the id holds the time of
    recording. The seal proves the result, so words without a seal have no row.
    """
    if type(words.get("seal")) is not int:
        return None
    for recorded_ms in _moments(record_id, event_ms):
        row = {"id": record_id, "event_ms": event_ms, "recorded_ms": recorded_ms, **hints}
        if is_sealed_pair(row, words):
            return row
    return None


def _moments(record_id: int, event_ms: int) -> Iterator[int]:
    yield event_ms
    given = record_id >> _ID_BITS
    yield from range(given, max(-1, given - _COUNTED_ON), -1)


def bloom(row: Mapping[str, Any], words: Mapping[str, Any]) -> int:
    """The Bloom filter bits of a memory's tags and scopes."""
    names = list(json.loads(words["tags"])) if words.get("tags") else []
    for kind in ("user", "agent", "session"):
        value = row.get(f"{kind}_id")
        if value is not None:
            names.append(scope_tag(kind, value))
    return tags_mask(tuple(names))

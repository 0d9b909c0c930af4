"""Validation of what a user wants remembered: from loose arguments to one frozen draft."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spector.clock import to_ms
from spector.config import Config
from spector.errors import (
    DimensionMismatchError,
    InvalidInputError,
    InvalidMetadataError,
    InvalidScopeError,
    InvalidTagError,
    InvalidTextError,
    InvalidTimeError,
    InvalidVectorError,
)
from spector.layout import Category, Modality

__all__ = ["FIELDS", "Draft", "make_draft", "parse_tags", "parse_vector", "unit_interval"]

#: keyword arguments of remember, which are also the keys of remember_many's dictionaries
FIELDS = (
    "tier", "tags", "importance", "valence", "arousal", "event_time", "valid_from", "valid_until",
    "metadata", "session_id", "agent_id", "user_id", "source", "confidence", "pinned", "vector",
    "immutable", "unresolved", "category", "modality", "role", "parents",
)
_KNOWN = frozenset(FIELDS) | {"text", "content"}


@dataclass(slots=True, kw_only=True)
class Draft:
    """A memory that is valid but has no id, vector bytes or place yet."""

    text: str
    tier: str = "episodic"
    tags: tuple[str, ...] = ()
    importance: float | None = None
    valence: float = 0.0
    arousal: float = 0.0
    event_ms: int | None = None
    valid_from_ms: int | None = None
    valid_until_ms: int | None = None
    metadata: dict[str, Any] | None = None
    #: the same as compact JSON, so that it is encoded once
    metadata_json: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    role: str | None = None
    source: str | None = None
    confidence: float | None = None
    pinned: bool = False
    immutable: bool = False
    unresolved: bool = False
    category: Category = Category.OTHER
    modality: Modality = Modality.TEXT
    parents: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = None


def make_draft(
    item: str | Mapping[str, Any], given: Mapping[str, Any], *, config: Config, dim: int
) -> Draft:
    """A draft from a text or message and keyword arguments; the keywords win over the message.

    Raises:
        InvalidInputError: (a subclass of it) naming the field and the next step.
    """
    fields: dict[str, Any]
    if isinstance(item, str):
        text, fields = item, dict(given)
    elif type(item) is dict or isinstance(item, Mapping):
        text, fields = _text_of(item)
        fields.update((name, value) for name, value in given.items() if value is not None)
    else:
        raise InvalidTextError(
            f"expected a text or a message, got {type(item).__name__}",
            hint='pass a str, or a dict like {"role": "user", "content": "..."}',
        )
    parsed: dict[str, Any] = {"text": check_text(text, config)}
    for name, value in fields.items():
        if value is not None:
            key, parse = _PARSERS[name]
            parsed[key] = parse(value, name, config, dim)
    if "metadata" in parsed:
        parsed["metadata"], parsed["metadata_json"] = parsed["metadata"]
    start, end = parsed.get("valid_from_ms"), parsed.get("valid_until_ms")
    if start is not None and end is not None and end <= start:
        raise InvalidTimeError(
            "valid_until is not after valid_from", hint="swap them, or leave one out"
        )
    return Draft(**parsed)


def _text_of(item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if not item.keys() <= _KNOWN:
        unknown = [key for key in item if key not in _KNOWN]
        raise InvalidInputError(
            f"unknown key {unknown[0]!r} in a message",
            hint=f"put it into metadata; known keys: text, content, {', '.join(FIELDS)}",
        )
    if ("text" in item) == ("content" in item):
        raise InvalidTextError(
            "a message needs exactly one of the keys text and content",
            hint='write it like {"role": "user", "content": "..."}',
        )
    fields = dict(item)
    return fields.pop("content" if "content" in item else "text"), fields


def check_text(text: Any, config: Config) -> str:
    """``text`` itself when it can be stored."""
    if not isinstance(text, str):
        raise InvalidTextError(
            f"the text is a {type(text).__name__}, not a str", hint="convert it first"
        )
    if not text or text.isspace():
        raise InvalidTextError("the text is empty", hint="pass something worth remembering")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"the text cannot be stored as UTF-8: {error.reason} at {error.start}",
            hint='decode it with errors="replace"',
        ) from None
    if size > config.max_text_bytes:
        raise InvalidTextError(
            f"the text has {size} bytes, the limit is {config.max_text_bytes}",
            hint="split it into passages, or raise Config.max_text_bytes",
        )
    return text


def parse_tags(tags: Any, config: Config) -> tuple[str, ...]:
    """Distinct tags in the order given: trimmed, Unicode NFC, case kept."""
    if tags is None:
        return ()
    if isinstance(tags, str):
        tags = (tags,)
    if not isinstance(tags, Iterable):
        raise InvalidTagError(
            f"tags must be strings, got {type(tags).__name__}", hint='write it like tags=["home"]'
        )
    out: dict[str, None] = {}
    for tag in tags:
        out[_tag(tag, config.max_tag_bytes)] = None
        if len(out) > config.max_tags:
            raise InvalidTagError(
                f"more than {config.max_tags} tags",
                hint="use metadata for values; a tag filter works best with few tags",
            )
    return tuple(out)


def _tag(tag: Any, max_bytes: int) -> str:
    if not isinstance(tag, str):
        raise InvalidTagError(
            f"a tag must be a str, got {type(tag).__name__}", hint="convert it: str(tag)"
        )
    return _clean_tag(tag, max_bytes)


@lru_cache(maxsize=16_384)
def _clean_tag(tag: str, max_bytes: int) -> str:
    clean = tag.strip()
    if not clean.isascii():
        clean = unicodedata.normalize("NFC", clean)
    if not clean:
        raise InvalidTagError("a tag is empty", hint="leave it out")
    if not clean.isprintable():
        raise InvalidTagError(
            f"tag {tag!r} holds control or invisible characters", hint="remove them"
        )
    if len(clean.encode("utf-8", "replace")) > max_bytes:
        raise InvalidTagError(
            f"a tag is longer than {max_bytes} bytes: {clean[:40]}...",
            hint="put long values into metadata, or raise Config.max_tag_bytes",
        )
    return clean


def unit_interval(value: Any, name: str) -> float | None:
    """A finite number in 0..1, or None."""
    return None if value is None else _number(value, name, 0.0, 1.0)


def _number(value: Any, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise InvalidInputError(
            f"{name} must be a number, got {type(value).__name__}",
            hint=f"pass a number in {low:g}..{high:g}",
        )
    if not math.isfinite(value) or not low <= value <= high:
        raise InvalidInputError(
            f"{name} is {value!r}", hint=f"pass a number in {low:g}..{high:g}"
        )
    return float(value)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(
            f"{name} is {value!r}", hint=f"pass {name}=True or {name}=False"
        )
    return bool(value)


_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
#: values that a shallow copy of a dictionary keeps private
_PLAIN = {str, int, float, bool, type(None)}


def check_metadata(metadata: Any, config: Config) -> tuple[dict[str, Any], str]:
    """A private copy of a JSON object, and its compact JSON text."""
    if type(metadata) is not dict and not isinstance(metadata, Mapping):
        metadata = {0: metadata}
    if not all(isinstance(key, str) for key in metadata):
        raise InvalidMetadataError(
            "metadata must be a dict with str keys", hint='write it like {"project": "atlas"}'
        )
    try:
        copy = dict(metadata)
        text = _encode_json(copy)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMetadataError(
            f"metadata cannot be stored as JSON: {error}",
            hint="use only dict, list, str, finite numbers, bool and None",
        ) from None
    if "\\u0000" in text and _holds_nul(metadata):
        raise InvalidMetadataError(
            "metadata holds a NUL character", hint="SQLite's JSON ends there; replace it"
        )
    if size > config.max_metadata_bytes:
        raise InvalidMetadataError(
            f"metadata has {size} bytes, the limit is {config.max_metadata_bytes}",
            hint="keep large values elsewhere and store a reference",
        )
    if not _PLAIN.issuperset(map(type, copy.values())):
        copy = json.loads(text)
    return copy, text


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_holds_nul(key) or _holds_nul(each) for key, each in value.items())
    return isinstance(value, (list, tuple)) and any(_holds_nul(each) for each in value)


def check_scope(value: Any, name: str, config: Config) -> str | None:
    """A scope id or short label: a printable, non-empty str."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidScopeError(
            f"{name} must be a non-empty printable str, got {value!r}",
            hint=f"convert it: {name}=str(...)",
        )
    if len(value.encode("utf-8", "replace")) > config.max_scope_bytes:
        raise InvalidScopeError(
            f"{name} is longer than {config.max_scope_bytes} bytes",
            hint="use a shorter one, or raise Config.max_scope_bytes",
        )
    return value


def parse_enum(kind: Any, value: Any, name: str) -> Any:
    """A member of ``kind`` from itself, its name in any case, or its number."""
    if isinstance(value, kind):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in iter(kind):
        return kind(value)
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    known = ", ".join(member.lower() for member in kind.__members__)
    raise InvalidInputError(f"unknown {name} {value!r}", hint=f"one of: {known}")


def _parents(parents: Any, config: Config) -> tuple[int, ...]:
    found = tuple(parents) if isinstance(parents, Iterable) else (None,)
    if len(found) > config.max_parents or not all(
        isinstance(p, (int, np.integer)) and not isinstance(p, bool) and 0 <= p < 1 << 63
        for p in found
    ):
        raise InvalidInputError(
            f"parents must be a list of at most {config.max_parents} record ids",
            hint="write it like parents=[record.id]",
        )
    return tuple(int(p) for p in found)


def parse_vector(vector: Any, dim: int) -> NDArray[np.float32]:
    """(dim,) f32 copy of a finite, non-zero vector."""
    array = vector.copy() if _is_plain(vector) else _as_array(vector, dim)
    if array.ndim != 1:
        raise InvalidVectorError(
            f"the vector has shape {array.shape}, expected ({dim},)", hint="pass one vector"
        )
    if len(array) != dim:
        raise DimensionMismatchError(
            f"the vector has {len(array)} components, this store holds {dim}",
            hint="embed with the model that the store was made with",
        )
    norm = float(array @ array)  # finite unless a component is not, or the sum overflows
    if not math.isfinite(norm) and not np.isfinite(array).all():
        raise InvalidVectorError("the vector holds NaN or infinity", hint="check the embedder")
    if norm == 0.0 and not array.any():
        raise InvalidVectorError("the vector is all zeros", hint="check the embedder")
    return array


def _is_plain(vector: Any) -> bool:
    return type(vector) is np.ndarray and vector.dtype == np.float32


def _as_array(vector: Any, dim: int) -> NDArray[np.float32]:
    try:
        if isinstance(vector, np.ndarray) and vector.dtype.kind == "c":
            raise TypeError("its components are complex")
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused below, as infinity
            return np.array(vector, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidVectorError(
            f"the vector is not numeric: {error}", hint=f"pass {dim} numbers"
        ) from None


# -- one parser per field: its name in the draft, and a function of (value, name, config, dim) ----

_Parse = Callable[[Any, str, Config, int], Any]


def _each(names: str, parse: _Parse) -> dict[str, tuple[str, _Parse]]:
    return {name: (name, parse) for name in names.split()}


_PARSERS: dict[str, tuple[str, _Parse]] = {
    **_each("tier", lambda v, n, c, d: v),
    **_each("tags", lambda v, n, c, d: parse_tags(v, c)),
    **_each("metadata", lambda v, n, c, d: check_metadata(v, c)),
    **_each("parents", lambda v, n, c, d: _parents(v, c)),
    **_each("vector", lambda v, n, c, d: parse_vector(v, d)),
    **_each("valence", lambda v, n, c, d: _number(v, n, -1.0, 1.0)),
    **_each("importance arousal confidence", lambda v, n, c, d: _number(v, n, 0.0, 1.0)),
    **_each("category", lambda v, n, c, d: parse_enum(Category, v, n)),
    **_each("modality", lambda v, n, c, d: parse_enum(Modality, v, n)),
    **_each(
        "session_id agent_id user_id role source", lambda v, n, c, d: check_scope(v, n, c)
    ),
    **_each("pinned immutable unresolved", lambda v, n, c, d: _flag(v, n)),
    "event_time": ("event_ms", lambda v, n, c, d: to_ms(v, name=n)),
    "valid_from": ("valid_from_ms", lambda v, n, c, d: to_ms(v, name=n)),
    "valid_until": ("valid_until_ms", lambda v, n, c, d: to_ms(v, name=n)),
}

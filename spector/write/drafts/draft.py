"""Validates a new memory: a text or message and its fields become one draft."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spector.arguments import (
    check_metadata,
    check_scope,
    check_text,
    parse_aliases,
    parse_duration_ms,
    parse_enum,
    parse_key,
    parse_namespace,
    parse_number,
    parse_parents,
    parse_superseded,
    parse_switch,
    parse_tags,
    parse_vector,
)
from spector.chat import MESSAGE_KEYS, as_message, chat_message, is_item
from spector.clock import to_ms
from spector.config import Config
from spector.errors import InvalidInputError, InvalidTextError, InvalidTimeError
from spector.language.statements import may_instruct
from spector.layout import Category, Modality
from spector.messages import hint_for_argument, reading, shown
from spector.records import NOT_GIVEN, Decision, Hit, MemoryRecord
from spector.store.catalog import link_tags
from spector.write.drafts.ends import ENDS, check_end, check_key

__all__ = [
    "FIELDS", "Draft", "Memories", "MemoryFields", "Named", "make_draft", "may_name",
    "with_aliases", "wordless",
]

#: one memory: what any verb returns of it, or its id
Named = int | Hit | MemoryRecord
#: one memory, or several
Memories = Named | Iterable[Named]


class MemoryFields(TypedDict, total=False):
    """The keyword arguments of ``remember``, which are the keys of ``remember_many``'s items too.
    """

    tier: str | None
    tags: Iterable[str] | None
    importance: float | None
    valence: float | None
    arousal: float | None
    event_time: datetime | str | None
    valid_from: datetime | str | None
    valid_until: datetime | str | None
    metadata: Mapping[str, Any] | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    source: str | None
    confidence: float | None
    pinned: bool | None
    vector: ArrayLike | None
    immutable: bool | None
    unresolved: bool | None
    category: str | int | None
    modality: str | int | None
    role: str | None
    parents: Memories | None
    supersedes: Memories | Literal["auto"] | None
    aliases: str | Iterable[str] | None
    key: str | None
    namespace: str | Iterable[str] | None
    expires_in: float | timedelta | None
    expires_at: datetime | str | None
    refresh: bool | None


FIELDS: Final = tuple(MemoryFields.__annotations__)
_KNOWN = frozenset(FIELDS) | {"text", "content"}
#: one of these shows that an item is a message of a chat model
_CHAT_KEYS = frozenset(
    ("role", "type", "parts", "tool_calls", "function_call", "content", "lc")
)


@dataclass(kw_only=True)
class Draft:
    """A valid memory that has no id, vector bytes or place yet.

    ``vars(draft)`` of a draft made by :func:`make_draft` has the given fields only; the others are
    class attributes, so that a draft costs no more than its given fields.
    """

    text: str
    tier: str = "episodic"
    #: as stored: the caller's own, then the reserved ones for what it supersedes
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
    supersedes: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = None
    #: fields of the record's mutable half that an import restores
    restored: Mapping[str, Any] | None = None
    #: times the usual starting stability: facts keep twice as long, learnings three times
    growth: float = 1.0
    #: recalls leave it out unless they ask for statistics
    auxiliary: bool = False
    #: recalls leave it out unless they ask for what may be an attack
    quarantined: bool = False
    #: what it supersedes is found out when it is stored
    settles: bool = False
    decision: Decision | None = None
    key: str | None = None
    #: that its key is of, as it is stored
    namespace: str = ""
    #: how often its key was given before, which an import restores
    revision: int | None = None
    #: when it expires: at a time, or so long after it is stored
    expires_ms: int | None = None
    expires_in_ms: int | None = None
    #: each hit moves its end
    refresh: bool = False
    #: how far each hit moves its end, which an import restores
    refresh_ms: int | None = None
    #: whether it takes the place of a memory that has its key: "replace" or "keep"
    known: str = "replace"
    #: whether it is stored although its key was forgotten: "store" or "skip"
    forgotten: str = "store"
    #: what has become of it: "new", "replaced", "known", "forgotten", or "repeated" where a later
    #: one of the call has its key
    outcome: str = "new"

    @property
    def has_entry(self) -> bool:
        """Whether it has a key or an end, which stand beside its memory."""
        return any(each is not None for each in (self.key, self.expires_ms, self.expires_in_ms))

    def decide(self, decision: Decision) -> None:
        """Supersede what was decided; the record that the caller gets says so."""
        self.decision = decision
        if decision.superseded:
            self.supersedes = decision.superseded
            self.tags = (*self.tags, *link_tags(decision.superseded))


def make_draft(
    item: str | Mapping[str, Any], given: Mapping[str, Any], *, config: Config, dim: int,
    may_name: Callable[[str | None, str | None], bool] | None = None,
) -> Draft:
    """A draft from a text or message and keyword arguments; the keywords win over the message.

    Args:
        may_name: whether ``metadata["aliases"]`` of a role and source name the memory, as the field
            ``aliases`` does; None for always.

    Raises:
        InvalidInputError: (a subclass of it) naming the field and the next step.
    """
    fields: Mapping[str, Any]
    if not isinstance(item, (str, Mapping)):
        with reading("the message"):
            item = as_message(item)
    if isinstance(item, str):
        text, fields = item, given
    elif type(item) is dict or isinstance(item, Mapping):
        with reading("the message"):
            text, fields = _text_of(item)
        if given:
            fields.update((name, value) for name, value in given.items() if value is not None)
    else:
        raise InvalidTextError(
            f"expected a text or a message, got {type(item).__name__}",
            hint='pass a str, or a dict like {"role": "user", "content": "..."}',
        )
    if fields.get("aliases") is not None:
        fields, may_name = with_aliases(fields, None), None
    about = reading("text")
    with about:
        parsed: dict[str, Any] = {"text": check_text(text, config)}
        for name, value in fields.items():
            if value is not None:
                about.name = name
                if name == "supersedes" and isinstance(value, str) and value == "auto":
                    parsed["settles"] = True
                    continue
                key, parse = _PARSERS[name]
                parsed[key] = parse(value, name, config, dim)
    if "metadata" in parsed:
        metadata, _ = parsed["metadata"]
        if may_name is not None and "aliases" in metadata and not may_name(
            parsed.get("role"), parsed.get("source")
        ):
            parsed["metadata"] = check_metadata({**metadata, NOT_GIVEN: False}, config)
        parsed["metadata"], parsed["metadata_json"] = parsed["metadata"]
    if "valid_from_ms" in parsed and "valid_until_ms" in parsed:
        _check_window(parsed["valid_from_ms"], parsed["valid_until_ms"])
    if not parsed.keys().isdisjoint(ENDS):
        check_end(parsed)
    if "key" in parsed or parsed.get("namespace"):
        check_key(parsed)
    if "supersedes" in parsed:
        parsed["tags"] = parsed.get("tags", ()) + link_tags(parsed["supersedes"])
    draft = object.__new__(Draft)
    draft.__dict__ = parsed
    return draft


def with_aliases(fields: Mapping[str, Any], kept: Any) -> dict[str, Any]:
    """Fields of a memory with its aliases in the metadata, where they are stored.

    Args:
        fields: as given; ``aliases`` (None removes them) wins over those in ``metadata``.
        kept: the metadata where none are given.

    Raises:
        InvalidInputError: an alias is not a name or is too long, or there are too many.
    """
    out = dict(fields)
    names = parse_aliases(out.pop("aliases"))
    metadata = out.get("metadata", kept)
    if metadata is not None and not isinstance(metadata, Mapping):
        return out  # its own parser refuses it
    with reading("metadata"):
        rest = {k: v for k, v in (metadata or {}).items() if k not in ("aliases", NOT_GIVEN)}
    out["metadata"] = {**rest, "aliases": list(names)} if names else rest or None
    return out


def may_name(role: Any, source: Any) -> bool:
    """Whether ``metadata["aliases"]`` name a memory: those of a tool or document do not."""
    role, source = (each if isinstance(each, str) else None for each in (role, source))
    return may_instruct(role, None, source)


def _check_window(start_ms: int, end_ms: int) -> None:
    if end_ms <= start_ms:
        raise InvalidTimeError(
            "valid_until is not after valid_from", hint="swap them, or leave one out"
        )


def _text_of(item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    body = item.get("content", item.get("text"))
    if isinstance(body, str) and item.keys() <= _KNOWN and ("text" in item) != ("content" in item):
        fields = dict(item)
        return fields.pop("content" if "content" in item else "text"), fields
    return _chat_text(item)


def _chat_text(item: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text and fields of a message as chat models write it.

    Calls of tools beside the text go into the metadata, with the name of who speaks.
    """
    if item.get("text") is not None and item.get("content") is not None:
        raise InvalidTextError(
            "a message needs one of the keys text and content, not both",
            hint='write it like {"role": "user", "content": "..."}',
        )
    unknown = [key for key in item if key not in _KNOWN and key not in MESSAGE_KEYS]
    if unknown and not ({"lc", "data"} & item.keys() or is_item(item)):
        raise InvalidInputError(
            f"unknown key {shown(unknown[0])} in a message",
            hint=f"{hint_for_argument(unknown[0], ('text', 'content', *FIELDS))}; keys of your own"
            " go into metadata",
        )
    found = chat_message(item)
    fields = {key: value for key, value in item.items() if key in FIELDS and value is not None}
    if found.role is not None:
        fields["role"] = found.role
    about: dict[str, Any] = {}
    if found.name:
        about["tool" if found.is_tool else "speaker"] = found.name
    if found.calls:
        about["tool_calls"] = found.shown_calls()
    if about and isinstance(fields.get("metadata"), (Mapping, type(None))):
        fields["metadata"] = {**about, **(fields.get("metadata") or {})}
    return found.require_text(), fields


def wordless(item: Any) -> str:
    """Why a message of a chat model has no text to remember; "" for one that has, or is none."""
    if type(item) is str:
        return ""
    if type(item) is dict:  # the usual one, of which there may be many
        body = item.get("content") or item.get("text")
        if type(body) is str and not body.isspace():
            return ""
    elif isinstance(item, str):
        return ""
    with reading("the message"):
        return _wordless(as_message(item))


def _wordless(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    body = item.get("content", item.get("text"))
    if isinstance(body, str) and body and not body.isspace():
        return ""
    if isinstance(item.get("text"), str) or not (item.keys() & _CHAT_KEYS):
        return ""
    found = chat_message(item)
    return "" if found.text.strip() else found.reason


# -- one parser per field: its name in the draft, and a function of (value, name, config, dim) ----

_Parse = Callable[[Any, str, Config, int], Any]


def _tier(value: Any, name: str, config: Config, dim: int) -> Any:
    return value


def _tags(value: Any, name: str, config: Config, dim: int) -> Any:
    return parse_tags(value, config)


def _metadata(value: Any, name: str, config: Config, dim: int) -> Any:
    return check_metadata(value, config)


def _vector(value: Any, name: str, config: Config, dim: int) -> Any:
    return parse_vector(value, dim)


def _unit(value: Any, name: str, config: Config, dim: int) -> Any:
    return parse_number(value, name, 0.0, 1.0)


def _label(value: Any, name: str, config: Config, dim: int) -> Any:
    return check_scope(value, name, config)


def _switch(value: Any, name: str, config: Config, dim: int) -> Any:
    return parse_switch(value, name)


def _instant(value: Any, name: str, config: Config, dim: int) -> Any:
    return to_ms(value, name=name, zone=config.zone)


def _end(value: Any, name: str, config: Config, dim: int) -> Any:
    return to_ms(value, name=name, zone=config.zone, is_end=True)


def _each(names: str, parse: _Parse) -> dict[str, tuple[str, _Parse]]:
    return {name: (name, parse) for name in names.split()}


_PARSERS: dict[str, tuple[str, _Parse]] = {
    **_each("tier", _tier),
    **_each("tags", _tags),
    **_each("metadata", _metadata),
    **_each("parents", lambda v, n, c, d: parse_parents(v, c)),
    **_each("supersedes", lambda v, n, c, d: parse_superseded(v, c)),
    **_each("vector", _vector),
    **_each("valence", lambda v, n, c, d: parse_number(v, n, -1.0, 1.0)),
    **_each("importance arousal confidence", _unit),
    **_each("category", lambda v, n, c, d: parse_enum(Category, v, n)),
    **_each("modality", lambda v, n, c, d: parse_enum(Modality, v, n)),
    **_each("session_id agent_id user_id role source", _label),
    **_each("pinned immutable unresolved", _switch),
    **_each("refresh", _switch),
    "expires_in": ("expires_in_ms", lambda v, n, c, d: parse_duration_ms(v, n)),
    "expires_at": ("expires_ms", _instant),
    **_each("key", lambda v, n, c, d: parse_key(v)),
    **_each("namespace", lambda v, n, c, d: parse_namespace(v)),
    "event_time": ("event_ms", _instant),
    "valid_from": ("valid_from_ms", _instant),
    "valid_until": ("valid_until_ms", _end),
}

"""Validates a new memory: a text or message and its fields become one draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from spector.arguments import (
    check_metadata,
    check_scope,
    check_text,
    parse_aliases,
    parse_attachment,
    parse_duration_ms,
    parse_enum,
    parse_integer,
    parse_key,
    parse_namespace,
    parse_number,
    parse_parents,
    parse_superseded,
    parse_switch,
    parse_tags,
    parse_vector,
    refuse_scopes,
)
from spector.chat import (
    MESSAGE_KEYS,
    ToolCalls,
    as_message,
    chat_message,
    is_item,
    sent_at,
    source_in,
)
from spector.clock import to_ms
from spector.config import Config
from spector.errors import InvalidInputError, InvalidTextError, InvalidTimeError
from spector.language.statements import may_instruct
from spector.layout import Category, Flag, Modality
from spector.messages import hint_for_argument, reading, shown
from spector.records import NOT_GIVEN, Attached, Decision
from spector.store.catalog import link_tags
from spector.write.fields import FIELDS

# What the key, the end and the attachment of a memory may be given with.

#: arguments about an end
ENDING: Final = ("expires_in", "expires_at", "refresh")

#: fields of a draft about its end
ENDS: Final = frozenset({"expires_ms", "expires_in_ms", "refresh"})


def check_end(parsed: Mapping[str, Any]) -> None:
    """Refuse ends that contradict one another, or that nothing may have."""
    if {"expires_ms", "expires_in_ms"} <= parsed.keys():
        raise InvalidInputError("expires_in and expires_at were given", hint="pass one of the two")
    if parsed.get("refresh") and "expires_in_ms" not in parsed:
        raise InvalidInputError(
            "refresh was given without expires_in", hint="say how long each use keeps it"
        )
    if parsed.get("immutable") and not parsed.keys().isdisjoint(ENDS - {"refresh"}):
        raise InvalidInputError(
            "an immutable memory does not expire", hint="leave one of the two out"
        )


def check_key(parsed: Mapping[str, Any]) -> None:
    """Refuse what needs a key without one, and a key beside what it says itself."""
    if "key" not in parsed:
        what = "a namespace" if parsed.get("namespace") else "if_revision"
        raise InvalidInputError(
            f"{what} was given without a key", hint="pass key= as well, or leave it out"
        )
    if "settles" in parsed:
        raise InvalidInputError(
            'supersedes="auto" was given with a key, which says itself what is replaced',
            hint="leave one of the two out, or name what it supersedes",
        )


def check_wordless(parsed: Mapping[str, Any]) -> None:
    """Refuse what only a memory with a text can have."""
    if "vector" in parsed:
        raise InvalidInputError(
            "a vector was given without a text", hint="pass a text as well, or leave it out"
        )
    if "settles" in parsed:
        raise InvalidInputError(
            'supersedes="auto" was given without a text, which alone could tell',
            hint="name the memory that it supersedes, or leave it out",
        )


def without_end(
    ends: Mapping[str, int | None] | None, tier: str
) -> Mapping[str, int | None] | None:
    """Refuse an end for a memory of a tier that does not last; taking one off changes nothing."""
    if ends is not None and ends["expires_ms"] is not None:
        raise not_kept(tier, "no end")
    return None


def not_kept(tier: str, what: str) -> InvalidInputError:
    """The error for what only memories have that last."""
    return InvalidInputError(
        f"a memory of the {tier} tier has {what}",
        hint='leave that out, or choose a tier that lasts, like tier="episodic"',
    )


def ends_in(changes: dict[str, Any], now_ms: int, zone: tzinfo) -> dict[str, int | None] | None:
    """The new end of a memory, taken out of the changes of it; None where they have none."""
    given = {name: changes.pop(name) for name in ENDING if name in changes}
    if not given:
        return None
    parsed: dict[str, Any] = {"immutable": changes.get("immutable")}
    after, at = given.get("expires_in"), None
    if after is not None:
        parsed["expires_in_ms"] = after = parse_duration_ms(after, "expires_in")
    if given.get("expires_at") is not None:
        parsed["expires_ms"] = at = to_ms(
            given["expires_at"], name="expires_at", zone=zone, is_end=True
        )
    refresh = given.get("refresh")
    parsed["refresh"] = refresh is not None and parse_switch(refresh, "refresh")
    check_end(parsed)
    return {
        "expires_ms": at if after is None else now_ms + after,
        "refresh_ms": after if parsed["refresh"] else None,
    }


# The text and the fields in what a caller passes: a dictionary, or a message of a chat model.

_KNOWN = frozenset(FIELDS) | {"text", "content"}
_OWN = _KNOWN - {"content"}
#: one of these shows that an item is a message of a chat model
_CHAT_KEYS = frozenset(("role", "type", "parts", "tool_calls", "function_call", "content", "lc"))


def is_own(item: Mapping[str, Any]) -> bool:
    """Whether a dictionary has fields of ``remember`` alone: a caller made it, and no client."""
    return item.keys() <= _OWN


def text_of(
    item: Mapping[str, Any], *, zone: tzinfo, is_attached: bool = False
) -> tuple[str, dict[str, Any]]:
    """The text of a dictionary, and its fields.

    Args:
        zone: of a message's time that names none.
        is_attached: something is attached to it, so that it may have no text.
    """
    body = item.get("content", item.get("text"))
    if isinstance(body, str) and item.keys() <= _KNOWN and ("text" in item) != ("content" in item):
        fields = dict(item)
        return fields.pop("content" if "content" in item else "text"), fields
    return _chat_text(item, zone, is_attached or item.get("attachment") is not None)


def _chat_text(
    item: Mapping[str, Any], zone: tzinfo, is_attached: bool
) -> tuple[str, dict[str, Any]]:
    """The text and fields of a message as chat models write it.

    Calls of tools beside the text are attached to it; the name of who speaks goes into the
    metadata.
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
    if "event_time" not in fields and (sent := sent_at(item, zone)) is not None:
        fields["event_time"] = sent
    about: dict[str, Any] = {}
    if found.name:
        about["tool" if found.is_tool else "speaker"] = found.name
    if found.calls:
        fields.setdefault("attachment", found.attached_calls())
    if about and isinstance(fields.get("metadata"), (Mapping, type(None))):
        fields["metadata"] = {**about, **(fields.get("metadata") or {})}
    if is_attached:
        return found.text if found.text.strip() else "", fields
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
    if not isinstance(item, Mapping) or item.get("attachment") is not None:
        return ""
    body = item.get("content", item.get("text"))
    if isinstance(body, str) and body and not body.isspace():
        return ""
    if isinstance(item.get("text"), str) or not (item.keys() & _CHAT_KEYS):
        return ""
    found = chat_message(item)
    return "" if found.text.strip() else found.reason


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
    #: it repeats others: recalls leave it out unless they ask for its sort
    derived: bool = False
    #: recalls leave it out unless they ask for what may be an attack
    quarantined: bool = False
    #: what it supersedes is found out when it is stored
    settles: bool = False
    decision: Decision | None = None
    key: str | None = None
    #: that its key is of, as it is stored
    namespace: str = ""
    #: the revision that the memory with its key must have, 0 for none; None for any
    if_revision: int | None = None
    #: how often its key was given before, which an import restores
    revision: int | None = None
    #: when it expires: at a time, or so long after it is stored
    expires_ms: int | None = None
    expires_in_ms: int | None = None
    #: each hit moves its end
    refresh: bool = False
    #: how far each hit moves its end, which an import restores
    refresh_ms: int | None = None
    attachment: Attached | None = None
    #: its attachment is what its message calls; none was given
    is_of_calls: bool = False
    #: it has neither a text nor a vector: what is attached to it is all
    is_wordless: bool = False
    #: whether it takes the place of a memory that has its key: "replace" or "keep"
    known: str = "replace"
    #: whether it is stored although its key was forgotten: "store" or "skip"
    forgotten: str = "store"
    #: what has become of it: "new", "replaced", "known", "forgotten", or "repeated" where a later
    #: one of the call has its key
    outcome: str = "new"

    @property
    def has_entry(self) -> bool:
        """Whether it has a key, an end or an attachment, which stand beside its memory."""
        return any(
            each is not None
            for each in (self.key, self.expires_ms, self.expires_in_ms, self.attachment)
        )

    @property
    def attached_bytes(self) -> int | None:
        """How large its attachment is."""
        return None if self.attachment is None else len(self.attachment.data)

    def flags_of_text(self, flags: int) -> int:
        """Flags with those by which recalls leave a memory out that has no text."""
        marks = int(Flag.NO_TEXT | Flag.AUXILIARY)
        if self.is_wordless:
            return flags | marks
        return flags & ~marks if flags & Flag.NO_TEXT else flags

    def in_tier(self, name: str, *, lasts: bool) -> Self:
        """The draft itself, if a memory of a tier may have what it has.

        Raises:
            InvalidInputError: it has what only memories have that last.
        """
        if lasts or not self.has_entry:
            return self
        if self.is_of_calls:
            raise InvalidInputError(
                f"the message calls tools, and a memory of the {name} tier has no attachment that"
                " could keep the calls",
                hint='pass its text alone, message["content"], or choose a tier that lasts, like'
                ' tier="episodic"',
            )
        what = (
            "no key"
            if self.key is not None
            else ("no end" if self.attachment is None else "no attachment")
        )
        raise not_kept(name, what)

    def decide(self, decision: Decision) -> None:
        """Supersede what was decided; the record that the caller gets says so."""
        self.decision = decision
        if decision.superseded:
            self.supersedes = decision.superseded
            self.tags = (*self.tags, *link_tags(decision.superseded))


def make_draft(
    item: str | Mapping[str, Any],
    given: Mapping[str, Any],
    *,
    config: Config,
    dim: int,
    may_name: Callable[[str | None, str | None], bool] | None = None,
    is_attached: bool = False,
    names_scopes: bool = True,
) -> Draft:
    """A draft from a text or message and keyword arguments; the keywords win over the message.

    Args:
        may_name: whether ``metadata["aliases"]`` of a role and source name the memory, as the field
            ``aliases`` does; None for always.
        is_attached: it needs no text. names_scopes: a message may fill in scopes itself.

    Raises:
        InvalidInputError: (a subclass of it) naming the field and the next step.
    """
    fields: Mapping[str, Any]
    is_attached = is_attached or given.get("attachment") is not None
    if item is None and is_attached:
        item = ""
    elif not isinstance(item, (str, Mapping)):
        with reading("the message"):
            item = as_message(item)
    if isinstance(item, str):
        text, fields = item, given
    elif type(item) is dict or isinstance(item, Mapping):
        with reading("the message"):
            text, fields = text_of(item, zone=config.zone, is_attached=is_attached)
        refuse_scopes(fields, given, may_fill=names_scopes or is_own(item))
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
        parsed: dict[str, Any] = {"text": "", "is_wordless": True}
        if text or not (is_attached or fields.get("attachment") is not None):
            parsed = {"text": check_text(text, config)}
        for name, value in fields.items():
            if value is not None:
                about.name = name
                if name == "supersedes" and isinstance(value, str) and value == "auto":
                    parsed["settles"] = True
                    continue
                key, parse = _PARSERS[name]
                parsed[key] = parse(value, name, config, dim)
    if "metadata" in parsed:
        metadata = parsed["metadata"][0]
        if "source" not in parsed and (source := source_in(metadata)):
            parsed["source"] = source
        if (
            may_name is not None
            and "aliases" in metadata
            and not may_name(parsed.get("role"), parsed.get("source"))
        ):
            parsed["metadata"] = check_metadata({**metadata, NOT_GIVEN: False}, config)
        parsed["metadata"], parsed["metadata_json"] = parsed["metadata"]
    _check_window(parsed.get("valid_from_ms"), parsed.get("valid_until_ms"))
    if not parsed.keys().isdisjoint(ENDS):
        check_end(parsed)
    if "key" in parsed or parsed.get("namespace") or "if_revision" in parsed:
        check_key(parsed)
    if isinstance(fields.get("attachment"), ToolCalls):
        parsed["is_of_calls"] = True
    if "is_wordless" in parsed:
        check_wordless(parsed)
    if "supersedes" in parsed:
        parsed["tags"] = parsed.get("tags", ()) + link_tags(parsed["supersedes"])
    (draft := object.__new__(Draft)).__dict__ = parsed
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


def _check_window(start_ms: int | None, end_ms: int | None) -> None:
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise InvalidTimeError(
            "valid_until is not after valid_from", hint="swap them, or leave one out"
        )


# -- one parser per field: its name in the draft, and a function of (value, name, config, dim) ----

_Parse = Callable[[Any, str, Config, int], Any]


def _attachment(value: Any, name: str, config: Config, dim: int) -> Any:
    if isinstance(value, ToolCalls):  # a message is not refused for what it calls
        value = value.within(config.max_attachment_bytes)
    return None if value is None else parse_attachment(value, config)


def _each(names: str, parse: _Parse) -> dict[str, tuple[str, _Parse]]:
    return {name: (name, parse) for name in names.split()}


_PARSERS: dict[str, tuple[str, _Parse]] = {
    **_each("tier", lambda v, n, c, d: v),
    **_each("tags", lambda v, n, c, d: parse_tags(v, c)),
    **_each("metadata", lambda v, n, c, d: check_metadata(v, c)),
    **_each("parents", lambda v, n, c, d: parse_parents(v, c)),
    **_each("supersedes", lambda v, n, c, d: parse_superseded(v, c)),
    **_each("vector", lambda v, n, c, d: parse_vector(v, d)),
    **_each("valence", lambda v, n, c, d: parse_number(v, n, -1.0, 1.0)),
    **_each("importance arousal confidence", lambda v, n, c, d: parse_number(v, n, 0.0, 1.0)),
    **_each("category", lambda v, n, c, d: parse_enum(Category, v, n)),
    **_each("modality", lambda v, n, c, d: parse_enum(Modality, v, n)),
    **_each("session_id agent_id user_id role source", lambda v, n, c, d: check_scope(v, n, c)),
    **_each("pinned immutable unresolved", lambda v, n, c, d: parse_switch(v, n)),
    **_each("refresh", lambda v, n, c, d: parse_switch(v, n)),
    "expires_in": ("expires_in_ms", lambda v, n, c, d: parse_duration_ms(v, n)),
    "expires_at": ("expires_ms", lambda v, n, c, d: to_ms(v, name=n, zone=c.zone, is_end=True)),
    **_each("attachment", _attachment),
    **_each("key", lambda v, n, c, d: parse_key(v)),
    **_each("namespace", lambda v, n, c, d: parse_namespace(v)),
    **_each("if_revision", lambda v, n, c, d: parse_integer(v, n, 0)),
    "event_time": ("event_ms", lambda v, n, c, d: to_ms(v, name=n, zone=c.zone)),
    "valid_from": ("valid_from_ms", lambda v, n, c, d: to_ms(v, name=n, zone=c.zone)),
    "valid_until": (
        "valid_until_ms",
        lambda v, n, c, d: to_ms(v, name=n, zone=c.zone, is_end=True),
    ),
}

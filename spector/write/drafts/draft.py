"""Validates a new memory: a text or message and its fields become one draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

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
from spector.chat import ToolCalls, as_message, source_in
from spector.clock import to_ms
from spector.config import Config
from spector.errors import InvalidInputError, InvalidTextError, InvalidTimeError
from spector.language.statements import may_instruct
from spector.layout import Category, Flag, Modality
from spector.messages import reading
from spector.records import NOT_GIVEN, Attached, Decision
from spector.store.catalog import link_tags
from spector.write.drafts.ends import ENDS, check_end, check_key, check_wordless, not_kept
from spector.write.drafts.texts import is_own, text_of

__all__ = ["Draft", "make_draft", "may_name", "with_aliases"]


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


def _attachment(value: Any, name: str, config: Config, dim: int) -> Any:
    if isinstance(value, ToolCalls):  # a message is not refused for what it calls
        value = value.within(config.max_attachment_bytes)
    return None if value is None else parse_attachment(value, config)


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
    "expires_at": ("expires_ms", _end),
    **_each("attachment", _attachment),
    **_each("key", lambda v, n, c, d: parse_key(v)),
    **_each("namespace", lambda v, n, c, d: parse_namespace(v)),
    **_each("if_revision", lambda v, n, c, d: parse_integer(v, n, 0)),
    "event_time": ("event_ms", _instant),
    "valid_from": ("valid_from_ms", _instant),
    "valid_until": ("valid_until_ms", _end),
}

"""What a caller hands over, as the stages read it: a text, who said it, when, and what came of it.

Messages of chat models are taken as they are: parts of content are joined, calls of tools and their
results become the details of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone, tzinfo
from typing import Any, Final

from spector.arguments import parse_choice, refuse_scopes
from spector.chat import (
    MESSAGE_KEYS,
    ChatMessage,
    as_message,
    chat_message,
    is_item,
    sent_at,
    source_in,
)
from spector.clock import to_ms
from spector.errors import InvalidInputError, InvalidTextError
from spector.language.statements import ASSISTANTS, speaker_in, speaker_opening
from spector.messages import reading, shown
from spector.observe.gate import data_source_of, name_of_speaker, speaker_of
from spector.records import Episode

#: classes of origins, and the role that says so of a message without one
DATA_SOURCES: Final[Mapping[str, str | None]] = {
    "user_message": None,
    "assistant_message": "assistant",
    "system": "system",
    "tool": "tool",
    "document": "document",
    "federation": "federation",
}
#: fields of ``remember`` that a message may bring along
_FIELDS: Final = frozenset(
    """tags importance event_time valid_from valid_until metadata session_id agent_id user_id source
    confidence pinned immutable unresolved category modality role aliases vector
    attachment""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message.

    Attributes:
        fields: those of ``remember`` that its memories get, scopes included.
        zone: where it was written, which decides what day "tomorrow" is.
        event_ms: when; None for now.
        is_call: it says nothing, and calls a tool.
    """

    text: str
    role: str | None
    data_source: str
    zone: tzinfo
    event_ms: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    episode: Episode | None = None
    is_call: bool = False

    @property
    def speaker(self) -> str | None:
        """The name of the person who speaks, by the metadata, the role or the text itself."""
        named = speaker_in(self.role, self.fields.get("metadata"))
        return name_of_speaker(self.text, self.role, named)

    @property
    def scope(self) -> tuple[str | None, str | None, str | None]:
        """User, agent and session."""
        given = self.fields.get
        return given("user_id"), given("agent_id"), given("session_id")


def message_of(
    item: Any,
    common: Mapping[str, Any],
    *,
    zone: tzinfo,
    data_source: str | None = None,
    episode: Episode | None = None,
    names_scopes: bool = False,
) -> Message:
    """A message of a text or mapping; its own fields win over the common ones.

    Args:
        common: fields of ``remember`` that apply where the message has none.
        zone: where messages are written that do not say it.
        names_scopes: it may say whose it is, where the common fields leave it open.

    Raises:
        InvalidInputError: naming what is wrong.
    """
    own: dict[str, Any] = {}
    found = ChatMessage()
    with reading("the message"):
        item = as_message(item)
    if isinstance(item, str):
        found.texts.append(item)
    elif isinstance(item, Mapping):
        with reading("the message"):
            own, found = _own_fields(item)
        refuse_scopes(own, common, may_fill=names_scopes)
    else:
        raise InvalidTextError(
            f"expected a text or a message, got {type(item).__name__}",
            hint='pass a str, or a dict like {"role": "user", "content": "..."}; more than one go '
            "into observe_many",
        )
    fields = {**{k: v for k, v in common.items() if v is not None}, **own}
    role = fields.get("role")
    if role is not None and not isinstance(role, str):
        raise InvalidInputError(f"role is {shown(role)}", hint='pass a text such as "user"')
    if data_source is not None:
        data_source = parse_choice(data_source, "data_source", *DATA_SOURCES)
        if role is None and DATA_SOURCES[data_source] is not None:
            role = fields["role"] = DATA_SOURCES[data_source]
    if found.is_tool and role is None:
        role = fields["role"] = "tool"
    metadata = fields.get("metadata")
    if found.name and role != "tool" and isinstance(metadata, (Mapping, type(None))):
        fields["metadata"] = {"speaker": found.name, **(metadata or {})}
    if fields.get("source") is None and (source := source_in(metadata)):
        fields["source"] = source
    event_time = fields.get("event_time")
    if event_time is None and isinstance(item, Mapping):
        event_time = sent_at(item, zone)
        fields.update({} if event_time is None else {"event_time": event_time})
    text = found.text or "\n".join(f"{name}({given})" for name, given in found.calls)
    if data_source is None and role in (None, "user"):
        name = speaker_of(text, role, speaker_in(role, fields.get("metadata")))
        opening = None if name else speaker_opening(text)
        if opening is not None and opening.role:
            name = opening.folded
        if name in ASSISTANTS or name in DATA_SOURCES:
            role = "assistant" if name in ASSISTANTS else name
    return Message(
        text=text,
        role=role,
        data_source=data_source or data_source_of(role, fields.get("source")),
        zone=_zone_of_time(event_time) or zone,
        event_ms=None if event_time is None else to_ms(event_time, name="event_time", zone=zone),
        fields=fields,
        episode=episode if episode is not None else _episode_of(found, role),
        is_call=bool(found.calls and not found.text),
    )


def _zone_of_time(when: Any) -> tzinfo | None:
    """The zone that an aware time names itself.

    A time in UTC is a moment, and says nothing of the place.
    """
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.strip())
        except ValueError:
            return None
    offset = when.utcoffset() if isinstance(when, datetime) else None
    return timezone(offset) if offset else None


def _own_fields(item: Mapping[str, Any]) -> tuple[dict[str, Any], ChatMessage]:
    """Fields that a message brings along, and what it says."""
    if "text" in item and "content" in item:
        raise InvalidTextError(
            "a message needs one of the keys text and content, not both",
            hint='write it like {"role": "user", "content": "..."}',
        )
    unknown = [key for key in item if key not in _FIELDS | MESSAGE_KEYS | {"text", "content"}]
    if unknown and not ({"lc", "data"} & item.keys() or is_item(item)):
        raise InvalidInputError(
            f"unknown key {shown(unknown[0])} in a message",
            hint="keys of your own go into metadata",
        )
    found = chat_message(item)
    if not found.texts and not found.results and not found.calls:
        found.require_text()
    own = {key: value for key, value in item.items() if key in _FIELDS and value is not None}
    if found.role is not None:
        own["role"] = found.role
    if found.calls and found.texts:  # a call that says nothing is the text itself
        own.setdefault("attachment", found.attached_calls())
    return own, found


def _episode_of(found: ChatMessage, role: str | None) -> Episode | None:
    """The details of a call or result of a tool; None for what is neither."""
    if found.calls:
        name, arguments = found.calls[0]
        return Episode(tool=name, context={"arguments": arguments} if arguments else None)
    if found.is_tool or role in ("tool", "function"):
        return Episode(tool=found.name or "tool", success=False if found.failed else None)
    return None

"""What a caller hands over, as the stages read it: a text, who said it, when, and what came of it.

Messages of chat models are taken as they are: parts of content are joined, calls of tools and their
results become the details of an episode.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone, tzinfo
from typing import Any, Final

from spector.arguments import parse_choice
from spector.clock import to_ms
from spector.errors import InvalidInputError, InvalidTextError
from spector.messages import reading, shown
from spector.observe.gate import data_source_of
from spector.records import Episode

__all__ = ["DATA_SOURCES", "Message", "message_of"]

#: classes of origins, and the role that says so of a message without one
DATA_SOURCES: Final[Mapping[str, str | None]] = {
    "user_message": None, "assistant_message": "assistant", "system": "system", "tool": "tool",
    "document": "document", "federation": "federation",
}  # fmt: skip
#: fields of ``remember`` that a message may bring along
_FIELDS: Final = frozenset(
    """tags importance event_time valid_from valid_until metadata session_id agent_id user_id source
    confidence pinned immutable unresolved category modality role aliases vector""".split()
)
#: fields of chat models' messages that say nothing of what is kept
_IGNORED: Final = frozenset(
    """id type name status refusal annotations audio function_call tool_calls tool_call_id index
    logprobs finish_reason stop_reason stop_sequence usage model object created created_at
    cache_control reasoning reasoning_content timestamp is_error""".split()
)
_TEXT_PARTS: Final = frozenset(("text", "input_text", "output_text"))
#: characters of a call's arguments that are kept
_MOST_ARGUMENTS: Final = 2_000


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
        """The name of the one who speaks, where the metadata give one."""
        metadata = self.fields.get("metadata")
        named = metadata.get("speaker") if isinstance(metadata, Mapping) else None
        return named if isinstance(named, str) and named else None

    @property
    def scope(self) -> tuple[str | None, str | None, str | None]:
        """User, agent and session."""
        given = self.fields.get
        return given("user_id"), given("agent_id"), given("session_id")


def message_of(
    item: Any, common: Mapping[str, Any], *, zone: tzinfo, data_source: str | None = None,
    episode: Episode | None = None,
) -> Message:
    """A message of a text or mapping; its own fields win over the common ones.

    Args:
        common: fields of ``remember`` that apply where the message has none.
        zone: where messages are written that do not say it.

    Raises:
        InvalidInputError: naming what is wrong.
    """
    own: dict[str, Any] = {}
    found = _Content()
    if isinstance(item, str):
        found.texts.append(item)
    elif isinstance(item, Mapping):
        with reading("the message"):
            own = _own_fields(item, found)
    else:
        raise InvalidTextError(
            f"expected a text or a message, got {type(item).__name__}",
            hint='pass a str, or a dict like {"role": "user", "content": "..."}',
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
    event_time = fields.get("event_time")
    return Message(
        text=found.text, role=role,
        data_source=data_source or data_source_of(role, fields.get("source")),
        zone=_zone_of_time(event_time) or zone,
        event_ms=None if event_time is None else to_ms(event_time, name="event_time"),
        fields=fields, episode=episode if episode is not None else found.episode(role),
        is_call=bool(found.calls and not found.texts),
    )  # fmt: skip


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


def _own_fields(item: Mapping[str, Any], found: _Content) -> dict[str, Any]:
    """Fields that a message brings along; its content goes into ``found``."""
    if "text" in item and "content" in item:
        raise InvalidTextError(
            "a message needs one of the keys text and content, not both",
            hint='write it like {"role": "user", "content": "..."}',
        )
    unknown = [key for key in item if key not in _FIELDS | _IGNORED | {"text", "content"}]
    if unknown:
        raise InvalidInputError(
            f"unknown key {shown(unknown[0])} in a message",
            hint="keys of your own go into metadata",
        )
    found.add(item.get("text", item.get("content")))
    found.add_calls(item.get("tool_calls"))
    if isinstance(item.get("function_call"), Mapping):
        found.add_calls([{"function": item["function_call"]}])
    name = item.get("name")
    found.name = name.strip() if isinstance(name, str) else ""
    found.is_tool = found.is_tool or item.get("role") in ("tool", "function")
    if item.get("is_error") is True:
        found.failed = True
    if not found.texts and not found.calls:
        raise InvalidTextError(
            "a message needs a text", hint='write it like {"role": "user", "content": "..."}'
        )
    return {key: value for key, value in item.items() if key in _FIELDS and value is not None}


@dataclass(slots=True)
class _Content:
    """What the parts of a message hold."""

    texts: list[str] = field(default_factory=list)
    #: (tool, arguments)
    calls: list[tuple[str, str]] = field(default_factory=list)
    name: str = ""
    is_tool: bool = False
    failed: bool = False

    @property
    def text(self) -> str:
        """The texts, or else what the tools were called with."""
        if self.texts:
            return "\n".join(self.texts)
        return "\n".join(f"{name}({arguments})" for name, arguments in self.calls)

    def add(self, content: Any) -> None:
        """Add a content: a text, one part, or several parts."""
        if content is None:
            return
        if isinstance(content, str):
            self.texts.append(content)
        elif isinstance(content, Mapping):
            self._add_part(content)
        elif isinstance(content, Iterable) and not isinstance(content, (bytes, bytearray)):
            for part in content:
                if not isinstance(part, (str, Mapping)):
                    raise InvalidTextError(
                        f"a part of a message is a {type(part).__name__}",
                        hint='write parts like {"type": "text", "text": "..."}',
                    )
                self.add(part)
        else:
            raise InvalidTextError(
                f"the content of a message is a {type(content).__name__}",
                hint="pass a text, or a list of parts",
            )

    def _add_part(self, part: Mapping[str, Any]) -> None:
        kind = part.get("type", "text")
        if kind in _TEXT_PARTS:
            text = part.get("text")
            if isinstance(text, str):
                self.texts.append(text)
        elif kind == "tool_use":
            self._add_call(part.get("name"), part.get("input"))
        elif kind == "tool_result":
            self.is_tool = True
            self.failed = self.failed or part.get("is_error") is True
            self.add(part.get("content"))
        # images, sounds and files have no words

    def add_calls(self, calls: Any) -> None:
        """Add the calls of tools of a message."""
        if calls is None:
            return
        if isinstance(calls, (str, bytes, Mapping)) or not isinstance(calls, Iterable):
            raise InvalidInputError(
                f"tool_calls is {shown(calls)}", hint="pass the list that the model gave"
            )
        for each in calls:
            made = each.get("function", each) if isinstance(each, Mapping) else {}
            if isinstance(made, Mapping):
                self._add_call(made.get("name"), made.get("arguments", made.get("input")))

    def _add_call(self, name: Any, arguments: Any) -> None:
        if not isinstance(name, str) or not name.strip():
            return
        if not isinstance(arguments, str):
            try:
                arguments = json.dumps(arguments or {}, ensure_ascii=False)
            except (TypeError, ValueError, RecursionError):
                arguments = ""
        self.calls.append((name.strip(), arguments[:_MOST_ARGUMENTS]))

    def episode(self, role: str | None) -> Episode | None:
        """The details of a call or result of a tool; None for what is neither."""
        if self.calls:
            name, arguments = self.calls[0]
            return Episode(tool=name, context={"arguments": arguments} if arguments else None)
        if self.is_tool or role in ("tool", "function"):
            return Episode(tool=self.name or "tool", success=False if self.failed else None)
        return None



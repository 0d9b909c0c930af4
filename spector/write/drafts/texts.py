"""The text and the fields in what a caller passes: a dictionary, or a message of a chat model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from spector.chat import MESSAGE_KEYS, as_message, chat_message, is_item, sent_at
from spector.errors import InvalidInputError, InvalidTextError
from spector.messages import hint_for_argument, reading, shown
from spector.write.drafts.fields import FIELDS

__all__ = ["is_own", "text_of", "wordless"]

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

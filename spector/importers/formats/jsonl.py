"""JSON messages: one object per line, one JSON array, or {"messages": [...]}.

A message is {"role", "content"} as chat models write it, {"text"}, or an item of an API, plus any
keyword of ``Memory.remember``. Unknown keys go into the metadata, so that nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from spector.chat import MESSAGE_KEYS, ChatMessage, chat_message, unwrapped
from spector.errors import ImportFormatError, InvalidInputError
from spector.importers.entries import (
    Entry,
    Format,
    Found,
    LeftOut,
    Message,
    Options,
    instructs,
    is_blank,
    label,
    role_of_person,
)
from spector.importers.reading import filled, numbered, read_each, text_in
from spector.importers.sources import BAD_JSON, Head, SourceFile, each_line
from spector.importers.times import TIME_KEYS, Spot
from spector.messages import shown

_SCOPES: Final = ("session_id", "agent_id", "user_id")
_STRINGS: Final = ("tier", *_SCOPES, "source", "role", "category", "modality")
_NUMBERS: Final = ("importance", "valence", "arousal", "confidence")
_TIMES: Final = ("event_time", "valid_from", "valid_until")
#: fields of our exports that are not arguments of ``remember``
_STATE: Final = frozenset(
    """id recorded_at stability_days utility access_count last_access flags parents supersedes
    superseded_by own_until score explain payload sources references mentions edges""".split()
)
_FLAGS: Final = ("pinned", "immutable", "unresolved")
_BODY: Final = frozenset(
    """text content tags metadata vector vector_model attachment lc""".split()
).union(_FLAGS, _STRINGS, _NUMBERS, _TIMES)
#: beginnings of kinds of items that say nothing
_RECORDS: Final = ("mcp_", "compaction", "item_reference")
#: of a chat model's message: what is worth a place in the metadata
_KEPT: Final = frozenset(("id", "model", "tool_call_id", "call_id"))
#: the list of messages within a conversation
_LISTS: Final = ("messages", "conversation", "turns", "history", "items", "chat_history")
#: names of the id of a conversation
_IDS: Final = ("session_id", "conversation_id", "thread_id", "id", "uuid")
#: names of speakers that are roles
_ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "developer",
}
#: kinds of API items and of LangChain's messages
_KINDS: Final = frozenset(
    """message function_call function_call_output reasoning custom_tool_call
    custom_tool_call_output human ai system tool HumanMessage AIMessage SystemMessage ToolMessage
    """.split()
)


def _recognizes(head: Head) -> bool:
    if head.shape == "text":
        return False
    first = head.first
    return bool(
        {"text", "content", "parts"} & first.keys()
        or _list_in(first) is not None
        or _is_kind(first.get("type"))
        or "lc" in first
        or ("role" in first and ("tool_calls" in first or "function_call" in first))
    )


def _is_kind(kind: Any) -> bool:
    """Whether an object without a text is an item of an API, or a message of LangChain."""
    return isinstance(kind, str) and (
        kind in _KINDS or kind.endswith(("_call", "_output")) or kind.startswith(_RECORDS)
    )


def _recognizes_ours(head: Head) -> bool:
    first = head.first
    return head.shape != "text" and (
        {"text", "tier", "recorded_at"} <= first.keys() or isinstance(first.get("spector"), str)
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a file, in their order; instructions to a model are left out."""
    for entry in _read(source, options):
        if isinstance(entry, Found) and instructs(entry.message.get("role")):
            entry = LeftOut("instructions", entry.place)
        yield entry


def _read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of a file, instructions among them."""
    return read_each(_entries(source, options), _entry_of, source, options)


FORMAT: Final = Format(
    "jsonl",
    "messages as JSON: one a line, an array of them, or of conversations",
    read,
    _recognizes,
)
SPECTOR: Final = Format("spector", "output of spector export", _read, _recognizes_ours)


# -- the objects of a file -------------------------------------------------------------------------

#: place, and an object with what its conversation says of all messages, or why there is none
_Place = tuple[str, tuple[dict[str, Any], Message] | ImportFormatError]


def _entries(source: SourceFile, options: Options) -> Iterator[_Place]:
    if source.first_character() == "[":
        found: Iterable[tuple[str, Any]] = source.each_object()
    elif _is_one_document(source):
        found = [("document", source.load_object())]
    else:
        found = each_line(source)
    for place, entry in found:
        yield from _opened(entry, Spot(source, options, place))


def _is_one_document(source: SourceFile) -> bool:
    """Whether the first line is the beginning of an object that ends further down."""
    with source.open_text() as stream:
        first = next((line.strip() for line in stream if line.strip()), "")
    if first in ("{", '{"messages": [', '{"messages":['):
        return True
    if source.suffix in (".jsonl", ".ndjson"):
        return False
    try:
        json.loads(first)
    except json.JSONDecodeError:
        return first.startswith("{") and not first.endswith("}")
    except BAD_JSON:
        return False
    return False


def _list_in(entry: dict[str, Any]) -> list[Any] | None:
    """The messages of a conversation; None for what is none."""
    if {"text", "content"} & entry.keys():
        return None
    for name in _LISTS:
        found = entry.get(name)
        if isinstance(found, list) and all(isinstance(each, dict) for each in found[:1]):
            return found
    return None


def _opened(entry: dict[str, Any] | ImportFormatError, spot: Spot) -> Iterator[_Place]:
    """A message as it is, or the messages of a conversation."""
    if isinstance(entry, ImportFormatError):
        yield spot.place, entry
        return
    messages = _list_in(entry)
    if messages is None:
        yield spot.place, (entry, {})
        return
    try:
        shared = _shared(entry, spot)
    except ImportFormatError as error:
        yield spot.place, error
        return
    for place, each in numbered(f"{spot.place}, message", messages):
        if isinstance(each, dict):
            yield place, (each, shared)
        else:
            hint = 'write {"role", "content"}'
            yield place, spot.at(place).error("is not an object", hint=hint)


def _shared(entry: dict[str, Any], spot: Spot) -> Message:
    """What a conversation says of all its messages."""
    shared: Message = {name: label(entry.get(name)) for name in ("user_id", "agent_id")}
    shared["session_id"] = next((found for name in _IDS if (found := label(entry.get(name)))), None)
    if shared["session_id"] is None and spot.place != "document":
        # one of several in the file, each a conversation of its own
        shared["session_id"] = f"{spot.source.name} {spot.place}"
        shared["conversation"] = "/".join((*spot.source.folders, spot.source.name))
    shared["event_time"], _ = spot.time_among(entry)
    shared["title"] = text_in(entry, "title").strip()[:500]
    return filled(shared)


# -- one object ------------------------------------------------------------------------------------


def _entry_of(given: tuple[dict[str, Any], Message], spot: Spot) -> Entry | Iterator[Entry]:
    """The message of one JSON object.

    Lines of our own exports that are about several memories, or none, are passed over.

    Raises:
        ImportFormatError: it is none.
    """
    entry, shared = given
    if isinstance(entry.get("spector"), str) and not {"text", "content"} & entry.keys():
        return iter(())
    entry = dict(unwrapped(entry))
    if str(entry.get("type")).startswith(_RECORDS) and "content" not in entry:
        return LeftOut("record of the program", spot.place)
    found, text = _said(entry, spot)
    if is_blank(text):
        return LeftOut("no text" if found is None else found.reason, spot.place)
    message: Message = {"text": text}
    message.update(_plain_fields(entry, spot))
    if found is not None and isinstance(found.role, str):
        message["role"] = found.role
    if found is not None and found.is_tool and not found.texts:
        message["role"] = "tool"
    if "role" not in message and "recorded_at" not in entry:
        _add_speaker(message, entry)
    borrowed, written, key = _add_times(message, entry, spot, shared)
    if entry.get("attachment") is not None:
        message["attachment"] = entry["attachment"]
    elif found is not None and found.calls:
        message["attachment"] = found.attached_calls()
    metadata = {**_extra(entry, found, message, key), **message.get("metadata", {})}
    if "title" in shared:
        metadata.setdefault("title", shared["title"])
    if metadata:
        message["metadata"] = metadata
    for name in _SCOPES:
        if name in shared:
            message.setdefault(name, shared[name])
    if "source" not in entry:
        message["source"] = spot.source.name
    own_id = entry.get("id") if "recorded_at" not in entry else None
    return Found(
        message,
        spot.place,
        str(own_id) if isinstance(own_id, (str, int)) else "",
        conversation=shared.get("conversation", ""),
        borrowed=borrowed,
        written=written,
    )


def _add_speaker(message: Message, entry: dict[str, Any]) -> None:
    """Add who says a message that has no role; what another person says is not the user's."""
    name, key = named_in(entry)
    if name is None:
        return
    if name.casefold() in _ROLES:
        message["role"] = _ROLES[name.casefold()]
        return
    role, speaker = role_of_person(name)
    message["role"] = role
    message["metadata"] = {"speaker": speaker, **message.get("metadata", {})}
    if isinstance(entry[key], str):
        del entry[key]


def _said(entry: dict[str, Any], spot: Spot) -> tuple[ChatMessage | None, str]:
    """The message of a chat model and its text; a text alone is no such message."""
    texts = [entry[key] for key in ("text", "content") if isinstance(entry.get(key), str)]
    if all(texts) and len(set(texts)) > 1:
        raise spot.error('has both "text" and "content"', hint="leave one of them out")
    body = entry.get("text", entry.get("content"))
    if isinstance(body, str) and not _is_chat(entry):
        return None, body  # its outer spaces belong to it
    if not {"text", "content", "parts"} & entry.keys() and not (
        entry.get("tool_calls") or entry.get("function_call") or _is_kind(entry.get("type"))
    ):
        raise spot.error(
            'has neither "text" nor "content"', hint='write {"role": "user", "content": "..."}'
        )
    if "text" in entry and body is not None and not isinstance(body, (str, list)):
        raise spot.error(
            f"the text must be a str, got {type(body).__name__}", hint="write it as a JSON string"
        )
    try:
        found = chat_message(entry)
    except InvalidInputError as error:
        raise spot.error(error.message, hint=error.hint) from error
    if isinstance(body, str) and found.texts:
        return found, body
    return found, found.text


def _is_chat(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("role"), str) or isinstance(entry.get("type"), str)


def _add_times(
    message: Message, entry: dict[str, Any], spot: Spot, shared: Message
) -> tuple[bool, str, str]:
    """Add the times of an entry; whether its time is its conversation's, its own as written, and
    the name that it stands under.
    """
    for name in _TIMES:
        moment = spot.time(entry.get(name), name, is_end=name == "valid_until")
        if moment is not None:
            message[name] = moment
        elif isinstance(entry.get(name), (int, float)) and entry[name]:
            raise spot.error(
                f"{name} {entry[name]} is too small for seconds since 1970",
                hint="write it like 2026-05-04T17:30:00Z",
            )
    if "event_time" in message:
        return False, str(entry["event_time"]), ""
    for given in (entry, entry.get("metadata")):
        if not isinstance(given, dict):
            continue
        moment, key = spot.time_among(given)
        if moment is not None:
            message["event_time"] = moment
            return False, str(given[key]), key if given is entry else ""
    if "event_time" in shared:
        message["event_time"] = shared["event_time"]
        return True, "", ""
    return False, "", ""


def _extra(
    entry: dict[str, Any], found: ChatMessage | None, message: Message, time_key: str
) -> dict[str, Any]:
    """Keys that ``remember`` does not take, for the metadata."""
    is_ours = "recorded_at" in entry
    out: dict[str, Any] = {}
    for name, value in entry.items():
        if name in _BODY or value is None or (is_ours and name in _STATE):
            continue
        if name == time_key:
            continue
        if found is not None and name in MESSAGE_KEYS.difference(_KEPT, TIME_KEYS):
            continue
        out[name] = value
    if found is not None and found.name:
        if message.get("role") in ("tool", "function"):
            out["tool"] = found.name
        else:
            out["speaker"] = found.name
    return out


def _plain_fields(entry: dict[str, Any], spot: Spot) -> Message:
    out: Message = {}
    for name in (*_STRINGS, *_NUMBERS):
        value = entry.get(name)
        if value is None:
            continue
        if name in _SCOPES and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # the numbers of databases
        kinds, kind = ((str,), "a string") if name in _STRINGS else ((int, float), "a number")
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise spot.error(f'"{name}" must be {kind}', hint=f"got {shown(value)}")
        out[name] = value
    tags = entry.get("tags")
    if isinstance(tags, str):
        tags = [tags]
    if tags is not None:
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise spot.error('"tags" must be a list of strings', hint=f"got {shown(tags)}")
        if tags:
            out["tags"] = list(tags)
    metadata = entry.get("metadata")
    if metadata is not None:
        if not isinstance(metadata, dict):
            raise spot.error('"metadata" must be an object', hint=f"got {shown(metadata)}")
        out["metadata"] = metadata
    # our exports name the model of their vectors; only Memory.import_ can compare it
    if entry.get("vector") is not None and not entry.get("vector_model"):
        out["vector"] = entry["vector"]
    flags = entry.get("flags")
    for name in _FLAGS:
        if entry.get(name) is True or (isinstance(flags, list) and name in flags):
            out[name] = True
    return out


# Who says a message in JSON that has no role: a name under one of the usual keys.

#: names that makers use for who says a message
SPEAKER_KEYS: Final = tuple(
    """speaker sender sender_name senderName author from from_name username user_name userName creator
    sent_by nickname user""".split()
)
#: of an object for a person: its name
_NAMES: Final = tuple(
    "display_name displayName nickname name full_name real_name username id".split()
)


def named_in(entry: Mapping[str, Any]) -> tuple[str | None, str]:
    """Who says an entry, and the key that his name stands under; (None, "") for no one."""
    for key in SPEAKER_KEYS:
        value = entry.get(key)
        if isinstance(value, dict):
            value = next((value[name] for name in _NAMES if value.get(name)), None)
        if (found := label(value)) is not None:
            return found, key
    return None, ""

"""JSON messages: one object per line, one JSON array, or {"messages": [...]}.

A message is {"role", "content"} or {"text"}, plus any keyword of ``Memory.remember``. The lines of
``spector export`` are such messages. Unknown keys go into the metadata, so that nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spector.importers.common import (
    BAD_JSON,
    Message,
    Options,
    SourceFile,
    iter_array,
    parse_time,
    text_of_parts,
)
from spector.messages import shown

__all__ = ["message_of", "read"]

_STRINGS = (
    "tier", "session_id", "agent_id", "user_id", "source", "role", "category", "modality"
)  # fmt: skip
_NUMBERS = ("importance", "valence", "arousal", "confidence")
_TIMES = ("event_time", "valid_from", "valid_until")
#: names that chat logs use for the time of a message
_TIME_ALIASES = ("timestamp", "created_at", "create_time", "time", "date")
#: fields of our exports that are not arguments of ``remember``
_STATE = {
    "id", "recorded_at", "stability_days", "utility", "access_count", "last_access", "flags",
    "parents", "supersedes", "superseded_by", "own_until", "score", "explain",
    "payload", "sources", "references", "mentions", "edges",
}  # fmt: skip
_FLAGS = ("pinned", "immutable", "unresolved")
_BODY = {"text", "content", "tags", "metadata", "vector", "vector_model", *_FLAGS}


def read(source: SourceFile, options: Options) -> Iterator[Message]:
    """Yield the messages of a file; entries without text (tool calls) are skipped.

    So are the lines of an export that are about several memories, or none.
    """
    for place, entry in _entries(source):
        if isinstance(entry.get("spector"), str) and not {"text", "content"} & entry.keys():
            continue
        message = message_of(entry, source, place, options)
        if message is not None:
            yield message


def message_of(
    entry: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Message | None:
    """The keywords of one JSON object; None if it has no text."""
    if "text" not in entry and "content" not in entry:
        raise source.error(
            place,
            'has neither "text" nor "content"',
            hint='write {"role": "user", "content": "..."}',
        )
    body = entry["text"] if "text" in entry else entry["content"]
    if body is not None and not isinstance(body, (str, list)):
        raise source.error(
            place, f"the text must be a str, got {type(body).__name__}",
            hint="write it as a JSON string",
        )
    text = text_of_parts(body)
    if not text:
        return None
    # the stored text keeps its outer spaces; only the test for emptiness strips them
    message: Message = {"text": body if isinstance(body, str) else text}
    message.update(_plain_fields(entry, source, place))
    for name in _TIMES:
        moment = parse_time(entry.get(name), source, place, options, name=name)
        if moment is not None:
            message[name] = moment
    ours = "recorded_at" in entry
    extra: dict[str, Any] = {}
    for name, value in entry.items():
        if name in _BODY or name in _STRINGS or name in _NUMBERS or name in _TIMES:
            continue
        if ours and name in _STATE:
            continue
        if name in _TIME_ALIASES and "event_time" not in message:
            moment = parse_time(value, source, place, options, name=name)
            if moment is not None:
                message["event_time"] = moment
        elif name not in _TIME_ALIASES and value is not None:
            extra[name] = value
    metadata = {**extra, **message.get("metadata", {})}
    if metadata:
        message["metadata"] = metadata
    if "source" not in entry:
        message["source"] = source.name
    return message


def _entries(source: SourceFile) -> Iterator[tuple[str, dict[str, Any]]]:
    is_array = source.first_character() == "["
    with source.open_text() as stream:
        if is_array:
            for number, element in iter_array(stream, source):
                yield f"entry {number}", element
            return
        first = True
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            document = _pretty_printed(source, line) if first else None
            if document is not None:
                yield from _messages(document, source, "document")
                return
            first = False
            yield from _messages(_parse_line(source, number, line), source, f"line {number}")


def _parse_line(source: SourceFile, number: int, line: str) -> dict[str, Any]:
    place = f"line {number}"
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as exc:
        raise source.error(
            place, f"broken JSON: {exc.msg}", hint="write one JSON object per line"
        ) from exc
    except BAD_JSON as exc:
        raise source.json_error(place, exc) from exc
    if not isinstance(entry, dict):
        raise source.error(
            place, f"must be an object, got {type(entry).__name__}", hint='write {"text": "..."}'
        )
    return entry


def _pretty_printed(source: SourceFile, first_line: str) -> dict[str, Any] | None:
    """The document of a file with one JSON object over several lines; None for others."""
    if first_line.strip() not in ("{", '{"messages": [', '{"messages":['):
        return None
    with source.open_text() as stream:
        return source.load_object(stream)


def _messages(
    entry: dict[str, Any], source: SourceFile, place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(entry.get("messages"), list) and not {"text", "content"} & entry.keys():
        yield from _conversation(entry, source, place)
    else:
        yield place, entry


def _conversation(
    document: dict[str, Any], source: SourceFile, place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    scope = ("session_id", "user_id", "agent_id")
    shared: dict[str, Any] = {name: document[name] for name in scope if name in document}
    for number, entry in enumerate(document["messages"], 1):
        where = f"{place}, message {number}"
        if not isinstance(entry, dict):
            raise source.error(where, "is not an object", hint='write {"role", "content"}')
        yield where, {**shared, **entry}


def _plain_fields(entry: dict[str, Any], source: SourceFile, place: str) -> Message:
    out: Message = {}
    for name in (*_STRINGS, *_NUMBERS):
        value = entry.get(name)
        if value is None:
            continue
        kinds, kind = ((str,), "a string") if name in _STRINGS else ((int, float), "a number")
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise source.error(place, f'"{name}" must be {kind}', hint=f"got {shown(value)}")
        out[name] = value
    tags = entry.get("tags")
    if isinstance(tags, str):
        tags = [tags]
    if tags is not None:
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise source.error(place, '"tags" must be a list of strings', hint=f"got {shown(tags)}")
        if tags:
            out["tags"] = list(tags)
    metadata = entry.get("metadata")
    if metadata is not None:
        if not isinstance(metadata, dict):
            raise source.error(place, '"metadata" must be an object', hint=f"got {shown(metadata)}")
        out["metadata"] = metadata
    # our exports name the model of their vectors; only Memory.import_ can compare it
    if entry.get("vector") is not None and not entry.get("vector_model"):
        out["vector"] = entry["vector"]
    flags = entry.get("flags")
    for name in _FLAGS:
        if entry.get(name) is True or (isinstance(flags, list) and name in flags):
            out[name] = True
    return out

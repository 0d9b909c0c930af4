"""ChatGPT exports: ``conversations.json``, or the zip archive that contains it.

A conversation is a tree, because an edited question starts a new branch. Only the branch that the
user saw last is read: from ``current_node`` up to the root, in reverse.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import Any, TextIO

from spector.errors import ImportFormatError
from spector.importers.common import (
    Message,
    Options,
    SourceFile,
    iter_array,
    parse_time,
    text_of_parts,
    wrap_text,
)

__all__ = ["read"]

_MEMBER = re.compile(r"(^|/)conversations([-_]\d+)?\.json$")
_LATEST_S = 1e12
_SPOKEN_ROLES = {"user", "assistant"}
_SPOKEN_TYPES = {"text", "multimodal_text"}


def read(source: SourceFile, options: Options) -> Iterator[Message]:
    """Yield the visible messages of every conversation, one conversation after the other.

    A broken conversation is skipped and reported, because the others do not depend on it.

    Raises:
        ImportFormatError: not JSON, not a ChatGPT export, or every conversation is broken.
    """
    first_error: ImportFormatError | None = None
    sound = 0
    for found in _all(source, options):
        if isinstance(found, ImportFormatError):
            first_error = first_error or found
            if options.on_skip is not None:
                options.on_skip(found)
        else:
            sound += 1
            yield from found
    if first_error is not None and not sound:
        try:
            raise first_error
        finally:
            del first_error  # its traceback refers to this frame


#: the messages of a conversation, or the error that prevents reading it
_Outcome = list[Message] | ImportFormatError


def _all(source: SourceFile, options: Options) -> Iterator[_Outcome]:
    if zipfile.is_zipfile(source.path):
        yield from _from_zip(source, options)
        return
    is_object = source.first_character() == "{"
    with source.open_text() as stream:
        yield from _from_stream(stream, source, options, is_object=is_object)


def _from_zip(source: SourceFile, options: Options) -> Iterator[_Outcome]:
    with zipfile.ZipFile(source.path) as archive:
        names = sorted(name for name in archive.namelist() if _MEMBER.search(name))
        if not names:
            raise source.error(
                "", "contains no conversations.json", hint="name the zip file from ChatGPT"
            )
        for name in names:
            inner = SourceFile(source.path, f"{source.label}!{name}")
            try:
                with archive.open(name) as raw, wrap_text(raw) as stream:
                    yield from _from_stream(stream, inner, options)
            except (zipfile.BadZipFile, UnicodeDecodeError) as exc:
                raise inner.error("", f"cannot be read: {exc}", hint="export it again") from exc


def _from_stream(
    stream: TextIO, source: SourceFile, options: Options, *, is_object: bool = False
) -> Iterator[_Outcome]:
    for number, conversation in _conversations(stream, source, is_object=is_object):
        try:
            yield list(_messages(conversation, source, _place(number, conversation), options))
        except ImportFormatError as error:
            yield error


def _place(number: int, conversation: dict[str, Any]) -> str:
    """The place in an error message: number and title of a conversation."""
    name = conversation.get("title") or conversation.get("conversation_id") or conversation.get(
        "id"
    )
    return f"entry {number} ({name[:60]!r})" if isinstance(name, str) else f"entry {number}"


def _conversations(
    stream: TextIO, source: SourceFile, *, is_object: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    if is_object:
        yield 1, source.load_object(stream)
    else:
        yield from iter_array(stream, source)


def _messages(
    conversation: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Message]:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise source.error(place, 'has no "mapping"', hint="is it a ChatGPT export? see --format")
    session = conversation.get("conversation_id") or conversation.get("id")
    title = conversation.get("title")
    moment = parse_time(conversation.get("create_time"), source, place, options, name="create_time")
    for node in _branch(mapping, conversation.get("current_node"), source, place):
        body = node.get("message")
        if not isinstance(body, dict) or not _is_spoken(body):
            continue
        text = _text(body)
        if not text:
            continue
        where = f"{place}, message {body.get('id') or node.get('id')}"
        # a message without a time gets that of the message before it
        created = body.get("create_time")
        moment = parse_time(created, source, where, options, name="create_time") or moment
        message: Message = {"text": text, "role": body["author"]["role"], "source": "chatgpt"}
        if moment is not None:
            message["event_time"] = moment
        if isinstance(session, str) and session:
            message["session_id"] = session
        metadata = {
            "title": title,
            "message_id": body.get("id"),
            "model": _object(body, "metadata").get("model_slug"),
        }
        message["metadata"] = {key: value for key, value in metadata.items() if value}
        yield message


def _branch(
    mapping: dict[str, Any], current: object, source: SourceFile, place: str
) -> list[dict[str, Any]]:
    """The nodes from the root to ``current`` (or, without one, to the newest leaf)."""
    at = current if isinstance(current, str) and current in mapping else _newest_leaf(mapping)
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    while isinstance(at, str) and at in mapping:
        if at in seen:
            raise source.error(place, f"node {at} is its own ancestor", hint="export it again")
        seen.add(at)
        node = mapping[at]
        if not isinstance(node, dict):
            raise source.error(place, f"node {at} is not an object", hint="export it again")
        path.append(node)
        at = node.get("parent")
        if isinstance(at, str) and at not in mapping:
            raise source.error(
                place, f"node {at}, the parent of another, is missing", hint="export it again"
            )
    return path[::-1]


def _newest_leaf(mapping: dict[str, Any]) -> str | None:
    def age(key: str) -> float:
        body = mapping[key].get("message") if isinstance(mapping[key], dict) else None
        stamp = body.get("create_time") if isinstance(body, dict) else None
        return min(stamp, _LATEST_S) if isinstance(stamp, (int, float)) else 0.0

    given = (node.get("parent") for node in mapping.values() if isinstance(node, dict))
    parents = {parent for parent in given if isinstance(parent, str)}
    leaves = [key for key in mapping if key not in parents]
    return max(leaves, key=age, default=None)


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within a message; empty if it is missing or not an object."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _is_spoken(body: dict[str, Any]) -> bool:
    """True for a message of either side that the user saw in the conversation."""
    metadata, role = _object(body, "metadata"), _object(body, "author").get("role")
    return (
        isinstance(role, str)
        and role in _SPOKEN_ROLES
        and not metadata.get("is_visually_hidden_from_conversation")
        and not metadata.get("is_user_system_message")
        and body.get("weight", 1) != 0
        and body.get("recipient", "all") in ("all", None)
    )


def _text(body: dict[str, Any]) -> str:
    content = _object(body, "content")
    kind = content.get("content_type", "text")
    if not isinstance(kind, str) or kind not in _SPOKEN_TYPES:
        return ""
    return text_of_parts(content.get("parts") or content.get("text"))

"""ChatGPT exports: ``conversations.json``, or the zip archive that contains it.

A conversation is a tree, because an edited question starts a new branch. Only the branch that the
user saw last is read: from ``current_node`` up to the root, in reverse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import (
    Broken,
    Entry,
    Format,
    Found,
    LeftOut,
    Message,
    Options,
    label,
    text_of_parts,
)
from spector.importers.places import Archive, Export, Place, exports_around
from spector.importers.sources import Head, SourceFile
from spector.importers.times import parse_time

_MEMBER: Final = re.compile(r"^conversations([-_]\d+)?\.json$")
_LATEST_S: Final = 1e12
#: what the program puts into answers: marks of sources, and names of what it knows more of
_SOURCES: Final = re.compile(
    "( ?)(\ue200[^\ue200\ue201]*\ue201|\u3010[0-9:]+\u2020[^\u3010\u3011]*\u3011)"
)
_SPOKEN_ROLES: Final = {"user", "assistant"}
_SPOKEN_TYPES: Final = {"text", "multimodal_text"}
#: kind of content -> why it is left out
_UNSPOKEN: Final = {
    "code": "code",
    "execution_output": "tool result",
    "thoughts": "thoughts",
    "reasoning_recap": "thoughts",
    "user_editable_context": "instructions",
    "model_editable_context": "instructions",
    "tether_quote": "tool result",
    "tether_browsing_display": "tool result",
    "system_error": "tool result",
}


def _recognizes(head: Head) -> bool:
    return head.shape in ("array", "object", "lines") and "mapping" in head.first


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The visible messages of every conversation, one conversation after the other.

    A broken conversation is reported, and does not stop the others.
    """
    for number, conversation in source.each_object():
        try:
            yield from list(_messages(conversation, source, _place(number, conversation), options))
        except ImportFormatError as error:
            yield Broken(error, stops=False)


def _exports(place: Place) -> Iterator[Export]:
    """Lists of conversations, with the settings and the user's files that lie beside them."""
    members = [
        each for each in place.files if _MEMBER.match(each.name) and each.begins_with('"mapping"')
    ]
    yield from exports_around(
        place,
        members,
        lambda each: each.suffix == ".json" or each.name.startswith(("file-", "file_")),
    )


FORMAT: Final = Format(
    "chatgpt", "conversations.json of a ChatGPT export, or its zip file", read, _recognizes
)
ARCHIVE: Final = Archive("chatgpt", _exports)


def _place(number: int, conversation: dict[str, Any]) -> str:
    """The place in an error message: number and title of a conversation."""
    name = (
        conversation.get("title") or conversation.get("conversation_id") or conversation.get("id")
    )
    return f"entry {number} ({name[:60]!r})" if isinstance(name, str) else f"entry {number}"


def _messages(
    conversation: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Entry]:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise source.error(place, 'has no "mapping"', hint="is it a ChatGPT export? see --format")
    session = label(conversation.get("conversation_id") or conversation.get("id"))
    title = conversation.get("title")
    branch = _branch(mapping, conversation.get("current_node"), source, place)
    moment = _beginning(conversation, branch, source, place, options)
    for node in branch:
        body = node.get("message")
        if not isinstance(body, dict):
            continue
        where = f"{place}, message {body.get('id') or node.get('id')}"
        reason = _reason(body)
        text = "" if reason else _text(body)
        if reason or not text:
            yield LeftOut(reason or _without_text(body), where)
            continue
        # a message without a time gets that of the message before it
        created = body.get("create_time")
        own = parse_time(created, source, where, options, name="create_time")
        moment = own or moment
        message: Message = {"text": text, "role": body["author"]["role"], "source": "chatgpt"}
        if moment is not None:
            message["event_time"] = moment
        if session:
            message["session_id"] = session
        metadata = {
            "title": title if isinstance(title, str) else None,
            "message_id": body.get("id"),
            "model": _object(body, "metadata").get("model_slug"),
        }
        message["metadata"] = {key: value for key, value in metadata.items() if value}
        own_id = body.get("id")
        yield Found(
            message,
            where,
            own_id if isinstance(own_id, str) else "",
            borrowed=own is None and moment is not None,
        )
    read = {id(node) for node in branch}
    for key, node in mapping.items():
        if (
            isinstance(node, dict)
            and id(node) not in read
            and isinstance(node.get("message"), dict)
        ):
            yield LeftOut("other branch", f"{place}, message {key}")


def _beginning(
    conversation: dict[str, Any],
    branch: list[dict[str, Any]],
    source: SourceFile,
    place: str,
    options: Options,
) -> Any:
    """The time of messages without one at the beginning: of the conversation, or of the first
    message that has one, or of its last change."""
    begun = parse_time(conversation.get("create_time"), source, place, options, name="create_time")
    if begun is not None:
        return begun
    for node in branch:
        body = node.get("message")
        created = body.get("create_time") if isinstance(body, dict) else None
        if isinstance(created, (int, float)) and not isinstance(created, bool) and created > 0:
            return parse_time(created, source, place, options, name="create_time")
    return parse_time(conversation.get("update_time"), source, place, options, name="update_time")


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


def _reason(body: dict[str, Any]) -> str:
    """Why the user did not see a message in the conversation; "" for one that is seen."""
    metadata, role = _object(body, "metadata"), _object(body, "author").get("role")
    if role == "tool":
        return "tool result"
    if not isinstance(role, str) or role not in _SPOKEN_ROLES:
        return "instructions"
    if (
        metadata.get("is_visually_hidden_from_conversation")
        or metadata.get("is_user_system_message")
        or body.get("weight", 1) == 0
    ):
        return "hidden"
    if body.get("recipient", "all") not in ("all", None):
        return "tool call"
    kind = _object(body, "content").get("content_type", "text")
    if isinstance(kind, str) and kind in _SPOKEN_TYPES:
        return ""
    return _UNSPOKEN.get(kind, "no text") if isinstance(kind, str) else "no text"


def _text(body: dict[str, Any]) -> str:
    """The text of a message, with names for the program's marks of them, and none of sources."""
    content = _object(body, "content")
    text = text_of_parts(content.get("parts") or content.get("text"))
    if "\ue200" not in text and "\u2020" not in text:
        return text
    references = _object(body, "metadata").get("content_references")
    names = {
        each["matched_text"]: each["name"]
        for each in (references if isinstance(references, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("matched_text"), str)
        and isinstance(each.get("name"), str)
    }
    return _SOURCES.sub(
        lambda found: found[1] + names[found[2]] if found[2] in names else "", text
    ).strip()


def _without_text(body: dict[str, Any]) -> str:
    parts = _object(body, "content").get("parts")
    pictured = isinstance(parts, list) and any(isinstance(each, dict) for each in parts)
    return "picture" if pictured else "no text"

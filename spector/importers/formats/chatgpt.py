"""ChatGPT exports: ``conversations.json``, or the zip archive that contains it.

A conversation is a tree, because an edited question starts a new branch. Only the branch that the
user saw last is read: from ``current_node`` up to the root, in reverse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from spector.importers.entries import Entry, Format, LeftOut, Options, label
from spector.importers.places import Archive, Export, Place, exports_around
from spector.importers.reading import filled, message, object_in, objects_in, read_each, text_in
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

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
    found = ((_place(place, each), each) for place, each in source.each_object())
    yield from read_each(found, _messages, source, options, stops=False)


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


def _place(place: str, conversation: dict[str, Any]) -> str:
    """The place in an error message: number and title of a conversation."""
    name = next(filter(None, map(conversation.get, ("title", "conversation_id", "id"))), None)
    return f"{place} ({name[:60]!r})" if isinstance(name, str) else place


def _messages(conversation: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise spot.error('has no "mapping"', hint="is it a ChatGPT export? see --format")
    session = label(conversation.get("conversation_id") or conversation.get("id"))
    branch = _branch(mapping, conversation.get("current_node"), spot)
    moment = _beginning(conversation, branch, spot)
    for node in branch:
        body = node.get("message")
        if not isinstance(body, dict):
            continue
        at = spot.at(f"{spot.place}, message {body.get('id') or node.get('id')}")
        reason = _reason(body)
        text = "" if reason else _text(body)
        if not text:
            is_picture = bool(objects_in(object_in(body, "content"), "parts"))
            yield LeftOut(reason or ("picture" if is_picture else "no text"), at.place)
            continue
        # a message without a time gets that of the message before it
        own = at.time(body.get("create_time"), "create_time")
        moment = own or moment
        yield message(
            at,
            text,
            role=body["author"]["role"],
            source="chatgpt",
            event_time=moment,
            session_id=session,
            metadata=filled(
                {
                    "title": text_in(conversation, "title"),
                    "message_id": body.get("id"),
                    "model": object_in(body, "metadata").get("model_slug"),
                }
            ),
            own_id=body.get("id"),
            borrowed=own is None and moment is not None,
        )
    read = {id(node) for node in branch}
    for key, node in mapping.items():
        if isinstance(node, dict) and id(node) not in read and object_in(node, "message"):
            yield LeftOut("other branch", f"{spot.place}, message {key}")


def _beginning(
    conversation: dict[str, Any], branch: list[dict[str, Any]], spot: Spot
) -> datetime | None:
    """The time of messages without one at the beginning: of the conversation, or of the first
    message that has one, or of its last change."""
    moment = spot.time(conversation.get("create_time"), "create_time")
    for node in branch if moment is None else ():
        created = object_in(node, "message").get("create_time")
        if isinstance(created, (int, float)) and not isinstance(created, bool) and created > 0:
            return spot.time(created, "create_time")
    return moment or spot.time(conversation.get("update_time"), "update_time")


def _branch(mapping: dict[str, Any], current: object, spot: Spot) -> list[dict[str, Any]]:
    """The nodes from the root to ``current`` (or, without one, to the newest leaf)."""
    at = current if isinstance(current, str) and current in mapping else _newest_leaf(mapping)
    path: dict[str, dict[str, Any]] = {}
    while isinstance(at, str):
        node: Any = mapping.get(at)
        problem = ""
        if at in path:
            problem = f"node {at} is its own ancestor"
        elif at not in mapping:
            problem = f"node {at}, the parent of another, is missing"
        elif not isinstance(node, dict):
            problem = f"node {at} is not an object"
        if problem:
            raise spot.error(problem, hint="export it again")
        path[at] = node
        at = node.get("parent")
    return list(path.values())[::-1]


def _newest_leaf(mapping: dict[str, Any]) -> str | None:
    nodes = {key: node if isinstance(node, dict) else {} for key, node in mapping.items()}
    parents = {each.get("parent") for each in nodes.values() if isinstance(each.get("parent"), str)}

    def age(key: str) -> float:
        stamp = object_in(nodes[key], "message").get("create_time")
        return min(stamp, _LATEST_S) if isinstance(stamp, (int, float)) else 0.0

    return max((key for key in mapping if key not in parents), key=age, default=None)


def _reason(body: dict[str, Any]) -> str:
    """Why the user did not see a message in the conversation; "" for one that is seen."""
    metadata, role = object_in(body, "metadata"), object_in(body, "author").get("role")
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
    kind = object_in(body, "content").get("content_type", "text")
    if isinstance(kind, str) and kind in _SPOKEN_TYPES:
        return ""
    return _UNSPOKEN.get(kind, "no text") if isinstance(kind, str) else "no text"


def _text(body: dict[str, Any]) -> str:
    """The text of a message, with names for the program's marks of them, and none of sources."""
    content = object_in(body, "content")
    parts = content.get("parts") or content.get("text")
    found = [
        part.get("text") if isinstance(part, dict) else part
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    text = "\n\n".join(each.strip() for each in found if isinstance(each, str) and each.strip())
    if "\ue200" not in text and "\u2020" not in text:
        return text
    names = {
        each["matched_text"]: each["name"]
        for each in objects_in(object_in(body, "metadata"), "content_references")
        if isinstance(each.get("matched_text"), str) and isinstance(each.get("name"), str)
    }
    return _SOURCES.sub(
        lambda found: found[1] + names[found[2]] if found[2] in names else "", text
    ).strip()

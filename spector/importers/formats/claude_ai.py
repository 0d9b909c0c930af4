"""Claude.ai exports: ``conversations.json``, or the zip archive that contains it.

Edited messages make branches here, too: the messages of the last branch are read. What was attached
is a memory of its own, of the document and not of the user; so are the documents of projects. What
the assistant noted of its user is the assistant's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spector.importers.entries import Entry, Format, LeftOut, Options, label
from spector.importers.places import Archive, Export, Place, exports_around
from spector.importers.reading import (
    filled,
    list_in,
    message,
    numbered,
    object_in,
    objects_in,
    read_each,
    text_in,
    texts_in,
)
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot

_MEMBER: Final = re.compile(r"^conversations([-_]\d+)?\.json$")
#: files beside the conversations: documents of projects, and what the assistant noted
_BESIDE: Final = frozenset(("projects.json", "memories.json"))
_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
#: parents of a first message
_NO_PARENT: Final = frozenset((None, "", "00000000-0000-4000-8000-000000000000"))
_WORDLESS: Final = {
    "thinking": "thoughts",
    "redacted_thinking": "thoughts",
    "tool_use": "tool call",
    "tool_result": "tool result",
    "image": "picture",
    "token_budget": "no text",
}


def _recognizes(head: Head) -> bool:
    return head.shape in ("array", "object", "lines") and isinstance(
        head.first.get("chat_messages"), list
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The messages of every conversation; a broken one is reported, and stops no other."""
    is_beside = bool(options.context.get("is_beside"))
    for place, entry in source.each_object():
        name = entry.get("name") or entry.get("uuid")
        where = f"{place} ({name[:60]!r})" if isinstance(name, str) and not is_beside else place
        read_one = _documents if is_beside else _messages
        yield from read_each([(where, entry)], read_one, source, options, stops=False)
        if is_beside:
            yield from _notes(entry, Spot(source, options, place))


def _exports(place: Place) -> Iterator[Export]:
    """Lists of conversations, then what lies beside them: projects, and what was noted."""
    members = [
        each
        for each in place.files
        if _MEMBER.match(each.name) and each.begins_with('"chat_messages"')
    ]
    for export in exports_around(place, members, lambda each: each.suffix == ".json"):
        folders = export.files[0][0].folders
        projects = [
            each
            for each in place.files
            if each.folders == (*folders, "projects") and each.suffix == ".json"
        ]
        read = [each for each in export.beside if each.name in _BESIDE] + projects
        export.files.extend((each, {"is_beside": True}) for each in read)
        yield export


FORMAT: Final = Format(
    "claude", "conversations.json of a Claude.ai export, or its zip file", read, _recognizes
)
ARCHIVE: Final = Archive("claude", _exports)


def _messages(conversation: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    entries = conversation.get("chat_messages")
    if not isinstance(entries, list):
        raise spot.error('has no "chat_messages"', hint="is it a Claude.ai export? see --format")
    given = conversation.get("created_at") or conversation.get("updated_at")
    begun = spot.time(given, "created_at")
    branch = _branch(entries, spot)
    for number, entry in enumerate(branch, 1):
        at = spot.at(f"{spot.place}, message {entry.get('uuid') or number}")
        created = at.time(entry.get("created_at"), "created_at")
        common = {
            "source": "claude",
            "session_id": label(conversation.get("uuid")),
            "event_time": created or begun,
        }
        known = filled({"title": text_in(conversation, "name")})
        is_borrowed = created is None and begun is not None
        yield from _message(entry, at, common, known, is_borrowed)
        yield from _attached(entry, at, common, known)
    for _ in range(len(entries) - len(branch)):
        yield LeftOut("other branch", spot.place)


def _message(
    entry: dict[str, Any],
    at: Spot,
    common: dict[str, Any],
    known: dict[str, Any],
    is_borrowed: bool,
) -> Iterator[Entry]:
    text, wordless = _text(entry)
    role, own_id = _ROLES.get(str(entry.get("sender"))), text_in(entry, "uuid")
    if role is None:
        yield LeftOut("instructions", at.place)
    elif text:
        metadata = known | filled({"message_id": own_id})
        yield message(
            at, text, role=role, **common, metadata=metadata, own_id=own_id, borrowed=is_borrowed
        )
    elif not _attachments(entry):
        yield LeftOut(wordless, at.place)


def _text(entry: dict[str, Any]) -> tuple[str, str]:
    """The text of a message, and why it has none."""
    texts: list[str] = []
    wordless = "no text"
    for part in objects_in(entry, "content"):
        kind, text = part.get("type"), part.get("text")
        if kind in ("text", None) and isinstance(text, str):
            if text.strip():
                texts.append(text.strip())
        elif isinstance(kind, str):
            wordless = _WORDLESS.get(kind, wordless)
    whole = entry.get("text")
    if not texts and isinstance(whole, str) and wordless not in ("tool call", "thoughts"):
        return whole.strip(), wordless
    return "\n\n".join(texts), wordless


def _attachments(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in objects_in(entry, "attachments") if text_in(each, "extracted_content")]


def _attached(
    entry: dict[str, Any], at: Spot, common: dict[str, Any], known: dict[str, Any]
) -> Iterator[Entry]:
    """The text of what was attached, as of a document."""
    own_id = text_in(entry, "uuid")
    for number, each in enumerate(_attachments(entry), 1):
        name = label(each.get("file_name")) or "attachment"
        yield message(
            at.at(f"{at.place}, attachment {number}"),
            each["extracted_content"].strip(),
            **{**common, "role": "document", "source": name},
            metadata=filled({**known, "file": name, "attached_to": own_id}),
            own_id=f"{own_id}#{number}" if own_id else "",
        )
    for each in list_in(entry, "files"):
        yield LeftOut("picture" if isinstance(each, dict) else "file", at.place)


def _notes(entry: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    """What the assistant noted of its user."""
    more = object_in(entry, "project_memories")
    for note in (*texts_in(entry, "conversations_memory"), *texts_in(more, *more)):
        yield message(
            spot,
            note.strip(),
            role="assistant",
            source="claude",
            metadata={"file": spot.source.name},
            conversation="claude/memories",
        )


def _documents(project: dict[str, Any], spot: Spot) -> Iterator[Entry]:
    """The documents of a project."""
    if text_in(project, "prompt_template"):
        yield LeftOut("instructions", spot.place)
    for place, each in numbered(f"{spot.place}, document", list_in(project, "docs")):
        document = each if isinstance(each, dict) else {}
        file = label(document.get("filename")) or "document"
        yield message(
            spot.at(place),
            text_in(document, "content").strip(),
            role="document",
            source=file,
            metadata=filled({"file": file, "project": label(project.get("name"))}),
            event_time=spot.at(place).time(document.get("created_at"), "created_at"),
            own_id=document.get("uuid"),
            conversation="claude/projects",
        )


def _branch(entries: list[Any], spot: Spot) -> list[dict[str, Any]]:
    """The messages of the last branch; all of them where parents are not given."""
    if not all(isinstance(each, dict) for each in entries):
        raise spot.error("has a message that is no object", hint="export it again")
    by_id = {each["uuid"]: each for each in entries if isinstance(each.get("uuid"), str)}
    if not entries or any(
        "parent_message_uuid" not in each or not isinstance(each.get("uuid"), str)
        for each in entries
    ):
        return entries
    path: dict[str, dict[str, Any]] = {}
    at: dict[str, Any] | None = entries[-1]
    while at is not None:
        if at["uuid"] in path:
            raise spot.error(f"message {at['uuid']} is its own ancestor", hint="export it again")
        path[at["uuid"]] = at
        parent = at.get("parent_message_uuid")
        if not isinstance(parent, str) or parent in _NO_PARENT:
            break
        at = by_id.get(parent)
        if at is None and len(path) < len(entries):
            return entries  # the chain is not whole: nothing is lost by reading all
    return list(path.values())[::-1]

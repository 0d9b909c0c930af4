"""Claude.ai exports: ``conversations.json``, or the zip archive that contains it.

Edited messages make branches here, too: the messages of the last branch are read. What was attached
is a memory of its own, of the document and not of the user; so are the documents of projects. What
the assistant noted of its user is the assistant's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Broken, Entry, Format, Found, LeftOut, Options, label
from spector.importers.places import Archive, Export, Place, exports_around
from spector.importers.sources import Head, SourceFile
from spector.importers.times import parse_time

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
    if options.context.get("is_beside"):
        yield from _beside(source, options)
        return
    for number, conversation in source.each_object():
        name = conversation.get("name") or conversation.get("uuid")
        place = f"entry {number}" + (f" ({name[:60]!r})" if isinstance(name, str) else "")
        try:
            yield from list(_messages(conversation, source, place, options))
        except ImportFormatError as error:
            yield Broken(error, stops=False)


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


def _messages(
    conversation: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Entry]:
    entries = conversation.get("chat_messages")
    if not isinstance(entries, list):
        raise source.error(
            place, 'has no "chat_messages"', hint="is it a Claude.ai export? see --format"
        )
    title = conversation.get("name")
    known: dict[str, Any] = {"title": title} if isinstance(title, str) and title.strip() else {}
    session = label(conversation.get("uuid"))
    given = conversation.get("created_at") or conversation.get("updated_at")
    begun = parse_time(given, source, place, options, name="created_at")
    branch = _branch(entries, source, place)
    for number, entry in enumerate(branch, 1):
        where = f"{place}, message {entry.get('uuid') or number}"
        created = parse_time(entry.get("created_at"), source, where, options, name="created_at")
        common: dict[str, Any] = {"source": "claude"}
        if session is not None:
            common["session_id"] = session
        if (moment := created or begun) is not None:
            common["event_time"] = moment
        own_id = entry.get("uuid") if isinstance(entry.get("uuid"), str) else ""
        yield from _message(entry, where, common, known, own_id or "", created is None)
        yield from _attached(entry, where, common, known, own_id or "")
    for _ in range(len(entries) - len(branch)):
        yield LeftOut("other branch", place)


def _message(
    entry: dict[str, Any],
    where: str,
    common: dict[str, Any],
    known: dict[str, Any],
    own_id: str,
    borrowed: bool,
) -> Iterator[Entry]:
    text, wordless = _text(entry)
    role = _ROLES.get(str(entry.get("sender")))
    if role is None:
        yield LeftOut("instructions", where)
    elif not text:
        if not _attachments(entry):
            yield LeftOut(wordless, where)
    else:
        metadata = {**known, **({"message_id": own_id} if own_id else {})}
        message = {"text": text, "role": role, **common, "metadata": metadata}
        yield Found(message, where, own_id, borrowed=borrowed and "event_time" in common)


def _text(entry: dict[str, Any]) -> tuple[str, str]:
    """The text of a message, and why it has none."""
    parts = entry.get("content")
    texts: list[str] = []
    wordless = "no text"
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
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
    found = entry.get("attachments")
    return [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
        and isinstance(each.get("extracted_content"), str)
        and each["extracted_content"].strip()
    ]


def _attached(
    entry: dict[str, Any], where: str, common: dict[str, Any], known: dict[str, Any], own_id: str
) -> Iterator[Entry]:
    """The text of what was attached, as of a document."""
    for number, each in enumerate(_attachments(entry), 1):
        name = label(each.get("file_name")) or "attachment"
        metadata = {**known, "file": name}
        if own_id:
            metadata["attached_to"] = own_id
        message = {
            **common,
            "text": each["extracted_content"].strip(),
            "role": "document",
            "source": name,
            "metadata": metadata,
        }
        yield Found(
            message, f"{where}, attachment {number}", f"{own_id}#{number}" if own_id else ""
        )
    files = entry.get("files")
    for each in files if isinstance(files, list) else ():
        yield LeftOut("picture" if isinstance(each, dict) else "file", where)


def _beside(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The documents of projects, and what the assistant noted of its user."""
    for number, entry in source.each_object():
        place = f"entry {number}"
        try:
            yield from list(_documents(entry, source, place, options))
        except ImportFormatError as error:
            yield Broken(error, stops=False)
        notes = [entry.get("conversations_memory")]
        more = entry.get("project_memories")
        notes += more.values() if isinstance(more, dict) else ()
        for note in notes:
            if isinstance(note, str) and note.strip():
                message = {
                    "text": note.strip(),
                    "role": "assistant",
                    "source": "claude",
                    "metadata": {"file": source.name},
                }
                yield Found(message, place, conversation="claude/memories")


def _documents(
    project: dict[str, Any], source: SourceFile, place: str, options: Options
) -> Iterator[Entry]:
    name = label(project.get("name"))
    if isinstance(project.get("prompt_template"), str) and project["prompt_template"].strip():
        yield LeftOut("instructions", place)
    found = project.get("docs")
    for number, each in enumerate(found if isinstance(found, list) else (), 1):
        where = f"{place}, document {number}"
        text = each.get("content") if isinstance(each, dict) else None
        if not isinstance(text, str) or not text.strip():
            yield LeftOut("no text", where)
            continue
        file = label(each.get("filename")) or "document"
        message: dict[str, Any] = {
            "text": text.strip(),
            "role": "document",
            "source": file,
            "metadata": {"file": file, **({"project": name} if name else {})},
        }
        created = parse_time(each.get("created_at"), source, where, options, name="created_at")
        if created is not None:
            message["event_time"] = created
        own_id = each.get("uuid")
        yield Found(
            message,
            where,
            own_id if isinstance(own_id, str) else "",
            conversation="claude/projects",
        )


def _branch(entries: list[Any], source: SourceFile, place: str) -> list[dict[str, Any]]:
    """The messages of the last branch; all of them where parents are not given."""
    for each in entries:
        if not isinstance(each, dict):
            raise source.error(place, "has a message that is no object", hint="export it again")
    by_id = {each.get("uuid"): each for each in entries if isinstance(each.get("uuid"), str)}
    if not entries or any(
        "parent_message_uuid" not in each or not isinstance(each.get("uuid"), str)
        for each in entries
    ):
        return entries
    path: list[dict[str, Any]] = []
    at: dict[str, Any] | None = entries[-1]
    seen: set[str] = set()
    while at is not None:
        if at["uuid"] in seen:
            raise source.error(
                place, f"message {at['uuid']} is its own ancestor", hint="export it again"
            )
        seen.add(at["uuid"])
        path.append(at)
        parent = at.get("parent_message_uuid")
        if not isinstance(parent, str) or parent in _NO_PARENT:
            break
        at = by_id.get(parent)
        if at is None and len(path) < len(entries):
            return entries  # the chain is not whole: nothing is lost by reading all
    return path[::-1]

"""Memories of mem0, as its ``get_all`` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Broken, Entry, Format, Found, LeftOut, Message, Options, label
from spector.importers.sources import Head, SourceFile, each_line
from spector.importers.times import parse_time
from spector.messages import counted

_LISTS: Final = ("results", "memories")
#: fields that are read, and those that say nothing of a memory
_READ: Final = frozenset(
    """id memory hash metadata created_at updated_at user_id agent_id run_id categories
    expiration_date score""".split()
)


def _recognizes(head: Head) -> bool:
    if head.shape == "text":
        return False
    entries = (head.first, *(head.first_of(name) for name in _LISTS))
    return any(isinstance(each.get("memory"), str) and "id" in each for each in entries)


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Every memory with its user, agent and run."""
    for place, entry in _entries(source, options):
        try:
            if isinstance(entry, ImportFormatError):
                raise entry
            yield _memory(entry, source, place, options)
        except ImportFormatError as error:
            yield Broken(error)


FORMAT: Final = Format("mem0", "memories of mem0: what get_all returns, as JSON", read, _recognizes)


def _entries(source: SourceFile, options: Options) -> Iterator[tuple[str, Any]]:
    if source.first_character() == "{":
        try:
            document = source.load_object()
        except ImportFormatError:
            yield from each_line(source)
            return
        found = next(
            (document[name] for name in _LISTS if isinstance(document.get(name), list)), [document]
        )
        if isinstance(relations := document.get("relations"), list) and relations:
            options.notes.append(
                f"{source.label}: {counted(len(relations), 'relation')} of the graph not read"
            )
        for number, entry in enumerate(found, 1):
            yield f"entry {number}", entry
        return
    for number, entry in source.each_object():
        yield f"entry {number}", entry


def _memory(entry: Any, source: SourceFile, place: str, options: Options) -> Entry:
    if not isinstance(entry, dict) or not isinstance(entry.get("memory"), str):
        raise source.error(place, 'has no "memory"', hint="is it what get_all of mem0 returns?")
    text = entry["memory"]
    if not text.strip():
        return LeftOut("no text", place)
    message: Message = {"text": text, "source": "mem0"}
    moment = parse_time(entry.get("created_at"), source, place, options, name="created_at")
    if moment is not None:
        message["event_time"] = moment
    for field, name in (("user_id", "user_id"), ("agent_id", "agent_id"), ("session_id", "run_id")):
        if (found := label(entry.get(name))) is not None:
            message[field] = found
    tags = entry.get("categories")
    found_tags = [label(each) for each in tags] if isinstance(tags, list) else []
    if kept := [each for each in found_tags if each is not None][:64]:
        message["tags"] = kept
    expires = entry.get("expiration_date")
    end = parse_time(expires, source, place, options, name="expiration_date", is_end=True)
    if end is not None:
        message["valid_until"] = end
    metadata = entry.get("metadata")
    message["metadata"] = {
        **{name: value for name, value in entry.items() if name not in _READ and value},
        **(metadata if isinstance(metadata, dict) else {}),
        **({"updated_at": entry["updated_at"]} if isinstance(entry.get("updated_at"), str) else {}),
    }
    own_id = entry.get("id")
    return Found(
        {name: value for name, value in message.items() if value},
        place,
        str(own_id) if isinstance(own_id, (str, int)) else "",
        conversation="mem0",
    )

"""Memories of mem0, as its ``get_all`` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Entry, Format, Options, label
from spector.importers.reading import list_in, message, numbered, object_in, read_each
from spector.importers.sources import Head, SourceFile, each_line
from spector.importers.times import Spot
from spector.messages import counted

_LISTS: Final = ("results", "memories")
#: fields that are read, and those that say nothing of a memory
_READ: Final = frozenset(
    """id memory hash metadata created_at updated_at user_id agent_id run_id categories
    expiration_date score""".split()
)
_MOST_TAGS: Final = 64


def _recognizes(head: Head) -> bool:
    entries = (head.first, *(head.first_of(name) for name in _LISTS))
    return head.shape != "text" and any(
        isinstance(each.get("memory"), str) and "id" in each for each in entries
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Every memory with its user, agent and run."""
    return read_each(_entries(source, options), _memory, source, options)


FORMAT: Final = Format("mem0", "memories of mem0: what get_all returns, as JSON", read, _recognizes)


def _entries(source: SourceFile, options: Options) -> Iterator[tuple[str, Any]]:
    if source.first_character() != "{":
        yield from source.each_object()
        return
    try:
        document = source.load_object()
    except ImportFormatError:
        yield from each_line(source)
        return
    if relations := list_in(document, "relations"):
        options.notes.append(
            f"{source.label}: {counted(len(relations), 'relation')} of the graph not read"
        )
    lists = (document[name] for name in _LISTS if isinstance(document.get(name), list))
    yield from numbered("entry", next(lists, [document]))


def _memory(entry: Any, spot: Spot) -> Entry:
    if not isinstance(entry, dict) or not isinstance(entry.get("memory"), str):
        raise spot.error('has no "memory"', hint="is it what get_all of mem0 returns?")
    moment = spot.time(entry.get("created_at"), "created_at")
    end = spot.time(entry.get("expiration_date"), "expiration_date", is_end=True)
    tags = [each for tag in list_in(entry, "categories") if (each := label(tag)) is not None]
    changed = entry.get("updated_at")
    return message(
        spot,
        entry["memory"],
        source="mem0",
        event_time=moment,
        user_id=label(entry.get("user_id")),
        agent_id=label(entry.get("agent_id")),
        session_id=label(entry.get("run_id")),
        tags=tags[:_MOST_TAGS] or None,
        valid_until=end,
        metadata={
            **{name: value for name, value in entry.items() if name not in _READ and value},
            **object_in(entry, "metadata"),
            **({"updated_at": changed} if isinstance(changed, str) else {}),
        },
        own_id=entry.get("id"),
        conversation="mem0",
    )

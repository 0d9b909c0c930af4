"""Documents of LangChain: ``page_content`` with metadata, one a line or in an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.importers.entries import Entry, Format, Options, label
from spector.importers.reading import message, object_in, read_each
from spector.importers.sources import Head, SourceFile, each_entry
from spector.importers.times import Spot


def _recognizes(head: Head) -> bool:
    return head.shape != "text" and isinstance(_opened(head.first).get("page_content"), str)


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Every document; its source is that of its metadata, or else the file."""
    return read_each(each_entry(source), _document, source, options)


FORMAT: Final = Format(
    "langchain", "documents of LangChain (page_content and metadata) as JSON", read, _recognizes
)


def _opened(entry: dict[str, Any]) -> dict[str, Any]:
    """A document, without the wrapping of a dump."""
    return (object_in(entry, "kwargs") if entry.get("lc") is not None else None) or entry


def _document(entry: dict[str, Any], spot: Spot) -> Entry:
    entry = _opened(entry)
    text, metadata = entry.get("page_content"), object_in(entry, "metadata")
    if not isinstance(text, str):
        raise spot.error('has no "page_content"', hint="is it a document of LangChain?")
    moment, key = spot.time_among(metadata)
    return message(
        spot,
        text,
        source=label(metadata.get("source")) or spot.source.name,
        event_time=moment,
        metadata=metadata,
        own_id=entry.get("id"),
        conversation="langchain",
        written=str(metadata[key]) if key else "",
    )

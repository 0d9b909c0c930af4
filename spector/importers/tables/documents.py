"""Documents of LangChain: ``page_content`` with metadata, one a line or in an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spector.errors import ImportFormatError
from spector.importers.entries import Broken, Entry, Format, Found, LeftOut, Message, Options, label
from spector.importers.sources import Head, SourceFile, each_entry
from spector.importers.times import time_among


def _recognizes(head: Head) -> bool:
    return head.shape != "text" and isinstance(_opened(head.first).get("page_content"), str)


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """Every document; its source is that of its metadata, or else the file."""
    for place, entry in each_entry(source):
        try:
            if isinstance(entry, ImportFormatError):
                raise entry
            yield _document(_opened(entry), source, place, options)
        except ImportFormatError as error:
            yield Broken(error)


FORMAT: Final = Format(
    "langchain", "documents of LangChain (page_content and metadata) as JSON", read, _recognizes
)


def _opened(entry: Any) -> dict[str, Any]:
    """A document, without the wrapping of a dump."""
    if not isinstance(entry, dict):
        return {}
    inner = entry.get("kwargs") if entry.get("lc") is not None else None
    return inner if isinstance(inner, dict) else entry


def _document(entry: dict[str, Any], source: SourceFile, place: str, options: Options) -> Entry:
    text = entry.get("page_content")
    if not isinstance(text, str):
        raise source.error(place, 'has no "page_content"', hint="is it a document of LangChain?")
    if not text.strip():
        return LeftOut("no text", place)
    given = entry.get("metadata")
    metadata = dict(given) if isinstance(given, dict) else {}
    origin = label(metadata.get("source"))
    message: Message = {"text": text, "source": origin or source.name}
    moment, key = time_among(metadata, source, place, options)
    if moment is not None:
        message["event_time"] = moment
    if metadata:
        message["metadata"] = metadata
    own_id = entry.get("id")
    return Found(
        message,
        place,
        own_id if isinstance(own_id, str) else "",
        conversation="langchain",
        written="" if moment is None or key is None else str(metadata[key]),
    )

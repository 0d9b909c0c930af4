"""Reads one file: its entries in their order, each with a time if one can be known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from spector.clock import zone_named
from spector.errors import ImportFormatError
from spector.importers.detect import format_named, plan_of
from spector.importers.entries import Broken, Entry, Found, Message, Options
from spector.importers.places import Place, place_of
from spector.importers.sources import SourceFile

__all__ = ["dated", "iter_entries", "iter_messages", "sources_of"]

#: entries that wait for the first time of their conversation
_MOST_WAITING = 4096


def iter_messages(
    path: str | Path,
    format: str = "auto",
    *,
    assume_utc: bool = False,
    timezone: str | None = None,
    chunk_chars: int = 1200,
    on_skip: Callable[[ImportFormatError], None] | None = None,
    skip_bad: bool = False,
) -> Iterator[Message]:
    """Yield one dict of ``Memory.remember`` keywords per message or chunk, oldest first.

    Args:
        path: a file, a folder or a zip archive; nothing outside of it is opened.
        format: one of ``FORMATS``; "auto" detects it from the content.
        assume_utc: read times without a zone as UTC instead of refusing them.
        timezone: the zone of times without one ("Europe/Istanbul", "+03:00").
        chunk_chars: upper bound of a chunk of Markdown or plain text, in characters.
        on_skip: called with the error of each entry or file that is skipped: broken conversations
            of an export, odd files of a folder; if all are broken, the first error is raised.
        skip_bad: skip any entry that cannot be read.

    Raises:
        ImportFormatError: the file is missing, not of this format, or malformed; the message names
            the file and the line or entry. Earlier entries have been yielded already.
    """
    place = place_of(Path(path))
    zone = None if timezone is None else zone_named(timezone)
    format_named(format)
    first: ImportFormatError | None = None
    sound = 0
    for source, kind, context in sources_of(place, format):
        options = Options(zone, assume_utc, chunk_chars, context)
        try:
            if isinstance(kind, ImportFormatError):
                raise kind
            for entry in dated(iter_entries(source, kind, options)):
                if isinstance(entry, Broken):
                    if entry.stops and not skip_bad:
                        raise entry.error
                    first = first or entry.error
                    if on_skip is not None:
                        on_skip(entry.error)
                elif isinstance(entry, Found):
                    yield entry.message
                sound += not isinstance(entry, Broken)
        except ImportFormatError as error:
            if place.is_one:
                raise
            first = first or error
            if on_skip is not None:
                on_skip(error)
    if first is not None and not sound:
        try:
            raise first
        finally:
            del first  # its traceback refers to this frame


def sources_of(
    place: Place, format: str = "auto"
) -> Iterator[tuple[SourceFile, str | ImportFormatError, dict[str, object]]]:
    """The files of a place, each with its format (or why it has none) and what it must know."""
    return plan_of(place, format)


def iter_entries(source: SourceFile, kind: str, options: Options) -> Iterator[Entry]:
    """The entries of a file of a known format."""
    return format_named(kind).read(source, options)


def dated(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The same entries; a message without a time gets that of the nearest one of its conversation.

    The one before it if there is one, else the first one after it.
    """
    waiting: list[Entry] = []
    of: str | None = None
    last: dict[str, object] = {}
    for entry in entries:
        name = _conversation(entry)
        if name is None:
            if waiting:
                waiting.append(entry)
            else:
                yield entry
            continue
        assert isinstance(entry, Found)
        moment = entry.message.get("event_time")
        if waiting and (name != of or len(waiting) > _MOST_WAITING):
            yield from waiting
            waiting = []
        if moment is not None:
            for each in waiting:
                _lend(each, moment)
            yield from waiting
            waiting = []
            last = {name: moment}
            yield entry
        elif name in last:
            _lend(entry, last[name])
            yield entry
        else:
            waiting.append(entry)
            of = name
    yield from waiting


def _conversation(entry: Entry) -> str | None:
    """The conversation of a message; None for what is in none."""
    if not isinstance(entry, Found):
        return None
    if entry.message.get("role") is None:  # memories and documents are no conversation
        return None
    return str(entry.message.get("session_id") or entry.conversation)


def _lend(entry: Entry, moment: object) -> None:
    if isinstance(entry, Found) and entry.message.get("event_time") is None:
        entry.message["event_time"] = moment
        entry.borrowed = True

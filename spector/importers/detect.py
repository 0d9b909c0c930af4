"""Detects the format of a file from its content; the file name only breaks ties.

What no format recognizes is refused: a file that is guessed wrong is imported wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from spector.clock import zone_named
from spector.errors import ImportFormatError, InvalidInputError
from spector.importers import formats
from spector.importers.entries import Broken, Entry, Format, Found, LeftOut, Message, Options
from spector.importers.places import Archive, Place, place_of
from spector.importers.sources import BAD_JSON, Head, SourceFile, iter_array

READERS: Final[dict[str, Format]] = {each.name: each for each in formats.FORMATS}
#: names for ``--format``
FORMATS: Final = ("auto", *READERS)

_HEAD_CHARS: Final = 1 << 16
_JSONL_SUFFIXES: Final = frozenset((".jsonl", ".ndjson"))
_MARKDOWN_SUFFIXES: Final = frozenset((".md", ".markdown", ".mdown"))
#: beginnings of texts that are no notes -> what they are, and what to do
_FOREIGN: Final = (
    (
        re.compile(r"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE),
        "it is a page of HTML or XML",
        "export the conversation as JSON or text",
    ),
    (re.compile(r"%PDF-"), "it is a PDF", "save its text in a file, and name that"),
    (re.compile(r"\{\\rtf"), "it is a text of a word processor", "save it as plain text"),
    (re.compile(r"From \S+@\S+ .*\d{4}\n"), "it is a mailbox", "save the mails' texts in files"),
)


#: beginnings of files that are no texts -> what they are, and what to do
_BINARY: Final = (
    (b"PK\x03\x04", "a zip archive that is damaged", "download or export it again"),
    (b"\x1f\x8b", "packed with gzip", "unpack it, and name the file in it"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "unpack it, and name the folder"),
    (b"Rar!", "a RAR archive", "unpack it, and name the folder"),
    (b"SQLite format 3\x00", "a database of SQLite", "export its messages as JSON lines"),
    (b"\x89PNG", "a picture", "name a file of messages"),
    (b"\xff\xd8\xff", "a picture", "name a file of messages"),
    (b"\xd0\xcf\x11\xe0", "a document of an office program", "save its text in a file"),
)
#: keys of the first object of files that are known and not read, what they are, and what to do
_UNREAD: Final = (
    (
        ("ID", "Contents"),
        "it is of Discord's own data package, which has only what you wrote",
        "export channels with DiscordChatExporter as JSON",
    ),
    (("core_memory", "messages"), "it is an agent of Letta", "export its messages as JSON lines"),
    (("agents", "blocks"), "it is an agent of Letta", "export its messages as JSON lines"),
    (
        ("participants", "thread_path"),
        "it is a chat of Facebook or Instagram, whose export breaks letters",
        'repair its texts, and write {"role", "content", "timestamp"} for each message',
    ),
)


def register(format: Format) -> None:
    """Let imports of this process read one more format; it is tried before those that were there.

    Raises:
        InvalidInputError: it is no format, or another one has its name.
    """
    if not isinstance(format, Format):
        raise InvalidInputError(
            f"format must be a spector.importers.Format, got {type(format).__name__}",
            hint="write it like Format(name, about, read, recognizes)",
        )
    if format.name == "auto" or READERS.get(format.name, format) != format:
        raise InvalidInputError(
            f"there is a format {format.name!r} already", hint="give yours another name"
        )
    before = dict(READERS)
    READERS.clear()
    READERS.update({format.name: format} | before)


def format_named(name: str) -> Format:
    """The format of a name; of "auto", that of plain text.

    Raises:
        ImportFormatError: there is none.
    """
    if name == "auto":
        return READERS["text"]
    if not isinstance(name, str) or name not in READERS:
        raise ImportFormatError(
            f"unknown import format {name!r}", hint=f"use one of: {', '.join(('auto', *READERS))}"
        )
    return READERS[name]


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a file; of an archive, that of its first file.

    Raises:
        ImportFormatError: no format is recognized, or the file is empty or binary.
    """
    for _, kind, _ in plan_of(place_of(Path(path))):
        if isinstance(kind, ImportFormatError):
            raise kind
        return kind
    raise ImportFormatError(f"{path}: no file of messages in it", hint="name a file of messages")


def plan_of(
    place: Place, format: str = "auto"
) -> Iterator[tuple[SourceFile, str | ImportFormatError, dict[str, Any]]]:
    """The files of a place in the order in which they are read.

    Yields:
        The file, its format or why it is not read, and what its reader must know of other files.
    """
    for error in place.refused:
        yield SourceFile(place.path, error.message.split(":", 1)[0]), error, {}
    taken: set[SourceFile] = set()
    for archive in () if place.is_one else formats.ARCHIVES:
        if format in ("auto", archive.name):
            yield from _exported(archive, place, taken)
    rest = [each for each in place.files if each not in taken]
    if taken and format != "auto":
        for source in rest:
            place.count(source.suffix)
        return
    for source in rest:
        kind: str | ImportFormatError = format
        if format in ("auto", "jsonl"):
            try:
                kind = format_of(source)
            except ImportFormatError as error:
                kind = error
            if format == "jsonl" and kind != "spector":  # our own exports show by their fields
                kind = format
        yield source, kind, {"folders": source.folders} if not place.is_one else {}


def _exported(
    archive: Archive, place: Place, taken: set[SourceFile]
) -> Iterator[tuple[SourceFile, str, dict[str, Any]]]:
    """The files of a format's exports that lie in a place; ``taken`` gets what belongs to them."""
    left = replace(place, files=[each for each in place.files if each not in taken])
    for export in archive.exports(left):
        taken.update(source for source, _ in export.files)
        for source, context in export.files:
            yield source, archive.name, context
        for source in export.beside:  # lists of users, settings, notes of the program
            if source not in taken and not _is_chat(source):
                taken.add(source)
                place.count(source.suffix)


def _is_chat(source: SourceFile) -> bool:
    """Whether a file is a chat by itself."""
    try:
        head = head_of(source)
        return any(each.recognizes(head) for each in formats.CHATS)
    except ImportFormatError:
        return False


def format_of(source: SourceFile) -> str:
    """The name of the format of a file.

    Raises:
        ImportFormatError: no format is recognized, or the file is empty or binary.
    """
    head = head_of(source)
    for keys, what, hint in _UNREAD:
        if head.has(*keys):
            raise source.error("", what, hint=hint)
    for each in READERS.values():
        if each.recognizes(head):
            return each.name
    if head.shape == "text":
        raise source.error(
            "",
            f"a file that ends in {source.suffix or 'nothing'} may be anything",
            hint="choose the format with --format, for instance --format text",
        )
    if head.shape == "array" and not head.first:
        raise source.error("", "the list in it is empty", hint="name a file with messages")
    names = ", ".join(sorted(map(str, head.first))[:6]) or "none"
    raise source.error(
        "entry 1",
        f"unknown JSON layout (keys: {names[:200]})",
        hint='give each message "role" and "content", or choose the format with --format',
    )


def head_of(source: SourceFile) -> Head:
    """The beginning of a file.

    Raises:
        ImportFormatError: it is empty, binary, broken JSON, or of a kind that is known and not
            read.
    """
    with source.open_bytes() as raw:
        signs = raw.read(16)
    for sign, what, hint in _BINARY:
        if signs.startswith(sign):
            raise source.error("", f"it is {what}", hint=hint)
    with source.open_text() as stream:
        text = stream.read(_HEAD_CHARS)
    if "\0" in text:
        raise source.error("", "it has binary data", hint="import text, JSON, JSONL or Markdown")
    head = Head(source, text)
    if not text.strip():
        is_note = source.suffix in _MARKDOWN_SUFFIXES or source.suffix in (".txt", ".text")
        if is_note and (source.suffix in _MARKDOWN_SUFFIXES or not source.is_alone):
            return head  # note programs make empty notes
        raise source.error("", "the file is empty", hint="name a file with messages")
    for pattern, what, hint in _FOREIGN:
        if pattern.match(text):
            raise source.error("", what, hint=hint)
    suffix = source.suffix
    start = text.lstrip()[0]
    # notes may begin with "[", too: JSON continues with an object
    if start == "[" and suffix not in _MARKDOWN_SUFFIXES and re.match(r"\s*\[\s*[{\]]", text):
        with source.open_text() as stream:
            found = next(iter_array(stream, source), {})
        return Head(source, text, "array", found)
    if start == "{" and suffix not in _MARKDOWN_SUFFIXES:
        return _head_of_objects(source, text, suffix)
    if suffix in _JSONL_SUFFIXES:
        return Head(source, text, "lines", {"text": ""})  # its reader names the broken line
    if suffix == ".json":
        problem = "not a list of JSON objects" if start == "[" else "not JSON"
        raise source.error("line 1", problem, hint="choose the format with --format")
    return head


def _head_of_objects(source: SourceFile, text: str, suffix: str) -> Head:
    first_line = text.lstrip().splitlines()[0]
    try:
        found = json.loads(first_line)
    except json.JSONDecodeError:
        if suffix in _JSONL_SUFFIXES:
            return Head(source, text, "lines", {"text": ""})
        try:
            found = source.load()
        except ImportFormatError as error:
            raise ImportFormatError(error.message, hint="choose --format text or jsonl") from error
        return Head(source, text, "object", found if isinstance(found, dict) else {})
    except BAD_JSON as exc:
        raise source.json_error("line 1", exc) from exc
    rest = text.lstrip()[len(first_line) :].strip()
    return Head(source, text, "lines" if rest else "object", found)


# Reads one file: its entries in their order, each with a time if one can be known.

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
    format_named(format)
    zone = None if timezone is None else zone_named(timezone)
    place = place_of(Path(path))
    entries = _entries_of(place, format, Options(zone, assume_utc, chunk_chars), skip_bad)
    for entry in sound(entries, on_skip or (lambda _: None)):
        if isinstance(entry, Found):
            yield entry.message


def _entries_of(place: Place, format: str, options: Options, skip_bad: bool) -> Iterator[Entry]:
    """The entries of all files of a place; one that stops its file is the last of it."""
    for source, kind, context in plan_of(place, format):
        try:
            if isinstance(kind, ImportFormatError):
                raise kind
            own = replace(options, context=context, notes=[])
            yield from entries_of(source, kind, own, skip_bad)
        except ImportFormatError as error:
            if place.is_one:
                raise
            yield Broken(error)


def sound(
    entries: Iterator[Entry], on_bad: Callable[[ImportFormatError], None]
) -> Iterator[Found | LeftOut]:
    """The entries that can be read.

    Args:
        on_bad: called with the error of each of the others.

    Raises:
        ImportFormatError: the first of the errors, if there is no sound entry.
    """
    first: ImportFormatError | None = None
    is_any = False
    for entry in entries:
        if isinstance(entry, Broken):
            first = first or entry.error
            on_bad(entry.error)
        else:
            is_any = True
            yield entry
    if first is not None and not is_any:
        try:
            raise first
        finally:
            del first  # its traceback refers to this frame


def entries_of(source: SourceFile, kind: str, options: Options, skip_bad: bool) -> Iterator[Entry]:
    """The entries of a file of a known format, each with a time if one can be known.

    Raises:
        ImportFormatError: one cannot be read, and refuses the file.
    """
    for entry in _dated(format_named(kind).read(source, options)):
        if isinstance(entry, Broken) and entry.stops and not skip_bad:
            raise entry.error
        yield entry


def _dated(entries: Iterator[Entry]) -> Iterator[Entry]:
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

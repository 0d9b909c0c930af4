"""Detects the format of a file from its content; the file name only breaks ties.

What no format recognizes is refused: a file that is guessed wrong is imported wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from spector.errors import ImportFormatError, InvalidInputError
from spector.importers import chats, notes, tables
from spector.importers.entries import Format
from spector.importers.places import Archive, Place, place_of
from spector.importers.sources import BAD_JSON, Head, SourceFile, iter_array

__all__ = ["FORMATS", "READERS", "detect_format", "format_named", "plan_of", "register"]

#: the formats, in the order in which they are tried
_ALL: Final[tuple[Format, ...]] = (*chats.FORMATS, *tables.FORMATS, *notes.FORMATS)
READERS: Final[dict[str, Format]] = {each.name: each for each in _ALL}
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
    for archive in () if place.is_one else chats.ARCHIVES:
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
        return any(each.recognizes(head) for each in chats.FORMATS)
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
            found = next((each for _, each in islice(iter_array(stream, source), 1)), {})
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

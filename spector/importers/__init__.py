"""Reads conversations and notes from files into keyword arguments of ``Memory.remember``.

One module per format, each with a ``read(source, options) -> Iterator[Message]``. To add a format,
write such a module and add it to ``READERS`` (and a rule to ``detect.py``).

    jsonl      one JSON object per line (or one JSON array): {"role", "content"} or {"text"}
    spector    output of ``spector export``
    markdown   headings, paragraphs, lists and code blocks become chunks with their headings
    text       paragraphs become chunks
    chatgpt    conversations.json of a ChatGPT export, or its zip file
    locomo     the LoCoMo dialogue files
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from spector.errors import ImportFormatError
from spector.importers import chatgpt, jsonl, locomo, prose
from spector.importers.common import FormatReader, Message, Options, SourceFile
from spector.importers.detect import detect_format

__all__ = ["FORMATS", "Message", "detect_format", "iter_messages"]

READERS: Final[dict[str, FormatReader]] = {
    "jsonl": jsonl.read,
    "spector": jsonl.read,
    "markdown": prose.read_markdown,
    "text": prose.read_text,
    "chatgpt": chatgpt.read,
    "locomo": locomo.read,
}
FORMATS: Final = ("auto", *READERS)


def iter_messages(
    path: str | Path,
    format: str = "auto",
    *,
    assume_utc: bool = False,
    chunk_chars: int = 1200,
    on_skip: Callable[[ImportFormatError], None] | None = None,
) -> Iterator[Message]:
    """Yield one dict of ``Memory.remember`` keywords per message or chunk, oldest first.

    Args:
        path: the file; no other file is opened.
        format: one of ``FORMATS``; "auto" detects it from the content.
        assume_utc: read times without a zone as UTC instead of refusing them.
        chunk_chars: upper bound of a chunk of Markdown or plain text, in characters.
        on_skip: called with the error of each broken conversation of a ChatGPT export, which is
            skipped; if all are broken, the first error is raised.

    Raises:
        ImportFormatError: the file is missing, not of this format, or malformed; the message names
            the file and the line or entry. Earlier entries have been yielded already.
    """
    source = SourceFile(Path(path))
    source.require_file()
    name = detect_format(path) if format == "auto" else format
    reader = READERS.get(name)
    if reader is None:
        raise ImportFormatError(
            f"unknown import format {format!r}", hint=f"use one of: {', '.join(FORMATS)}"
        )
    return reader(source, Options(assume_utc, chunk_chars, on_skip))

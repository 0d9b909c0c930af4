"""Read conversations and notes from files into the keyword arguments of ``Memory.remember``.

One module per format; each offers ``read(source, options) -> Iterator[Message]``. Adding a format
means writing such a module and adding it to ``READERS`` (and a rule to ``detect.py``).

    jsonl      one JSON object a line (or one JSON array): {"role", "content"} or {"text"}
    spector    what ``spector export`` wrote
    markdown   headings, paragraphs, lists and code blocks become chunks that know their heading
    text       paragraphs become chunks
    chatgpt    conversations.json of a ChatGPT export, or the zip it comes in
    locomo     the LoCoMo dialogue files
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from spector.errors import ImportFormatError
from spector.importers import chatgpt, jsonl, locomo, prose
from spector.importers.common import Message, Options, Reader, Source
from spector.importers.detect import detect_format

__all__ = ["FORMATS", "Message", "detect_format", "iter_messages"]

READERS: Final[dict[str, Reader]] = {
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
        path: a file; nothing but that file is opened.
        format: one of ``FORMATS``; "auto" decides by looking at the content.
        assume_utc: read times without a zone as UTC instead of refusing them.
        chunk_chars: upper bound of a chunk of Markdown or plain text, in characters.
        on_skip: told of each conversation of a ChatGPT export that is left out because it is
            broken; when all of them are, the error of the first is raised.

    Raises:
        ImportFormatError: the file is missing, not of this format, or malformed; the message names
            the file and the line or entry. Entries before it have been yielded already.
    """
    source = Source(Path(path))
    source.require_file()
    name = detect_format(path) if format == "auto" else format
    reader = READERS.get(name)
    if reader is None:
        raise ImportFormatError(
            f"unknown import format {format!r}", hint=f"use one of: {', '.join(FORMATS)}"
        )
    return reader(source, Options(assume_utc, chunk_chars, on_skip))

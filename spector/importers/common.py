"""Shared by all readers: opening files, errors with a place, times, streamed JSON arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TextIO

from spector.clock import MAX_MS, MIN_MS, from_ms, to_ms
from spector.errors import ImportFormatError, InvalidTimeError, StoreError

__all__ = [
    "BAD_JSON",
    "FormatReader",
    "Message",
    "Options",
    "SourceFile",
    "first_character",
    "iter_array",
    "parse_time",
    "text_of_parts",
    "wrap_text",
]

#: keyword arguments of ``Memory.remember``, with the text under "text"
Message = dict[str, Any]

_FIRST_READ_CHARS = 1 << 16
#: errors of the JSON parser for nesting or numbers beyond its limits
BAD_JSON = (RecursionError, ValueError)
#: numbers from here on are milliseconds, not seconds (1e11 s is the year 5138)
_MILLISECONDS_FROM = 1e11


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the user; readers use those that apply to them."""

    assume_utc: bool = False
    chunk_chars: int = 1200
    #: called with the error of each broken part of a file, which is skipped
    on_skip: Callable[[ImportFormatError], None] | None = None


class SourceFile:
    """A file to import: opens it as text and makes errors that name it."""

    def __init__(self, path: Path, label: str | None = None) -> None:
        self.path = path
        self.label = label or str(path)

    @property
    def name(self) -> str:
        return self.path.name

    def error(self, place: str, problem: str, *, hint: str) -> ImportFormatError:
        where = f"{self.label}, {place}" if place else self.label
        return ImportFormatError(f"{where}: {problem}", hint=hint)

    def json_error(self, place: str, exc: Exception) -> ImportFormatError:
        """An error for JSON that is nested too deeply, or has a number with thousands of digits."""
        return self.error(
            place, f"JSON exceeds the limits of the parser: {str(exc)[:80]}",
            hint="check where the file comes from",
        )

    def require_file(self) -> None:
        if not self.path.exists():
            raise self.error("", "no such file", hint="check the path to import from")
        if self.path.is_dir():
            raise self.error("", "it is a directory", hint="name a file inside it")
        if not self.path.is_file():  # reading it could block or never end
            raise self.error(
                "", "it is a pipe, a socket or a device, not a file",
                hint="save its content in a file, or pipe it in with - as the file name",
            )

    @contextmanager
    def open_text(self) -> Iterator[TextIO]:
        """Open the file as UTF-8 text, without a byte-order mark."""
        try:
            self.require_file()
            from spector.process import open_given

            with open(open_given(self.path), encoding="utf-8-sig", newline=None) as stream:
                yield stream
        except UnicodeDecodeError as exc:
            raise self.error(
                "",
                f"not UTF-8 text (bad byte {exc.object[exc.start]:#04x})",
                hint="convert the file to UTF-8, for instance with iconv",
            ) from exc
        except StoreError as exc:
            raise self.error("", exc.message, hint=exc.hint) from exc
        except OSError as exc:
            raise self.error("", exc.strerror or str(exc), hint="check its permissions") from exc

    def first_character(self) -> str:
        """The first character that is not white space; "" if there is none."""
        with self.open_text() as stream:
            return first_character(stream)

    def load_object(self, stream: TextIO) -> dict[str, Any]:
        """Parse a whole JSON document that must be one object."""
        try:
            document = json.load(stream)
        except json.JSONDecodeError as exc:
            raise self.error(
                f"line {exc.lineno}", f"broken JSON: {exc.msg}", hint="the file may be truncated"
            ) from exc
        except BAD_JSON as exc:
            raise self.json_error("", exc) from exc
        if not isinstance(document, dict):
            raise self.error("", "not a JSON object", hint="check --format")
        return document


def first_character(stream: TextIO) -> str:
    """Read up to and including the first character that is not white space."""
    found = stream.read(1)
    while found.isspace():
        found = stream.read(1)
    return found


FormatReader = Callable[[SourceFile, Options], Iterator[Message]]


def wrap_text(stream: IO[bytes]) -> TextIO:
    """Wrap a binary stream (a zip member) as UTF-8 text."""
    return io.TextIOWrapper(stream, encoding="utf-8-sig")


def iter_array(stream: TextIO, source: SourceFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number from 1, object) for each element of a JSON array of objects.

    Only one element is in memory, so an export may have gigabytes. The amount read doubles whenever
    an element does not fit, which keeps the cost of parsing again linear.
    """
    decoder = json.JSONDecoder()
    hint = "the file may be truncated; export it again"
    buffer = stream.read(_FIRST_READ_CHARS).lstrip()
    if not buffer.startswith("["):
        raise source.error("start", "expected a JSON array", hint="check --format")
    at, number, step = 1, 1, _FIRST_READ_CHARS
    while True:
        at = _skip(buffer, at, " \t\r\n," if number > 1 else " \t\r\n")
        if at < len(buffer) and buffer[at] == "]":
            return
        if at < len(buffer) and buffer[at] != "{":
            raise source.error(f"entry {number}", "is not a JSON object", hint="check --format")
        try:
            element, end = decoder.raw_decode(buffer, at)
        except json.JSONDecodeError as exc:
            more = stream.read(step)
            if not more:
                raise source.error(f"entry {number}", f"broken JSON: {exc.msg}", hint=hint) from exc
            buffer, at, step = buffer[at:] + more, 0, step * 2
            continue
        except BAD_JSON as exc:
            raise source.json_error(f"entry {number}", exc) from exc
        yield number, element
        at, number, step = end, number + 1, _FIRST_READ_CHARS


def parse_time(
    value: object, source: SourceFile, place: str, options: Options, *, name: str = "event_time"
) -> datetime | None:
    """UTC datetime from an ISO 8601 string, or from seconds or milliseconds since 1970."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise source.error(
            place,
            f"{name} must be a str or a number, got {type(value).__name__}",
            hint="write 2026-05-04T17:30:00Z or seconds since 1970",
        )
    if isinstance(value, str):
        return _parse_iso_time(value, source, place, options, name)
    ms = value if abs(value) >= _MILLISECONDS_FROM else value * 1000
    if not MIN_MS <= ms <= MAX_MS:  # NaN fails the comparison, too
        raise source.error(
            place, f"{name} {str(value)[:40]} is outside the years 1 to 9999",
            hint="write seconds since 1970",
        )
    return from_ms(round(ms))


def text_of_parts(content: object) -> str:
    """The text of a message body: a string, or a list of strings and {"text": ...} parts."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    found = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str) and text.strip():
            found.append(text.strip())
    return "\n\n".join(found)


def _parse_iso_time(
    text: str, source: SourceFile, place: str, options: Options, name: str
) -> datetime:
    try:
        if options.assume_utc:
            parsed = datetime.fromisoformat(text.strip())
            if parsed.tzinfo is None:
                return parsed.replace(tzinfo=UTC)
        return from_ms(to_ms(text, name=name))
    except InvalidTimeError as exc:
        naive = "no time zone" in exc.message
        raise source.error(
            place,
            exc.message,
            hint="add Z or an offset to the times, or import with --assume-utc"
            if naive
            else exc.hint,
        ) from exc
    except ValueError as exc:
        raise source.error(
            place,
            f"{name}: {text!r} is not an ISO 8601 time",
            hint="write it like 2026-05-04T17:30:00Z",
        ) from exc


def _skip(buffer: str, at: int, characters: str) -> int:
    while at < len(buffer) and buffer[at] in characters:
        at += 1
    return at

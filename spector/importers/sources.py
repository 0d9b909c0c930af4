"""Files to import: opened as text, wherever they lie, with errors that name them."""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, TextIO

from spector.errors import ImportFormatError, StoreError

_FIRST_READ_CHARS: Final = 1 << 16
#: errors of the JSON parser for nesting or numbers beyond its limits
BAD_JSON: Final = (RecursionError, ValueError)
#: what a damaged archive raises while a file in it is read
_BAD_ZIP: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
#: byte-order marks of other encodings than UTF-8
_MARKS: Final = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(slots=True, eq=False)
class SourceFile:
    """A file to import: opens it as text and makes errors that name it.

    Attributes:
        path: the file, or the archive that has it.
        label: how errors name it; its path by default.
        member: its name within the archive; "" for none.
        folders: the folders that it lies in, below the one that the user named.
        is_alone: the user named it, and not a folder or archive that has it.
    """

    path: Path
    label: str = ""
    _: KW_ONLY
    member: str = ""
    folders: tuple[str, ...] = ()
    is_alone: bool = True

    def __post_init__(self) -> None:
        self.label = self.label or (f"{self.path}!{self.member}" if self.member else str(self.path))

    @property
    def name(self) -> str:
        """The name of the file, without its folders, as it can be stored."""
        inner = self.member.replace("\\", "/")
        name = PurePosixPath(inner).name if inner else self.path.name
        if name.isprintable():
            return name
        return "".join(each if each.isprintable() else " " for each in name).strip() or "file"

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    def error(self, place: str, problem: str, *, hint: str) -> ImportFormatError:
        where = f"{self.label}, {place}" if place else self.label
        return ImportFormatError(f"{where}: {problem}", hint=hint)

    def json_error(self, place: str, exc: Exception) -> ImportFormatError:
        """An error for JSON that is nested too deeply, or has a number with thousands of digits."""
        return self.error(
            place,
            f"JSON exceeds the limits of the parser: {str(exc)[:80]}",
            hint="check where the file comes from",
        )

    def require_file(self) -> None:
        if not self.path.exists():
            raise self.error("", "no such file", hint="check the path to import from")
        if self.path.is_dir():
            raise self.error("", "it is a directory", hint="name a file inside it")
        if not self.path.is_file():  # reading it could block or never end
            raise self.error(
                "",
                "it is a pipe, a socket or a device, not a file",
                hint="save its content in a file, or pipe it in with - as the file name",
            )

    @contextmanager
    def open_bytes(self) -> Iterator[IO[bytes]]:
        """Open the file for reading."""
        try:
            self.require_file()
            from spector.process import open_given

            with open(open_given(self.path), "rb") as stream:
                if not self.member:
                    yield stream
                    return
                with zipfile.ZipFile(stream) as archive, archive.open(self.member) as inner:
                    yield inner
        except StoreError as exc:
            raise self.error("", exc.message, hint=exc.hint) from exc
        except _BAD_ZIP as exc:
            if not self.member or isinstance(exc, RecursionError):
                raise
            raise self.error(
                "", f"cannot be read: {str(exc)[:120]}", hint="export it again"
            ) from exc
        except OSError as exc:
            raise self.error("", exc.strerror or str(exc), hint="check its permissions") from exc

    @contextmanager
    def open_text(self) -> Iterator[TextIO]:
        """Open the file as UTF-8 text (or UTF-16 with its mark), without a byte-order mark."""
        try:
            with self.open_bytes() as raw:
                start = raw.read(2)
                raw.seek(0)
                encoding = _MARKS.get(start, "utf-8-sig")
                stream = io.TextIOWrapper(raw, encoding=encoding, newline=None)
                try:
                    yield stream
                finally:
                    stream.detach()
        except UnicodeDecodeError as exc:
            raise self.error(
                "",
                f"not UTF-8 text (bad byte {exc.object[exc.start]:#04x})",
                hint="convert the file to UTF-8, for instance with iconv",
            ) from exc
        except UnicodeError as exc:
            raise self.error(
                "", f"not text: {str(exc)[:80]}", hint="convert the file to UTF-8"
            ) from exc

    def first_character(self) -> str:
        """The first character that is not white space; "" if there is none."""
        with self.open_text() as stream:
            while block := stream.read(_FIRST_READ_CHARS):
                if block.strip():
                    return block.lstrip()[0]
        return ""

    def begins_with(self, words: str) -> bool:
        """Whether the first characters of the file have some words; False if it is no text."""
        try:
            with self.open_text() as stream:
                return words in stream.read(_FIRST_READ_CHARS)
        except ImportFormatError:
            return False

    def load(self) -> Any:
        """The whole file as one JSON document."""
        with self.open_text() as stream:
            try:
                return json.load(stream)
            except json.JSONDecodeError as exc:
                raise self.error(
                    f"line {exc.lineno}",
                    f"broken JSON: {exc.msg}",
                    hint="the file may be truncated",
                ) from exc
            except UnicodeError:
                raise
            except BAD_JSON as exc:
                raise self.json_error("", exc) from exc

    def load_object(self) -> dict[str, Any]:
        """The whole file as one JSON document that must be an object."""
        document = self.load()
        if not isinstance(document, dict):
            raise self.error("", "is not a JSON object", hint="check --format")
        return document

    def each_object(self, what: str = "entry") -> Iterator[tuple[str, dict[str, Any]]]:
        """(place, object) of a JSON array, or of one object alone; a place is like "entry 1"."""
        if self.first_character() == "{":
            yield f"{what} 1", self.load_object()
            return
        with self.open_text() as stream:
            for number, entry in enumerate(iter_array(stream, self), 1):
                yield f"{what} {number}", entry


@dataclass(slots=True)
class Head:
    """The beginning of a file, from which its format is recognized.

    Attributes:
        text: its first characters.
        shape: "array", "object", "lines" (of JSON objects) or "text".
        first: the first object; empty for text.
    """

    source: SourceFile
    text: str = ""
    shape: str = "text"
    first: dict[str, Any] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        return self.source.suffix

    def has(self, *keys: str) -> bool:
        """Whether the first object has all of some keys."""
        return all(key in self.first for key in keys)

    def first_of(self, key: str) -> dict[str, Any]:
        """The first object of a list under a key; empty if there is none."""
        items = self.first.get(key)
        found = items[0] if isinstance(items, list) and items else None
        return found if isinstance(found, dict) else {}


def iter_array(stream: TextIO, source: SourceFile) -> Iterator[dict[str, Any]]:
    """Each element of a JSON array of objects.

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
        yield element
        at, number, step = end, number + 1, _FIRST_READ_CHARS


def _skip(buffer: str, at: int, characters: str) -> int:
    while at < len(buffer) and buffer[at] in characters:
        at += 1
    return at


def each_line(source: SourceFile) -> Iterator[tuple[str, dict[str, Any] | ImportFormatError]]:
    """(place, object) of every line that is not empty; the error of one that is no JSON object."""
    with source.open_text() as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield f"line {number}", _object_of(line, source, f"line {number}")


def _object_of(line: str, source: SourceFile, place: str) -> dict[str, Any] | ImportFormatError:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as exc:
        return source.error(place, f"broken JSON: {exc.msg}", hint="write one JSON object per line")
    except BAD_JSON as exc:
        return source.json_error(place, exc)
    if isinstance(entry, dict):
        return entry
    problem = f"must be an object, got {type(entry).__name__}"
    return source.error(place, problem, hint='write {"text": "..."}')


def each_entry(source: SourceFile) -> Iterator[tuple[str, Any]]:
    """(place, object) of an array, of one document, or of every line, as the file is written."""
    if source.first_character() == "[":
        yield from source.each_object()
        return
    try:
        yield "document", source.load_object()
    except ImportFormatError:
        yield from each_line(source)

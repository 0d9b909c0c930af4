"""Output of the command: tables for people, JSON for programs, progress on stderr.

Control characters in a store's text are printed visibly, so that a remembered escape sequence
cannot control the terminal.
"""

from __future__ import annotations

import contextlib
import enum
import io
import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, tzinfo
from pathlib import PurePath
from typing import Any, BinaryIO, Final

from spector.errors import ImportFormatError, InvalidInputError, SpectorError

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_DEFAULT_WIDTH = 120
#: the library's hints name a store PATH, because it does not know the command line
_NEXT_STEP: Final = re.compile(r"\b(spector \w+) PATH\b")
_MIN_FLEX_WIDTH = 24
_YES: Final = frozenset({"y", "yes"})
#: bidirectional overrides and marks reorder the characters around them
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: invisible copies of ASCII, which can hide words in a text
_INVISIBLE: Final = range(0xE0000, 0xE0080)
#: JSON escapes controls below U+0020 only, but terminals also obey U+0080 to U+009F
_IN_JSON: Final = {
    code: json.dumps(chr(code))[1:-1] if code != 0x7F else "\\u007f"
    for code in (*range(0x7F, 0xA0), *map(ord, _BIDI), 0x2028, 0x2029, *_INVISIBLE)
}


@dataclass(frozen=True, slots=True)
class Column:
    """Heading and alignment; flexible columns share the width that the others leave.

    ``least``: minimum width of a flexible column.
    """

    title: str
    right: bool = False
    flexible: bool = False
    least: int = _MIN_FLEX_WIDTH


#: called with (done, in total, what is done), the last two if they are known
Progress = Callable[..., None]


class Console:
    """Where a command writes its output. In JSON mode ``say`` and ``table`` print nothing."""

    def __init__(self, *, as_json: bool = False, path: str | None = None) -> None:
        self.as_json = as_json
        #: the store that hints name
        self.path = path
        #: of the times in tables; JSON has instants
        self.zone: tzinfo = UTC
        self.out = sys.stdout
        self.err = sys.stderr
        self._color_out = _wants_color(self.out)
        self._color_err = _wants_color(self.err)

    @property
    def width(self) -> int:
        """Width in columns: that of the terminal, or a fixed one for files and pipes."""
        if "COLUMNS" in os.environ or _is_tty(self.out):
            import shutil

            return max(40, min(160, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns))
        return _DEFAULT_WIDTH

    def style(self, text: str, *names: str) -> str:
        """``text`` in colour if stdout shows colours."""
        if not self._color_out or not names:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"

    def say(self, text: str = "") -> None:
        """Print a line for people; nothing in JSON mode."""
        if not self.as_json:
            print(text, file=self.out)

    def lines(self, text: str) -> None:
        """Print lines for people that may contain text from a store."""
        for line in text.splitlines():
            self.say(" " * (len(line) - len(line.lstrip())) + clean(line))

    def hints(self, text: str) -> None:
        """Print lines for people that name commands to run next."""
        self.lines(self.advice(text))

    def data(self, line: str) -> None:
        """Print a line of the result, in any mode."""
        print(line.translate(_IN_JSON), file=self.out)

    def note(self, text: str) -> None:
        """Print a remark on stderr, so that pipes get only results."""
        print(clean(self.advice(text)), file=self.err)

    def advice(self, text: str) -> str:
        """A message of the library with the command's options and the path of the store."""
        from spector.cli.translation import translate_to_commands  # compiles many patterns

        text = translate_to_commands(text)
        if not self.path:
            return text
        path = shlex.quote(self.path)
        return _NEXT_STEP.sub(lambda found: f"{found[1]} {path}", text)

    def document(self, value: Any) -> None:
        """Print the one JSON document of ``--json``; nothing otherwise."""
        if self.as_json:
            indent = 2 if _is_tty(self.out) else None
            text = json.dumps(to_jsonable(value), ensure_ascii=False, indent=indent)
            print(text.translate(_IN_JSON), file=self.out)

    def aside(self) -> Console:
        """A console for people on stderr, for what is shown before a confirmation."""
        other = Console(path=self.path)
        other.out, other._color_out = self.err, self._color_err
        return other

    @property
    def can_ask(self) -> bool:
        """True if a terminal can show a question and read the answer."""
        return _is_tty(sys.stdin) and _is_tty(self.err)

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question; the end of the input counts as no."""
        print(f"{clean(question)} [y/N] ", end="", file=self.err, flush=True)
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):
            print(file=self.err)
        return answer.strip().lower() in _YES

    def input_words(self) -> str:
        """The text on standard input; raises as `input_text` does."""
        if sys.stdin.isatty():
            self.note("reading the text from the terminal; end with Ctrl-D")
        return input_text().strip()

    def failure(self, error: SpectorError, code: int) -> None:
        """Print the cause and the next step, without a traceback."""
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        cause = (error.message or type(error).__name__) + notes
        # in errors about a file these names are its keys, not options of the command
        of_file = isinstance(error, ImportFormatError)
        message = clean(cause if of_file else self.advice(cause))
        hint = clean(self.advice(error.hint))
        if self.as_json:
            body = {
                "error": {
                    "type": type(error).__name__,
                    "message": message,
                    "hint": hint,
                    "exit_code": code,
                }
            }
            print(json.dumps(body, ensure_ascii=False).translate(_IN_JSON), file=self.err)
            return
        word = "\x1b[1;31merror:\x1b[0m" if self._color_err else "error:"
        print(f"{word} {message}", file=self.err)
        if hint:
            print(f" hint: {hint}", file=self.err)

    def table(self, columns: str | Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
        """Print an aligned table; flexible columns wrap to the width of the terminal.

        Args:
            columns: also their headings in a row: ``"id | >count | text~"``, where ``>`` aligns to
                the right, and ``~`` makes flexible.
        """
        if self.as_json:
            return
        if isinstance(columns, str):
            columns = [
                Column(each.strip(">~"), each[0] == ">", each[-1] == "~")
                for each in columns.split(" | ")
            ]
        cells = [[clean(str(value)) for value in row] for row in rows]
        widths = _column_widths(columns, cells, self.width)
        titles = [column.title for column in columns]
        self.say(self.style(_line(columns, titles, widths), "bold"))
        self.say(self.style("  ".join("-" * width for width in widths), "dim"))
        for row in cells:
            wrapped = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
            for n in range(max(len(lines) for lines in wrapped)):
                parts = [lines[n] if n < len(lines) else "" for lines in wrapped]
                self.say(_line(columns, parts, widths))

    def listing(
        self,
        name: str,
        found: Sequence[Any],
        otherwise: str,
        columns: str,
        row: Callable[[Any], Sequence[object]],
        *,
        document: Mapping[str, Any] | None = None,
    ) -> int:
        """Print what was found as a document or a table; the exit code.

        Args:
            otherwise: what is said of nothing.
            document: in place of one that has what was found under ``name``.
        """
        self.document({name: found} if document is None else document)
        if not found:
            self.note(otherwise)
            return 1
        self.table(columns, map(row, found))
        return 0

    def pairs(self, values: Mapping[str, Any], *, indent: int = 0) -> None:
        """Print nested names and values, one per line."""
        room = max((len(clean(name)) for name in values), default=0)
        for name, value in values.items():
            label = " " * indent + clean(name).ljust(room)
            if isinstance(value, Mapping) and value:
                self.say(self.style(" " * indent + clean(name), "bold"))
                self.pairs(value, indent=indent + 2)
            else:
                self.say(f"{label}  {_value_text(value)}")

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Progress]:
        """What shows progress: in a bar if stderr is a terminal."""
        if not _is_tty(self.err):
            yield lambda *reached: None
            return
        from tqdm import tqdm

        with tqdm(desc=what, unit=f" {unit}", file=self.err, leave=False) as bar:

            def reach(done: int, total: int | None = None, step: str = "") -> None:
                if step:
                    bar.set_description_str(step, refresh=False)
                bar.total = total
                bar.update(done - bar.n)

            yield reach


def clean(text: str) -> str:
    """One line with white space collapsed and control characters made visible."""
    flat = " ".join(text.split())
    if flat.isprintable() and flat.isascii():
        return flat
    return "".join(_visible(character) for character in flat)


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cs") or character in _BIDI
    return f"\\x{ord(character):02x}" if hidden or ord(character) in _INVISIBLE else character


def width_of(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at spaces if possible."""
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        room = width_of(word)
        if line and used + 1 + room <= width:
            line, used = f"{line} {word}", used + 1 + room
            continue
        if line:
            lines.append(line)
        while room > width:
            head = _prefix(word, width)
            lines.append(head)
            word = word[len(head) :]
            room = width_of(word)
        line, used = word, room
    return [*lines, line]


def _prefix(word: str, width: int) -> str:
    end, used = 0, 0
    for character in word:
        used += width_of(character)
        if used > width and end:
            break
        end += 1
    return word[:end]


def _column_widths(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], total: int
) -> list[int]:
    natural = [
        max([width_of(column.title), *(width_of(row[n]) for row in cells)])
        for n, column in enumerate(columns)
    ]
    flexible = [n for n, column in enumerate(columns) if column.flexible]
    for n in flexible:
        natural[n] = min(natural[n], max(total, columns[n].least))
    spare = total - 2 * (len(columns) - 1) - sum(natural)
    while spare < 0:
        wide = [n for n in flexible if natural[n] > columns[n].least]
        if not wide:
            break
        natural[max(wide, key=lambda n: natural[n])] -= 1
        spare += 1
    return natural


def _line(columns: Sequence[Column], parts: Sequence[str], widths: Sequence[int]) -> str:
    out = []
    for column, part, width in zip(columns, parts, widths, strict=True):
        gap = " " * max(0, width - width_of(part))
        out.append(gap + part if column.right else part + gap)
    return "  ".join(out).rstrip()


def _value_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(clean(str(item)) for item in value) or "-"
    if isinstance(value, Mapping):
        return "-"
    return clean(str(value))


def bytes_text(count: int) -> str:
    """1536 -> "1.5 KiB"."""
    value, unit_name = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            break
        value, unit_name = value / 1024, larger
    return f"{count} B" if unit_name == "B" else f"{value:.1f} {unit_name}"


def to_jsonable(value: Any) -> Any:
    """Plain JSON types of reports, records and statistics."""
    if hasattr(value, "to_dict"):
        return to_jsonable(value.to_dict())
    if isinstance(value, enum.Enum):
        return (value.name or str(value)).lower()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_jsonable(item) for item in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, PurePath):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def _is_tty(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _wants_color(stream: Any) -> bool:
    return _is_tty(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# Standard streams of the command, any of which may be closed, full or unreadable.

#: flags of the replacements of closed streams: stdin and stdout fail when they are used, stderr
#: discards its output
_INSTEAD: Final = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)
_BLOCK_BYTES: Final = 1 << 20


def fill_closed() -> None:
    """Open closed standard streams, so that no file of a store gets their numbers.

    A library that writes to a standard stream would otherwise write into that file.
    """
    for fd, flags in enumerate(_INSTEAD):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(os.dup(0))))
    if sys.stdout is None:
        sys.stdout = _writing_to(1)
    if sys.stderr is None:
        sys.stderr = _writing_to(2)


def _writing_to(fd: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(os.dup(fd), "w")), errors="backslashreplace"
    )


def input_text() -> str:
    """Return all of standard input.

    Raises:
        InvalidInputError: it is closed, a directory, or not open for reading.
    """
    with _reading_input():
        return sys.stdin.read()


def input_blocks() -> Iterator[bytes]:
    """Standard input in blocks; raises as `input_text` does."""
    with _reading_input():
        stream: BinaryIO = sys.stdin.buffer
        while block := stream.read(_BLOCK_BYTES):
            yield block


@contextlib.contextmanager
def _reading_input() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"standard input cannot be read: {error.strerror or error}",
            hint="name a file, or pipe input into the command",
        ) from error


def silence_stdout() -> None:
    """Keep the interpreter from reporting an error when it flushes a closed pipe at exit."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())

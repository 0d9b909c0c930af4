"""Tables as text: comma-, semicolon- or tab-separated, with a first line of names.

A column of texts is needed; columns of times, speakers and scopes are known by the names that
people give them. The others go into the metadata.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final, TextIO

from spector.importers.entries import Entry, Format, LeftOut, Options, instructs, label
from spector.importers.reading import filled, message, read_each
from spector.importers.sources import Head, SourceFile
from spector.importers.times import Spot, clock_of, iso_of, order_of

#: field of a memory -> names of its column, the surest first
_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "text": tuple("text content contents message body memory note metin mesaj icerik".split()),
    "event_time": tuple(
        """event_time timestamp created_at createdat datetime date_time date time sent_at created ts
        tarih zaman""".split()
    ),
    "role": ("role", "sender_type", "rol"),
    "speaker": tuple(
        "speaker author sender from name username user kisi gonderen yazan kimden".split()
    ),
    "user_id": ("user_id", "userid"),
    "agent_id": ("agent_id", "agentid"),
    "session_id": tuple(
        "session_id conversation_id conversation thread_id thread channel chat sohbet".split()
    ),
    "source": ("source", "kaynak"),
    "tags": ("tags", "tag", "labels", "categories", "etiketler"),
    "importance": ("importance",),
    "id": ("id", "message_id", "uuid"),
    "clock": ("time", "saat", "zaman"),  # beside a day in a column of its own
}
_DELIMITERS: Final = ",;\t|"
#: "sep=;", as the first line of a table may say it
_SEPARATOR: Final = re.compile(r'\s*"?sep=([,;|\t])"?\s*$', re.IGNORECASE)
#: Notion adds the number of a database to the name of its table
_NUMBERED: Final = re.compile(r" [0-9a-f]{32}$")
#: in place of a column
_ALL: Final = -1
#: characters of a cell at most; the parser's own limit is that of short notes
_MOST_CHARS: Final = 1 << 30


def _recognizes(head: Head) -> bool:
    return head.shape == "text" and head.suffix in (".csv", ".tsv")


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The rows of a table, in their order."""
    with source.open_text() as stream:
        first = stream.readline()
        while first and not first.strip():
            first = stream.readline()
    said = _SEPARATOR.match(first)
    delimiter = said[1] if said else max(_DELIMITERS, key=first.count)
    if source.suffix == ".tsv" and not said:
        delimiter = "\t"
    with source.open_text() as stream:
        names, columns, rows = _table(stream, source, delimiter, bool(said))
        day_first = None
        if (at := columns.get("event_time")) is not None:
            day_first = order_of(cells[at] for _, cells in rows if at < len(cells))
    with source.open_text() as stream:
        names, columns, rows = _table(stream, source, delimiter, bool(said))
        found = ((f"line {line}", cells) for line, cells in rows if any(map(str.strip, cells)))
        row = partial(_row, names, columns, day_first)
        yield from read_each(found, row, source, options)


FORMAT: Final = Format(
    "csv", "a table with a column of texts, and names in its first line", read, _recognizes
)


def _table(
    stream: TextIO, source: SourceFile, delimiter: str, has_separator: bool
) -> tuple[list[str], dict[str, int], Iterator[tuple[int, list[str]]]]:
    """The names of a table, the columns that are known, and its rows."""
    rows = _rows(stream, source, delimiter)
    if has_separator:  # a line for the program of the table, before the names
        next(rows)
    _, names = next((each for each in rows if any(map(str.strip, each[1]))), (0, []))
    while names and not names[-1].strip():  # lines that end with the separator
        names.pop()
    return names, _columns(names, source), rows


def _rows(stream: TextIO, source: SourceFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of every row, the names among them."""
    if csv.field_size_limit() < _MOST_CHARS:
        csv.field_size_limit(_MOST_CHARS)
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            raise source.error(
                f"line {reader.line_num or line}",
                f"broken table: {exc}",
                hint="save it again as CSV, or as JSON lines",
            ) from exc
        yield line, cells
        line = reader.line_num + 1


def _plain(name: str) -> str:
    folded = name.strip().strip("\ufeff").casefold().translate(str.maketrans("ışğüöç", "isguoc"))
    return re.sub(r"[\s-]+", "_", folded.replace("i\u0307", "i"))


def _columns(names: list[str], source: SourceFile) -> dict[str, int]:
    """Field -> number of its column.

    Raises:
        ImportFormatError: no column has texts, or two have the same name.
    """
    plain = [_plain(each) for each in names]
    twice = [each for each in plain if each and plain.count(each) > 1]
    if twice:
        raise source.error("line 1", f"two columns are named {twice[0]!r}", hint="rename one")
    columns: dict[str, int] = {}
    for field, known in _COLUMNS.items():
        at = next((plain.index(each) for each in known if each in plain), None)
        if at is not None and at not in columns.values():
            columns[field] = at
    if "text" not in columns and _NUMBERED.search(PurePosixPath(source.name).stem):
        # the pages of a database of Notion: what a row says is all of its cells
        return {"text": _ALL, **{name: at for name, at in columns.items() if name == "event_time"}}
    if "text" not in columns:
        shown = ", ".join(each[:30] for each in names[:8]) or "none"
        raise source.error(
            "line 1", f"no column has texts (columns: {shown})", hint='name one of them "text"'
        )
    return columns


def _row(
    names: list[str], columns: dict[str, int], day_first: bool | None, cells: list[str], spot: Spot
) -> Entry:
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) != len(names):
        raise spot.error(
            f"has {len(cells)} cells, and there are {len(names)} columns",
            hint="quote cells that contain the separator",
        )
    named = [(name.strip(), cell.strip()) for name, cell in zip(names, cells, strict=True)]
    given = {field: cells[at].strip() for field, at in columns.items() if at != _ALL}
    text = (
        cells[columns["text"]]
        if columns["text"] != _ALL
        else "\n".join(f"{name}: {cell}" for name, cell in named if name and cell)
    )
    if not text.strip():
        return LeftOut("no text", spot.place)
    written, clock = given.get("event_time", ""), clock_of(given.get("clock", ""))
    if has_clock := bool(clock and 8 <= len(written) <= 10):  # a day
        written = f"{written} {clock}"
    when = iso_of(written, day_first)
    if when is None:
        raise spot.error(
            f"the order of day and month in {written[:40]!r} is not clear",
            hint="write dates like 2026-05-04",
        )
    moment = spot.time(when, "time")
    speaker = label(given.get("speaker"))
    role = label(given.get("role")) or speaker
    if instructs(role):
        return LeftOut("instructions", spot.place)
    known = set(columns.values())
    if moment is None and written:  # it stands for no time
        known.discard(columns["event_time"])
    if not has_clock:
        known.discard(columns.get("clock", -1))
    more = {name: cell for at, (name, cell) in enumerate(named) if name and at not in known}
    return message(
        spot,
        text,
        source=given.get("source") or spot.source.name,
        event_time=moment,
        user_id=label(given.get("user_id")),
        agent_id=label(given.get("agent_id")),
        session_id=label(given.get("session_id")),
        role=role,
        importance=_number(given.get("importance", ""), spot),
        tags=_tags(given.get("tags", "")) or None,
        metadata=filled({"speaker": speaker, **more}),
        own_id=given.get("id", ""),
        written=when,
    )


def _tags(text: str) -> list[str]:
    """Tags with signs between them, or as a list of JSON."""
    parts: list[Any] = re.split("[,;|]", text)
    if text.startswith("["):
        with contextlib.suppress(ValueError):
            found = json.loads(text)
            parts = found if isinstance(found, list) else parts
    return [each for part in parts if (each := label(part)) is not None]


def _number(text: str, spot: Spot) -> float | None:
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError as exc:
        problem = f"importance is {text[:40]!r}"
        raise spot.error(problem, hint="write a number in 0..1") from exc

"""Markdown, alone or in a vault: chunks with their headings, tags, dates and links.

A chunk never crosses a heading. It begins with the path of its headings, so that it can be found by
the topic of its section and read without the rest of the page. The metadata has the path and the
number of the first line. A note without a heading of the first level has its file name for one; in
a folder every note begins with its folder and name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from spector.errors import ImportFormatError, InvalidInputError
from spector.importers.entries import Entry, Format, Found, LeftOut, Message, Options, label
from spector.importers.formats.plain import Block, pack, split
from spector.importers.sources import Head, SourceFile
from spector.importers.times import in_zone, parse_time

_SUFFIXES: Final = frozenset((".md", ".markdown", ".mdown"))
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ANY_HEADING: Final = re.compile(r"^#{1,6} \S", re.MULTILINE)
_FENCE: Final = re.compile(r"^\s*(```+|~~~+)")
#: one that ends; after a number the signs are of a percentage
_COMMENT: Final = re.compile(r"(?<![\w%])%%(?!%).*?%%", re.DOTALL)
_RULE: Final = re.compile(r"^\s*([-*_])(\s*\1){2,}\s*$")
_ITEM: Final = re.compile(r"^\s*([-*+]|\d{1,9}[.)])\s+\S")
_LINK: Final = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_TAG: Final = re.compile(r"(?<![\w/#&(])#([^\W\d_][\w/-]{0,60})")
#: a day in the name of a file; at its beginning also "2024_05_03" and "20240503"
_DAY: Final = re.compile(
    r"(?<!\d)((?:19|20)\d\d)-(\d\d)-(\d\d)(?!\d)"
    r"|^((?:19|20)\d\d)(?:_(\d\d)_|(\d\d))(\d\d)(?!\d)"
)
#: Notion adds the number of a page to the names of its file and folder
_NUMBERED: Final = re.compile(r" [0-9a-f]{32}$")
#: lines of properties at most
_MOST_LINES: Final = 400
_MOST_LINKS: Final = 64
_MOST_TAGS: Final = 32


def _recognizes(head: Head) -> bool:
    if head.suffix in _SUFFIXES:
        return True
    return (
        head.shape == "text"
        and head.suffix in ("", ".txt", ".text")
        and _ANY_HEADING.search(head.text) is not None
    )


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The chunks of a note in their order."""
    with source.open_text() as stream:
        lines = [each.rstrip() for each in stream]
    end = _end_of_properties(lines)
    properties = properties_of(lines[1 : max(1, end - 1)])
    title = _bare(PurePosixPath(source.name).stem) if source.suffix in _SUFFIXES else ""
    blocks = list(_blocks(_without_comments(enumerate(lines[end:], end + 1))))
    blocks = _with_properties(blocks, properties, options)
    top = next((each.headings[0] for each in blocks if each.headings), "")
    folders = options.context.get("folders")
    # in a folder every chunk begins with where its note lies, alone with its name if need be
    named = title and (title != top if folders is not None else not top)
    path = (*map(_bare, folders or ()), *([title] if named else []))
    for block in blocks:
        block.headings = path + tuple(
            each for n, each in enumerate(block.headings) if n or not path or each != path[-1]
        )
    common = _common(source, options, properties)
    first = True
    for line, headings, text in pack(blocks, options.chunk_chars):
        yield _chunk(line, headings, text, source, common, properties if first else {})
        first = False
    if first:
        yield LeftOut("empty note", "")


FORMAT: Final = Format(
    "markdown", "notes in Markdown, alone or as a folder or zip of them", read, _recognizes
)


def _with_properties(
    blocks: list[Block], properties: dict[str, Any], options: Options
) -> list[Block]:
    """The blocks, the first of them with what the properties say: no chunk is of these alone."""
    said = told_of(properties)
    if not said:
        return blocks
    room = max(options.chunk_chars // 2, options.chunk_chars - len(said) - 2)
    pieces = list(split(blocks[0], room)) if blocks else [Block(2, "")]
    pieces[0] = replace(pieces[0], text=f"{said}\n\n{pieces[0].text}".rstrip())
    return [*pieces, *blocks[1:]]


def _end_of_properties(lines: list[str]) -> int:
    """How many lines the properties take, with their marks; 0 for none, as without an end."""
    if lines[:1] == ["---"]:
        for at, line in enumerate(lines[1 : _MOST_LINES + 1], 2):
            if line in ("---", "..."):
                return at
    return 0


def _without_comments(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines without what Obsidian shows no reader, %%such a comment%%; code keeps its signs."""
    prose: list[tuple[int, str]] = []
    fence = ""
    for number, line in lines:
        mark = _FENCE.match(line)
        if mark is None and not fence:
            prose.append((number, line))
            continue
        yield from _commentless(prose)
        prose = []
        yield number, line
        if mark is not None:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
    yield from _commentless(prose)


def _commentless(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    text = _COMMENT.sub(
        lambda found: "\n" * found[0].count("\n"), "\n".join(line for _, line in lines)
    )
    yield from zip((number for number, _ in lines), text.split("\n"), strict=False)


def _bare(name: str) -> str:
    """The name of a page or folder, without the number that its program adds."""
    return _NUMBERED.sub("", name) or name


def _common(source: SourceFile, options: Options, properties: dict[str, Any]) -> Message:
    """Fields of all chunks of a note."""
    common: Message = {"source": "/".join((*source.folders, source.name))}
    tags = [each for name in tags_in(properties) if (each := label(name)) is not None]
    if tags:
        common["tags"] = tags[:_MOST_TAGS]
    if (moment := _moment(source, options, properties)) is not None:
        common["event_time"] = moment
    return common


def _moment(source: SourceFile, options: Options, properties: dict[str, Any]) -> datetime | None:
    """When a note was made: by its properties, by the day that names the file, by its change."""
    lower = {name.lower(): value for name, value in properties.items()}
    named = _DAY.search(source.name)
    day = None if named is None else "-".join(each for each in named.groups() if each)
    given = [lower.get(name) for name in CREATED]
    values = (*given, day, *(lower.get(name) for name in CHANGED))
    moments = (_time(value, source, options) for value in values)
    return next((each for each in moments if each is not None), None)


def _time(value: Any, source: SourceFile, options: Options) -> datetime | None:
    """The moment of a property; None for what is no time."""
    text = str(value).strip().strip("[]") if isinstance(value, (str, int)) else ""
    if not text[:4].isdigit():
        return None
    try:
        local = datetime.fromisoformat(text)
        if len(text) == 10:  # a whole day: it has no time whose zone could be missing
            return in_zone(local, Options(zone=options.zone, assume_utc=True))
        return in_zone(local, options)
    except ValueError:
        pass
    try:
        return parse_time(text, source, "", options, name="date") if len(text) > 8 else None
    except ImportFormatError:
        return None


def _chunk(
    line: int,
    headings: tuple[str, ...],
    text: str,
    source: SourceFile,
    common: Message,
    properties: dict[str, Any],
) -> Found:
    metadata: dict[str, Any] = {"line": line}
    whole = text
    if headings:
        metadata["heading"] = headings[-1]
        metadata["headings"] = list(headings)
        whole = " > ".join(headings) + "\n\n" + text
    if source.folders:
        metadata["folder"] = "/".join(map(_bare, source.folders))
    if links := list(dict.fromkeys(each.strip() for each in _LINK.findall(text)))[:_MOST_LINKS]:
        metadata["links"] = links
    message: Message = {"text": whole, **common, "metadata": metadata}
    tags = list(dict.fromkeys((*common.get("tags", ()), *_tags(text))))[:_MOST_TAGS]
    if tags:
        message["tags"] = tags
    if properties:
        metadata["properties"] = properties
        if aliases := _aliases(properties):
            message["aliases"] = aliases
    return Found(
        message,
        f"line {line}",
        conversation="/".join((*source.folders, source.name)),
        written="a note",  # its text names it: another date makes it no other note
    )


def _aliases(properties: dict[str, Any]) -> list[str]:
    """Other names of a note that can be names of a memory."""
    from spector.arguments import parse_aliases

    out: list[str] = []
    for name, value in properties.items():
        if name.lower() in ("aliases", "alias"):
            for each in names_in(value):
                with contextlib.suppress(InvalidInputError):
                    out += parse_aliases(each)
    return list(dict.fromkeys(out))[:_MOST_TAGS]


def _tags(text: str) -> list[str]:
    """Tags within a text, as in "#garden", outside of its code."""
    out: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and "#" in line:
            out += _TAG.findall(re.sub(r"`[^`]*`", "", line))
    return [each.rstrip("/-") for each in out]


class _MarkdownReader:
    """Collects lines into blocks and keeps the current path of headings."""

    def __init__(self) -> None:
        self.headings: list[tuple[int, str]] = []
        self.pending: list[str] = []
        self.start = 1
        self.fence = ""
        self.item = False
        #: True while the innermost heading has no text
        self.bare = False

    def flush(self) -> Iterator[Block]:
        text = "\n".join(self.pending).rstrip()
        if text.strip():
            path = tuple(title for _, title in self.headings)
            yield Block(self.start, text, self.item, path)
            self.bare = False
        self.pending, self.item = [], False

    def enter(self, number: int, level: int, title: str) -> Iterator[Block]:
        if self.bare and level <= self.headings[-1][0]:
            yield self.bare_heading()
        self.headings = [(at, name) for at, name in self.headings if at < level]
        self.headings.append((level, title))
        self.start, self.bare = number, True

    def bare_heading(self) -> Block:
        """A block for a heading without any text below it."""
        *above, (_, title) = self.headings
        return Block(self.start, title, headings=tuple(name for _, name in above))

    def keep(self, number: int, line: str) -> None:
        if not self.pending:
            self.start = number
        self.pending.append(line)

    def feed(self, number: int, line: str) -> Iterator[Block]:
        fence = _FENCE.match(line)
        if self.fence or fence:
            yield from self._code(number, line, fence.group(1) if fence else "")
            return
        heading = _HEADING.match(line)
        if heading:
            yield from self.flush()
            yield from self.enter(number, len(heading.group(1)), heading.group(2))
        elif self._underlines(line):
            title = self.pending.pop().strip()
            yield from self.enter(number - 1, 1 if line.startswith("=") else 2, title)
        elif not line.strip() or _RULE.match(line):
            yield from self.flush()
        elif _ITEM.match(line) and not line.startswith(("    ", "\t")):
            yield from self.flush()
            self.keep(number, line)
            self.item = True
        else:
            self.keep(number, line)

    def _code(self, number: int, line: str, mark: str) -> Iterator[Block]:
        if not self.fence:
            if not self.item:
                yield from self.flush()
            self.fence = mark
            self.keep(number, line)
        else:
            self.keep(number, line)
            if mark.startswith(self.fence) and line.strip() == mark:
                self.fence = ""
                if not self.item:
                    yield from self.flush()

    def _underlines(self, line: str) -> bool:
        one_line = len(self.pending) == 1 and not self.item
        return one_line and len(line) >= 2 and line.strip("=-") == "" and len(set(line)) == 1


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[Block]:
    reader = _MarkdownReader()
    for number, line in lines:
        yield from reader.feed(number, line)
    yield from reader.flush()
    if reader.bare:
        yield reader.bare_heading()


# The properties at the top of a note: a small part of YAML, as note programs write it.
#
# What is not understood stays a text: nothing is lost and nothing is guessed.

#: properties that say when a note was made, the surest first, and when it was changed
CREATED: Final = (
    "date,created,created_at,created-at,date created,datetime,timestamp,creation date,day".split(
        ","
    )
)
CHANGED: Final = ("updated", "updated_at", "modified", "last_modified", "date modified")
#: properties that are fields of a memory, or are for programs
_UNSAID: Final = {*CREATED, *CHANGED}.union(
    """tags tag aliases alias id uuid cssclass cssclasses publish permalink slug layout draft banner
    cover icon position collapsed""".split()
)

_KEY: Final = re.compile(r"^([^\s:#\-][^:#]*?)\s*:(?:\s+(.*))?$")
_LIST_ITEM: Final = re.compile(r"^\s*-\s+(.*)$")
_NUMBER: Final = re.compile(r"^-?\d{1,15}(?:\.\d{1,15})?$")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None}
_MOST: Final = 64


def properties_of(lines: list[str]) -> dict[str, Any]:
    """Name -> value: a text, a number, a truth, or a list of them."""
    out: dict[str, Any] = {}
    name = ""
    folded: list[str] | None = None
    for line in lines:
        found = _KEY.match(line)
        if found is not None and not line.startswith((" ", "\t")):
            name, rest = found[1].strip().strip("\"'"), (found[2] or "").strip()
            folded = [] if rest in ("|", ">", "|-", ">-") else None
            if len(out) < _MOST:
                value = None if folded is not None else _value(rest)
                out[name] = value if out.get(name) is None else [*_list(out[name]), *_list(value)]
            continue
        item = _LIST_ITEM.match(line)
        if item is None and folded is None and out.get(name, "") is None and line.strip():
            folded = []  # properties of a property stay as they are written
        if folded is not None and line.startswith((" ", "\t")):
            folded.append(line.strip())
            out[name] = "\n".join(folded)
        elif item is not None and name in out:
            before = out[name]
            if len(_list(before)) < _MOST:
                out[name] = [*_list(before), _scalar(item[1].strip())]
    return {key: value for key, value in out.items() if value is not None}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def told_of(properties: dict[str, Any]) -> str:
    """What the properties say besides tags, dates and other names, one a line; "" for nothing."""
    out = []
    for name, value in properties.items():
        values = value if isinstance(value, list) else [value]
        said = ", ".join(str(each) for each in values if each is not None and each != "")
        if said and not isinstance(value, bool) and name.lower() not in _UNSAID:
            out.append(f"{name}: {said}")
    return "\n".join(out)


def _value(text: str) -> Any:
    text = _without_comment(text)
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        return [_scalar(each) for each in _split_list(text[1:-1]) if each][:_MOST]
    return _scalar(text)


def _without_comment(text: str) -> str:
    if text[:1] in ("'", '"'):
        return text
    return text if text.startswith("#") else re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _split_list(text: str) -> list[str]:
    out, quote, at = [""], "", 0
    for at in range(len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == ",":
            out.append("")
            continue
        out[-1] += char
    return [each.strip() for each in out]


def _scalar(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    return text


def names_in(value: Any) -> list[str]:
    """Names of a property that is one text or a list of them."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list):
        return [str(each) for each in value if isinstance(each, (str, int)) and str(each).strip()]
    return []


def tags_in(properties: dict[str, Any]) -> list[str]:
    """The tags among properties: a list, or one text with commas or spaces between them."""
    out: list[str] = []
    for name, value in properties.items():
        if name.lower() in ("tags", "tag"):
            names = re.split(r"[,\s]+", value) if isinstance(value, str) else names_in(value)
            out += [each.strip().lstrip("#") for each in names]
    return [each for each in dict.fromkeys(out) if each]

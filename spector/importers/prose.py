"""Markdown and plain text: chunks of whole paragraphs, lists and code blocks.

A chunk never crosses a heading. It begins with the path of its headings, so that it can be found by
the topic of its section and read without the rest of the page. The metadata has the path and the
number of the first line. Text files are treated the same, without headings.

A text file is a transcript if names before a colon take turns ("Ann: ...") and each speaker says
"I" or asks something. Each turn becomes a memory with the speaker in its metadata.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from spector.importers.common import Message, Options, SourceFile

__all__ = ["read_markdown", "read_text"]

_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(```+|~~~+)")
_RULE = re.compile(r"^\s*([-*_])(\s*\1){2,}\s*$")
_ITEM = re.compile(r"^\s*([-*+]|\d{1,9}[.)])\s+\S")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(slots=True)
class _Block:
    """A paragraph, list item, code block or turn, with its first line number."""

    line: int
    text: str
    item: bool = False
    headings: tuple[str, ...] = field(default=())
    #: speaker of a turn of a transcript; "" if unknown
    speaker: str = ""


def read_markdown(source: SourceFile, options: Options) -> Iterator[Message]:
    """Yield the chunks of a Markdown file in order."""
    with source.open_text() as stream:
        yield from _messages(_markdown_blocks(stream), source, options)


def read_text(source: SourceFile, options: Options) -> Iterator[Message]:
    """Yield the chunks of a plain text file in order; blank lines separate paragraphs."""
    with source.open_text() as stream:
        names = _find_speakers(stream)
    with source.open_text() as stream:
        if names:
            yield from _turn_messages(_turns(stream, names), source, options)
        else:
            yield from _messages(_paragraphs(stream), source, options)


def _messages(blocks: Iterable[_Block], source: SourceFile, options: Options) -> Iterator[Message]:
    for line, headings, text in _pack(blocks, options.chunk_chars):
        metadata: dict[str, object] = {"line": line}
        if headings:
            metadata["heading"] = headings[-1]
            metadata["headings"] = list(headings)
            text = " > ".join(headings) + "\n\n" + text
        yield {"text": text, "source": source.name, "metadata": metadata}


def _pack(
    blocks: Iterable[_Block], limit_chars: int
) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Join neighbouring blocks of a section up to the limit; split larger ones."""
    pending: list[_Block] = []
    size = 0
    for block in blocks:
        for piece in _split(block, limit_chars):
            crosses = pending and pending[0].headings != piece.headings
            if pending and (crosses or size + len(piece.text) + 2 > limit_chars):
                yield pending[0].line, pending[0].headings, _join_blocks(pending)
                pending, size = [], 0
            pending.append(piece)
            size += len(piece.text) + 2
    if pending:
        yield pending[0].line, pending[0].headings, _join_blocks(pending)


def _join_blocks(blocks: list[_Block]) -> str:
    out = blocks[0].text
    for before, block in pairwise(blocks):
        out += ("\n" if before.item and block.item else "\n\n") + block.text
    return out


def _split(block: _Block, limit_chars: int) -> Iterator[_Block]:
    if len(block.text) <= limit_chars:
        yield block
        return
    code = _FENCE.match(block.text) is not None
    parts = block.text.split("\n") if code else _SENTENCE_END.split(block.text)
    glue = "\n" if code else " "
    pending = ""
    for part in parts:
        for piece in _hard_cut(part, limit_chars):
            if pending and len(pending) + len(glue) + len(piece) > limit_chars:
                yield _Block(block.line, pending, block.item, block.headings)
                pending = ""
            pending = pending + glue + piece if pending else piece
    if pending.strip():
        yield _Block(block.line, pending, block.item, block.headings)


def _hard_cut(text: str, limit_chars: int) -> Iterator[str]:
    while len(text) > limit_chars:
        at = text.rfind(" ", limit_chars // 2, limit_chars)
        at = at if at > 0 else limit_chars
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    if text:
        yield text


#: minimum turns of a speaker, and minimum share of turns among all lines, in a transcript
_LEAST_TURNS = 2
_LEAST_SHARE = 0.5
#: minimum mean words per turn: the lines of a form ("City: Rome") have fewer
_LEAST_WORDS = 4


def _find_speakers(lines: Iterable[str]) -> frozenset[str]:
    """Folded names of the speakers of a transcript; empty for any other text."""
    from spector.language.statements import is_question, says_i, speaker_opening

    turns: Counter[str] = Counter()
    words: Counter[str] = Counter()
    talking: set[str] = set()  # speakers say "I" or ask; headings of notes do neither
    total, speaker = 0, ""
    for line in lines:
        if line.strip():
            total += 1
            opening = speaker_opening(line)
            if opening is not None and (opening.proper or opening.role):
                turns[opening.folded] += 1
                speaker = opening.folded
                words[speaker] += len(line[opening.start :].split())
            said = line if opening is None else line[opening.start :]
            if speaker and (says_i(said) or is_question(said)):
                talking.add(speaker)
    names = [name for name in talking if turns[name] >= _LEAST_TURNS]
    spoken = sum(turns[name] for name in names)
    is_talk = sum(words[name] for name in names) >= _LEAST_WORDS * spoken
    many = len(names) > 1 and spoken >= _LEAST_SHARE * total
    return frozenset(names if many and is_talk else ())


def _turns(lines: Iterable[str], names: frozenset[str]) -> Iterator[_Block]:
    """The turns of a transcript, each from one name to the next."""
    from spector.language.statements import opening_of, speaker_opening

    pending: list[str] = []
    start, speaker = 1, ""
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip()
        opening = opening_of(line)
        # a name that imitates a role also begins a turn, so that its text is not attributed to
        # the speaker before
        if opening is not None and (
            opening.folded in names or opening.proper or speaker_opening(line) is None
        ):
            if pending:
                yield _Block(start, "\n".join(pending).rstrip(), speaker=speaker)
            pending, start = [], number
            speaker = opening.name if opening.folded in names else ""
        if pending or line:
            pending.append(line)
    if pending:
        yield _Block(start, "\n".join(pending).rstrip(), speaker=speaker)


def _turn_messages(
    turns: Iterable[_Block], source: SourceFile, options: Options
) -> Iterator[Message]:
    for turn in turns:
        for piece in _split(turn, options.chunk_chars):
            metadata: dict[str, object] = {"line": turn.line}
            if turn.speaker:
                metadata["speaker"] = turn.speaker
            yield {"text": piece.text, "source": source.name, "metadata": metadata}


def _paragraphs(lines: Iterable[str]) -> Iterator[_Block]:
    pending: list[str] = []
    start = 1
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip()
        if line:
            if not pending:
                start = number
            pending.append(line)
        elif pending:
            yield _Block(start, "\n".join(pending))
            pending = []
    if pending:
        yield _Block(start, "\n".join(pending))


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

    def flush(self) -> Iterator[_Block]:
        text = "\n".join(self.pending).rstrip()
        if text.strip():
            path = tuple(title for _, title in self.headings)
            yield _Block(self.start, text, self.item, path)
            self.bare = False
        self.pending, self.item = [], False

    def enter(self, number: int, level: int, title: str) -> Iterator[_Block]:
        if self.bare and level <= self.headings[-1][0]:
            yield self.bare_heading()
        self.headings = [(at, name) for at, name in self.headings if at < level]
        self.headings.append((level, title))
        self.start, self.bare = number, True

    def bare_heading(self) -> _Block:
        """A block for a heading without any text below it."""
        *above, (_, title) = self.headings
        return _Block(self.start, title, headings=tuple(name for _, name in above))

    def keep(self, number: int, line: str) -> None:
        if not self.pending:
            self.start = number
        self.pending.append(line)

    def feed(self, number: int, line: str) -> Iterator[_Block]:
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

    def _code(self, number: int, line: str, mark: str) -> Iterator[_Block]:
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


def _markdown_blocks(lines: Iterable[str]) -> Iterator[_Block]:
    reader = _MarkdownReader()
    front_matter = False
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip()
        if line == "---" and (number == 1 or front_matter):
            front_matter = number == 1
            yield from reader.flush()
        elif front_matter:
            reader.keep(number, line)
        else:
            yield from reader.feed(number, line)
    yield from reader.flush()
    if reader.bare:
        yield reader.bare_heading()

"""Plain text: chunks of whole paragraphs, or the turns of a transcript.

A text file is a transcript if names before a colon take turns ("Ann: ...") and each speaker says
"I" or asks something. Each turn becomes a memory with the speaker in its metadata.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from spector.importers.entries import Entry, Format, Found, LeftOut, Options
from spector.importers.sources import Head, SourceFile

#: endings of files that are text unless a format recognizes them
_SUFFIXES: Final = frozenset(("", ".txt", ".text", ".log"))


def _recognizes(head: Head) -> bool:
    return head.shape == "text" and head.suffix in _SUFFIXES


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The chunks of a plain text file in order; blank lines separate paragraphs."""
    with source.open_text() as stream:
        names = _find_speakers(stream)
    with source.open_text() as stream:
        if names:
            pieces = (
                (turn.line, piece.text, {"speaker": turn.speaker} if turn.speaker else {})
                for turn in _turns(stream, names)
                for piece in split(turn, options.chunk_chars)
            )
        else:
            packed = pack(_paragraphs(stream), options.chunk_chars)
            pieces = ((line, text, {}) for line, _, text in packed)
        line = 0
        for line, text, known in pieces:
            metadata = {"line": line, **known}
            yield Found({"text": text, "source": source.name, "metadata": metadata}, f"line {line}")
    if not line:
        yield LeftOut("empty note", "")


FORMAT: Final = Format(
    "text",
    "plain text: paragraphs become chunks, turns of a transcript stay turns",
    read,
    _recognizes,
)


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


def _turns(lines: Iterable[str], names: frozenset[str]) -> Iterator[Block]:
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
                yield Block(start, "\n".join(pending).rstrip(), speaker=speaker)
            pending, start = [], number
            speaker = opening.name if opening.folded in names else ""
        if pending or line:
            pending.append(line)
    if pending:
        yield Block(start, "\n".join(pending).rstrip(), speaker=speaker)


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    pending: list[str] = []
    start = 1
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip()
        if line:
            if not pending:
                start = number
            pending.append(line)
        elif pending:
            yield Block(start, "\n".join(pending))
            pending = []
    if pending:
        yield Block(start, "\n".join(pending))


# Chunks of notes: whole paragraphs, lists, tables and code blocks, up to a number of characters.
#
# A larger block is cut between its lines, where a sentence ends if possible; a line that is too long
# by itself is cut between its sentences, and a sentence between its words.

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
#: signs at the end of a line after which a chunk may end well
_ENDS: Final = (".", "!", "?", ":", ";", "|", "```", "~~~")


@dataclass(slots=True)
class Block:
    """A paragraph, list item, table, code block or turn, with its first line number."""

    line: int
    text: str
    item: bool = False
    headings: tuple[str, ...] = field(default=())
    #: speaker of a turn of a transcript; "" if unknown
    speaker: str = ""


def pack(blocks: Iterable[Block], limit_chars: int) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Join neighbouring blocks of a section up to the limit; split larger ones."""
    pending: list[Block] = []
    size = 0
    for block in blocks:
        for piece in split(block, limit_chars):
            crosses = pending and pending[0].headings != piece.headings
            if pending and (crosses or size + len(piece.text) + 2 > limit_chars):
                yield pending[0].line, pending[0].headings, _join_blocks(pending)
                pending, size = [], 0
            pending.append(piece)
            size += len(piece.text) + 2
    if pending:
        yield pending[0].line, pending[0].headings, _join_blocks(pending)


def _join_blocks(blocks: list[Block]) -> str:
    out = blocks[0].text
    for before, block in pairwise(blocks):
        out += ("\n" if before.item and block.item else "\n\n") + block.text
    return out


def split(block: Block, limit_chars: int) -> Iterator[Block]:
    """A block in pieces of at most so many characters."""
    if len(block.text) <= limit_chars:
        yield block
        return
    pending: list[tuple[str, str]] = []  # what joins a part to the one before, and the part
    size = 0
    for glue, part in _parts(block.text, limit_chars):
        if pending and size + len(glue) + len(part) > limit_chars:
            at = _good_end(pending, limit_chars)
            yield from _piece(block, pending[:at])
            pending = pending[at:]
            size = sum(len(g) + len(p) for g, p in pending)
            if size + len(glue) + len(part) > limit_chars:
                yield from _piece(block, pending)
                pending, size = [], 0
        pending.append((glue, part))
        size += len(glue) + len(part)
    yield from _piece(block, pending)


def _piece(block: Block, parts: list[tuple[str, str]]) -> Iterator[Block]:
    text = "".join(glue + part if n else part for n, (glue, part) in enumerate(parts))
    if text.strip():
        yield replace(block, text=text.strip("\n"))


def _good_end(parts: list[tuple[str, str]], limit_chars: int) -> int:
    """How many parts a piece takes: up to the end of a sentence in its second half, or all."""
    left = sum(len(glue) + len(part) for glue, part in parts)
    for at in range(len(parts), 0, -1):
        if left < limit_chars // 2:
            break
        if parts[at - 1][1].rstrip().endswith(_ENDS):
            return at
        left -= sum(map(len, parts[at - 1]))
    return len(parts)


def _parts(text: str, limit_chars: int) -> Iterator[tuple[str, str]]:
    """Lines, or sentences and words of those that are too long, each with what joins it."""
    for line in text.split("\n"):
        if len(line) <= limit_chars:
            yield "\n", line
            continue
        glue = "\n"
        for sentence in _SENTENCE_END.split(line):
            for piece in _hard_cut(sentence, limit_chars):
                yield glue, piece
                glue = " "


def _hard_cut(text: str, limit_chars: int) -> Iterator[str]:
    while len(text) > limit_chars:
        at = text.rfind(" ", limit_chars // 2, limit_chars)
        at = at if at > 0 else limit_chars
        yield text[:at].rstrip()
        text = text[at:].lstrip()
    if text:
        yield text

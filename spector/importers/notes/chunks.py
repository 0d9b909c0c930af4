"""Chunks of notes: whole paragraphs, lists, tables and code blocks, up to a number of characters.

A larger block is cut between its lines, where a sentence ends if possible; a line that is too long
by itself is cut between its sentences, and a sentence between its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

__all__ = ["Block", "pack", "split"]

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

"""Plain text: chunks of whole paragraphs, or the turns of a transcript.

A text file is a transcript if names before a colon take turns ("Ann: ...") and each speaker says
"I" or asks something. Each turn becomes a memory with the speaker in its metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from spector.importers.entries import Entry, Format, Found, LeftOut, Options
from spector.importers.notes.chunks import Block, pack, split
from spector.importers.sources import Head, SourceFile

__all__ = ["FORMAT"]

#: endings of files that are text unless a format recognizes them
_SUFFIXES: Final = frozenset(("", ".txt", ".text", ".log"))


def _recognizes(head: Head) -> bool:
    return head.shape == "text" and head.suffix in _SUFFIXES


def read(source: SourceFile, options: Options) -> Iterator[Entry]:
    """The chunks of a plain text file in order; blank lines separate paragraphs."""
    with source.open_text() as stream:
        names = _find_speakers(stream)
    found = False
    with source.open_text() as stream:
        if names:
            for each in _turn_messages(_turns(stream, names), source, options):
                found = True
                yield each
        else:
            for line, _, text in pack(_paragraphs(stream), options.chunk_chars):
                found = True
                message = {"text": text, "source": source.name, "metadata": {"line": line}}
                yield Found(message, f"line {line}")
    if not found:
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


def _turn_messages(turns: Iterable[Block], source: SourceFile, options: Options) -> Iterator[Entry]:
    for turn in turns:
        for piece in split(turn, options.chunk_chars):
            metadata: dict[str, object] = {"line": turn.line}
            if turn.speaker:
                metadata["speaker"] = turn.speaker
            message = {"text": piece.text, "source": source.name, "metadata": metadata}
            yield Found(message, f"line {turn.line}")


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

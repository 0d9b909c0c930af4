"""Quotations of a text, and excerpts for a cue."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from spector.language.statements.speakers import says_i
from spector.language.tables import patterns_of, table_of
from spector.language.words import cue_terms
from spector.language.words import words as terms
from spector.process import keeps

_RE: Final = patterns_of("quoting")

_Kind = Literal["code", "words"]
#: of a line, what decides whether it is code
_MOST_LINE: Final = 2_000
_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_JSON: Final = re.compile(r"[{\[]\s{0,4}\"[^\"\n]{1,200}\"\s{0,4}[:,]")
_TAG: Final = re.compile(r"<[a-zA-Z][^<>=]{0,200}=[^<>]{0,4000}>")
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,400})\]\([^()\n]*\)")
#: signs that prose does not have
_CODED: Final = re.compile(r"[{}<>;$\\|]|==|:=|&&| --?\w|\w\(|::|->|//|^\W*#")
_TABLE_LINE: Final = re.compile(r"\s*\|?[^|\n]*\|[^|\n]*\|.*|\s*\|?\s*:?-{3,}.*")
_REPLY_LINE: Final = re.compile(r"\s{0,3}>")
#: asks to be kept, which is no work on a text
_KEPT: Final = re.compile(r"\b(?:remember|keep|note|save|store|memori[sz]e|record|log)\b", re.I)
_ADDRESS: Final = re.compile(r"\b(?:you|your|sen|senin|sana|siz)\b", re.IGNORECASE)
_END: Final = re.compile(r"[.!?\u2026,]\s*\Z")
_PARAGRAPH: Final = re.compile(r"\n[ \t\r]*\n")
#: words from which on what stands in quotation marks is no name
_LEAST_WORDS: Final = 3
#: most of the last line of a long quotation that stays
_LAST_LINE: Final = 80


@dataclass(frozen=True, slots=True)
class Quotation:
    """A part of a text that is not its speaker's own words, ``text[start:end]``.

    Attributes:
        kind: ``code`` (also logs and data), or ``words`` of others.
    """

    start: int
    end: int
    kind: _Kind


def own_words(text: str) -> str:
    """A text with spaces in place of what it quotes; every other letter stays at its place."""
    out, at = [], 0
    for each in quotations(text):
        out += [text[at : each.start], " " * (each.end - each.start)]
        at = each.end
    return "".join((*out, text[at:]))


def shorten_quotations(text: str, most: int) -> str:
    """A text whose quotations have so many characters at most, together.

    Of a longer one the middle is left out, and its last line stays: it may close a block.
    """
    out, at, room = [], 0, most
    for each in quotations(text):
        quoted = text[each.start : each.end]
        if len(quoted) > room:
            last = quoted.rstrip().rpartition("\n")[2][-_LAST_LINE:]
            quoted = f"{quoted[: max(0, room - len(last))]}\n\u2026\n{last}"
        room = max(0, room - len(quoted))
        out += [text[at : each.start], quoted]
        at = each.end
    return "".join((*out, text[at:]))


@keeps(512)
def quotations(text: str) -> tuple[Quotation, ...]:
    """The parts of a text that are pasted or quoted, in their order; none overlaps another."""
    found: list[Quotation] = []
    for start, end, kind in _candidates(text):
        at = bisect_left(found, end, key=lambda each: each.start)
        if start < end and (not at or found[at - 1].end <= start):
            found.insert(at, Quotation(start, end, kind))
    return tuple(found)


def _candidates(text: str) -> Iterator[tuple[int, int, _Kind]]:
    for fence in _FENCED.finditer(text):
        yield *fence.span(), "code"
    for aside in _RE["aside"].finditer(text):
        yield *aside.span(), "words"
    yield from _blocks(text)
    for tag in _TAG.finditer(text):
        yield *tag.span(), "code"
    if mail := _RE["mail"].search(text):
        yield mail.start(), len(text), "words"
    for handed in _RE["handed"].finditer(text):
        if not _KEPT.search(handed.group()):
            yield handed.end(), end_of_words(text, handed.end()), "words"
    for said in _RE["said"].finditer(text):
        if not _RE["myself"].search(said.group()):
            yield said.end(), end_of_words(text, said.end()), "words"
    for marked in (*_RE["marked"].finditer(text), *_LINK.finditer(text)):
        if _is_speech(marked):
            yield *marked.span(), "words"


def end_of_words(text: str, start: int) -> int:
    """Where a text ends that is handed over: with its paragraph, or, on lines of its own, never."""
    if text[start : start + 1] == "\n" or text[start - 1 : start] == "\n":
        return len(text)
    found = _PARAGRAPH.search(text, start)
    return found.start() if found and text[start : found.start()].strip() else len(text)


def _is_speech(marked: re.Match[str]) -> bool:
    """Whether quotation marks hold words of others, and not a name."""
    inner = next(each for each in marked.groups() if each is not None)
    if len(inner.split()) < _LEAST_WORDS:
        return False
    return bool(says_i(inner) or _ADDRESS.search(inner) or _END.search(inner))


def _blocks(text: str) -> Iterator[tuple[int, int, _Kind]]:
    """Runs of lines of code, of a log, of a table, or of a mail that is answered."""
    at = 0
    run: tuple[str, int, int, int] | None = None  # what, start, end, lines
    for line in text.split("\n"):
        end = at + len(line)
        what = _kind_of_line(line[:_MOST_LINE]) if line.strip() else ""
        if line[:1].isalpha() and (data := _JSON.search(line)):
            what = ""
            closed = at + 1 + max(line.rfind("}"), line.rfind("]"))
            yield at + data.start(), closed, "code"
        if run is not None and what == run[0]:
            run = (what, run[1], end, run[3] + 1)
        elif run is None or what or line.strip():
            if run is not None:
                yield from _block(text, *run)
            run = (what, at, end, 1) if what else None
        at = end + 1
    if run is not None:
        yield from _block(text, *run)


def _block(
    text: str, what: str, start: int, end: int, lines: int
) -> Iterator[tuple[int, int, _Kind]]:
    if (
        what in ("log", "reply")
        or lines > 1
        or (what == "code" and _CODED.search(text, start, end))
    ):
        yield start, end, "code" if what in ("log", "code") else "words"


def _kind_of_line(line: str) -> str:
    if _REPLY_LINE.match(line):
        return "reply"
    logs, code = _line_patterns()
    if logs.match(line):
        return "log"
    if _TABLE_LINE.match(line):
        return "table"
    return "code" if code.match(line) else ""


@lru_cache(maxsize=1)
def _line_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    patterns = table_of("any", "code").patterns
    return tuple(  # type: ignore[return-value]  # one for each list
        re.compile(r"\s*(?:" + "|".join(each.pattern for each in patterns[name]) + ")")
        for name in ("logs", "lines")
    )


# Excerpts: the part of a text that matches a cue, within a budget.

_WORD: Final = re.compile(r"[^\W_]+")
#: longer sentences are split into pieces of about this many characters
_PIECE_CHARS: Final = 240
#: longest part of a text that is split into sentences
_STRETCH: Final = 16_384
_WORD_CHARS: Final = 100
#: most pieces of an excerpt besides its best one
_MOST_PIECES: Final = 64
_CUT: Final = "\u2026"


def cue_words(cue: str) -> frozenset[str]:
    """The stemmed terms of a cue, without stop words if it has any others."""
    return frozenset(form for term in cue_terms(cue) for form in term.forms)


def excerpt(text: str, words: Collection[str], room: int, cost: Callable[[str], int]) -> str:
    """The sentence with most of ``words``, and neighbours that fit; "" if nothing fits.

    Args:
        words: words of the cue, from ``cue_words``.
        room: most that the excerpt may cost.
        cost: function that returns the cost of a text.
    """
    wanted = frozenset(words)
    start, end = _stretch(text, wanted)
    part = _Part(_pieces(text[start:end]), start > 0, end < len(text))
    found = [len(wanted.intersection(terms(piece))) for piece in part.pieces]
    first = last = found.index(max(found))
    if cost(part.marked(first, last)) > room:
        return _shortened(part, first, wanted, room, cost)
    left = room - cost(part.pieces[first]) - 2  # the two ellipses
    for _ in range(_MOST_PIECES):
        if last + 1 < len(part.pieces) and (price := cost(part.pieces[last + 1])) <= left:
            last += 1
        elif first > 0 and (price := cost(part.pieces[first - 1])) <= left:
            first -= 1
        else:
            break
        left -= price
    while last > first and cost(part.marked(first, last)) > room:
        last -= 1  # the sum of the parts was too low
    body = part.marked(first, last)
    return body if cost(body) <= room else _shortened(part, first, wanted, room, cost)


@dataclass(frozen=True, slots=True)
class _Part:
    """Pieces of a part of a text, and whether the text continues before and after it."""

    pieces: list[str]
    before: bool
    after: bool

    def marked(self, first: int, last: int) -> str:
        """Pieces first..last, with an ellipsis where the text continues."""
        body = "".join(self.pieces[first : last + 1]).strip()
        goes_on = self.after or last + 1 < len(self.pieces)
        return f"{_CUT if self.before or first else ''}{body}{_CUT if goes_on else ''}"


def _stretch(text: str, words: Collection[str]) -> tuple[int, int]:
    """Start and end of the part of a very long text with most of the words.

    Stems are searched as substrings, which is fast and precise enough for this.
    """
    if len(text) <= _STRETCH:
        return 0, len(text)
    lower = text.casefold()
    starts = range(0, len(text), _STRETCH // 2)
    if len(lower) != len(text):  # some letters have a longer lower case
        lower = text
    start = max(starts, key=lambda at: (
        sum(lower.find(word, at, at + _STRETCH) >= 0 for word in words), -at
    ))  # fmt: skip
    end = start + _STRETCH
    if start:  # not in the middle of a word
        start = text.find(" ", start, start + _WORD_CHARS) + 1 or start
    if end < len(text):
        end = text.rfind(" ", end - _WORD_CHARS, end) + 1 or end
    return start, end


def _pieces(text: str) -> list[str]:
    """Split a text into sentences, and long sentences into pieces; joined they are the text."""
    pieces: list[str] = []
    for match in _RE["sentence"].finditer(text):
        sentence = match.group()
        while len(sentence) > _PIECE_CHARS:
            end = sentence.rfind(" ", _PIECE_CHARS // 2, _PIECE_CHARS) + 1 or _PIECE_CHARS
            pieces.append(sentence[:end])
            sentence = sentence[end:]
        pieces.append(sentence)
    return pieces or [text]


def _shortened(
    part: _Part, at: int, wanted: frozenset[str], room: int, cost: Callable[[str], int]
) -> str:
    """As much of one piece as fits, starting at its first matching word."""
    piece = part.pieces[at]
    matches = (m.start() for m in _WORD.finditer(piece) if wanted.intersection(terms(m.group())))
    start = next(matches, 0)
    body = piece[start:].strip()
    before = _CUT if at or start or part.before else ""
    low, high = 0, len(body)
    while low < high:  # the most characters that fit
        middle = (low + high + 1) // 2
        if cost(f"{before}{body[:middle]}{_CUT}") <= room:
            low = middle
        else:
            high = middle - 1
    if not low:
        return ""
    space = body.rfind(" ", low // 2, low) if low < len(body) else -1
    return f"{before}{body[: space if space > 0 else low].strip()}{_CUT}"

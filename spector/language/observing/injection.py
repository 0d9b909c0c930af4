"""Injected instructions in a message, and the consent that it states."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from spector.language.observing.sentences import patterns_of_all
from spector.language.statements import own_words
from spector.language.tables import patterns_of
from spector.language.words import normalize_nfkc, plain

_RE: Final = patterns_of("consent")

# What a text must have in it for a pattern to match: a way to leave out patterns that cannot.

#: pieces shorter than this are in nearly every text
_SHORTEST: Final = 3
#: with more alternatives than this a pattern is tried at once
_MOST: Final = 120


class Screen:
    """Patterns of which only those are tried that a text could match.

    What each of them needs is read from the pattern itself, so the answer is that of trying all.
    """

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        self._needs = [(each, needed_by(each)) for each in patterns]
        self._pieces = tuple({
            piece for _, needs in self._needs if needs is not None for piece in needs
        })  # fmt: skip

    def matches(self, text: str) -> bool:
        """Whether any of the patterns is in a text."""
        found = {each for each in self._pieces if each in text}
        return any(
            pattern.search(text) is not None
            for pattern, needs in self._needs
            if needs is None or not needs.isdisjoint(found)
        )


def needed_by(pattern: re.Pattern[str]) -> frozenset[str] | None:
    """Pieces of which each match has at least one; None where that cannot be said."""
    if pattern.flags & ~re.UNICODE:
        return None
    try:
        parsed = importlib.import_module("re._parser").parse(pattern.pattern)
        return _of_sequence(list(parsed))
    except Exception:  # no public interface: another Python may have another one
        return None


def _of_sequence(items: Sequence[Any]) -> frozenset[str] | None:
    """The best of what its parts need: the longest pieces, then the fewest."""
    found: list[frozenset[str]] = []
    word = ""
    for kind, value in [*items, (None, None)]:
        if str(kind) == "LITERAL":
            word += chr(value)
            continue
        if len(word) >= _SHORTEST:
            found.append(frozenset((word,)))
        word = ""
        own = None if kind is None else _of_item(str(kind), value)
        if own is not None:
            found.append(own)
    if not found:
        return None
    return min(found, key=lambda each: (-min(map(len, each)), len(each), sorted(each)))


def _of_item(kind: str, value: Any) -> frozenset[str] | None:
    if kind == "SUBPATTERN":
        return _of_sequence(list(value[-1]))
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
        return _of_sequence(list(value[2]))
    if kind == "BRANCH":
        ways = [_of_sequence(list(each)) for each in value[1]]
        if all(each is not None for each in ways):
            pieces = frozenset().union(*(each for each in ways if each is not None))
            return pieces if len(pieces) <= _MOST else None
    return None


#: what a longer text says beyond this is not tried
_MOST_CHARS: Final = 20_000
_SPACES: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\s*\n\s*")
#: signs that stand for a letter
_SIGNS: Final = str.maketrans("013457@$|!", "oieastasii")
#: letters of other scripts that look like Latin ones
_ALIKE: Final = str.maketrans("аеорсухіѕјκονρτυ", "aeopcyxisjkovptu")
#: letters one by one: "i g n o r e", "i-g-n-o-r-e"
_APART: Final = re.compile(r"(?<!\w)\w(?:[ .\-_*]\w){2,}(?!\w)")
#: longest run of letters that is taken for words, and longest word in it
_LONGEST_RUN: Final = 400
_LONGEST_WORD: Final = 16
#: words in a pattern
_LITERAL: Final = re.compile(r"(?<![\\a-z])[a-z]{2,}")
_MARKS: Final = re.compile(r"(?<=\w)[*_~`]{1,8}|[*_~`]{1,8}(?=\w)")
_JOINERS: Final = re.compile(r"(?<=\w)[-_.+/]{1,8}(?=\w)")


def is_injection(text: str) -> bool:
    """True if a text commands the agent to drop its rules, takes a role or asks for its prompt.

    To take back what one has said oneself is a correction: that clause is not tried.
    """
    screen = _screen()
    return any(
        screen.matches(form) and screen.matches(_RE["taken_back"].sub(_unless_of_agent, form))
        for form in _forms(text[:_MOST_CHARS])
    )


def _unless_of_agent(clause: re.Match[str]) -> str:
    return clause.group() if _RE["of_agent"].search(clause.group()) else " "


def is_system_content(text: str) -> bool:
    """True if a text holds tags of a system, or is a heartbeat or a notice of the host program."""
    folded = plain(text[:_MOST_CHARS])
    return any(each.search(folded) for each in patterns_of_all("system"))


def _joined(letters: re.Match[str]) -> str:
    """Letters that stand apart as the words that patterns are made of, or else as one word."""
    word = re.sub(r"[ .\-_*]", "", letters.group())
    ends = [0] + [-1] * len(word)  # where the last word of a way to each place begins
    words = _words_of_attacks()
    for at in range(1, min(len(word), _LONGEST_RUN) + 1):
        for start in range(max(0, at - _LONGEST_WORD), at):
            if ends[start] >= 0 and word[start:at] in words:
                ends[at] = start
                break
    if len(word) > _LONGEST_RUN or ends[-1] < 0:
        return word
    parts, at = [], len(word)
    while at:
        parts.append(word[ends[at] : at])
        at = ends[at]
    return " ".join(reversed(parts))


@lru_cache(maxsize=1)
def _screen() -> Screen:
    return Screen(patterns_of_all("injection"))


@lru_cache(maxsize=1)
def _words_of_attacks() -> frozenset[str]:
    return frozenset(
        word for each in patterns_of_all("injection") for word in _LITERAL.findall(each.pattern)
    )


def _forms(text: str) -> Iterator[str]:
    """The text folded, and without its disguises where it has some."""
    seen = plain(_RE["unseen"].sub("", normalize_nfkc(text)))
    first = _LINES.sub("\n", _SPACES.sub(" ", seen))
    yield first
    bare = _MARKS.sub("", first.translate(_ALIKE))
    together = _LINES.sub("\n", _SPACES.sub(" ", _APART.sub(_joined, seen.translate(_ALIKE))))
    for form in dict.fromkeys((
        bare, together, _JOINERS.sub(" ", bare), bare.translate(_SIGNS),
        together.replace("\n", " "),
    )):  # fmt: skip
        if form != first:
            yield form


# Whether a message asks that it not be remembered, and for how long.


def consent_of(text: str) -> Literal["no", "no more", "again"] | None:
    """What a message says of being remembered.

    ``no`` for itself, ``no more`` for all until it is taken back, ``again`` takes it back; None
    where it says nothing of it: "I don't remember this song", "don't forget the milk".
    """
    said = " ".join(plain(own_words(text)).replace("\u2019", "'").split())
    if _RE["unwanted"].search(said):
        return "no more" if _RE["lasting"].search(said) else "no"
    return "again" if _RE["resumed"].search(said) else None

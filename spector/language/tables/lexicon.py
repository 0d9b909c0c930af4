"""Finds the entries of word lists in a text, phrases and beginnings of words included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from spector.language.tables.files import table_of
from spector.language.words import compose, plain
from spector.process import KEEPERS

#: a word with its inner apostrophes
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019\u02bc][^\W_]+)*")
#: shortest beginning of a word that an entry with a star may have
_LEAST_STEM: Final = 2
#: words whose entries are remembered by each lexicon
_REMEMBERED: Final = 4096
_MOST_LETTERS: Final = 40


class Word(NamedTuple):
    """A word of a text: folded, as it is written, and where it starts."""

    text: str
    raw: str
    start: int


class Match(NamedTuple):
    """Words ``start`` to ``end`` (exclusive) are an entry of a list.

    ``letters`` of the first word are the entry's own; what follows is an ending.
    """

    start: int
    end: int
    name: str
    letters: int


class _Entry(NamedTuple):
    words: tuple[str, ...]  # folded
    spelling: tuple[str, ...]
    is_exact: bool
    name: str


class _Opening(NamedTuple):
    """An entry that a word may begin, and how many letters of it are the entry's own."""

    entry: _Entry
    letters: int
    is_stem: bool


def words_of(text: str) -> list[Word]:
    """The words of a text, folded; ``don't`` and ``Ankara'da`` are one word each."""
    if text.isascii():  # folded letters stand where the letters do
        folded = text.lower()
        return [
            Word(folded[each.start() : each.end()], each.group(), each.start())
            for each in _WORD.finditer(text)
        ]
    return [
        Word(plain(each.group()), each.group(), each.start())
        for each in _WORD.finditer(compose(text))
    ]


class Lexicon:
    """Lists of words by name, searched together; the longest entry at a word wins.

    A text may leave the marks of all its letters out ("uzgun" is "üzgün"); in a text with marks,
    and for an entry that begins with ``=``, each letter must be the entry's: "oldu" is not "öldü".

    Args:
        lists: name -> entries. Of an entry in two lists each list has its match.
    """

    def __init__(self, lists: Mapping[str, Iterable[str]]) -> None:
        self._by_first: dict[str, list[_Entry]] = {}
        self._stems: dict[str, list[_Entry]] = {}
        for name, entries in lists.items():
            for entry in entries:
                words = words_of(entry)
                made = _Entry(
                    tuple(each.text for each in words),
                    tuple(_spelling(each.raw) for each in words), entry.startswith("="), name,
                )  # fmt: skip
                where = self._stems if entry.endswith("*") else self._by_first
                if words:
                    where.setdefault(words[0].text, []).append(made)
        #: folded word -> the entries that may begin with it
        self._openings: dict[str, Sequence[_Opening]] = {}
        self._longest = max(map(len, self._stems), default=0)
        KEEPERS.add(self)

    def drop_caches(self) -> None:
        self._openings.clear()

    def matches(self, words: Sequence[Word]) -> Iterator[Match]:
        """The entries that words are, in their order; a word is part of one entry of a list."""
        free: dict[str, int] = {}
        has_marks = not all(each.raw.isascii() for each in words)
        for at, word in enumerate(words):
            openings = self._openings.get(word.text)
            if openings is None:
                openings = self._openings_of(word.text)
            if not openings:
                continue
            found: dict[str, Match] = {}
            for each in _entries_at(openings, words, at, has_marks):
                last = found.get(each.name)
                if last is None or (each.end, each.letters) > (last.end, last.letters):
                    found[each.name] = each
            for name, best in found.items():
                if at >= free.get(name, 0):
                    free[name] = best.end
                    yield best

    def _openings_of(self, text: str) -> Sequence[_Opening]:
        """The entries whose first word a word is, whatever follows; texts repeat their words."""
        made = [
            _Opening(entry, len(form), False)
            for form in dict.fromkeys((text, text.partition("'")[0]))
            for entry in self._by_first.get(form, ())
        ]
        most = min(len(text), self._longest)
        made += (
            _Opening(entry, cut, True)
            for cut in range(_LEAST_STEM, most + 1)
            for entry in self._stems.get(text[:cut], ())
        )
        if len(text) <= _MOST_LETTERS:
            if len(self._openings) >= _REMEMBERED:
                self._openings.clear()
            self._openings[text] = made
        return made


@lru_cache(maxsize=32)
def lexicon_of(language: str, part: str) -> Lexicon:
    """The lists of a part in a language, made ready once."""
    return Lexicon(table_of(language, part).words)


def _entries_at(
    openings: Sequence[_Opening], words: Sequence[Word], at: int, has_marks: bool
) -> Iterator[Match]:
    for entry, letters, is_stem in openings:
        is_alone = len(entry.words) == 1 and not (has_marks or entry.is_exact)
        if is_alone or _is_entry(entry, words, at, has_marks, is_stem=is_stem):
            yield Match(at, at + len(entry.words), entry.name, letters)


def _is_entry(
    entry: _Entry, words: Sequence[Word], at: int, has_marks: bool, *, is_stem: bool
) -> bool:
    """Whether an entry whose first word fits goes on to fit; a star frees its last word's end."""
    there = words[at : at + len(entry.words)]
    if len(there) < len(entry.words):
        return False
    for n, (wanted, word) in enumerate(zip(entry.words, there, strict=True)):
        is_last = n == len(entry.words) - 1
        fits = (
            word.text.startswith(wanted)
            if is_stem and is_last
            else (word.text.partition("'")[0] == wanted or word.text == wanted)
        )
        if not fits:
            return False
        if (has_marks or entry.is_exact) and not _is_spelt(word.raw, entry.spelling[n]):
            return False
    return True


def _spelling(raw: str) -> str:
    """Lower case with its marks, but for the dot of the Turkish i."""
    return compose(raw.lower()).replace("\u0131", "i")


def _is_spelt(raw: str, wanted: str) -> bool:
    """Whether the letters are the wanted ones, marks included."""
    return all(one == other for one, other in zip(_spelling(raw), wanted, strict=False))

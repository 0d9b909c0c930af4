"""Rows of patterns over words, and how they are read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, Final, NamedTuple

from spector.language.tables import TableError, grammar_table
from spector.language.words import tokens

# Tokens of a text with the suffix behind an apostrophe, and where they stand in the text.


class Word(NamedTuple):
    """A word, number or sign.

    Attributes:
        text: folded, without what stands behind an apostrophe.
        suffix: folded, what stands behind the apostrophe.
        start, end: where it stands, with the suffix.
    """

    text: str
    raw: str
    suffix: str
    start: int
    end: int

    @property
    def number(self) -> int:
        """The number that it is written as in digits, else -1."""
        return int(self.text) if self.text.isdecimal() and len(self.text) <= 8 else -1


def read(text: str) -> list[Word]:
    """The words of a text, positions those of the text as it is."""
    composed, origin = _composed(text)
    found: list[Word] = []
    pieces = tokens(composed)
    at = 0
    while at < len(pieces):
        token, suffix, end = pieces[at], "", pieces[at].end
        if (
            at + 2 < len(pieces)
            and pieces[at + 1].text == "'"
            and pieces[at + 2].text.isalpha()
            and not token.sign
            and token.end == pieces[at + 1].start
            and pieces[at + 1].end == pieces[at + 2].start
        ):
            at += 2
            suffix, end = pieces[at].text, pieces[at].end
        found.append(Word(token.text, token.raw, suffix, origin[token.start], origin[end]))
        at += 1
    return found


def _composed(text: str) -> tuple[str, list[int]]:
    """A text with its marks combined, and the place in the text of each place in it."""
    if text.isascii() or not any(map(unicodedata.combining, text)):
        return text, list(range(len(text) + 1))
    pieces: list[str] = []
    origin: list[int] = []
    at = 0
    while at < len(text):
        end = at + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFC", text[at : min(end, at + 30)])
        piece = piece[:1] + "".join(c for c in piece[1:] if not unicodedata.combining(c))
        pieces.append(piece)
        origin += [at] * len(piece)
        at = end
    return "".join(pieces), [*origin, len(text)]


#: what a row has kept: class or rule -> value; "at" and "end" are its places
Env = dict[str, Any]
Found = tuple[Any, int] | None
Cuts = tuple[tuple[str, str], ...]
Item = Callable[["Reader", int, Env], int]
#: by name: what reads a class that is no list of words, a condition on a place, what a row means
LEXEMES: Final[dict[str, Callable[[Reader, int], Found]]] = {}
#: lexeme -> the classes and lists that its words are of, apart from numbers
BEGINNINGS: Final[dict[str, str]] = {}
PLACES: Final[dict[str, Callable[[Reader, int], bool]]] = {}
ROWS: Final[dict[str, Callable[[Reader, Env], Any]]] = {}

ROWS["given"] = lambda r, env: env.get("d", True)

_EMPTY: Final = Word("", "", "", -1, -1)
#: "the last day of the first week of ..." goes no deeper
_DEEPEST: Final = 24
#: words between the beginning of a date and the first word that it cannot do without
_REACH: Final = 9
#: what stands for all numbers among the first words of rows
_DIGITS: Final = "0"
_STOPS: Final = (".", ",", ";", ":", "!", "?", ")")
#: classes of words that a date has beside those that it cannot do without
_LEADS: Final = frozenset("ones tens vague ordinal_word step side side_of".split())
_ITEM: Final = re.compile(r"(?P<mark>\^!|[?*~&!^]?)(?P<body>.+)")
#: marks of items that look around and read nothing
_ASIDE: Final = ("&", "!", "^", "^!")
#: a list of words in a pattern of the table
_LISTED: Final = re.compile(r"<(\w+)>")
_NAME: Final = re.compile(r"<(?:(?P<key>\w+):)?(?P<name>\w+)(?:'(?P<ending>\w+))?>")


class Reader:
    """The words of a text, the grammar that reads them and the day from which it counts.

    Attributes:
        cue: it is a question: its times are those of memories, as far as one remembers.
    """

    def __init__(self, text: str, today: date, grammar: Grammar) -> None:
        self.source, self.words = text, read(text)
        self.today, self.grammar, self.cue = today, grammar, grammar.cue
        #: (stem, ending) of each word in each way, the whole word first
        self.cuts = [grammar.cuts(word) for word in self.words]
        self._keys = [grammar.keys(cuts) for cuts in self.cuts]
        self._known: dict[tuple[str, int], Found] = {}
        self._depth = 0

    def word(self, at: int) -> Word:
        return self.words[at] if 0 <= at < len(self.words) else _EMPTY

    def text(self, at: int) -> str:
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def joined(self, at: int) -> bool:
        """True if a word follows the one before it without a gap."""
        return 0 < at < len(self.words) and self.words[at - 1].end == self.words[at].start

    def stands_in(self, name: str, at: int) -> bool:
        """True if a word is one of a list of the table."""
        return self.text(at) in self.grammar.lists.get(name, ())

    def places(self) -> list[bool]:
        """Where a date may begin: not far before a word that it cannot do without."""
        found, core = [], -1
        for at in range(len(self.words) - 1, -1, -1):
            core = at if self._is_core(at) else core
            found.append(at <= core < at + _REACH)
        return found[::-1]

    def _is_core(self, at: int) -> bool:
        """True for words that a date cannot do without, years and numbers with signs."""
        if self._keys[at] != (_DIGITS,):
            return self.grammar.is_core(self._keys[at])
        sign, bare = self.text(at + 1), len(self.text(at)) < 4 and not self.words[at].suffix
        signed = self.joined(at + 1) and (sign not in _STOPS or self.joined(at + 2))
        return signed or not bare or sign == "/"

    def find(self, name: str, at: int) -> Found:
        """What a class reads at a place; the longest of its phrases."""
        if not 0 <= at < len(self.words) or not self._keys[at]:
            return None
        classed = self.grammar.classes[name]
        for base, _ in self.cuts[at]:
            for phrase, value in classed.phrases.get(base, ()):
                if self._says(at + 1, phrase):
                    return value, at + 1 + len(phrase)
            if base in classed.words:
                return classed.words[base], at + 1
        return None

    def _says(self, at: int, phrase: Sequence[str]) -> bool:
        """Whether the rest of a phrase stands here, its last word with any ending."""
        *middle, last = phrase
        end = at + len(middle)
        return all(self.text(at + n) == each for n, each in enumerate(middle)) and (
            end < len(self.words) and any(base == last for base, _ in self.cuts[end])
        )

    def ending(self, at: int) -> str:
        """The ending of a word, "" for none."""
        word = self.word(at)
        if word.suffix or not word.text.isalpha():
            return word.suffix
        for base, rest in self.cuts[at]:
            if base in self.grammar.stems:
                return rest
        return word.text[-5:]

    def rule(self, name: str, at: int) -> Found:
        """The longest that the rows of a rule read at a place; each place is read once."""
        if at > len(self.words):
            return None
        rows = self.grammar.rows_at(name, self._keys[at] if at < len(self.words) else ())
        if not rows:
            return None
        key = (name, at)
        if key in self._known:
            return self._known[key]
        if self._depth >= _DEEPEST:
            return None
        self._known[key] = None  # what is being read is not part of itself
        self._depth += 1
        found = _longest(self, rows, at, {})
        tails = self.grammar.tails.get(name, ())
        for _ in range(4 if tails else 0):
            more = found and _longest(self, tails, found[1], {"d": found[0]})
            if not more:
                break
            found = more
        self._depth -= 1
        self._known[key] = found
        return found


def _longest(r: Reader, rows: tuple[Row, ...], start: int, given: Env) -> Found:
    found: Found = None
    for row in rows:
        env, at = {**row.given, **given}, start
        for mark, item in row.items:
            at = _marked(r, mark, item, at, env) if mark else item(r, at, env)
            if at < 0:
                break
        else:
            if found is None or at > found[1]:
                env["at"], env["end"] = start, at
                value = row.means(r, env)
                if value is not None:
                    found = value, at
    return found


class Row:
    """A pattern and what it means."""

    def __init__(self, text: str, grammar: Grammar) -> None:
        pattern, _, meaning = text.partition(" => ")
        name, *given = meaning.split() or ("given",)
        split = [_ITEM.fullmatch(each) for each in pattern.split()]
        self.source = [(each["mark"], each["body"]) for each in split if each]
        self.items = [(mark, _item(body, grammar)) for mark, body in self.source]
        if name not in ROWS:
            raise TableError(f"{text!r} has an unknown meaning {name!r}")
        self.means = ROWS[name]
        pairs = (each.partition("=") for each in given)
        self.given: Env = {k: int(v) if v.lstrip("-").isdecimal() else v for k, _, v in pairs}


class _Class:
    """Words of a class, and its phrases by their first word, the longest first."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.words = {each: value for each, value in entries.items() if " " not in each}
        self.phrases: dict[str, list[tuple[list[str], Any]]] = {}
        for each in sorted(set(entries) - set(self.words), key=lambda each: -each.count(" ")):
            first, *more = each.split()
            self.phrases.setdefault(first, []).append((more, entries[each]))

    @property
    def beginnings(self) -> set[str]:
        return {*self.words, *self.phrases}


class Grammar:
    """The table of a language, ready to read.

    Raises:
        TableError: a row names no class, no rule, or no function.
    """

    def __init__(self, table: Mapping[str, Any], *, cue: bool = False) -> None:
        self.cue = cue
        self.day_first: bool = table["day_first"]
        self.classes = {name: _Class(of) for name, of in table["classes"].items()}
        self.lists = {name: frozenset(of.split()) for name, of in table["lists"].items()}
        self.stems = {word for each in self.classes.values() for word in each.words}
        self._endings = {name: re.compile(of) for name, of in table["endings"].items()}
        self.patterns = {
            name: re.compile(_LISTED.sub(lambda each: "|".join(sorted(self.lists[each[1]])), of))
            for name, of in table["patterns"].items()
        }
        inflected = table.get("inflected")
        self._inflected = re.compile(inflected) if inflected else None
        texts: dict[str, list[str]] = {**table["rules"]}
        for name, rows in table["cue"].items() if cue else ():
            texts[name] = [*rows, *texts.get(name, ())]
        self.rules = frozenset(texts)
        self._rows = {name: [Row(row, self) for row in of] for name, of in texts.items()}
        self.tails = {
            name: tuple(Row(row, self) for row in of) for name, of in table["tails"].items()
        }
        firsts = {name: [(row, self._first(row)) for row in of] for name, of in self._rows.items()}
        ends = (
            each.split()[-1]
            for name, of in table["classes"].items()
            if name not in _LEADS
            for each in of
        )
        self._core = self.lists["core"].union(ends)
        every = [of.beginnings for of in self.classes.values()]
        every += [words for of in firsts.values() for _, words in of]
        self._begun = self._core.union(*every)
        self._firsts = firsts
        self._by_keys: dict[tuple[str, tuple[str, ...]], tuple[Row, ...]] = {}

    def keys(self, cuts: Cuts) -> tuple[str, ...]:
        """The words by which rows are found that may begin with a word."""
        if cuts[0][0].isdecimal():
            return (_DIGITS,)
        return tuple(base for base, _ in cuts if base in self._begun)

    def is_core(self, keys: tuple[str, ...]) -> bool:
        """True for words that a date cannot do without."""
        return not self._core.isdisjoint(keys)

    def rows_at(self, name: str, keys: tuple[str, ...]) -> tuple[Row, ...]:
        """The rows of a rule that may begin with such words."""
        found = self._by_keys.get((name, keys))
        if found is None:
            found = tuple(
                row for row, words in self._firsts[name] if "" in words or words & {*keys}
            )
            self._by_keys[name, keys] = found
        return found

    def _first(self, row: Row, within: frozenset[str] = frozenset()) -> set[str]:
        """Beginnings of the words with which a row begins."""
        found: set[str] = set()
        for mark, body in row.source:
            if body[0] in "@$" or (body[0] == "'" and len(body) > 1) or mark in _ASIDE:
                continue
            named = _NAME.fullmatch(body)
            if named is None:
                words = self.spelled(body)
                found |= {"" if each.endswith("*") else each.split("_")[0] for each in words}
            elif (name := named["name"]) in self._rows:
                if name not in within:
                    for inner in self._rows[name]:
                        found |= self._first(inner, within | {name})
            else:
                for part in BEGINNINGS.get(name, "" if name in LEXEMES else name).split():
                    classed = self.classes.get(part)
                    found.update(classed.beginnings if classed else self.lists.get(part, ()))
                found.update((_DIGITS, "'") if name in LEXEMES else ())
            if "?" not in mark and "*" not in mark:
                return found
        return {*found, ""}

    def cuts(self, word: Word) -> Cuts:
        """(stem, ending) of a word in each way, the whole word first."""
        text = word.text
        if word.suffix == "s":
            return ((text, ""), (f"{text}s", ""))
        if self._inflected is None or not text.isalpha():
            return ((text, ""),)
        lengths = range(min(len(text) - 1, 9), max(1, len(text) - 9), -1)
        inflected = self._inflected.fullmatch
        return ((text, ""), *((text[:n], text[n:]) for n in lengths if inflected(text, n)))

    def spelled(self, body: str) -> Iterable[str]:
        """The words of an item: "a|b", or "%name" for a list of the table."""
        return self.lists[body[1:]] if body.startswith("%") else body.split("|")

    def ends(self, name: str, ending: str) -> bool:
        """Whether an ending is of a kind; a language without the kind has no others."""
        return name not in self._endings or self._endings[name].search(ending) is not None


@lru_cache(maxsize=8)
def grammar_of(language: str, *, cue: bool = False) -> Grammar:
    """The grammar of a language, read when first needed."""
    return Grammar(grammar_table(language, "dates"), cue=cue)


# -- items of patterns -----------------------------------------------------------------------------


def _item(body: str, grammar: Grammar) -> Item:
    """What reads an item without its mark: the place behind it, or -1."""
    if body == "$":
        return lambda r, at, env: at if at >= len(r.words) else -1
    if body[0] == "@":
        holds = PLACES[body[1:]]
        return lambda r, at, env: at if holds(r, at) else -1
    if body[0] == "'" and len(body) > 1:
        kind = body[1:]
        return lambda r, at, env: at if r.grammar.ends(kind, r.ending(at - 1)) else -1
    named = _NAME.fullmatch(body)
    return _of_words(grammar.spelled(body)) if named is None else _of_name(named, grammar)


def _of_name(named: re.Match[str], grammar: Grammar) -> Item:
    name, ending, key = named["name"], named["ending"], named["key"] or named["name"]
    reads: Callable[[Reader, int], Found]
    if name in LEXEMES:
        reads = LEXEMES[name]
    elif name in grammar.classes:
        reads = lambda r, at: r.find(name, at)  # noqa: E731
    elif name in grammar.rules:
        reads = lambda r, at: r.rule(name, at)  # noqa: E731
    else:
        raise TableError(f"{named[0]} is no class and no rule")

    def item(r: Reader, at: int, env: Env) -> int:
        found = reads(r, at)
        if found is None or (ending and not r.grammar.ends(ending, r.ending(found[1] - 1))):
            return -1
        env[key] = found[0]
        return found[1]

    return item


def _of_words(spelled: Iterable[str]) -> Item:
    every = [each.split("_") for each in spelled]
    single = frozenset(each[0] for each in every if len(each) == 1)
    begun = tuple(each[:-1] for each in single if each.endswith("*"))
    longer = sorted((each for each in every if len(each) > 1), key=len, reverse=True)

    def item(r: Reader, at: int, env: Env) -> int:
        for words in longer:
            if all(r.text(at + n) == word for n, word in enumerate(words)):
                return at + len(words)
        text = r.text(at)
        return at + 1 if text in single or (begun and text.startswith(begun)) else -1

    return item


def _marked(r: Reader, mark: str, item: Item, at: int, env: Env) -> int:
    """The place behind an item with a mark, or -1."""
    if mark in "?*":
        for _ in mark + "*" * (mark == "*"):
            end = item(r, at, env)
            if end < 0:
                break
            at = end
        return at
    if mark == "~":
        return item(r, at, env) if r.joined(at) else -1
    stands = item(r, at - mark.startswith("^"), {}) >= 0
    return at if stands == ("!" not in mark) else -1

"""Reads the word tables of languages from their files, and checks them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from spector.config import language_folders
from spector.language.words import plain

# What a file of words must hold: its lists and patterns by name, its sources and licences.


class TableError(ValueError):
    """A file of words is not what its part needs."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Names that the files of a part may have: lists of words, and lists of patterns."""

    words: frozenset[str]
    patterns: frozenset[str]


def _shape(words: str, patterns: str = "") -> Shape:
    return Shape(frozenset(words.split()), frozenset(patterns.split()))


#: part -> what its file holds in each language
PARTS: Final[Mapping[str, Shape]] = {
    "language": _shape("common", "letters endings"),
    "signs": _shape("joy anger fear sadness surprise disgust"),
    "code": _shape("", "lines logs"),
    "emotion": _shape(
        "positive_weak positive positive_strong negative_weak negative negative_strong"
        " negators_before negators_behind joy anger fear sadness surprise disgust"
        " urgent profanity strong intensifiers",
        "inflected negated urgent",
    ),
    "observing": _shape(
        "stop phatic hedges orders politeness auxiliaries relatives"
        " subjects alarm alarm_weak temporal changes additions",
        "correction rule preference decision plan fact entity injection system asks"
        " again announces request keep reminder lasting first_person reaction",
    ),
}


@dataclass(frozen=True, slots=True)
class Table:
    """One file of words.

    Attributes:
        language: its code, the name of the folder.
        part: its name without the ending.
        words: list -> entries, folded. An entry of several words has spaces; one that ends with
            ``*`` stands for every word that begins so, one that begins with ``=`` must be
            written with all its marks.
        patterns: list -> regular expressions for folded text.
        sources: where the entries come from, each with its licence.
    """

    language: str
    part: str
    words: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    sources: tuple[str, ...]


def checked(language: str, part: str, found: Mapping[str, Any], where: str) -> Table:
    """The table of a parsed file; TableError names the file and the entry that is wrong."""
    shape = PARTS[part]
    extra = set(found) - {"about", "words", "patterns"}
    if extra:
        raise TableError(f"{where} has an unknown section [{min(extra)}]; remove it")
    words = _section(found, "words", shape.words, where)
    patterns = _section(found, "patterns", shape.patterns, where)
    return Table(
        language, part,
        {name: _entries(value, f"{where} words.{name}") for name, value in words.items()},
        {name: _compiled(value, f"{where} patterns.{name}") for name, value in patterns.items()},
        _sources(found.get("about"), where),
    )  # fmt: skip


def _section(
    found: Mapping[str, Any], name: str, wanted: frozenset[str], where: str
) -> Mapping[str, Any]:
    section = found.get(name, {})
    if not isinstance(section, dict):
        raise TableError(f"{where} {name} must be a section; write [{name}]")
    for unknown in sorted(set(section) - wanted):
        known = ", ".join(sorted(wanted))
        raise TableError(f"{where} {name}.{unknown} is not known; known: {known}")
    empty: Any = "" if name == "words" else []
    return {each: section.get(each, empty) for each in sorted(wanted)}


def _entries(value: object, where: str) -> tuple[str, ...]:
    """Entries separated by commas or line ends, each once."""
    if not isinstance(value, str):
        raise TableError(f"{where} must be one text; separate its entries by commas")
    entries = [" ".join(each.split()) for each in re.split(r"[,\n]", value)]
    for each in entries:
        if "*" in each[:-1] or each == "*":
            raise TableError(f'{where} has "{each}"; a * may only end an entry')
    return tuple(dict.fromkeys(each for each in entries if each))


def _compiled(value: object, where: str) -> tuple[re.Pattern[str], ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TableError(f"{where} must be a list of texts; write ['''...''']")
    out = []
    for each in value:
        try:
            out.append(re.compile(each))
        except re.error as error:
            raise TableError(f"{where} has a pattern that is not valid: {each}, {error}") from error
    return tuple(out)


def _sources(about: object, where: str) -> tuple[str, ...]:
    if not isinstance(about, dict):
        raise TableError(f"{where} lacks [about]; say where the words come from")
    listed = about.get("sources")
    if not isinstance(listed, list) or not listed:
        raise TableError(f"{where} about.sources is empty; name each source and its licence")
    out = []
    for each in listed:
        if not isinstance(each, dict) or not each.get("name") or not each.get("licence"):
            raise TableError(f"{where} about.sources needs a name and a licence for each source")
        out.append(f"{each['name']} ({each['licence']})")
    return tuple(out)


#: a folder for each language that ships, named by its code
FOLDER: Final = Path(__file__).parent / "data"


def languages() -> tuple[str, ...]:
    """Codes of the languages that have a folder; English first, the others by name."""
    return tuple(language_folders())


@lru_cache(maxsize=64)
def table_of(language: str, part: str) -> Table:
    """The table of a part in a language; read and checked once."""
    folder = language_folders().get(language, FOLDER / language)
    return read_table(folder / f"{part}.toml")


@lru_cache(maxsize=1)
def aliases_of_relations() -> dict[str, str]:
    """Each name of a relation, in snake case -> its canonical predicate; of all languages."""
    table = tomllib.loads((FOLDER / "relations.toml").read_text(encoding="utf-8"))
    return {name: one for one, names in table.items() for name in (one, *names.split())}


@lru_cache(maxsize=1)
def territories() -> frozenset[str]:
    """Countries and what they lie in, by their folded names; of all languages."""
    table = tomllib.loads((FOLDER / "territories.toml").read_text(encoding="utf-8"))
    names = (" ".join(each.split()) for listed in table.values() for each in listed.split(","))
    return frozenset(map(plain, names))


def grammar_table(language: str, part: str) -> dict[str, Any]:
    """The rows of a grammar of a language that ships, with its classes and lists of words."""
    return tomllib.loads((FOLDER / language / f"{part}.toml").read_text(encoding="utf-8"))


#: a pattern names a part of itself so: "@{name}"
_PART: Final = re.compile(r"@\{(\w+)\}")


@lru_cache(maxsize=32)
def word_lists(part: str) -> Mapping[str, frozenset[str]]:
    """The closed lists of words of a part, by name; of all languages together."""
    return {name: frozenset(text.split()) for name, text in _closed(part)["words"].items()}


class _Patterns(dict[str, re.Pattern[str]]):
    """The patterns of a part by name; each is compiled when it is first looked up."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __missing__(self, name: str) -> re.Pattern[str]:
        found = self[name] = _whole(self._part, _closed(self._part)["patterns"][name])
        return found


@lru_cache(maxsize=32)
def patterns_of(part: str) -> Mapping[str, re.Pattern[str]]:
    """The patterns of a part for folded text, by name; of all languages together.

    Ends of lines within a pattern are nothing, and "@{name}" is another one or a part.
    """
    return _Patterns(part)


@lru_cache(maxsize=32)
def pattern_rows(part: str, section: str, frame: str = "%s") -> list[tuple[str, re.Pattern[str]]]:
    """The patterns of a section that has several under each name, in their order.

    Args:
        frame: what each of them stands in.
    """
    rows = _closed(part)[section].items()
    return [(name, _whole(part, frame % text)) for name, texts in rows for text in texts]


def _whole(part: str, text: str) -> re.Pattern[str]:
    """A pattern with the parts that it names."""
    table = _closed(part)
    known = {**table.get("parts", {}), **table["patterns"]}
    while (named := _PART.search(text)) is not None:
        text = text[: named.start()] + known[named[1]] + text[named.end() :]
    return re.compile(text.replace("\n", ""))


@lru_cache(maxsize=32)
def _closed(part: str) -> dict[str, Any]:
    return grammar_table("any", part)


def read_table(path: Path) -> Table:
    """Read and check one file, ``LANGUAGE/PART.toml``; raises TableError for a wrong one."""
    language, part = path.parent.name, path.stem
    where = f"{language}/{path.name}"
    if part not in PARTS:
        raise TableError(f"{where} is no part of a language; parts: {', '.join(sorted(PARTS))}")
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TableError(f"{where} is missing; each language has a file for each part") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{where} is not valid TOML: {error}") from error
    return checked(language, part, found, where)

"""Reads the files of words; a folder beside the others is a language."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from spector.config import language_folders
from spector.language.tables.schema import PARTS, Table, TableError, checked

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


def grammar_table(language: str, part: str) -> dict[str, Any]:
    """The rows of a grammar of a language that ships, with its classes and lists of words."""
    return tomllib.loads((FOLDER / language / f"{part}.toml").read_text(encoding="utf-8"))


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

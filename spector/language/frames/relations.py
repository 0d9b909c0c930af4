"""One relation, one predicate: a boss, a manager and the one who gets reports."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import lru_cache
from typing import Final

from spector.language.frames.predicates import KIN, MANY_NOUNS
from spector.language.frames.statement import Statement
from spector.language.tables import FOLDER

__all__ = ["canonical", "predicates_like"]

_NAMED: Final = "is_named"
_OWNERS: Final = ("'s ", "\u2019s ")


@lru_cache(maxsize=1)
def _aliases() -> dict[str, str]:
    """Name of a relation -> its canonical predicate."""
    table = tomllib.loads((FOLDER / "relations.toml").read_text(encoding="utf-8"))
    return {name: one for one, names in table.items() for name in (one, *names.split())}


def predicates_like(predicate: str) -> frozenset[str]:
    """All names of the relation of a predicate in snake case; itself where it has no others."""
    known = _aliases()
    one = known.get(predicate, predicate)
    return frozenset((predicate, *(name for name in known if known[name] == one)))


def canonical(said: Statement) -> Statement:
    """The statement with the canonical predicate of its relation.

    "My boss is called Ines" says who the manager is, as "my boss is Ines" does. Of brothers and
    dogs there are several, and each has a name of his own.
    """
    subject, _, role = next(
        (parts for mark in _OWNERS if (parts := said.subject.rpartition(mark))[1]), ("", "", "")
    )
    role = "_".join(role.lower().split())
    if said.predicate == _NAMED and subject and (
        role in _aliases() or (role in KIN and role not in MANY_NOUNS)
    ):
        said = replace(said, subject=subject, predicate=role)
    one = _aliases().get(said.predicate, said.predicate)
    return said if one == said.predicate else replace(said, predicate=one)


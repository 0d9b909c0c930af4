"""One relation, one predicate: a boss, a manager and the one who gets reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spector.language.frames.predicates import KIN, MANY_NOUNS, PETS
from spector.language.frames.statement import Statement
from spector.language.tables import aliases_of_relations

_NAMED: Final = "is_named"
_OWNERS: Final = ("'s ", "\u2019s ")


def predicates_like(predicate: str) -> frozenset[str]:
    """All names of the relation of a predicate in snake case; itself where it has no others."""
    known, one = aliases_of_relations(), canonical_name(predicate)
    return frozenset((predicate, *(name for name in known if known[name] == one)))


def canonical_name(predicate: str) -> str:
    """The canonical predicate of the relation that a name in snake case has."""
    return aliases_of_relations().get(predicate, predicate)


def canonical(said: Statement) -> Statement:
    """The statement with the canonical predicate of its relation.

    "My boss is called Ines" says who the manager is, as "my boss is Ines" does, and a
    pet is known by its kind. Of sisters there may be several, each with a name of her own.
    """
    subject, _, role = next(
        (parts for mark in _OWNERS if (parts := said.subject.rpartition(mark))[1]), ("", "", "")
    )
    role = "_".join(role.lower().split())
    known = role in aliases_of_relations() or role in PETS or role in KIN - MANY_NOUNS
    if said.predicate == _NAMED and subject and known:
        single = said.single and role not in MANY_NOUNS
        said = replace(said, subject=subject, predicate=role, single=single)
    one = canonical_name(said.predicate)
    return said if one == said.predicate else replace(said, predicate=one)

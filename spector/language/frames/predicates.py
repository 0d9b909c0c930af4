"""Predicates: their names, kinds and kin, and what recurs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from spector.language.frames.sentences import Statement
from spector.language.tables import aliases_of_relations, grammar_table, patterns_of, word_lists
from spector.language.words import plain

_WORDS: Final = word_lists("predicates")
_RE: Final = patterns_of("predicates")

ONE_VALUED: Final = _WORDS["one_valued"]
_FAVOURITE: Final = "favourite_"

#: predicates whose value has a name: what has none is a part of it, or says where in it
NAMED: Final = frozenset(("lives_in", "works_at", "is_named"))
#: predicate -> the nouns that name it, English | Turkish; the last word of a longer name counts
SLOTS: Final[dict[str, str]] = grammar_table("any", "predicates")["slots"]
MANY_NOUNS: Final = _WORDS["many_nouns"]
KIN: Final = _WORDS["kin"]
DISCOURSE_NOUNS: Final = _WORDS["discourse_nouns"]


_NAMED: Final[dict[str, str]] = {
    noun: predicate
    for predicate, nouns in SLOTS.items()
    for noun in nouns.replace("|", " ").split()
}
_SPELLINGS: Final[dict[str, str]] = grammar_table("any", "predicates")["spellings"]


def predicate_of(nouns: str) -> tuple[str, str]:
    """(predicate, the words before it) of a noun phrase that names a slot: "staging port".

    The longest name at the end that the table knows counts; without one the whole phrase is the
    predicate, in snake case.
    """
    words = [_SPELLINGS.get(word, word) for word in plain(nouns).replace("-", " ").split()]
    for count in (3, 2, 1):
        name = "_".join(words[-count:])
        if len(words) >= count and name in _NAMED:
            return _NAMED[name], " ".join(words[:-count])
    return "_".join(words), ""


def is_label(name: str) -> bool:
    """Whether a name that a text opens with, before a colon, tells what follows, not who speaks."""
    return plain(name) in _WORDS["labels"] or predicate_of(name)[0] in SLOTS


def names_of_predicate(predicate: str) -> tuple[str, ...]:
    """The words that name a predicate, folded: its own and, of a slot, its nouns."""
    nouns = SLOTS.get(predicate, "").replace("|", " ").split()
    return tuple(dict.fromkeys("_".join((predicate, *nouns)).split("_")))


def noun_of_slot(predicate: str, language: str) -> str:
    """The noun that names a slot in a language; "" for a predicate that is none."""
    nouns = SLOTS.get(predicate, "").rpartition("|")[2 * (language == "tr")]
    return nouns.split(None, 1)[0].replace("_", " ") if nouns else ""


def is_single_valued(predicate: str, extra: Collection[str] = (), *, by_form: bool = False) -> bool:
    """Whether a predicate has one value at a time: by the table, by the caller, or by its form.

    Args:
        predicate: in snake case. extra: further one-valued predicates.
        by_form: the sentence names a role with one holder ("my N is X"); nouns that have many at
            once stay many-valued.
    """
    if predicate in ONE_VALUED or predicate in extra or predicate.startswith(_FAVOURITE):
        return True
    head = predicate.rpartition("_")[2]
    return by_form and head not in MANY_NOUNS and not is_plural(predicate)


def is_plural(noun: str) -> bool:
    """Whether a noun looks like a plural, English or Turkish."""
    if noun.endswith(("lar", "ler", "lari", "leri")):
        return True
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is", "os", "as"))


# One relation, one predicate: a boss, a manager and the one who gets reports.

_IS_NAMED: Final = "is_named"
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
    known = role in aliases_of_relations() or role in _WORDS["pets"] or role in KIN - MANY_NOUNS
    if said.predicate == _IS_NAMED and subject and known:
        single = said.single and role not in MANY_NOUNS
        said = replace(said, subject=subject, predicate=role, single=single)
    one = canonical_name(said.predicate)
    return said if one == said.predicate else replace(said, predicate=one)


# Times that come back and places: what holds on Mondays or at work does not end elsewhere.

#: what such a window begins with
EACH: Final = "each "


def recurring_in(text: str) -> str | None:
    """The times that come back and the places in a sentence, by name; None where it has none."""
    folded = plain(text)
    names = sorted({
        " ".join(name.split()) for pattern in (_RE["recurs"], _RE["recurs_tr"], _RE["places"])
        for found in pattern.finditer(folded) for name in found.groups() if name
    })  # fmt: skip
    return EACH + " ".join(names) if names else None

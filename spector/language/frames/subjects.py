"""Whether two statements are of one subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from spector.language.entities import is_first_name
from spector.language.frames.english import Phrase, group_at, phrase_at
from spector.language.frames.english import vocabulary as words_of
from spector.language.frames.sentences import Word, sentences
from spector.language.frames.turkish import KIN as TURKISH_KIN
from spector.language.tables import language_of
from spector.language.words import analyse, plain
from spector.process import keeps

# Words that are the same but for their endings, or one of which stands for the other.

#: letters of a word that has other endings, and of its endings
_STEM, _ENDING = 4, 5
#: letters of what stands for a longer word, at most
_SHORTEST: Final = 4
#: case and person of a short Turkish noun: "odada", "odaya"
_CASE: Final = re.compile(r"(?:[dt][ae]n?|n?y?[ae]|n?y?[iu]|n?[iu]n|l[ae]r|m)?$")


def met(ones: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Those words of the first that are also in the second, whatever their endings."""
    by_letter: dict[str, list[str]] = {}
    for other in others:  # words that are akin begin with the same letter
        by_letter.setdefault(other[:1], []).append(other)
    return frozenset(
        one for one in ones if any(_are_akin(one, other) for other in by_letter.get(one[:1], ()))
    )


def _are_akin(one: str, other: str) -> bool:
    if one == other or _is_short_for(one, other) or _is_short_for(other, one):
        return True
    pairs = zip(one, other, strict=False)
    n = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    if any(map(str.isdigit, one + other)):
        return False
    if n == _STEM - 1 and _CASE.fullmatch(one[n:]) and _CASE.fullmatch(other[n:]):
        return True
    return (
        f"{one}s" == other
        or f"{other}s" == one
        or (n >= _STEM and max(len(one), len(other)) - n <= _ENDING)
    )


def _is_short_for(short: str, word: str) -> bool:
    """ "pw" of password, "appt" of appointment, "mtg" of meeting: letters in their order."""
    if not 2 <= len(short) <= _SHORTEST < len(word) or short[0] != word[0] or not word.isalpha():
        return False
    if not set(short[1:]).isdisjoint("aeiou") or not short.isalpha():
        return False
    letters = iter(word)
    return all(each in letters for each in short)


#: the owner who speaks
_I: Final = "i"
_WHOSE: Final = {"my": _I, "our": _I, "his": "he", "her": "she", "their": "they"}
_FIRST: Final = frozenset("i we im me us my our mine ours myself".split())
_PERSONS: Final = frozenset("he she they".split()) | frozenset(
    f"{first}{second}" for first in ("some", "any", "no", "every") for second in ("body", "one")
)
#: stand before a subject, and say nothing of it
_AHEAD: Final = (
    words_of.INTRODUCTIONS | words_of.ADVERBS | words_of.TIMES | words_of.UNITS | {"wait", "as"}
)
#: tell two states of one thing, and no two things
_STATES: Final = frozenset("new old current present former actual real own".split())
#: "I heard that Omar ...": what follows is about another person
_TELLS: Final = words_of.WORDS["opinions"] | words_of.WORDS["reports"] | {"know", "hear", "told"}
_JOINS: Final = frozenset((",", ";", ":", "and", "but", "so", "while", "because"))
_LINKS: Final = frozenset("of in at on for from with near".split())
_NO_NOUNS: Final = _STATES | _LINKS | words_of.ARTICLES | frozenset(words_of.POSSESSIVES)
_NAMES: Final = frozenset((*words_of.BE, "called", "named"))
_I_TR: Final = re.compile(r"\w{2,}(?:[aeiou]r[iu][mz]|y[iu][mz]|[dt][iu][mk]|m[ae]m)")


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its subject, which is open where the clause names none.

    Attributes:
        owner: whose the subject is: ``i``, a pronoun, a name; "" where it has none.
        nouns: what it is; none for the owner himself. value: what it is called, or is.
        rest: the words behind it. ahead: what stands before it: "on Mondays".
    """

    owner: str = ""
    nouns: frozenset[str] = frozenset()
    value: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()
    ahead: frozenset[str] = frozenset()

    @property
    def is_open(self) -> bool:
        return not self.owner and not self.nouns


def are_of_same(old: str, new: str) -> bool:
    """Whether a clause of one text may be about the same as a clause of the other."""
    before, after = _clauses(old), _clauses(new)
    known, words = _content(old), _content(new)
    return any(_may_be_same(one, other, known, words) for one in before for other in after)


def _may_be_same(
    one: _Clause, other: _Clause, known: frozenset[str], words: frozenset[str]
) -> bool:
    """Whether an old clause and a new one may be about the same.

    Args:
        known, words: content of the old text, and of the new one.
    """
    if one.ahead and other.ahead and not met(one.ahead, other.ahead):
        return False
    if other.is_open or one.is_open:
        mine = other.owner == _I and not other.nouns
        return other.is_open or mine or bool(met(other.nouns, known))
    if one.nouns and met(one.nouns, other.nouns):
        # not the office in Rome and the office in Oslo, nor Ingrid's landlord and mine
        apart = met(one.nouns, words) != one.nouns and met(other.nouns, known) != other.nouns
        return not apart and (one.owner == other.owner or "" in (one.owner, other.owner))
    if not one.nouns and not other.nouns:
        return one.owner == other.owner
    mine = not other.rest.isdisjoint(_FIRST)
    if other.owner in ("", _I, one.owner) and met(other.nouns, known):
        return True  # "I pay 60 for internet", "internet is 75 now"
    if other.owner not in ("", _I, *_PERSONS):
        return bool(met(frozenset(other.owner.split()), one.nouns))  # "our dog", "the dog's name"
    if not one.nouns:  # "I earn 3,000", "the boss doubled my pay"
        return one.owner == _I and other.owner != _I and mine
    mentions = met(one.nouns | (one.value if one.owner == _I else frozenset()), words)
    if one.owner == _I and other.owner != _I and not mine:
        return bool(mentions) and "the" in other.rest
    return bool(mentions)


@keeps(256)
def _content(text: str) -> frozenset[str]:
    found = analyse(text)
    return frozenset((*found.content(), *map(plain, found.forms)))


@keeps(512)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of a text; one that names no subject has that of the clause before it."""
    out: list[_Clause] = []
    is_turkish = language_of(text) == "tr"
    for sentence in sentences(text):
        words = sentence.words
        for clause in (_turkish(words),) if is_turkish else _english(words):
            if clause.is_open and out:
                clause = replace(clause, owner=out[-1].owner, nouns=out[-1].nouns)
            out.append(clause)
    return tuple(out)


def _english(words: Sequence[Word]) -> Iterator[_Clause]:
    """A clause wherever a subject is named, and at the beginning."""
    yield _clause_at(words, 0)
    for at in range(1, len(words)):
        if words[at - 1].text in _JOINS:
            found = _clause_at(words, at, joined=True)
            if not found.is_open:
                yield found


def _clause_at(words: Sequence[Word], at: int, *, joined: bool = False) -> _Clause:
    while at < len(words) and (words[at].kind == "sign" or words[at].text in _AHEAD):
        at += 1
    out = _Clause()
    if not joined and at < len(words) and words[at].text in words_of.PREPOSITIONS:
        first, at = at, next((n for n in range(at + 1, min(at + 8, len(words))) if (
            words[n].text in ("i", "we") or words[n].text in _PERSONS
            or words[n].text in words_of.POSSESSIVES or words[n - 1].text == ","
        )), len(words))  # fmt: skip
        ahead = (word.text for word in words[first + 1 : at] if word.kind == "word")
        out = replace(out, ahead=frozenset(ahead))
    if at >= len(words):
        return out
    word = words[at].text
    if word in ("i", "we", "im"):
        inner = next(
            (n + 1 for n in range(at + 1, min(at + 4, len(words))) if words[n].text in _TELLS), 0
        )
        if 0 < inner < len(words) and words[inner].text in ("that", "me", "us", ","):
            inner += 1
        told = _clause_at(words, inner) if 0 < inner < len(words) else out
        return replace(out, owner=_I, rest=_texts(words[at + 1 :])) if told.is_open else told
    if word in _PERSONS:
        of = _owned(words, at + 1)
        whose = " ".join(each.text for each in (words[at], *of[:-2]))
        behind = words[at + 1 + len(of) :]
        return replace(out, owner=whose, nouns=_nouns(of[-1:]), rest=_texts(behind))
    possessive = words_of.POSSESSIVES.get(word, 0)
    found = phrase_at(words, at + (possessive == 3), subject=True)
    if word in words_of.PRONOUNS or found is None:
        return out
    end = _end_of(words, found)
    of = _owned(words, end)
    end += len(of)
    acts = _acts(words, end)
    if not acts:  # "the people upstairs live": a verb that looks like a noun
        end = next((n for n in range(found.first + 1, end) if _acts(words, n)), end)
    named = possessive or found.article or (at and words[at].capital)
    if not acts and not named and not joined and _opens(words, at):
        named, end = True, at + 1 + (words[at + 1].text == "'s")
    if not acts and (joined or not named):
        return out  # an order, or a verb without its subject: "make it Tuesday", "sold the car"
    inside = words[found.first : end]
    last = max((n for n, each in enumerate(inside) if each.text == "'s"), default=-1)
    owner = _WHOSE.get(word, "")
    if last >= 0:
        owner = " ".join(each.text for each in inside[:last])
    behind = words[end:]
    is_name = bool(behind) and behind[0].text in _NAMES
    value = frozenset(each.text for each in behind if is_name and each.kind == "word")
    return replace(
        out,
        owner=owner,
        nouns=_nouns(inside[last + 1 :]),
        value=value - words_of.STOPS,
        rest=_texts(behind),
    )


def _opens(words: Sequence[Word], at: int) -> bool:
    """Whether a word of a name opens a sentence before a verb of the third person.

    "Lupe pays", "Hugo's going", and not "moved boxes".
    """
    word, behind = words[at].text, words[at + 1].text if at + 1 < len(words) else ""
    return (
        words[at].capital
        and not word.endswith(("ed", "ing"))
        and not _acts(words, at)
        and (behind in words_of.BE or behind.endswith(("s", "ed")))
        and not behind.endswith("ss")
    )


def _owned(words: Sequence[Word], at: int) -> Sequence[Word]:
    """The words that make an owner of what is before them: "next door's dog" of "the people"."""
    for n in range(at, min(at + 4, len(words))):
        if words[n].text == "'s" and (found := phrase_at(words, n + 1, subject=True)):
            return words[at : found.end]
        if group_at(words, n, third=True) or (n == at and _acts(words, n)):
            break
    return ()


def _acts(words: Sequence[Word], at: int) -> bool:
    return group_at(words, at) is not None or group_at(words, at, third=True) is not None


def _nouns(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(
        each.text
        for each in words
        if each.kind in ("word", "number") and each.text not in _NO_NOUNS
    )


def _end_of(words: Sequence[Word], phrase: Phrase) -> int:
    """Where a subject ends with the places and names behind it: "the office in Rome"."""
    end = phrase.end
    while end + 1 < len(words) and words[end].text in _LINKS:
        more = phrase_at(words, end + 1, subject=True)
        if more is None and words[end + 1].text not in words_of.WEEKDAYS:
            break
        end = end + 2 if more is None else more.end
    return next(
        (n for n in range(phrase.first + 1, end) if words[n].text in ("no", "not", "n't")), end
    )


def _texts(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(word.text for word in words)


def _turkish(words: Sequence[Word]) -> _Clause:
    """The verb at the end tells the first person; a name or a relative in front, another person."""
    texts = [each.text for each in words if each.kind == "word"] or [""]
    if _I_TR.fullmatch(texts[-1]) or not {"ben", "biz"}.isdisjoint(texts):
        return _Clause(_I, rest=_texts(words))
    if texts[0] in ("o", "onlar", "herkes"):
        return _Clause(texts[0], rest=_texts(words))
    if texts[0] in TURKISH_KIN or is_first_name(texts[0]):
        return _Clause("", frozenset(texts[:1]), rest=_texts(words))
    return _Clause()

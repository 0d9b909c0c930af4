"""Who is meant: words that stand for a name, with the names that they may stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spector.language.entities import rule_mentions
from spector.language.formation.persons import (
    Cluster,
    Turn,
    clusters,
    is_possessive,
    likelihoods,
    mentioned,
    name_parts,
    same_name,
)
from spector.language.tables import patterns_of, word_lists
from spector.language.words import plain
from spector.records import Reference

_WORDS: Final = word_lists("references")
_RE: Final = patterns_of("references")

_MEN: Final = frozenset("he him his himself".split())
_WOMEN: Final = frozenset("she her hers herself".split())
_ROLES: Final = frozenset("user assistant system tool agent human ai bot".split())
#: turns that are remembered, and characters of each
_MOST_TURNS: Final = 8
_MOST_CHARS: Final = 1_000
_MOST_CANDIDATES: Final = 5
#: words of one text that are looked at
_MOST_REFERENCES: Final = 32
#: scores of things and of Turkish persons are those of the rules alone: no set measures them.
#: Turkish ones are never above what the same rule reaches in English
_ALONE: Final = 0.78
_LATEST: Final = 0.5
_OTHER: Final = 0.2


@dataclass(frozen=True, slots=True)
class Referents:
    """Who was named in the last turns of a conversation, and who asked last. Immutable.

    Attributes:
        asked_by: who has asked something that no one else has spoken after.
        asked: what that was.
    """

    turns: tuple[Turn, ...] = ()
    asked_by: str | None = None
    asked: str = ""

    def after(
        self,
        text: str,
        *,
        speaker: str | None = None,
        asked_by: str | None = None,
        asked: str = "",
    ) -> Referents:
        """With one more turn; only the last eight are kept."""
        kept = text.strip()[-_MOST_CHARS:]  # the text that was read with its notes
        turn = Turn(kept, _named(speaker), mentioned(kept))
        return Referents((*self.turns, turn)[-_MOST_TURNS:], asked_by, asked)

    def references(
        self, text: str, *, turkish: bool, least: float = 0.75, speaker: str | None = None
    ) -> tuple[Reference, ...]:
        """The words of a text that stand for a name, in its order.

        Args:
            least: the score from which on the best candidate is chosen.
            speaker: who speaks; never meant by a third person.
        """
        pattern = _RE["turkish"] if turkish else _RE["english"]
        matches = [each for each in pattern.finditer(text)
                   if not turkish or _stands_alone(text, each)][:_MOST_REFERENCES]  # fmt: skip
        if not matches:
            return ()
        people = mentioned(text)
        everybody = clusters(self.turns, people)
        own = name_parts(_named(speaker) or "")
        others = [each for each in everybody if not same_name(own, name_parts(each.name))]
        found = []
        for match in matches:
            word, at = plain(match.group()), match.start()
            if text[match.end() :].lstrip(" ").startswith("["):
                scored: tuple[tuple[str, float], ...] = ()  # the user says who is meant
            elif word in _MANY:
                scored = self._several(others, text, at)
            elif word.startswith("bu"):
                scored = self._things(text, at, is_bare=False)
            elif turkish:
                scored = self._turkish(others, text, at)
            elif word in _MEN | _WOMEN:
                fitting = [each for each in others if _fits(each, word) and _is_before(each, at)]
                scored = tuple(likelihoods(fitting, text, at, word))
            else:
                scored = self._things(text, at, is_bare=word == "it")
            scored = scored[:_MOST_CANDIDATES]
            chosen = scored[0][0] if scored and scored[0][1] >= least else None
            found.append(Reference(match.group(), at, scored, chosen))
        return tuple(found)

    def _turkish(
        self, others: Sequence[Cluster], text: str, at: int
    ) -> tuple[tuple[str, float], ...]:
        """Turkish has no gender: sure only where one person is named and nothing else is."""
        near = [each for each in others if each.places and _is_before(each, at)]
        here = [each for each in near if any(back == 0 for back, _ in each.places)]
        last = [each for each in near if any(back == 1 for back, _ in each.places)]
        pool = here or last
        things = [each for each in rule_mentions(text[:at]) if each.type in ("org", "tech")]
        if len(pool) == 1 and not things and (here or len(near) == 1) and pool[0].known:
            return ((pool[0].name, _ALONE),)
        near.sort(key=lambda each: min((back, -person.start) for back, person in each.places))
        return tuple((each.name, _LATEST if n == 0 else _OTHER) for n, each in enumerate(near))

    def _several(
        self, others: Sequence[Cluster], text: str, at: int
    ) -> tuple[tuple[str, float], ...]:
        """An organization, or the people named last: which of them, no set measures."""
        things = self._things(text, at, is_bare=False)
        near = [each for each in others if each.places and _is_before(each, at)]
        near.sort(key=lambda each: min((back, -person.start) for back, person in each.places))
        return (*((each.name, _OTHER) for each in near), *((name, _OTHER) for name, _ in things))

    def _things(self, text: str, at: int, *, is_bare: bool) -> tuple[tuple[str, float], ...]:
        """The things named last. No set measures these, so none is ever sure."""
        names: list[str] = []
        parts = (text[:at], *(turn.text for turn in reversed(self.turns[-2:])))
        for part in parts:
            for each in reversed(rule_mentions(part)):
                if each.type not in ("person", "user", "agent") and each.name not in names:
                    names.append(each.name)
        best = _LATEST if is_bare else _LATEST - 0.1
        return tuple((name, best if n == 0 else _OTHER) for n, name in enumerate(names))


def in_place_of(text: str, at: int, word: str, name: str) -> str:
    """A name as it is written in place of a pronoun at a place: "Sarah's" for "her" in "her dog".

    Turkish pronouns with a case stay: their case is not carried over to the name.
    """
    low = plain(word)
    if low in ("his", "its", "their") or (low == "her" and is_possessive(text, at)):
        return name if name.endswith(("'s", "\u2019s")) else f"{name}'s"
    return word if low.startswith(("on", "bun")) and len(low) > 1 else name


_MANY: Final = frozenset("they them their theirs onlar onlari onlarin onlara".split())


def _named(speaker: str | None) -> str | None:
    """A speaker's name; a role is none."""
    if speaker is None or plain(speaker) in _ROLES:
        return None
    return speaker.strip() or None


def _fits(cluster: Cluster, word: str) -> bool:
    return not cluster.gender or cluster.gender == ("m" if word in _MEN else "f")


def _is_before(cluster: Cluster, at: int) -> bool:
    """Whether a person speaks in the conversation or is named before a place of the text."""
    if cluster.speaks:
        return True
    return any(back > 0 or person.end <= at for back, person in cluster.places)


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Whether "o" stands for a person: not before a noun ("o adam", "o zaman")."""
    word = plain(match.group())
    if word in ("bu", "bunu", "bunun"):
        return word != "bu"
    if word != "o":
        return True
    behind = re.match(r"\s+([^\W\d_]+)", text[match.end() :])
    if behind is None:
        return False
    return behind.group(1)[0].isupper() or plain(behind.group(1)) in _WORDS["behind_o"]

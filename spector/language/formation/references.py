"""Who is meant: words that stand for a name, with the names that they may stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from spector.language.formation.people import people_in
from spector.language.words import plain
from spector.records import Reference

__all__ = ["Referents"]

_ENGLISH: Final = re.compile(
    r"\b(he|him|his|himself|she|her|hers|herself|they|them|their|theirs|it|its|this)\b",
    re.IGNORECASE,
)
_TURKISH: Final = re.compile(r"\b(o|onu|onun|ona|ondan|onunla|bu|bunu|bunun)\b", re.IGNORECASE)
_MEN: Final = frozenset("he him his himself".split())
_WOMEN: Final = frozenset("she her hers herself".split())
#: turns and characters that are remembered
_MOST_TURNS: Final = 3
_MOST_CHARS: Final = 2_000
_MOST_CANDIDATES: Final = 5


class Turn(NamedTuple):
    text: str
    speaker: str | None


@dataclass(frozen=True, slots=True)
class Referents:
    """Who was named in the last turns of a conversation. Immutable."""

    turns: tuple[Turn, ...] = ()

    def after(self, text: str, *, speaker: str | None = None) -> Referents:
        """With one more turn; only the last ones are kept."""
        turn = Turn(text[-_MOST_CHARS:], speaker)
        return Referents((*self.turns, turn)[-_MOST_TURNS:])

    def references(
        self, text: str, *, turkish: bool, least: float = 0.75, speaker: str | None = None
    ) -> tuple[Reference, ...]:
        """The words of a text that stand for a name, in its order."""
        window, start = self._window(text)
        mentions = _clusters(window, self._speakers(speaker))
        found = []
        for match in (_TURKISH if turkish else _ENGLISH).finditer(text):
            word = match.group()
            if turkish and not _is_turkish_pronoun(text, match):
                continue
            at = start + match.start()
            scored = _scored(mentions, window, at, plain(word), turkish=turkish, speaker=speaker)
            best = scored[0] if scored else None
            chosen = best[0] if best is not None and best[1] >= least else None
            found.append(Reference(word, match.start(), scored, chosen))
        return tuple(found)

    def _window(self, text: str) -> tuple[str, int]:
        """The last turns with a text behind them, and where the text begins."""
        before = "\n".join(turn.text for turn in self.turns)
        before = before[-_MOST_CHARS:] + "\n" if before else ""
        return before + text, len(before)

    def _speakers(self, speaker: str | None) -> tuple[str, ...]:
        return tuple({name for turn in self.turns if (name := turn.speaker)} | (
            {speaker} if speaker else set()))


class _Cluster(NamedTuple):
    """A person with all places where the window names them."""

    name: str
    gender: str
    places: tuple[tuple[int, int], ...]


def _clusters(window: str, speakers: Sequence[str]) -> list[_Cluster]:
    found: list[_Cluster] = []
    for person in people_in(window, speakers=speakers):
        parts = set(plain(person.name).split())
        for at, other in enumerate(found):
            if parts & set(plain(other.name).split()):
                name = max(other.name, person.name, key=len)
                found[at] = _Cluster(name, other.gender or person.gender,
                                     (*other.places, (person.start, person.end)))
                break
        else:
            found.append(_Cluster(person.name, person.gender, ((person.start, person.end),)))
    return found


def _scored(
    clusters: Sequence[_Cluster], window: str, at: int, word: str, *, turkish: bool,
    speaker: str | None,
) -> tuple[tuple[str, float], ...]:
    """(name, score) of the people who may be meant, the best first."""
    if not turkish and word not in _MEN | _WOMEN:
        return ()
    wanted = "" if turkish else "m" if word in _MEN else "f"
    own = set(plain(speaker).split()) if speaker else set()
    fitting = []
    for each in clusters:
        before = [place for place in each.places if place[1] <= at]
        if not before or (own & set(plain(each.name).split())):
            continue
        if wanted and each.gender and each.gender != wanted:
            continue
        fitting.append((each, before[-1][0]))
    fitting.sort(key=lambda pair: -pair[1])
    alone = len(fitting) == 1
    scored = []
    for rank, (each, _) in enumerate(fitting[:_MOST_CANDIDATES]):
        score = (0.8 if alone else 0.55 - 0.15 * rank) * (1.0 if each.gender or turkish else 0.9)
        scored.append((each.name, round(max(score, 0.05), 3)))
    return tuple(sorted(scored, key=lambda pair: -pair[1]))


def _is_turkish_pronoun(text: str, match: re.Match[str]) -> bool:
    """Whether "o" stands alone: not before a noun ("o adam", "o zaman")."""
    word = plain(match.group())
    if word in ("bu", "bunu", "bunun"):
        return False
    if word != "o":
        return True
    behind = re.match(r"\s+([^\W\d_]+)(['\u2019])?", text[match.end() :])
    if behind is None:
        return False
    return behind.group(1)[0].isupper() or plain(behind.group(1)) in (
        "da", "de", "simdi", "dun", "bugun", "yarin", "artik", "hala", "cok", "hic", "her", "zaten",
        "bir", "benim", "bana", "beni",
    )

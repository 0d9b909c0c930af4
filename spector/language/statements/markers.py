"""Markers in texts and cues: preferences, words of time, questions, the person of a cue.

Pure functions, no model, linear time. The English rules were measured ("Ranking research" in
bench/log); the Turkish ones are translations, not measured for lack of a data set. Docstrings name
the terms of the ranking formula that use them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from spector.language.words import compose, is_turkish, plain

#: names of the agent, folded; its own texts are not instructions
ASSISTANTS: Final = frozenset(("ai", "agent", "assistant", "asistan", "bot", "model", "system"))
#: names of the user, folded
USERS: Final = frozenset(("user", "human", "kullanici"))

FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|our|us)\b")
_WORD: Final = re.compile(r"[^\W_]+")

_PREFERS: Final = re.compile(
    r"\bi(?: (?:really|always|usually|generally|mostly|also|just|absolutely|personally|much|still"
    r"|do|don't|do not|never|would|can't|cannot)){0,3}"
    r" (?:prefer|like|love|enjoy|avoid|hate|dislike|detest|favou?r|stand)\b(?! to know\b)"
    r"|\bi'd (?:rather|prefer)\b|\bi(?:'m| am) (?:not )?(?:a (?:\w+ )?fan of|fond of|keen on)\b"
    r"|\bmy (?:\w+ ){0,2}favou?rites?\b"
)
#: "I would like to book ..." is about now, not a preference
_WOULD_LIKE: Final = re.compile(r"\bi would (?:like|love)\b")
#: substrings to search first, because the patterns take longer
_STEMS: Final = ("prefer", "like", "love", "enjoy", "avoid", "hate", "detest", "favo", "stand",
                 "rather", "fan of", "fond", "keen")  # fmt: skip
_STEMS_TR: Final = ("sev", "bayil", "hoslan", "begen", "kacin", "tercih", "nefret", "favori")
_PREFERS_TR: Final = re.compile(
    r"\b(?:sever|seviyor|bayilir|bayiliyor|hoslanir|hoslaniyor|kacinir|kaciniyor)(?:im|um)\b"
    r"|\b(?:sevme|hoslanma|begenme|bayilma)(?:m|yorum)\b|\b(?:sevmi|hoslanmi|begenmi)yorum\b"
    r"|\b(?:tercih|nefret) (?:ed(?:er|iyor)(?:im|um)|etmem|etmiyorum)\b"
    r"|\ben (?:cok )?sevdigim\b|\bfavori\w{0,8}(?:m|miz)\b"
)

_TIME: Final = frozenset(
    """yesterday today tonight ago last next week weekend month year years monday tuesday wednesday
    thursday friday saturday sunday morning recently since day days summer winter spring fall
    january february march april june july august september october november december soon
    tomorrow started""".split()
)
_TIME_TR: Final = frozenset(
    """dun bugun yarin once gecen gelecek hafta haftasonu ay yil sene gun pazartesi sali carsamba
    persembe cuma cumartesi pazar sabah beri yakinda gecenlerde ocak subat mart nisan mayis haziran
    temmuz agustos eylul ekim kasim aralik yazin kisin bahar sonbahar""".split()
)
_TIME_BOTH: Final = _TIME | _TIME_TR
#: longer texts are read only up to the last word needed
_SHORT: Final = 1_000

_DIGIT: Final = re.compile(r"\d")

#: Thai to Khmer, kana, Han, Hangul
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
#: words that are also names: in a cue with capitals, only capitalized ones are names
_ALSO_WORDS: Final = frozenset(
    """will may mark grace hope joy rose art bill jack frank faith dawn april june august summer
    autumn guy rich drew pat chase sunny ray max can deniz umut bahar""".split()
)
_MOST_WORDS_OF_A_NAME: Final = 4


def states_preference(text: str, folded: str | None = None) -> bool:
    """True if a text states what its speaker likes or avoids ("I prefer trains", "sevmem").

    Term *preference* of the ranking formula, for requests. Questions and wishes for now ("I would
    like to book ...") do not count.
    """
    folded = plain(text) if folded is None else folded
    if any(map(folded.__contains__, _STEMS)):
        found = _PREFERS.search(folded)
        if found and not _WOULD_LIKE.match(found.group()):
            return not ends_with_question(text)
    if any(map(folded.__contains__, _STEMS_TR)) and _PREFERS_TR.search(folded):
        return not ends_with_question(text)
    return False


def terms_of_time(text: str, most: int = 2, folded: str | None = None) -> int:
    """Number of words of time in a text, up to ``most``; ``folded`` is its `plain` form.

    Part of *prior* in the ranking formula: a fact with its time ("last week", "in June 2021") is
    worth more than one without.
    """
    known = _TIME
    folded = plain(text) if folded is None else folded
    if not text.isascii() and is_turkish(text, folded):
        known = _TIME_BOTH
    if len(folded) <= _SHORT:
        words = _WORD.findall(folded)
        count = sum(map(known.__contains__, words))
        if count < most and _DIGIT.search(folded):
            count += sum(map(_is_year, words))
        return min(most, count)
    found = (match.group() for match in _WORD.finditer(folded))
    counted = (True for word in found if word in known or _is_year(word))
    return sum(itertools.islice(counted, most))


def is_of_time(word: str) -> bool:
    """True if a folded word is one of time: a month, a weekday, "ago", "week"."""
    return word in _TIME_BOTH


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal()


def ends_with_question(text: str) -> bool:
    """True if a text, without the caption of a shared picture, ends in a question mark.

    Part of *prior* in the ranking formula: questions contain little information.
    """
    own_text = text.partition("[shares ")[0].rstrip()
    return own_text.endswith(("?", "\uff1f", "\u061f"))


# -- the person of a cue ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Speakers:
    """The speakers of a store, indexed so that a cue need not be compared with each.

    Attributes:
        by_name: folded words of a name, or only its first word if that is unique -> speaker.
        user: the speaker that is the user, if there is one.
        assistant: the speaker that is the agent itself, if there is one.
        first_words: first words of all names.
        unspaced: names in scripts without spaces between words; they match anywhere.
    """

    by_name: dict[tuple[str, ...], str]
    user: str | None = None
    first_words: frozenset[str] = frozenset()
    unspaced: tuple[str, ...] = ()
    assistant: str | None = None

    @classmethod
    def of(cls, names: Iterable[str]) -> Speakers:
        """Index the names; assistants and users are roles, not names."""
        by_name: dict[tuple[str, ...], str] = {}
        first: dict[str, str | None] = {}
        user = assistant = None
        unspaced = []
        for name in sorted(set(names)):
            if not name.isascii() and _UNSPACED.search(name):
                unspaced.append(name)
                continue
            words = tuple(_WORD.findall(plain(name)))[:_MOST_WORDS_OF_A_NAME]
            if words and words[0] in USERS:
                user = user or name
            elif words and words[0] in ASSISTANTS:
                assistant = assistant or name
            elif words:
                by_name.setdefault(words, name)
                first[words[0]] = None if words[0] in first else name
        for word, name_of_one in first.items():
            if name_of_one is not None:
                by_name.setdefault((word,), name_of_one)
        first_words = frozenset(words[0] for words in by_name)
        return cls(by_name, user, first_words, tuple(unspaced), assistant)

    def named_in(self, cue: str) -> list[str]:
        """The speakers that a cue names, in order, each once."""
        if not self.by_name and not self.unspaced:
            return []
        return list(dict.fromkeys(speaker for speaker, _, _ in self.places(compose(cue))))

    def places(self, cue: str) -> Iterator[tuple[str, int, int]]:
        """(speaker, start, end) of each name in a cue from `compose`; longer names first."""
        if self.unspaced and _UNSPACED.search(cue):
            for name in self.unspaced:
                at = cue.find(compose(name))
                if at >= 0:
                    yield name, at, at + len(compose(name))
        found = [(plain(match.group()), match) for match in _WORD.finditer(cue)]
        capitals = any(match.group()[0].isupper() for _, match in found[1:])
        at = 0
        while at < len(found):
            longest = _MOST_WORDS_OF_A_NAME if found[at][0] in self.first_words else 0
            for length in range(min(longest, len(found) - at), 0, -1):
                words = tuple(word for word, _ in found[at : at + length])
                speaker = self.by_name.get(words)
                if speaker is None:
                    continue
                begin = found[at][1]
                if (
                    length == 1
                    and words[0] in _ALSO_WORDS
                    and capitals
                    and (at == 0 or not begin.group()[0].isupper())
                ):
                    continue
                yield speaker, begin.start(), found[at + length - 1][1].end()
                at += length - 1
                break
            at += 1


def subject_of(cue: str, speakers: Speakers | Iterable[str]) -> str | None:
    """The one speaker that a cue is about; None if it names several, or none is known.

    Term *about* of the ranking formula, most useful for multi-hop questions (13.9 points): the only
    speaker of the store that the cue names; if it names none, the user in a store of user and
    assistant.
    """
    known = speakers if isinstance(speakers, Speakers) else Speakers.of(speakers)
    named = known.named_in(cue)
    if not named:
        return known.user
    return named[0] if len(named) == 1 else None

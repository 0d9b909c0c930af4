"""Who speaks in a text: markers of persons, openings, questions."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from spector.language.tables import patterns_of, word_lists
from spector.language.words import compose, is_turkish, plain
from spector.records import turn_before_in

_WORDS: Final = word_lists("speakers")
_RE: Final = patterns_of("speakers")

# Markers in texts and cues: preferences, words of time, questions, the person of a cue.
#
# Pure functions, no model, linear time. The English rules were measured ("Ranking research" in
# bench/log); the Turkish ones are translations, not measured for lack of a data set. Docstrings name
# the terms of the ranking formula that use them.

#: names of the agent, folded; its own texts are not instructions
ASSISTANTS: Final = frozenset(("ai", "agent", "assistant", "asistan", "bot", "model", "system"))
#: names of the user, folded
USERS: Final = frozenset(("user", "human", "kullanici"))

FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine|myself|we|our|us)\b")
_WORD: Final = re.compile(r"[^\W_]+")

#: "I would like to book ..." is about now, not a preference
_WOULD_LIKE: Final = re.compile(r"\bi would (?:like|love)\b")
#: substrings to search first, because the patterns take longer
_STEMS: Final = ("prefer", "like", "love", "enjoy", "avoid", "hate", "detest", "favo", "stand",
                 "rather", "fan of", "fond", "keen")  # fmt: skip
_STEMS_TR: Final = ("sev", "bayil", "hoslan", "begen", "kacin", "tercih", "nefret", "favori")

_TIME_BOTH: Final = _WORDS["time"] | _WORDS["time_tr"]
#: longer texts are read only up to the last word needed
_SHORT: Final = 1_000

_DIGIT: Final = re.compile(r"\d")

#: Thai to Khmer, kana, Han, Hangul
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_MOST_WORDS_OF_A_NAME: Final = 4


def states_preference(text: str, folded: str | None = None) -> bool:
    """True if a text states what its speaker likes or avoids ("I prefer trains", "sevmem").

    Term *preference* of the ranking formula, for requests. Questions and wishes for now ("I would
    like to book ...") do not count.
    """
    folded = plain(text) if folded is None else folded
    if any(map(folded.__contains__, _STEMS)):
        found = _RE["prefers"].search(folded)
        if found and not _WOULD_LIKE.match(found.group()):
            return not ends_with_question(text)
    if any(map(folded.__contains__, _STEMS_TR)) and _RE["prefers_tr"].search(folded):
        return not ends_with_question(text)
    return False


def terms_of_time(text: str, most: int = 2, folded: str | None = None) -> int:
    """Number of words of time in a text, up to ``most``; ``folded`` is its `plain` form.

    Part of *prior* in the ranking formula: a fact with its time ("last week", "in June 2021") is
    worth more than one without.
    """
    known = _WORDS["time"]
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
                    and words[0] in _WORDS["also_words"]
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


_COLON: Final = re.compile("[:\uff1a]()()")
#: white space, byte-order marks and zero-width characters before a name
UNSEEN: Final = " \t\n\ufeff\u200b\u200c\u200d\u2060\u00ad"
#: most characters and words of a name
_NAME_CHARS: Final = 40
_NAME_WORDS: Final = 4
#: most white space before a name
_INDENT: Final = 16
#: a title or initial may end in a full stop: "Dr.", "J.", "Prof."
_TITLE_CHARS: Final = 4
#: words of a name that need no capital: "van", "de", "al"
_PARTICLE_CHARS: Final = 3
_JOINTS: Final = frozenset("-'.\u2019\u02bc\u00b7\u2010\u2011\u30fb")
_LONGEST_SPEAKER: Final = 200
_ASKS: Final = re.compile("[?\uff1f\u061f\u037e]")
#: characters of a text that are searched for speech
_SPOKEN_CHARS: Final = 2000


class Opening(NamedTuple):
    """The name that a text opens with.

    Attributes:
        name: the name as written, with single spaces.
        start: position of the text after it.
        proper: True if it is written like a name (capitalized in scripts with case, but not all in
            capitals) and is not a common heading ("Question:").
        role: True if it is a role of the user or the agent, see
            `spector.language.statements.roles.speaker_opening`.
    """

    name: str
    start: int
    proper: bool
    role: bool = False

    @property
    def folded(self) -> str:
        return folded_name(self.name)


def folded_name(name: str) -> str:
    """A name in the form for comparison: no case, no marks, single spaces."""
    return " ".join(plain(name).split())


def opening_of(text: str) -> Opening | None:
    """The name before the first colon of a text; None if there is no valid name.

    A name has one to four words of letters, marks, hyphens, apostrophes and full stops of initials,
    at most 40 characters, followed by a colon, white space and more text. So times ("10:30"),
    links, paths and shortcodes are not names.
    """
    found = _RE["tag"].match(text) or _COLON.search(text, 0, _INDENT + _NAME_CHARS + 1)
    if found is None:
        return None
    raw = text[: found.start()].strip().lstrip(UNSEEN) or found[1] or found[2] or ""
    words = raw.split()
    start = found.end()
    while start < len(text) and text[start].isspace():
        start += 1
    spaced = start > found.end() or not found.group().endswith(":")
    if start == len(text) or not spaced or "\n" in raw or not 1 <= len(words) <= _NAME_WORDS:
        return None
    name = " ".join(words)
    if len(name) > _NAME_CHARS or not all(_is_word(word, n) for n, word in enumerate(words)):
        return None
    if len(words) == 1 and len(name) == 1 and _has_case(name):
        return None
    proper = _is_proper(words)
    if not proper and found[1] and found.group().endswith("]:"):
        return None  # "[link]: target" of Markdown
    return Opening(name, start, proper)


def later_openings(text: str, opening: Opening) -> Iterator[Opening]:
    """Names that later lines of a text open with, as in transcripts, mail headers and lists."""
    at = text.find("\n", opening.start)
    while at >= 0:
        at += 1
        line = text[at : at + _INDENT + _NAME_CHARS + 8]
        if _COLON.search(line):
            found = opening_of(line.partition("\n")[0])
            if found is not None:
                yield found
        at = text.find("\n", at)


def words_of(text: str, speaker: str | None) -> str:
    """A text without the name of its speaker at the start.

    The index has a field of its own for the speaker.
    """
    if not speaker or not _COLON.search(text, 0, _INDENT + _NAME_CHARS + 1):
        return text
    opening = opening_of(text)
    if opening is None or opening.folded != folded_name(speaker):
        return text
    return text[opening.start :]


def without_dates(text: str) -> str:
    """A text without the days that were noted behind its words, which change no ranking."""
    return _RE["noted_day"].sub("", text) if "[" in text else text


def searched_words(text: str, role: object, metadata: object) -> str:
    """What is embedded of a memory: what it answers or corrects, and its `words_of`."""
    words = without_dates(words_of(text, speaker_in(role, metadata)))
    before = turn_before_in(metadata)[1]
    return f"{before} {words}" if before else words


def speaker_in(role: object, metadata: object) -> str | None:
    """The speaker: ``speaker`` or ``name`` of the metadata, else the role of the message.

    A number or a list under these keys counts as a name too, and overrides the role.
    """
    if isinstance(metadata, Mapping):
        for key in ("speaker", "name"):
            name = metadata.get(key)
            if name is not None and (said := str(name).strip()):
                return said[:_LONGEST_SPEAKER]
    return role if isinstance(role, str) and role else None


def says_i(words: str) -> bool:
    """True for a first person or an initial greeting in one of several languages."""
    folded = plain(words[:_SPOKEN_CHARS]).replace("\u2019", "'")
    return _RE["i"].search(folded) is not None or _RE["greets"].match(folded) is not None


def is_question(words: str) -> bool:
    """True if a text has a question mark of any script."""
    return _ASKS.search(words, 0, _SPOKEN_CHARS) is not None


def _is_word(word: str, place: int) -> bool:
    """True for letters with marks and signs that names have; full stops only after titles.

    A title at the start may be in lower case: "dr. kim", but not "I went home. Kim".
    """
    if not word[0].isalpha():
        return False
    for char in word:
        if not (char.isalpha() or char in _JOINTS or unicodedata.category(char)[0] == "M"):
            return False
    stem = word.rstrip(".")
    if len(word) - len(stem) > 1:
        return False
    is_title = len(stem) <= _TITLE_CHARS and (not place or not word[0].islower())
    return stem == word or "." in stem or is_title


def _has_case(char: str) -> bool:
    return char.lower() != char.upper()


def _is_proper(words: list[str]) -> bool:
    cased = [word for word in words if _has_case(word[0])]
    folded = plain(" ".join(words))
    if folded in _WORDS["heads"] or folded.removesuffix("s") in _WORDS["heads"]:
        return False
    if not cased:
        return True
    if any(word[0].islower() and len(word) > _PARTICLE_CHARS for word in cased):
        return False
    if not cased[-1][0].isupper():
        return False
    letters = [word for word in cased if len(word) > 1 and "." not in word]
    return not (letters and all(map(str.isupper, letters)))

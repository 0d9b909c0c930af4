"""Messages that try to command the agent: orders to drop its rules, false roles, hidden prompts.

Patterns of every language are tried on every text, as it is written and with its disguises taken
off: marks between letters, digits for letters, letters set apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from spector.language.observing.literals import Screen
from spector.language.observing.rules import patterns_of_all
from spector.language.words import normalize_nfkc, plain

#: what a longer text says beyond this is not tried
_MOST_CHARS: Final = 20_000
#: letters of no width, soft hyphens, marks that turn the direction of writing
_UNSEEN: Final = re.compile(
    "[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)
_SPACES: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\s*\n\s*")
#: signs that stand for a letter
_SIGNS: Final = str.maketrans("013457@$|!", "oieastasii")
#: letters of other scripts that look like Latin ones
_ALIKE: Final = str.maketrans("аеорсухіѕјκονρτυ", "aeopcyxisjkovptu")
#: letters one by one: "i g n o r e", "i-g-n-o-r-e"
_APART: Final = re.compile(r"(?<!\w)\w(?:[ .\-_*]\w){2,}(?!\w)")
#: longest run of letters that is taken for words, and longest word in it
_LONGEST_RUN: Final = 400
_LONGEST_WORD: Final = 16
#: words in a pattern
_LITERAL: Final = re.compile(r"(?<![\\a-z])[a-z]{2,}")
#: takes back what the speaker said, or a matter of his of which he then says what is so
_TAKEN_BACK: Final = re.compile(
    r"\b(?:ignore|disregard|forget|scrap|drop|skip|throw out|set aside|cancel|erase|delete|override"
    r"|(?:do not|don't) follow) (?:[^.!?;:\n]{0,60}?"
    r"(?:\b(?:i|we)(?:'ve| have| had)?(?: just| already)?"
    r" (?:told|said|say|gave|wrote|sent|set|left|mentioned|asked|made|put|typed|listed)\b"
    r"|\b(?:my|our)\b)[^.!?;,:\n]{0,60}"
    r"|[^.!?;:\n]{0,40}?(?:\b(?:about|regarding|before|on)\b[^.!?;,:\n]{1,40}|\b\w+)"
    r"[,;] (?=(?:i|i'm|we|my|our|it|it's|he|she|they|the) [^\n]{3}))"
    r"|\b\w+(?:[iu]m[iu]|[iu]m[iu]z[iu]|d[iu]g[iu]m\w*|dikler[iu]m\w*|(?<!lar)(?<!ler)[iu])"
    r" (?:unut|yok say|dikkate alma|iptal et|bos ver|gormezden gel|sil)[.,;]"
    r"(?= [^.!?\n]*(?:yor(?:um|uz)|[dt][iu](?:m|k)|\b\d|yaz|g[iu]n[iu])\b)"
)
#: what is the agent's own, or the store's
_OF_AGENT: Final = re.compile(
    r"\b(?:you(?:r|rs|'re)?|system|developers?|guidelines?|polic\w+|safety|filters?|moderation"
    r"|ethic\w*|ai|assistants?|users?|admins?|security|programming|confidential\w*|secrets?|models?"
    r"|sistem\w*|guvenlik\w*|sana|filtre\w*|gelistirici\w*)\b(?! (?:about|that)\b)"
)
_MARKS: Final = re.compile(r"(?<=\w)[*_~`]{1,8}|[*_~`]{1,8}(?=\w)")
_JOINERS: Final = re.compile(r"(?<=\w)[-_.+/]{1,8}(?=\w)")


def is_injection(text: str) -> bool:
    """True if a text commands the agent to drop its rules, takes a role or asks for its prompt.

    To take back what one has said oneself is a correction: that clause is not tried.
    """
    screen = _screen()
    return any(
        screen.matches(form) and screen.matches(_TAKEN_BACK.sub(_unless_of_agent, form))
        for form in _forms(text[:_MOST_CHARS])
    )


def _unless_of_agent(clause: re.Match[str]) -> str:
    return clause.group() if _OF_AGENT.search(clause.group()) else " "


def is_system_content(text: str) -> bool:
    """True if a text holds tags of a system, or is a heartbeat or a notice of the host program."""
    folded = plain(text[:_MOST_CHARS])
    return any(each.search(folded) for each in patterns_of_all("system"))


def _joined(letters: re.Match[str]) -> str:
    """Letters that stand apart as the words that patterns are made of, or else as one word."""
    word = re.sub(r"[ .\-_*]", "", letters.group())
    ends = [0] + [-1] * len(word)  # where the last word of a way to each place begins
    words = _words_of_attacks()
    for at in range(1, min(len(word), _LONGEST_RUN) + 1):
        for start in range(max(0, at - _LONGEST_WORD), at):
            if ends[start] >= 0 and word[start:at] in words:
                ends[at] = start
                break
    if len(word) > _LONGEST_RUN or ends[-1] < 0:
        return word
    parts, at = [], len(word)
    while at:
        parts.append(word[ends[at] : at])
        at = ends[at]
    return " ".join(reversed(parts))


@lru_cache(maxsize=1)
def _screen() -> Screen:
    return Screen(patterns_of_all("injection"))


@lru_cache(maxsize=1)
def _words_of_attacks() -> frozenset[str]:
    return frozenset(
        word for each in patterns_of_all("injection") for word in _LITERAL.findall(each.pattern)
    )


def _forms(text: str) -> Iterator[str]:
    """The text folded, and without its disguises where it has some."""
    seen = plain(_UNSEEN.sub("", normalize_nfkc(text)))
    first = _LINES.sub("\n", _SPACES.sub(" ", seen))
    yield first
    bare = _MARKS.sub("", first.translate(_ALIKE))
    together = _LINES.sub("\n", _SPACES.sub(" ", _APART.sub(_joined, seen.translate(_ALIKE))))
    for form in dict.fromkeys((
        bare, together, _JOINERS.sub(" ", bare), bare.translate(_SIGNS),
        together.replace("\n", " "),
    )):  # fmt: skip
        if form != first:
            yield form

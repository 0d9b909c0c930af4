"""The tense of the sentence around a date, which decides between last Friday and next Friday."""

from __future__ import annotations

import enum
import itertools
import re
from typing import Final

from spector.language.words import plain

__all__ = ["Tense", "tense_of"]

_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_FUTURE: Final = frozenset(
    """will shall won't i'll we'll he'll she'll they'll you'll it'll gonna plan plans planning
    should must can could please let let's going want wants would need needs hope book schedule
    remind due deadline""".split()
)
_PAST: Final = frozenset(
    """was were did didn't had wasn't weren't went met came got made took saw said told gave found
    left began bought brought built caught chose did drank drove ate fell felt flew forgot grew
    heard held kept knew led lost meant paid ran sang sat sent sold spent spoke spent stood swam
    taught thought understood woke won wore wrote became broke hid hit hurt put read ago""".split()
)
_TURKISH_PAST: Final = re.compile(
    r"(?:[dt][iu](?:m|n|k|niz|nuz|lar|ler)?|m[iu]s(?:t[iu])?(?:m|n|k|lar|ler)?)$"
)
_TURKISH_FUTURE: Final = re.compile(
    r"(?:[ae]ca(?:k|g)|ece(?:k|g))(?:im|in|iz|siniz|siniz|lar|ler|sin|ti|tim|tik)?$"
)
_NOT_PAST: Final = frozenset(
    "simdi haydi hadi kedi yedi kendi pazartesi cumartesi sali toplanti".split()
)


#: what a plan was given another day by, and what stands before that day
_SHIFT: Final = re.compile(
    r"\b(?:moved|postponed|pushed|rescheduled|delayed|shifted|bumped|changed|deferred|brought|put"
    r"|extended|adjourned)\b"
    r"|\b(?:\w{2,}ed|slid|gone|went|got)(?: (?:back|forward|forwards|over|out|on|again))* to$"
)
_TO: Final = (" to", " until", " till", " for")
_TURKISH_SHIFT: Final = re.compile(
    r"\b(?:aldi|alindi|ertele\w*[dt]i|kaydi|kaydir\w*[dt]i|cek(?:ti|ildi)|tasin?di|at(?:ti|ildi))"
    r"(?:m|k|lar|ler)?\b"
)
_DATIVE: Final = re.compile(r"(?:\d{1,2}\.? )?[a-z]+'?y?[ae]\b")
#: what is booked lies ahead, though the booking is past: "booked the surgery for 12 June"
_BOOKED: Final = re.compile(
    r"\b(?:(?:re|pre)?booked|reserved|(?:pre|re)?scheduled|arranged|planned|registered|signed up"
    r"|enrolled|appointments?|reservations?|bookings?|tickets?)\b"
    r".*?\b(?:for|until|till|from|between)"
    r"(?: the| (?:the )?(?:week|weekend|night|morning|afternoon|evening) of"
    r"| [\d:.]+ ?(?:am|pm|o'clock)? on)?$"
)
_IS_BOOKED: Final = re.compile(
    r"(?:\b(?:is|are|am)(?: not)?|'s|'re|'m)(?: (?:now|already|all))?"
    r" (?:(?:re)?booked|(?:re)?scheduled|arranged|planned)\b"
)
#: what was booked once and may be over
_HAD: Final = re.compile(r"\b(?:had|used to|originally)\b")
#: a preposition that belongs to the date
_LEADING: Final = re.compile(r"(?:from|between|until|till|for) ")
_TURKISH_BOOKED: Final = re.compile(
    r"\b(?:(?:ayirt?t?|rezerve et|ayarla|planla|kararlastir|planlan|ayarlan|ayril|kesinles)[dt]i"
    r"|(?:randevu|bilet|yer|rezervasyon)\w*(?: \w+)? (?:al|yap|yaptir|kap|bul|ver|alin|veril)[dt]i)"
    r"(?:m|k|lar|ler)?\b"
)
_FOR_IT: Final = re.compile(r"[^,;]{2,30}? icin\b")
#: characters of a date that tell its case
_NEAR: Final = 16


class Tense(enum.Enum):
    PAST = "past"
    FUTURE = "future"
    NONE = "none"


def tense_of(text: str, at: int, *, turkish: bool) -> Tense:
    """The tense of the sentence in which a place stands."""
    start = 0
    for found in _ENDS.finditer(text, 0, at):
        start = found.end()
    after = _ENDS.search(text, at)
    sentence = plain(text[start : after.start() if after else len(text)])
    words = _WORD.findall(sentence)
    before, since = plain(text[start:at]), plain(text[at:])
    if not turkish and (leading := _LEADING.match(since)):
        before += leading.group()
    if _is_moved_to(before, since[:_NEAR], sentence, turkish=turkish):
        return Tense.FUTURE
    if _is_booked_for(before, since, sentence, turkish=turkish):
        return Tense.FUTURE
    if turkish:
        return _turkish(words)
    if any(word in _FUTURE for word in words):
        return Tense.FUTURE
    for previous, word in itertools.pairwise(("", *words)):
        told = word.endswith("ed") and len(word) > 4 and word not in ("need", "wed")
        if word in _PAST or (told and not previous.endswith("ing")):  # "is getting married"
            return Tense.PAST
    return Tense.NONE


def _is_moved_to(before: str, date: str, sentence: str, *, turkish: bool) -> bool:
    """Whether a date is what something was moved to: "moved the wedding to October"."""
    if turkish:
        return bool(_DATIVE.match(date)) and bool(_TURKISH_SHIFT.search(sentence))
    before = before.rstrip()
    return before.endswith(_TO) and bool(_SHIFT.search(before))


def _is_booked_for(before: str, since: str, sentence: str, *, turkish: bool) -> bool:
    """Whether a date is what something was booked for: "reserved a table for Friday"."""
    if turkish:
        ahead = _FOR_IT.match(since) or _DATIVE.match(since)
        return bool(ahead) and bool(_TURKISH_BOOKED.search(sentence))
    if _HAD.search(sentence):
        return False
    before = before.rstrip()
    return bool(_BOOKED.search(before)) or bool(_IS_BOOKED.search(before))


def _turkish(words: list[str]) -> Tense:
    for word in reversed(words[-3:]):
        if word in _NOT_PAST or len(word) < 4:
            continue
        if _TURKISH_FUTURE.search(word):
            return Tense.FUTURE
        if _TURKISH_PAST.search(word):
            return Tense.PAST
    return Tense.NONE

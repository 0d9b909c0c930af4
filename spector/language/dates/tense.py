"""The tense of the sentence around a date, which decides between last Friday and next Friday."""

from __future__ import annotations

import enum
import itertools
import re
from typing import Final

from spector.language.words import plain

__all__ = ["SHIFTS", "Tense", "tense_of"]

_ENDS: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_FUTURE: Final = frozenset(
    """will shall won't i'll we'll he'll she'll they'll you'll it'll gonna plan plans planning
    should must can could please let let's going want wants would need needs hope book schedule
    remind due""".split()
)
_PAST: Final = frozenset(
    """was were did didn't had wasn't weren't went met came got made took saw said told gave found
    left began bought brought built caught chose did drank drove ate fell felt flew forgot grew
    heard held kept knew led lost paid ran sang sat sent sold spent spoke spent stood swam
    taught thought understood woke won wore wrote became broke hid hit hurt put read ago been quit
    split set shut cut spread burst slept chose lent swore fought rode rose shook stuck threw blew
    drew gone done seen""".split()
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
SHIFTS: Final = (
    "moved postponed pushed rescheduled delayed shifted bumped changed deferred brought put"
    " extended adjourned"
).split()
_SHIFT: Final = re.compile(
    rf"\b(?:{'|'.join(SHIFTS)})\b"
    r"|\b(?:\w{2,}ed|slid|gone|went|got)(?: (?:back|forward|forwards|over|out|on|again))* to$"
)
_TO: Final = (" to", " until", " till", " for", " from")
_TURKISH_SHIFT: Final = re.compile(
    r"\b(?:aldi|alindi|ertele\w*[dt]i|kaydi|kaydir\w*[dt]i|cek(?:ti|ildi)|tasin?di|at(?:ti|ildi))"
    r"(?:m|k|lar|ler)?\b"
)
_DATIVE: Final = re.compile(r"(?:\d{1,2}\.? )?[a-z]+'?y?[ae]\b")
#: what is booked lies ahead, though the booking is past: "signed up for the run on 12 June"
_BOOKED: Final = re.compile(
    r"\b(?:(?:re|pre)?book(?:ed|ing)|reserved|(?:pre|re)?scheduled|arranged|planned|registered"
    r"|sign(?:ed|ing)(?: \w+){0,3} up|enroll?ed|invited)\b"
)
#: a thing that lies ahead, unless the text says more of it than how one came by it
_APPOINTED: Final = re.compile(
    r"\b(?:appointments?|reservations?|bookings?|tickets?|invitations?|deadlines?)\b"
)
_CAME_BY: Final = frozenset("made got bought found gave".split())
#: what was booked once and may be over
_HAD: Final = re.compile(r"\b(?:had|used to|originally)\b")
#: a preposition that belongs to the date
_LEADING: Final = re.compile(r"(?:until|till) ")
_TURKISH_BOOKED: Final = re.compile(
    r"\b(?:(?:ayirt?t?|rezerve et|ayarla|planla|kararlastir|planlan|ayarlan|ayril|kesinles)[dt]i"
    r"|(?:randevu|bilet|yer|rezervasyon)\w*(?: \w+)? (?:al|yap|yaptir|kap|bul|ver|alin|veril)[dt]i)"
    r"(?:m|k|lar|ler)?\b"
)
_FOR_IT: Final = re.compile(r"[^,;]{2,30}? icin\b")
#: characters of a date that tell its case
_NEAR: Final = 16


#: who does something, and what is so, makes a clause of the words around a date
_CLAUSE: Final = re.compile(
    r"\b(?:i|we|you|he|she|it|they|is|are|am|has|have|do|does)\b|'(?:s|m|re|ve)\b"
    r"|\w (?:on|in|at|by|until|till|before|after|from)(?: the)? $"
)


class Tense(enum.Enum):
    PAST = "past"
    FUTURE = "future"
    NONE = "none"
    #: no clause is there that could tell
    UNKNOWN = "unknown"


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
        if _is_past(word) and (word in _PAST or not previous.endswith("ing")):  # "getting married"
            return Tense.PAST
    is_clause = _CLAUSE.search(sentence) or _CLAUSE.search(before)
    return Tense.NONE if is_clause else Tense.UNKNOWN


def _is_past(word: str) -> bool:
    return word in _PAST or (word.endswith("ed") and len(word) > 4)


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
    if _BOOKED.search(before):
        return True
    return bool(_APPOINTED.search(sentence)) and not any(
        _is_past(word) and word not in _CAME_BY for word in _WORD.findall(sentence)
    )


def _turkish(words: list[str]) -> Tense:
    for word in reversed(words[-3:]):
        if word in _NOT_PAST or len(word) < 4:
            continue
        if _TURKISH_FUTURE.search(word):
            return Tense.FUTURE
        if _TURKISH_PAST.search(word):
            return Tense.PAST
    return Tense.NONE

"""What limits a statement: "900 euros with bills", "no coffee after 4 pm", "brüt 60 bin"."""

from __future__ import annotations

import re
from typing import Final

from spector.clock import from_ms
from spector.language.dates import dates_in
from spector.language.frames.values import is_date
from spector.language.statements import NOW
from spector.language.words import plain

#: a time of life that is over
_LONG_AGO: Final = re.compile(
    r"\b(?:(?:years|decades|ages|long) (?:ago|before)|when (?:i|we) (?:was|were)|back then"
    r"|as an? (?:child|kid|teenager|student|boy|girl)|after (?:school|college|university)"
    r"|in my (?:youth|childhood|teens|twenties|thirties|forties)"
    r"|yillar once|cocukken|(?:ogrenci|genc)yken)\b"
)
#: units of a group can be counted in each other; those of two groups, or of none, cannot
UNIT_GROUPS: Final = tuple(
    frozenset(each.split())
    for each in ("s min h day week month year", "g kg", "cm m km", "mb gb tb")
)
_UNIT: Final = (
    r"(?:second|minute|hour|night|day|week|weekend|month|quarter|year|person|head|piece|user|kilo|"
    r"litre|liter|mile|km|kg)"
)
_CONDITION: Final = (
    r"for|during|while|whilst|when|whenever|if|unless|except|before|after|without|until|past"
)
_PLACES: Final = r"with|in|at|on|per|by|to|under|over|between|within"
_RATE: Final = rf"(?:a|an|each|every|per)\s+{_UNIT}s?\b"
#: of a measure, a time or a key, what stands behind it tells which one it is
_BEHIND_MEASURE: Final = re.compile(rf"(?:{_CONDITION}|{_PLACES})\s+\S|{_RATE}|['\u2019]\d")
#: of a name only a condition does: the rest belongs to the name
_BEHIND_NAME: Final = re.compile(r"(?:during|while|whilst|when|whenever|if|unless|for)\s+\S")
_BEHIND_DENIAL: Final = re.compile(
    rf"(?:{_CONDITION}|with|in|at|on|by|under|from)\s+\S|(?:each|every|all)\s+\S"
)
#: what stands behind a statement and limits nothing
_NO_LIMIT: Final = re.compile(
    r"(?:in (?:general|fact|particular|truth|total|my opinion|the least)|at (?:all|the moment|least"
    r"|present|the end|this point)|for (?:now|sure|real|years|ages|good|example|instance|me|free"
    r"|(?:a|\d+|many|several|two|three) .{0,12}(?:time|while|years?|months?|weeks?|days?))"
    r"|on (?:purpose|the whole|it)|by (?:the way|far|now|heart)|to be \w+|after all"
    r"|when (?:i was|he was|she was)|until now|if (?:i remember|i recall|you|that|possible)"
    r"|with (?:pleasure|that said))\b"
)
_ENDS: Final = re.compile(
    r"[,;:.!?()]|\s[-\u2013\u2014]\s"
    r"|\s(?:and|but|because|so|since|which|or|though|although|anymore|now)\b"
)
#: the denial is of the limit alone: "I don't only speak Spanish"
_PARTLY: Final = re.compile(
    r"\b(?:only|just|always|exclusively|solely|necessarily|sadece|yalnizca|yalniz|her zaman"
    r"|sirf)\b"
)
_KEYS: Final = frozenset(
    "password username address email phone url host account pin key code".split()
)
#: which amount is meant, said before it
_TURKISH_AMOUNT: Final = re.compile(
    r"\b(brut|net|saatlik|gunluk|haftalik|aylik|yillik|gecelik|kisi basi|vergisiz|vergili)\b"
)
_TURKISH_LIMIT: Final = re.compile(
    r"\b(?:[^\W\d_]{2,}(?:[dt][ae]|['\u2019][dt][ae]|ken|[iu]nca)|[^\W\d_]+ (?:once|sonra|icin"
    r"|ile|disinda|boyunca)|[^\W\d_]{3,}(?:larla|lerle|yla|yle))(?=\s|$)"
)
_TURKISH_FREE: Final = frozenset(
    """aslinda hakkinda burada orada surada arada sonunda zamanda normalde genelde galiba
    hayatimda anda halde esasinda ayrica neyse zamanlarda aralarda
    herhalde bende bizde sende gercekte""".split()
)
_FRONTED: Final = re.compile(
    rf"\W*(?:(?:and|but|well|so)\s+)?((?:{_CONDITION}|at|on|in|with)\s+[^,]{{2,40}}?)"
    r"(?=,|\s+(?:i|we|you|he|she|they|my|our)\b)"
)
_FILLER: Final = re.compile(
    r"\b(?:fact|record|way|thought|general|all|first|truth|moment|honest|opinion|now|last|that"
    r"|course|end|once|least|then|years?|ages)\b"
)
_PAST_TIME: Final = re.compile(
    r"\s*((?:last|the previous) (?:week|month|year|spring|summer|autumn|fall|winter|season)"
    r"|(?:\d+|a|two|three|four|five|six|ten|many|some) (?:days?|weeks?|months?|years?) ago)\b"
)
_DETERMINED: Final = re.compile(r"\b(?:a|an|the|my|our|his|her|their|some|bir)\s*$")
_WEEKDAY: Final = re.compile(
    r"\b(?:on|at|by|in)\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d)[^a-z]*$"
)


def limit_of(
    predicate: str,
    *,
    is_value: bool,
    is_denied: bool,
    is_turkish: bool,
    before: str,
    value: str,
    behind: str,
) -> str:
    """What limits a statement, in folded words; "" for one that holds in general.

    Args:
        is_value: one of several that a predicate may have, of which it has one at a time.
        before: what its sentence says before the value; behind: after it, to the end.
    """
    value, behind, before = plain(value), plain(behind), plain(before)
    if is_value and not is_denied:
        return _of_value(predicate, value, behind)
    found = _turkish(before) if is_turkish else _fronted(before)
    found.append(_tail(behind, _BEHIND_DENIAL))
    if is_denied:
        found += _PARTLY.findall(before)
    return " ".join(each for each in found if each)


def _of_value(predicate: str, value: str, behind: str) -> str:
    """What limits a value: which price, whose dose, the password of what."""
    core = re.split(rf"\s(?:{_CONDITION}|{_PLACES})\s", value, maxsplit=1)[0]
    amount = " ".join(_TURKISH_AMOUNT.findall(value))
    measured = (
        any(map(str.isdigit, core))
        or bool(amount)
        or is_date(core)
        or predicate.rpartition("_")[2] in _KEYS
    )
    pattern = _BEHIND_MEASURE if measured else _BEHIND_NAME
    rest = value[len(core) :] + behind
    tail = _tail(rest, pattern)
    if predicate == "scheduled_for" and _WEEKDAY.search(tail):
        tail = ""  # the day belongs to the hour
    return f"{amount} {tail}".strip()


def _tail(text: str, pattern: re.Pattern[str]) -> str:
    found = _ENDS.search(text)
    text = text[: found.start()] if found else text
    text = text if text[:1] in "'\u2019" else text.strip()
    if not pattern.match(text) or _NO_LIMIT.match(text):
        return ""
    return " ".join(word for word in text.split() if word not in ("the", "a", "an", "my", "our"))


def _turkish(before: str) -> list[str]:
    """Limits stand before the value: "kahvaltıda süt içmem"."""
    found = (" ".join(one.group().split()) for one in _TURKISH_LIMIT.finditer(before))
    return [each for each in found if each not in _TURKISH_FREE]


def _fronted(before: str) -> list[str]:
    """What a sentence opens with: "on exam days I drink coffee"."""
    found = _FRONTED.match(before)
    return [] if found is None or _FILLER.search(found[1]) else [found[1].strip()]


def is_common_noun(value: str, before: str) -> bool:
    """Whether a value is a kind of thing, "a bank", "the Frankfurt branch", and not a name."""
    words = value.split()
    return (
        bool(words)
        and words[-1].islower()
        and words[-1].isalpha()
        and (_DETERMINED.search(plain(before)) is not None)
    )


def past_time(behind: str) -> str | None:
    """The time of the past that stands right behind a value: "last year"; None for none."""
    found = _PAST_TIME.match(plain(behind))
    return found[1] if found else None


def is_of_before(text: str, said_ms: int, then_ms: int) -> bool:
    """Whether what a text tells was over before a moment: "I moved to Rome in 2010".

    Args:
        said_ms: when it was said.
    """
    folded = plain(text)
    if NOW.search(folded):
        return False
    then = from_ms(then_ms).date()
    return _LONG_AGO.search(folded) is not None or any(
        each.period.end is not None and each.period.end <= then
        for each in dates_in(text, from_ms(said_ms).date())
    )

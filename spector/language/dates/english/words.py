"""English words of dates, folded."""

from __future__ import annotations

from typing import Final

__all__ = [
    "COUNTS", "DAYS", "DECADES", "MONTHS", "ORDINALS", "PARTS", "SEASONS", "SHORT_WEEKDAYS",
    "STEPS", "TEENS", "TENS", "UNITS", "VAGUE", "WEEKDAYS",
]  # fmt: skip

_ONES: Final = "one two three four five six seven eight nine".split()
_TEENS: Final = (
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()

COUNTS: Final = {word: n for n, word in enumerate(_ONES, 1)}
TEENS: Final = {word: n for n, word in enumerate(_TEENS, 10)}
TENS: Final = {word: 10 * n for n, word in enumerate(_TENS, 2)}
#: "a few days" is no exact number of them
VAGUE: Final = {"few": 3, "several": 5, "couple": 2, "some": 3}

_ORDINAL_ONES: Final = "first second third fourth fifth sixth seventh eighth ninth".split()
_ORDINAL_TEENS: Final = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth"
    " nineteenth"
).split()
ORDINALS: Final = {
    **{word: n for n, word in enumerate(_ORDINAL_ONES, 1)},
    **{word: n for n, word in enumerate(_ORDINAL_TEENS, 10)},
    "twentieth": 20, "thirtieth": 30,
}  # fmt: skip

_MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()
MONTHS: Final = {
    **{word: n for n, word in enumerate(_MONTHS, 1)},
    **{word[:3]: n for n, word in enumerate(_MONTHS, 1)},
    "sept": 9,
}  # fmt: skip

_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS: Final = {word: n for n, word in enumerate(_WEEKDAYS)}
#: shortened; "sun", "sat" and "wed" are words as well
SHORT_WEEKDAYS: Final = {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
    "sat": 5, "sun": 6,
}  # fmt: skip

_UNITS: Final = {
    "day": "day", "week": "week", "wk": "week", "fortnight": "fortnight", "month": "month",
    "quarter": "quarter", "year": "year", "yr": "year", "decade": "decade", "century": "century",
    "weekend": "weekend", "night": "day", "half": "half",
}  # fmt: skip
UNITS: Final = {
    **_UNITS, **{f"{word}s": unit for word, unit in _UNITS.items()}, "centuries": "century",
}  # fmt: skip

SEASONS: Final = {
    "spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn",
    "winter": "winter",
}  # fmt: skip

#: word before a unit -> how many units from that of today
STEPS: Final = {
    "this": 0, "current": 0, "same": 0, "next": 1, "coming": 1, "upcoming": 1, "following": 1,
    "last": -1, "past": -1, "previous": -1, "prior": -1,
}  # fmt: skip

DAYS: Final = {
    "today": 0, "tonight": 0, "tonite": 0, "tomorrow": 1, "tmrw": 1, "tmr": 1, "yesterday": -1,
}  # fmt: skip

PARTS: Final = {
    "early": "early", "beginning": "early", "start": "early", "mid": "mid", "middle": "mid",
    "late": "late", "end": "late",
}  # fmt: skip

DECADES: Final = {
    **{word.removesuffix("y") + "ies": tens for word, tens in TENS.items()},
}  # fmt: skip

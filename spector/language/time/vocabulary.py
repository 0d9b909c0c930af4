"""Word tables of time expressions, English and Turkish, folded like `plain`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = [
    "ABBREVIATED", "AGO", "AMBIGUOUS", "CASES", "DAYS", "ENGLISH", "HOLIDAYS", "MONTHS", "NUMBERS",
    "ONLY_WITH_DAY", "ORDINALS", "PARTS", "SEASONS", "STEPS", "TURKISH_STEPS", "TURKISH_UNITS",
    "UNITS", "VAGUE", "WEEKDAYS",
]  # fmt: skip

#: endings of Turkish cases and adjectives, written with or without an apostrophe
CASES: Final = frozenset(
    """de da te ta den dan ten tan e a ye ya i u in un nin nun si su ki deki daki teki taki inda
    unda sinda sunda inde unde sinde ine una inden undan""".split()
)


def _inflected(names: Iterable[tuple[str, int]]) -> dict[str, int]:
    return {name + case: number for name, number in names for case in ("", *CASES)}


_ENGLISH_MONTHS: Final = (
    "january february march april may june july august september october november december"
).split()
_TURKISH_MONTHS: Final = (
    "ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik"
).split()

#: full names of months -> 1..12
MONTHS: Final = {
    **_inflected(zip(_TURKISH_MONTHS, range(1, 13), strict=True)),
    **{name: n for n, name in enumerate(_ENGLISH_MONTHS, 1)},
}
#: months in German, French, Spanish, Italian and Portuguese that differ from English
_OTHER_MONTHS: Final = (
    "januar janner janvier enero gennaio janeiro", "februar fevrier febrero febbraio fevereiro",
    "marz mars marzo marco", "avril abril aprile", "mai mayo maggio maio",
    "juni juin junio giugno junho", "juli juillet julio luglio julho", "aout agosto",
    "septembre septiembre settembre setembro", "oktober octobre octubre ottobre outubro",
    "novembre noviembre novembro", "dezember decembre diciembre dicembre dezembro",
)  # fmt: skip
#: abbreviations and names in other languages; they need a day or a year
ABBREVIATED: Final = {
    **{name[:3]: n for n, name in enumerate(_ENGLISH_MONTHS, 1)}, "sept": 9,
    **{name: n for n, names in enumerate(_OTHER_MONTHS, 1) for name in names.split()},
}  # fmt: skip
#: "Mars 2020" is a rover, "Marco 2023" may be anything
ONLY_WITH_DAY: Final = frozenset(("mars", "marco"))
#: names with other common meanings: they need a day, a year or a preposition
AMBIGUOUS: Final = frozenset((
    "may", "march",
    *(name + case for name in "mart ocak ekim kasim aralik".split()
      for case in ("", "e", "a", "i", "u", "in", "un", "ya", "ye", "su", "si")),
))  # fmt: skip

WEEKDAYS: Final = {
    **_inflected(
        (name, n)
        for n, name in enumerate("pazartesi sali carsamba persembe cuma cumartesi pazar".split())
    ),
    **{
        name: n
        for n, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
    },
}

#: units of time -> their English singular
UNITS: Final = {
    **{name: name for name in "minute hour day week weekend month quarter year".split()},
    **{f"{name}s": name for name in "minute hour day week weekend month quarter year".split()},
    "night": "day", "nights": "day", "min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour",
    "wk": "week", "wks": "week", "mo": "month", "yr": "year", "yrs": "year",
    **{
        name + case: unit
        for name, unit in (
            ("dakika", "minute"), ("saat", "hour"), ("gun", "day"), ("hafta", "week"),
            ("haftasonu", "weekend"), ("ay", "month"), ("yil", "year"), ("sene", "year"),
        )
        for case in ("", "de", "da", "ki", "deki", "daki", "nin", "in", "i", "si", "lik", "luk")
    },
}  # fmt: skip
#: Turkish units, which "önce" may follow
TURKISH_UNITS: Final = frozenset(
    name
    for name in UNITS
    if name.startswith(("dakika", "saat", "gun", "hafta", "ay", "yil", "sene"))
)

SEASONS: Final = {
    "spring": "spring", "springtime": "spring", "summer": "summer", "summertime": "summer",
    "autumn": "autumn", "fall": "autumn", "winter": "winter", "wintertime": "winter",
    **dict.fromkeys("yaz yazi yazin yazinda".split(), "summer"),
    **dict.fromkeys("kis kisi kisin kisinda".split(), "winter"),
    **dict.fromkeys("bahar bahari baharda baharinda ilkbahar ilkbaharda".split(), "spring"),
    **dict.fromkeys("sonbahar sonbahari sonbaharda sonbaharinda guz".split(), "autumn"),
}  # fmt: skip

#: word before a unit -> number of units from now
STEPS: Final = {
    "last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1,
    "upcoming": 1, "following": 1,
    "gecen": -1, "gectigimiz": -1, "onceki": -1, "bu": 0, "gelecek": 1, "onumuzdeki": 1, "son": -1,
}  # fmt: skip

#: Turkish ones of these, which are ignored before an English word ("her son fell")
TURKISH_STEPS: Final = frozenset("gecen gectigimiz onceki bu gelecek onumuzdeki son".split())
ENGLISH: Final = frozenset((
    *_ENGLISH_MONTHS, "spring", "summer", "autumn", "fall", "winter", "monday", "tuesday",
    "wednesday", "thursday", "friday", "saturday", "sunday", *(
        name for name in UNITS if name not in TURKISH_UNITS
    ),
))  # fmt: skip

#: "the second week of"
ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}

#: word -> days from today
DAYS: Final = {
    "today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1,
    "bugun": 0, "bugunku": 0, "dun": -1, "dunku": -1, "yarin": 1, "yarinki": 1, "evvelsi": -2,
}  # fmt: skip

AGO: Final = frozenset(("ago", "back", "earlier", "once", "onceki", "evvel"))

NUMBERS: Final = {
    **{
        word: n
        for n, word in enumerate(
            "one two three four five six seven eight nine ten eleven twelve".split(), 1
        )
    },
    "a": 1, "an": 1, "couple": 2, "few": 3, "several": 5, "fifteen": 15, "twenty": 20, "thirty": 30,
    **{
        word: n
        for n, word in enumerate("bir iki uc dort bes alti yedi sekiz dokuz on".split(), 1)
    },
    "birkac": 3, "yirmi": 20, "otuz": 30,
}  # fmt: skip
#: imprecise numbers
VAGUE: Final = frozenset(("couple", "few", "several", "birkac"))

PARTS: Final = {
    "early": "early", "beginning": "early", "start": "early", "mid": "mid", "middle": "mid",
    "late": "late", "end": "late", "basinda": "early", "basi": "early", "ortasinda": "mid",
    "sonunda": "late", "sonu": "late",
}  # fmt: skip

#: words of a holiday -> month and day of its first day, and its number of days
HOLIDAYS: Final = {
    ("christmas", "eve"): (12, 24, 1), ("christmas", "day"): (12, 25, 1),
    ("christmas",): (12, 24, 3),
    ("new", "year", "'", "s", "eve"): (12, 31, 1), ("new", "year", "'", "s", "day"): (1, 1, 1),
    ("new", "years", "eve"): (12, 31, 1), ("new", "year", "'", "s"): (12, 31, 2),
    ("halloween",): (10, 31, 1), ("valentine", "'", "s", "day"): (2, 14, 1),
    ("valentines", "day"): (2, 14, 1), ("yilbasi",): (12, 31, 2), ("yilbasinda",): (12, 31, 2),
    ("sevgililer", "gunu"): (2, 14, 1), ("cumhuriyet", "bayrami"): (10, 29, 1),
}  # fmt: skip

"""Where in a Turkish text a date may begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spector.language.dates.holidays import TURKISH_HOLIDAYS
from spector.language.dates.reader import Reader
from spector.language.dates.turkish import words as turkish

__all__ = ["turkish_places"]

#: beginnings of Turkish words of dates
_STEMS: Final = frozenset(
    word[:3]
    for table in (turkish.MONTHS, turkish.WEEKDAYS, turkish.UNITS, turkish.SEASONS, turkish.DAYS,
                  turkish.STEPS, turkish.ORDINALS)
    for word in table
) | frozenset(key[:3] for key in TURKISH_HOLIDAYS) | frozenset(
    "haf sen ayn on yir otu kir ell alt yet sek dok bin iki uc dor bes yed bir".split()
)  # fmt: skip


def turkish_places(r: Reader) -> Iterator[int]:
    """Words of a Turkish text from which a date may be read."""
    for at, word in enumerate(r.words):
        if word.text.isdecimal() or word.text[:3] in _STEMS or word.text == "ay":
            yield at

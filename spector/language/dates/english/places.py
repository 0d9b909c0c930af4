"""Where in an English text a date may begin: most words of a message need not be tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spector.language.dates.english import words as english
from spector.language.dates.holidays import ENGLISH_HOLIDAYS
from spector.language.dates.reader import Reader

__all__ = ["english_places"]

#: words that a date cannot do without
_CORE: Final = frozenset((
    *english.MONTHS, *english.WEEKDAYS, *english.SHORT_WEEKDAYS, *english.UNITS, *english.SEASONS,
    *english.DAYS, *english.DECADES, *(key.split()[0] for key in ENGLISH_HOLIDAYS),
    *"q h fy cy workday workdays workweek eoy eom eow boy bom century now other night morning"
    " afternoon evening business working work calendar thousand hundred".split(),
))  # fmt: skip
#: words that a date may begin with
_LEADS: Final = frozenset((
    *english.COUNTS, *english.TEENS, *english.TENS, *english.VAGUE, *english.ORDINALS,
    *english.STEPS, *english.PARTS,
    *"the a an another in on after before by until till til since from between within over no not"
    " as up through prior earlier later sooner greater more any anytime starting beginning rest"
    " remainder remaining final fiscal calendar '".split(),
))  # fmt: skip
#: words between the beginning of a date and the first word of its core
_REACH: Final = 9


def english_places(r: Reader) -> Iterator[int]:
    """Words of an English text from which a date may be read."""
    core = [word.text in _CORE or word.text.isdecimal() for word in r.words]
    near = 0
    found = []
    for at in range(len(core) - 1, -1, -1):
        near = _REACH if core[at] else near - 1
        if core[at] or (near > 0 and r.words[at].text in _LEADS):
            found.append(at)
    yield from reversed(found)

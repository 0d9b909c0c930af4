"""What a later text says anew: the words of an earlier one with another value in one place."""

from __future__ import annotations

import itertools
import re
from typing import Final

from spector.language.tables import patterns_of
from spector.language.tables import words_of as words_in
from spector.language.words import analyse, is_turkish, plain
from spector.process import keeps

_RE: Final = patterns_of("versions")

NOW: Final = _RE["now"]
NOW_TR: Final = _RE["now_tr"]
ASKS_TR: Final = _RE["asks_tr"]
_BE: Final = frozenset("am are be get is m re s not".split())
#: letters from which on "-ed" is an ending
_STEM: Final = 5
#: words of a value; in longer ones the subject differs as well
_VALUE: Final = 2
#: letters of a text that are compared
_LONGEST: Final = 2_000


def value_replaced(old: str, new: str) -> tuple[str, ...]:
    """The words of an old text in whose place a newer one has others and else goes as it does; none
    if it does not.

    Words may follow it. What stands before the value is what both are about. Both values have a
    number or none, and a capital or none. Words of the present ("now", "new") count for nothing.
    What denies a value gives none in its place.
    """
    if is_negated(new) and not is_negated(old):
        return ()
    (before, first), (after, second) = map(_lasting, (old, new))
    at = next(
        (n for n, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0
    )
    if not _says_what(" ".join(before[:at])):
        return ()
    for gone in range(1, min(_VALUE, len(before) - at) + 1):
        value, rest = before[at : at + gone], before[at + gone :]
        kind = _kind(first[at : at + gone])
        for come in range(1, min(_VALUE, len(after) - at) + 1):
            if (
                after[at + come :][: len(rest)] == rest
                and not set(value) <= set(after[at : at + come])
                and kind == _kind(second[at : at + come])
            ):
                return value
    return ()


def _kind(value: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether a value has a number, and whether it has a capital."""
    text = "".join(value)
    return any(map(str.isdecimal, text)), text != text.lower()


@keeps(512)
def _says_what(text: str) -> bool:
    return bool(analyse(text).content())


@keeps(4096)
def _lasting(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a text without those of the present: folded, and as they are written."""
    present = _RE["present"]
    words = [each for each in words_in(text[:_LONGEST]) if not present.fullmatch(each.text)]
    return tuple([each.text for each in words]), tuple([each.raw for each in words])


def asks_for_many(cue: str) -> bool:
    """Whether a cue has many answers ("What do I like?") or asks for a plural."""
    folded = plain(cue)
    return bool(_RE["open"].match(folded) or _RE["many"].search(folded))


def is_negated(text: str) -> bool:
    return bool(_RE["not"].search(plain(text)))


def is_of_now(text: str) -> bool:
    """Whether a text states a present fact: not past, possible or additional."""
    folded = plain(text)
    rest = _RE["turns"].sub(" ", folded)
    if any(_RE[each].search(rest) for each in ("also", "might", "was")):
        return False
    raw = re.findall(r"[^\W_]+", text)
    return not (is_turkish(text, folded) and _RE["was_tr"].search(rest)) and not any(
        len(form := plain(word)) >= _STEM
        and form.endswith("ed")
        and not form.endswith("eed")
        and not word[0].isupper()
        and not _RE["turns"].fullmatch(form)
        and plain(before) not in _BE
        for before, word in itertools.pairwise(raw)
    )

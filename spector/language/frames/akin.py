"""Words that are the same but for their endings, or one of which stands for the other."""

from __future__ import annotations

import re
from typing import Final

#: letters of a word that has other endings, and of its endings
_STEM, _ENDING = 4, 5
#: letters of what stands for a longer word, at most
_SHORTEST: Final = 4
#: case and person of a short Turkish noun: "odada", "odaya"
_CASE: Final = re.compile(r"(?:[dt][ae]n?|n?y?[ae]|n?y?[iu]|n?[iu]n|l[ae]r|m)?$")


def met(ones: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Those words of the first that are also in the second, whatever their endings."""
    by_letter: dict[str, list[str]] = {}
    for other in others:  # words that are akin begin with the same letter
        by_letter.setdefault(other[:1], []).append(other)
    return frozenset(
        one for one in ones if any(_are_akin(one, other) for other in by_letter.get(one[:1], ()))
    )


def _are_akin(one: str, other: str) -> bool:
    if one == other or _is_short_for(one, other) or _is_short_for(other, one):
        return True
    pairs = zip(one, other, strict=False)
    n = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    if any(map(str.isdigit, one + other)):
        return False
    if n == _STEM - 1 and _CASE.fullmatch(one[n:]) and _CASE.fullmatch(other[n:]):
        return True
    return (
        f"{one}s" == other
        or f"{other}s" == one
        or (n >= _STEM and max(len(one), len(other)) - n <= _ENDING)
    )


def _is_short_for(short: str, word: str) -> bool:
    """ "pw" of password, "appt" of appointment, "mtg" of meeting: letters in their order."""
    if not 2 <= len(short) <= _SHORTEST < len(word) or short[0] != word[0] or not word.isalpha():
        return False
    if not set(short[1:]).isdisjoint("aeiou") or not short.isalpha():
        return False
    letters = iter(word)
    return all(each in letters for each in short)

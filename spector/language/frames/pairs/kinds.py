"""Values of a sentence by their kind: hours, days, amounts, codes, numbers to call, names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spector.language.frames.pairs.lines import Line
from spector.language.frames.pairs.values import in_figures, is_day, values_of
from spector.language.words import is_stop
from spector.process import keeps

__all__ = ["TITLES", "Values", "values_in"]

#: kind -> the values of it, folded
Values = Mapping[str, set[str]]

_PHONE: Final = re.compile(r"\+?\d[\d ().-]{5,}\d")
_MAIL: Final = re.compile(r"\S+@\S+\.\w+")
_CODE: Final = re.compile(
    r"\b(?=[a-z0-9_-]*\d)(?=[a-z0-9_-]*[a-z])(?!\d+[a-z]{1,3}\b)[a-z0-9_-]{4,}\b"
)
_DATE: Final = re.compile(
    r"\b(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}(?:st|nd|rd|th)?"
    r"|\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"|\d{1,2} (?:ocak|subat|mart|nisan|mayis|haziran|temmuz|agustos|eylul|ekim|kasim|aralik))\b"
)
#: a number of no unit; years are too common
_NUMBER: Final = re.compile(r"\b(?!(?:19|20)\d\d\b)\d{4,}\b")
#: "room 214", "year 4": what a number behind a noun tells from others
_NUMBERED: Final = re.compile(
    r"\b(?!(?:the|for|and|was|are|has|had|per|than|only|just|about|over|with|from|then|bir|her|son)\b)"
    r"([a-z]{3,}) (\d{1,4}[a-z]?)\b"
    r"(?! ?(?:[.,:]\d|[%$€£₺]|bin|milyon|million|thousand|[a-z]+s\b))"
)
#: where a thing is
_PLACE: Final = re.compile(
    r"\b(?:is|'s|are) (in|at|on|under|behind|inside|near) (?:the |my |our |a |an )?"
    r"([a-z][a-z' ]{2,30}?)(?: now| instead| again)?$"
)
#: whatever it counts, no year
_FIGURE: Final = re.compile(r"\b\d{1,3}(?:[.,]\d{3})+\b|\b(?!(?:19|20)\d\d\b)\d+\b")
_VERSION: Final = re.compile(r"\b\d+(?:\.\d+)+\b(?! ?(?:[%$€£₺]|euro|dol|lira|kg|km|usd))")
_PATTERNS: Final = (
    ("mail", _MAIL), ("phone", _PHONE), ("date", _DATE), ("number", _NUMBER),
    ("version", _VERSION), ("code", _CODE),
)  # fmt: skip
#: before a name, or behind it
TITLES: Final = frozenset("mr mrs ms miss dr prof bey hanim hoca amca teyze".split())


@keeps(512)
def values_in(line: Line) -> Values:
    """The values of a sentence; those of another kind are left out."""
    folded = in_figures(line.folded)
    out: dict[str, set[str]] = {}
    for kind, pattern in _PATTERNS:
        found = {" ".join(each.group().split()) for each in pattern.finditer(folded)}
        if found:
            out[kind] = found
            folded = pattern.sub(" ", folded)
    figures = {each.replace(",", "").replace(".", "") for each in _FIGURE.findall(folded)}
    if figures:
        out["figure"] = figures
    for each in _NUMBERED.finditer(folded):
        if not is_stop(each[1]) and not is_day(each[1]):
            out.setdefault(each[1], set()).add(each.group())
    place = _PLACE.search(folded.rstrip(" .!"))
    if place is not None and not is_day(place[2].split()[0]):
        out["place"] = {place[2]}
    out |= {kind: set(values) for kind, values in values_of(folded).items()}
    names = _names(line)
    if names:
        out["name"] = names
    return out


def _has_ending(line: Line) -> bool:
    """Whether an apostrophe parts the first word from its Turkish ending, as only in names."""
    behind = line.row[1] if len(line.row) > 1 else ""
    return behind.startswith("'") and behind not in ("'m", "'s", "'re", "'ve", "'ll", "'d", "'t")


def _names(line: Line) -> set[str]:
    """Runs of words with a capital behind the first word, titles left out."""
    out: set[str] = set()
    run: list[str] = []
    for at, (word, raw) in enumerate((*zip(line.row, line.raw, strict=True), ("", ""))):
        bare = word.strip(".")
        is_title = bare in TITLES
        after_title = at > 0 and line.row[at - 1].strip(".") in TITLES
        if raw[:1].isupper() and not is_title and (
            at > 0 or after_title or _has_ending(line)
        ) and not is_stop(bare) and (
            not any(map(str.isdigit, raw)) and not is_day(bare)
        ):
            run.append(bare)
        elif not is_title:
            if run:
                out.add(" ".join(run))
            run = []
    return out

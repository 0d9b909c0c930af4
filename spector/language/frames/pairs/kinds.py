"""Values of a sentence by their kind: hours, days, amounts, codes, numbers to call, names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spector.language.frames.pairs.lines import Line
from spector.language.frames.pairs.values import values_of
from spector.language.words import is_stop

__all__ = ["TITLES", "Values", "values_in"]

#: kind -> the values of it, folded
Values = Mapping[str, set[str]]

_PHONE: Final = re.compile(r"\+?\d[\d ().-]{5,}\d")
_MAIL: Final = re.compile(r"\S+@\S+\.\w+")
_CODE: Final = re.compile(r"\b(?=[a-z0-9_-]*\d)(?=[a-z0-9_-]*[a-z])[a-z0-9_-]{5,}\b")
_DATE: Final = re.compile(
    r"\b(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}"
    r"|\d{1,2} (?:ocak|subat|mart|nisan|mayis|haziran|temmuz|agustos|eylul|ekim|kasim|aralik))\b"
)
#: a number of no unit; years are too common
_NUMBER: Final = re.compile(r"\b(?!(?:19|20)\d\d\b)\d{4,}\b")
_VERSION: Final = re.compile(r"\b\d+(?:\.\d+)+\b(?! ?(?:[%$€£₺]|euro|dol|lira|kg|km|usd))")
_PATTERNS: Final = (
    ("mail", _MAIL), ("phone", _PHONE), ("date", _DATE), ("number", _NUMBER),
    ("version", _VERSION), ("code", _CODE),
)  # fmt: skip
#: before a name, or behind it
TITLES: Final = frozenset("mr mrs ms miss dr prof bey hanim hoca amca teyze".split())


def values_in(line: Line) -> Values:
    """The values of a sentence; those of another kind are left out."""
    folded = line.folded
    out: dict[str, set[str]] = {}
    for kind, pattern in _PATTERNS:
        found = {" ".join(each.group().split()) for each in pattern.finditer(folded)}
        if found:
            out[kind] = found
            folded = pattern.sub(" ", folded)
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
            not any(map(str.isdigit, raw))
        ):
            run.append(bare)
        elif not is_title:
            if run:
                out.add(" ".join(run))
            run = []
    return out

"""What a cue names a memory by: an alias that was written with it, a number, an id.

Where memories are alike (orders, patients, servers), a number is all that tells one from the
others, and no likeness makes up for it. What only counts or dates something ("3 children", "in
2023", "8 May") is no name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.lexical.aliases import Span, name_words, slips_of, spans
from spector.lexical.analysis import Analysed, Term, cue_terms, is_identifier, is_stop
from spector.lexical.view import WordView
from spector.read.plain import plain
from spector.read.signs import is_of_time

__all__ = ["FEW", "Aliased", "aliased", "identifying"]

I64 = NDArray[np.int64]

#: memories that may be asked for by name at once
FEW: Final = 10
#: digits of a number that is more than a count
_LONG: Final = 3
#: letters of a word that is never taken for a slip
_SHORT: Final = 2
#: memories that have the word before a number, where that is the name of a kind ("room 12")
_KIND: Final = 3
#: a letter first and two digits at least ("srv042"), or letters and digits by turns ("4f9c2b")
_CODE: Final = re.compile(r"[^\W\d_][^\W_]*\d[^\W_]*\d[^\W_]*|(?:\d+[^\W\d_]+){2,}\d*")
#: "room no. 12", "12 numaralı oda"
_MARKS: Final = frozenset("no nr num number numara".split())
_MARKS_AFTER: Final = frozenset("no nolu numara numarali".split())


@dataclass(frozen=True, slots=True, eq=False)
class Aliased:
    """Memories whose alias a cue has.

    Attributes:
        rows: per view, ascending; nothing where more than a few have those names.
        words: of the cue, folded, that are a name.
    """

    rows: tuple[I64, ...]
    words: frozenset[str] = frozenset()


def aliased(views: Sequence[WordView], cue: str) -> Aliased:
    """The memories that a cue names by an alias. Of names within one another the longest counts.

    A slip is looked for where one word of the name is in no memory: what memories have is no slip.
    """
    known = [view for view in views if view.has_aliases]
    nothing = tuple(np.zeros(0, np.int64) for _ in views)
    words = name_words(cue) if known else []
    if not words:
        return Aliased(nothing)
    content, strange = _content(words), _strange(known, words)
    every = [span for span in spans(words) if any(content[span.start : span.stop])]
    terms = {span: [span.term] for span in _there(known, every)}
    for span in every:
        wrong = [n for n in range(span.start, span.stop) if strange[n]]
        if len(wrong) == 1 and not any(other.covers(span) for other in terms):
            slips = slips_of(words, span, wrong[0])
            counts = _counts(known, slips)
            found = [term for term, count in zip(slips, counts, strict=True) if count]
            if found:
                terms[span] = found
    longest = [
        span for span in terms
        if not any(other is not span and other.covers(span) for other in terms)
    ]
    if not longest:
        return Aliased(nothing)
    wanted = [term for span in longest for term in terms[span]]
    rows = tuple(
        np.unique(np.concatenate([some for some, _ in view.having(wanted, FEW + 1)]))
        if view.has_aliases else np.zeros(0, np.int64)
        for view in views
    )
    if sum(map(len, rows)) > FEW:
        rows = nothing
    return Aliased(rows, frozenset(w for span in longest for w in words[span.start : span.stop]))


def _there(views: Sequence[WordView], every: Sequence[Span]) -> list[Span]:
    counts = _counts(views, [span.term for span in every])
    return [span for span, count in zip(every, counts, strict=True) if count]


def _counts(views: Sequence[WordView], terms: Sequence[str]) -> list[int]:
    """Memories of all views that have each term."""
    if not terms:
        return []
    each = [[count for _, count in view.having(terms, 0)] for view in views]
    return [sum(counts) for counts in zip(*each, strict=True)]


def _content(words: Sequence[str]) -> list[bool]:
    """Which words of a cue are no stop words: "it" by itself is no name."""
    return [not is_stop(cue_terms(word)[0].text) for word in words]


def _strange(views: Sequence[WordView], words: Sequence[str]) -> list[bool]:
    """Which words of a cue no memory has."""
    there = [len(word) <= _SHORT or word.isdigit() for word in words]
    asked = [n for n, known in enumerate(there) if not known]
    terms = [cue_terms(words[n])[0] for n in asked]
    for view in views:
        for n, count in zip(asked, view.df(terms).tolist() if terms else (), strict=False):
            there[n] = there[n] or count > 0
    return [not known for known in there]


def identifying(words: Analysed, terms: Sequence[Term], df: I64) -> list[list[int]]:
    """Groups of terms of a cue that name a memory which has all of a group.

    An id that stands joined or is a code; a number behind the word for its kind ("order 12"), which
    some memories have; a longer number by itself that is no year.

    Args:
        words: of the cue. terms: what it is looked up as; df: (t,) memories that have each.
    """
    place = {term.text: n for n, term in enumerate(terms)}
    groups = [[n] for n, term in enumerate(terms) if is_identifier(term.text) and df[n]]
    forms = [plain(form) for form in words.forms]
    for at, form in enumerate(forms):
        number = place.get(words.words[at], -1)
        if number < 0 or not df[number]:
            continue
        if _CODE.fullmatch(form):
            groups.append([number])
        elif form.isdecimal() and not _is_of_time(forms, at) and not _is_part(forms, at):
            kind = _kind_before(words, forms, at, place, df)
            if kind >= 0:
                groups.append([number, kind])
            elif _is_marked(forms, at) or (len(form) >= _LONG and not _is_year(form)):
                groups.append([number])
    return groups


def _kind_before(
    words: Analysed, forms: Sequence[str], at: int, place: dict[str, int], df: I64
) -> int:
    """The term of the word that says what a number is the number of; -1 for none."""
    at -= 1
    if at >= 0 and forms[at] in _MARKS:
        at -= 1
    if at < 0 or is_stop(words.words[at]) or forms[at].isdecimal() or is_of_time(forms[at]):
        return -1
    kind = place.get(words.words[at], -1)
    return kind if kind >= 0 and df[kind] >= _KIND else -1


def _is_marked(forms: Sequence[str], at: int) -> bool:
    """Whether "no." stands before a number, or "numaralı" behind it."""
    before, after = forms[max(0, at - 1) : at], forms[at + 1 : at + 2]
    return not _MARKS.isdisjoint(before) or not _MARKS_AFTER.isdisjoint(after)


def _is_part(forms: Sequence[str], at: int) -> bool:
    """Whether it is part of a longer number: "3,600", "2.5"."""
    return any(form.isdecimal() for form in (*forms[max(0, at - 1) : at], *forms[at + 1 : at + 2]))


def _is_of_time(forms: Sequence[str], at: int) -> bool:
    return any(map(is_of_time, (*forms[max(0, at - 1) : at], *forms[at + 1 : at + 2])))


def _is_year(form: str) -> bool:
    return len(form) == 4 and form[:2] in ("19", "20")

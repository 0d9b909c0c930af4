"""What a cue names a memory by: an alias that was written with it, a number, an id.

Where memories are alike (orders, patients, servers), a number is all that tells one from the
others, and no likeness makes up for it. What only counts or dates something ("3 children", "in
2023", "8 May") is no name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from spector.lexical.aliases import Span, folded, is_slip, name_words, near_terms, spans
from spector.lexical.analysis import Analysed, Term, cue_terms, is_identifier, is_stop
from spector.lexical.view import WordView
from spector.read.gate import ASKING
from spector.read.plain import plain
from spector.read.reach import Reach
from spector.read.signs import is_of_time
from spector.records import aliases_in

__all__ = ["FEW", "Aliased", "aliased", "identifying"]

I64 = NDArray[np.int64]

#: memories that may be asked for by name at once
FEW: Final = 10
#: digits of a number that is more than a count
_LONG: Final = 3
#: words of a name in which a slip is looked for
_MOST_WORDS: Final = 4
#: memories of each store that are looked at for a name with a slip in it
_MOST_COMPARED: Final = 32
_WORD: Final = re.compile(r"[^\W_]+")
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
    """What a cue has of the aliases of memories.

    Attributes:
        rows: per view, ascending: the memories that are named by a cue which is hardly more than
            their alias; nothing where more than a few have those names.
        words: of the cue, folded, that are a name.
        instead: word of the cue, folded -> those of the alias that are meant by it.
    """

    rows: tuple[I64, ...]
    words: frozenset[str] = frozenset()
    instead: Mapping[str, str] = field(default_factory=dict)

    def corrected(self, text: str) -> str:
        """A text with the words that are meant by those of the cue."""
        if not self.instead:
            return text
        return _WORD.sub(
            lambda word: self.instead.get(" ".join(name_words(word.group())), word.group()), text
        )


def aliased(views: Sequence[WordView], cue: str, reach: Reach) -> Aliased:
    """What a cue has of the aliases that are within its reach. Of names within one another the
    longest counts.

    A slip is looked for where one word of the name is in no memory: what memories have is no slip.
    """
    nothing = Aliased(tuple(np.zeros(0, np.int64) for _ in views))
    words = name_words(cue) if any(view.has_aliases for view in views) else []
    if not words:
        return nothing
    content = _content(words)
    every = [span for span in spans(words) if any(content[span.start : span.stop])]
    have = _Having(views, reach, [span.term for span in every])
    known = [span for span in every if have.any([span.term])]
    named = {span: rows for span in known if any(map(len, rows := have.few([span.term])))}
    instead = _slips(views, words, every, named, reach)
    longest = [
        span for span in named
        if not any(other is not span and other.covers(span) for other in named)
    ]
    said = frozenset(w for span in longest for w in words[span.start : span.stop])
    rest = (w for w, tells in zip(words, content, strict=True) if tells and w not in said)
    if not longest or not all(w in ASKING for w in rest):
        return replace(nothing, words=said, instead=instead)
    rows = tuple(map(_united, zip(*(named[span] for span in longest), strict=True)))
    if sum(map(len, rows)) > FEW:
        rows = nothing.rows
    return Aliased(rows, said, instead)


def _united(rows: Sequence[I64]) -> I64:
    return np.unique(np.concatenate(rows))


class _Having:
    """Memories within reach that have some terms, asked of all views at once."""

    def __init__(self, views: Sequence[WordView], reach: Reach, terms: Sequence[str]) -> None:
        self._views, self._reach = views, reach
        self._there = [
            {term for term, (_, count) in zip(terms, view.having(terms, 0), strict=True) if count}
            if terms else set() for view in views
        ]

    def any(self, terms: Iterable[str]) -> bool:
        """Whether any view has any of them, in reach or not."""
        return any(not there.isdisjoint(terms) for there in self._there)

    def rows(self, n: int, terms: Iterable[str]) -> I64:
        """All that a view has, in reach or not."""
        view, found = self._views[n], [term for term in terms if term in self._there[n]]
        if not found:
            return np.zeros(0, np.int64)
        return _united([rows for rows, _ in view.having(found, len(view))])

    def few(self, terms: Sequence[str]) -> tuple[I64, ...]:
        """Per view those in reach, one more than a few at most."""
        return tuple(
            np.array([row for row, _ in islice(
                self._reach.passing(n, self.rows(n, terms), certain=True), FEW + 1
            )], np.int64)
            for n in range(len(self._views))
        )


def _slips(
    views: Sequence[WordView], words: Sequence[str], every: Sequence[Span],
    named: dict[Span, tuple[I64, ...]], reach: Reach,
) -> dict[str, str]:
    """Adds the spans that are a name but for one slip; what is meant by the words with a slip."""
    near = {
        span: near_terms(span.text) for span in every
        if span.stop - span.start <= _MOST_WORDS
        and not any(other.covers(span) for other in named)
    }
    have = _Having(views, reach, [term for terms in near.values() for term in terms])
    instead: dict[str, str] = {}
    known: dict[str, bool] = {}
    for span, terms in near.items():
        if not have.any(terms) or any(other.covers(span) for other in named):
            continue
        rows: list[list[int]] = [[] for _ in views]
        for n in range(len(views)):
            some = reach.passing(n, have.rows(n, terms), certain=True)
            for row, memory in islice(some, _MOST_COMPARED):
                for name in map(folded, aliases_in(memory.metadata)):
                    wrong = _mistaken(words[span.start : span.stop], span.text, name)
                    if wrong is None:
                        continue
                    if wrong not in known:
                        known[wrong] = _is_known(views, wrong, reach)
                    if not known[wrong]:
                        rows[n].append(row)
                        meant = [w for w in name.split() if w not in words[span.start : span.stop]]
                        instead.setdefault(wrong, " ".join(meant))
        if any(rows):
            named[span] = tuple(np.unique(np.array(each, np.int64)) for each in rows)
    return instead


def _mistaken(words: Sequence[str], text: str, name: str) -> str | None:
    """The one word of a text that makes it a slip of a name."""
    if not is_slip(text, name):
        return None
    wrong = set(words).difference(name.split())
    word = wrong.pop() if len(wrong) == 1 else ""
    return None if len(word) <= _SHORT or word.isdigit() else word


def _content(words: Sequence[str]) -> list[bool]:
    """Which words of a cue are no stop words: "it" by itself is no name."""
    return [not is_stop(cue_terms(word)[0].text) for word in words]


def _is_known(views: Sequence[WordView], word: str, reach: Reach) -> bool:
    """Whether any memory within reach has a word."""
    terms = [form for term in cue_terms(word) for form in term.forms]
    have = _Having(views, reach, terms)
    return any(
        True for n in range(len(views)) for _ in islice(reach.passing(n, have.rows(n, terms)), 1)
    )


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

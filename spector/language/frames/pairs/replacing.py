"""Whether a text replaces a value of another, told by how the two read side by side.

Frames know what a sentence states; many sentences have none. But two of them that differ in one
part, or a new one that names the old value, can be compared without: "I get up at 7", "I get up at
6 now". All rules are about form; the words listed are grammar and kinds of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from spector.language.frames.pairs.corrections import (
    beginnings,
    correction,
    may_correct,
)
from spector.language.frames.pairs.lines import (
    NOT,
    SHIFTS,
    TURNS,
    Line,
    clauses_of,
    content_of,
    is_of_same,
    is_past,
    lines_of,
)
from spector.language.frames.pairs.values import is_moved
from spector.language.frames.predicates import DISCOURSE_NOUNS, MANY_NOUNS, is_plural
from spector.language.frames.statement import Place
from spector.language.words import is_stop, plain
from spector.process import keeps

__all__ = ["Replacement", "replacement"]

#: words of a value
_VALUE: Final = 6
#: words of a message whose clauses are read one by one: a long one tells of many things
_SHORT: Final = 30
_SHORT_CHARS: Final = 300
_ALSO: Final = re.compile(
    r"\b(?:also|too|as well|another|besides|sometimes|both|ayrica|bazen|baska|bir de"
    r"|(?<!['’])(?:da|de))\b"
)
_AUXILIARY: Final = frozenset("do does did am is are 'm 's 're be been have has".split())
_FROM_TO: Final = re.compile(r"\bfrom (.{1,60}?) (?:to|into) (.{1,60}?)(?=[,.;!]|$)")
_NOT_OLD: Final = re.compile(
    r"(?:,\s*not|\binstead of|\brather than|\band not|\bno longer)\s+(.{1,60}?)(?=[,.;!]|\bbut\b|$)"
)
_IT_IS: Final = re.compile(
    r"^(.{2,80}?) (?:has |have |was |were |got )?changed\b.{0,20}\bit(?:'s| is) "
)
_OF_KIND: Final = frozenset(
    """city country continent state town region language sport position religion genre currency
    nationality colour color size status role capital league party denomination species""".split()
)
#: kinds of values that are no names
_CHOICES: Final = frozenset(
    """type kind genre style language sport position religion currency nationality colour color
    size status role""".split()
)
_STATIVE: Final = frozenset("is are was were 's plays speaks lives".split())
#: what one maker, or a few together, do to a thing once
_MADE: Final = frozenset(
    """created founded written developed directed designed composed invented produced painted
    performed recorded manufactured published built discovered established sung authored""".split()
)
_QUITS: Final = re.compile(r"\b(?:quit|stopped|gave up|given up|birakt\w+)\b")
_QUIT_WORDS: Final = frozenset("quit stopped gave given up".split())
#: begins with one who was before: "my old boss", "eski müdürüm"
_FORMER: Final = re.compile(
    r"\W*(?:(?:my|our|the) )?(?:old|former|ex|previous|last|eski|önceki|geçen)\b", re.IGNORECASE)
_UNTOLD: Final = NOT | _AUXILIARY | _QUIT_WORDS | {"the", "a", "an"}
#: letters that a word and its stem have in common, at least
_STEMMED: Final = 2
_APOSTROPHES: Final = re.compile("['\u2019\u02bc]")
#: every way in which `_denials` counts, and every form that names what was before
_DENIES: Final = re.compile(
    r"\b(?:not|never|no|cannot|dont|doesnt|isnt|degil|yok|any ?more)\b|n['’]t\b"
    r"|\b(?:quit|stopped|gave up|given up|birakt)"
)
_SAYS_SO: Final = re.compile(_DENIES.pattern + r"|n't|\b(?:instead|rather|changed)\b")
_NO_SUBJECT: Final = frozenset(
    "the a an my our your his her their its this that these it he she we they i you".split()
)
_COUNTS: Final = frozenset(
    "one two three four five six seven eight nine ten bir iki uc dort bes alti yedi sekiz".split()
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A sentence of an old text whose value a new text replaces.

    Attributes:
        rule: ``value``, ``polarity`` or ``said``. confidence: 0..1.
        span: of the old sentence. single: only if no other old text fits as well.
    """

    rule: Literal["value", "polarity", "said"]
    confidence: float
    span: Place
    single: bool = False


def replacement(old: str, new: str, *, many: bool = False, likeness: float = 0.0) -> (
    Replacement | None
):
    """How a new text replaces a value of an old one; None if it does not say so.

    Args:
        many: both state something that may have several values, so a changed word is no proof.
        likeness: cosine of the two texts.
    """
    if _FORMER.match(new):
        return None
    best = _by_sentences(old, new, many, likeness)
    return best or _by_clauses(old, new, many, likeness)


@keeps(64)
def _correcting(new: str) -> str:
    """The folded words of a text that may correct another; "" for one that cannot."""
    if len(new) > _SHORT_CHARS or len(new.split()) > _SHORT:
        return ""
    folded = plain(new)
    return folded if may_correct(folded) else ""


def _by_clauses(old: str, new: str, many: bool, likeness: float) -> Replacement | None:
    """How a clause of a new text replaces a value: chat joins its sentences with commas."""
    folded = _correcting(new)
    if not folded or beginnings(old).isdisjoint(beginnings(new)):
        return None
    clauses = clauses_of(new)
    if not clauses:
        return None
    known = lines_of(old)
    if len(clauses) > 1:
        for after in clauses:
            if _ALSO.search(after.folded):
                continue
            for before in known:
                found = _replaced(before, after, many, likeness)
                if found is not None:
                    return found
    if any(_ALSO.search(each.folded) for each in clauses):
        return None
    for before in known:
        sure = correction(before, clauses, folded)
        if sure:
            return Replacement("said", sure, before.span, single=True)
    return None


def _by_sentences(old: str, new: str, many: bool, likeness: float) -> Replacement | None:
    """How a sentence of a new text replaces a value of an old one."""
    best: Replacement | None = None
    folded = plain(old)
    denies = _DENIES.search(folded) is not None
    folded = _APOSTROPHES.sub("", folded)  # "I'm" and "im" are the same two words
    for after, turns, says, begin, starts in _telling(new):
        if not (
            turns or all(word in folded for word in begin)
            or ((denies or says) and all(each in folded for each in starts))
        ):
            continue
        for before in lines_of(old):
            found = _replaced(before, after, many, likeness)
            if found is not None and (best is None or found.confidence > best.confidence):
                best = found
    return best


class _Telling(NamedTuple):
    """A sentence that may replace something, and what an old text must have for it.

    Attributes:
        turns: it says what changes, whatever the old text says. says: it says that something is
            not so, which replaces what has the same words otherwise.
        begin: words of which an old text has all where a sentence of it begins in the same way.
        starts: of the words that both have where one denies the other.
    """

    line: Line
    turns: bool
    says: bool
    begin: tuple[str, ...]
    starts: tuple[str, ...]


@keeps(64)
def _telling(new: str) -> tuple[_Telling, ...]:
    """The sentences of a new text that may replace something; most pairs of texts are settled by
    what they ask of the old one."""
    out = []
    for line in lines_of(new):
        if _ALSO.search(line.folded):
            continue
        turns = any(
            each.search(line.folded) for each in (TURNS, SHIFTS, _NOT_OLD, _IT_IS)
        )
        out.append(_Telling(
            line, turns, _SAYS_SO.search(line.folded) is not None,
            tuple(_APOSTROPHES.sub("", word) for word in line.row[:3]),
            tuple(
                _APOSTROPHES.sub("", word)[:_STEMMED] for word in line.row if _is_told(word)
            ),
        ))  # fmt: skip
    return tuple(out)


def _replaced(before: Line, after: Line, many: bool, likeness: float) -> Replacement | None:
    if before.row != after.row and before.content & after.content:
        if _is_denied(before, after):
            return Replacement("polarity", 0.97, before.span)
        if _names_old(before, after) or _is_renamed(before, after):
            return Replacement("said", 0.98, before.span)
        found = _difference(before, after)
        if found is not None:
            if _has_one_value(before, after, *found):
                return Replacement("value", 0.97, before.span)
            if TURNS.search(after.folded) and _is_changed(before, after, *found, many):
                return Replacement("said", 0.98, before.span)
    if before.content and is_moved(before, after, likeness):
        return Replacement("said", 0.975, before.span, single=True)
    return None


def _is_denied(before: Line, after: Line) -> bool:
    """Whether both have the same words, and one of them denies it."""
    one, other = _denials(before), _denials(after)
    if one == other or (is_past(before) and not TURNS.search(after.folded)):
        return False
    return _without(before) == _without(after)


def _denials(line: Line) -> int:
    quits = bool(_QUITS.search(line.folded))
    return (sum(word.text in NOT for word in line.words) + quits
            + bool(re.search(r"\bno longer\b|\bany ?more\b", line.folded) and not quits)) % 2


def _without(line: Line) -> tuple[str, ...]:
    return tuple(
        stem for word, stem in zip(line.row, line.stems, strict=True)
        if _is_told(word)
    )


def _is_told(word: str) -> bool:
    """Whether a word counts where a sentence denies another one of the same words."""
    return word not in _UNTOLD


def _names_old(before: Line, after: Line) -> bool:
    """"From X to Y", "Y, not X", "Y instead of X": X is in the old text, and so is the rest."""
    found = _FROM_TO.search(after.folded) if SHIFTS.search(after.folded) else None
    pieces = (found[1], found[2]) if found else None
    if pieces is None:
        named = _NOT_OLD.search(after.folded)
        pieces = (named[1], "") if named else None
    if pieces is None:
        return False
    gone = content_of(pieces[0])
    if not gone or not gone <= before.content or gone & content_of(pieces[1]):
        return False
    if is_past(before) and not SHIFTS.search(before.folded):
        return False
    rest = after.content - gone - content_of(pieces[1])
    return bool(rest & (before.content - gone)) and is_of_same(before, after)


def _is_renamed(before: Line, after: Line) -> bool:
    """"The wifi password changed, it's X now"."""
    found = _IT_IS.search(after.folded)
    return found is not None and bool(content_of(found[1])) and (
        content_of(found[1]) <= before.content and is_of_same(before, after)
    )


def _difference(before: Line, after: Line) -> tuple[int, int, int] | None:
    """(first, old end, new end) of the one part in which two sentences differ."""
    one, other = before.stems, after.stems
    n = min(len(one), len(other))
    first = next((at for at in range(n) if one[at] != other[at]), n)
    last = next((at for at in range(n - first) if one[-1 - at] != other[-1 - at]), n - first)
    ends = len(one) - last, len(other) - last
    if not (0 < ends[0] - first <= _VALUE and 0 < ends[1] - first <= _VALUE):
        return None
    old, new = set(one[first : ends[0]]), set(other[first : ends[1]])
    if {each for each in old & new if not is_stop(each)}:
        return None
    return first, *ends


def _has_one_value(before: Line, after: Line, first: int, old_end: int, new_end: int) -> bool:
    """Whether the form of the sentence leaves room for one value: "The N of S is X"."""
    row, at_end = after.row, old_end == len(before.row) and new_end == len(after.row)
    if at_end and first > 3 and row[first - 3 : first : 2] == ("the", "of") and (
        row[first - 2] in _OF_KIND
    ):
        return any(word in _STATIVE for word in row[1 : first - 3])
    begin = int(row[0] in _NO_SUBJECT)
    if not at_end or first < 3 or not any(raw[:1].isupper() for raw in after.raw[begin:first]):
        return _names_maker(row, first) and at_end
    alike = _is_name(before.raw[first]) == _is_name(after.raw[first])
    if row[first - 1] in ("is", "was", "are", "'s") and _first_word(after) == "the":
        head = _head(row, first)
        known = head not in DISCOURSE_NOUNS and not is_plural(head) and (
            head in _CHOICES or head not in MANY_NOUNS
        )
        return alike and known and (_is_name(after.raw[first]) or head in _CHOICES)
    if row[first - 2] in ("citizen", "national", "native") and row[first - 1] == "of":
        return True
    return _names_maker(row, first)


def _names_maker(row: Sequence[str], first: int) -> bool:
    return first > 3 and row[first - 1] == "by" and row[first - 2] in _MADE and (
        row[first - 3] in ("was", "were", "is", "are")
    )


def _first_word(line: Line) -> str:
    return line.row[0]


def _head(row: Sequence[str], end: int) -> str:
    """The noun of a description: the last word before what narrows it down."""
    for at in range(1, end):
        if row[at] in ("of", "that", "which", "who", "where", "in", "for", "at", "on", "is", "was"):
            return row[at - 1]
    return row[end - 1]


def _is_changed(
    before: Line, after: Line, first: int, old_end: int, new_end: int, many: bool
) -> bool:
    """Whether a word of change tells that the part that differs has replaced the old one."""
    numeric = all(any(map(str.isdigit, row)) or row in _COUNTS for row in (
        *before.row[first:old_end], *after.row[first:new_end]
    ))
    shared = {each for each in (*after.stems[:first], *after.stems[new_end:]) if not is_stop(each)}
    if not first or is_past(after) or (many and not numeric):
        return False
    return len(shared) >= (1 if numeric else 2) and is_of_same(before, after)


def _is_name(raw: str) -> bool:
    return raw[:1].isupper() or raw[:1].isdigit()

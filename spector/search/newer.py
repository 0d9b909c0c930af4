"""Newer first: of two statements that answer one question, the newer one ranks first.

Without an explicit ``supersedes`` nothing in a store says that "I now work at Contoso" replaced "I
work at Northwind". Where a cue asks how things are now, the later statement belongs first if both
are one person's and `Pair` takes them for versions of one statement. The older one keeps its score
and ranks behind.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from spector.kernel.contract import cosine_table
from spector.language.cues import asks_for_value
from spector.language.statements import (
    ChangeKind,
    Question,
    Statement,
    StatementPair,
    may_be_of_change,
)
from spector.language.words import plain
from spector.records import Hit
from spector.search.selection import put_below, raise_above
from spector.search.snapshot import found_of, units_of

if TYPE_CHECKING:
    from spector.language.frames import Given, ValueAsked


#: hits among which newer versions are looked for; the second where half of the first are versions
LOOKED_AT: Final = 10
MOST_VERSIONS: Final = 32
#: least cosine of two versions, and least score of the newer as a share of the older one's
_ALIKE, _SHARE = 0.35, 0.75
#: the same where the newer one shares no word with the question
_ALIKE_MOVED, _SHARE_MOVED = 0.5, 0.6
#: others of one frame and day from which statements are a list
_LIST: Final = 2
_DAY_MS: Final = 86_400_000
#: characters of a statement; longer texts say more than one thing
_LONGEST: Final = 600
#: of the words of the question that an older sentence has, that of a new value has one of so many
_PART: Final = 2


def move_newer_first(hits: Sequence[Hit], newer: Mapping[int, Sequence[int]]) -> list[Hit]:
    """The hits with each newer statement right before the older one that it replaces.

    It gets the older one's score and the least more; the term "newer" of its explanation says by
    how much it was raised.

    Args:
        newer: see `newer_versions`.
    """
    out = list(hits)
    places = {hit.id: n for n, hit in enumerate(out)}
    at = 0 if newer else len(out)
    while at < len(out):
        later = [each for each in newer.get(out[at].id, ()) if places.get(each, -1) > at]
        if later:
            newest = max(later, key=lambda each: (found_of(out[places[each]]).event_ms, each))
            hit = out.pop(places[newest])
            out.insert(at, raise_above(hit, out[at].score, "newer"))
            places = {hit.id: n for n, hit in enumerate(out)}
        at += 1
    return out


def put_newer_before(hits: Sequence[Hit], ties: Sequence[tuple[int, int, str]]) -> list[Hit]:
    """The hits with the first of each tie directly before the other, at the better one's place.

    Nothing leaves: the hits are the same. The kind of the tie is the term of its explanation.

    Args:
        ties: (first, second, kind); those whose ends are not both here say nothing.
    """
    out = list(hits)
    for newer, older, kind in ties:
        places = {hit.id: n for n, hit in enumerate(out)}
        if newer not in places or older not in places:
            continue
        at, was = places[newer], places[older]
        if at > was:
            hit = out.pop(at)
            out.insert(was, raise_above(hit, out[was].score, kind))
        elif was > at + 1 and kind != "may_change":
            hit = out.pop(was)
            out.insert(at + 1, put_below(hit, out[at].score, kind))
    return out


def newer_versions(hits: Sequence[Hit], cue: str) -> dict[int, tuple[int, ...]]:
    """Id of a hit -> ids of its newer versions among the hits.

    Both have one speaker, user and agent. The newer one is at least as certain and its source at
    least as close: a document does not overrule what the user said.
    """
    best = [hit for hit in hits if hit._found is not None and len(hit.text) <= _LONGEST]
    if len(best) < 2 or hits[0].score <= 0:
        return {}
    versions = _Versions(cue, best)
    pairs = versions.of_one_speaker()
    if not pairs:
        return {}
    alike = _cosines(best)
    changed: list[tuple[Hit, Hit]] = []
    framed: list[tuple[Hit, Hit]] = []
    for old, new in pairs:
        form = versions.form(old, new, float(alike[old, new]))
        if form is not None:
            (changed if form == "change" else framed).append((best[old], best[new]))
    out: dict[int, tuple[int, ...]] = {}
    for one, other in (*changed, *_without_lists(framed)):
        out[one.id] = (*out.get(one.id, ()), other.id)
    return out


def extend_series(
    newer: Mapping[int, tuple[int, ...]], hits: Sequence[Hit], cue: str
) -> dict[int, tuple[int, ...]]:
    """`newer_versions` of more hits, where the first ones are versions of one another.

    Each further hit is compared with the newest of them only.
    """
    series = {*newer, *(each for some in newer.values() for each in some)}
    known = [hit for hit in hits if hit.id in series]
    newest = max(known, key=lambda hit: (found_of(hit).event_ms, hit.id))
    rest = [
        hit
        for hit in hits
        if hit.id not in series and hit._found is not None and len(hit.text) <= _LONGEST
    ]
    every = [newest, *rest]
    versions = _Versions(cue, every)
    alike = _cosines(every)
    for old, new in versions.of_one_speaker(with_first=True):
        if versions.form(old, new, float(alike[old, new])) is not None:
            known.append(every[max(old, new)])
    known.sort(key=lambda hit: found_of(hit).event_ms)
    times = [found_of(hit).event_ms for hit in known]
    later = [bisect.bisect_right(times, at) for at in times]
    return {
        hit.id: tuple(each.id for each in known[after:])
        for hit, after in zip(known, later, strict=True)
        if after < len(known)
    }


def has_value_asked(cue: str) -> bool:
    """Whether a cue asks for a number, a day or an hour as it is now, and says of what."""
    return _value_asked(cue) is not None


def _value_asked(cue: str) -> ValueAsked | None:
    """Frames are loaded by the first cue that asks for a value."""
    if not asks_for_value(cue):
        return None
    frames = import_module("spector.language.frames")
    asked: ValueAsked | None = frames.value_asked(cue)
    return asked


def newer_values(hits: Sequence[Hit], cue: str) -> dict[int, tuple[int, ...]]:
    """Id of a hit -> ids of hits whose later sentence gives another value that the cue asks for.

    Long messages say much else, so nothing is taken for a version of anything: only the order of
    the hits changes. Both are of one speaker, user and agent.
    """
    asked = _value_asked(cue)
    if asked is None:
        return {}
    given = [
        (hit, found)
        for hit in hits
        if hit._found is not None and (found := asked.given_in(hit.text)) is not None
    ]
    out: dict[int, tuple[int, ...]] = {}
    for old, one in given:
        was = found_of(old)
        later = tuple(
            new.id
            for new, other in given
            if (now := found_of(new)).event_ms > was.event_ms
            and now.scope == was.scope
            and plain(now.speaker) == plain(was.speaker)
            and now.certainty >= was.certainty
            and (now.source is None or was.source is not None)
            and _is_other_value(one, other)
        )
        if later:
            out[old.id] = later
    return out


def _is_other_value(old: Given, new: Given) -> bool:
    """Whether a later sentence gives another value of the same kind and says that it is new, or
    answers as much of the question."""
    kinds = {kind for kind, _ in old.values} & {kind for kind, _ in new.values}
    changed = any(
        {form for kind, form in old.values if kind == each}.isdisjoint(
            form for kind, form in new.values if kind == each
        )
        for each in kinds
    )
    least = len(old.shared) / _PART if new.is_new else len(old.shared)
    return changed and len(new.shared) >= least


class _Versions:
    """Hits by number, whose texts are analysed when that is needed."""

    def __init__(self, cue: str, hits: Sequence[Hit]) -> None:
        self._hits = hits
        self._question = Question.of(cue)
        #: per hit: may it answer the question, may it tell of a change
        self._answers: list[bool] = []
        self._changes: list[bool] = []
        for hit in hits:
            folded = plain(hit.text)
            self._answers.append(self._question.may_be_answered_by(folded))
            self._changes.append(may_be_of_change(folded))
        self._texts: dict[int, Statement] = {}

    def form(self, old: int, new: int, alike: float) -> ChangeKind | None:
        """The form by which the later one replaces the earlier one; None where it does not."""
        if alike < _ALIKE or not self._text_of(new).is_of_now:
            return None
        form = StatementPair(self._question, self._text_of(old), self._text_of(new)).form()
        if form == "move":
            return "change" if alike >= _ALIKE_MOVED else None
        return form if self._hits[new].score >= _SHARE * self._hits[old].score else None

    def _text_of(self, n: int) -> Statement:
        if n not in self._texts:
            turkish = self._question.text.turkish
            self._texts[n] = Statement.of(self._hits[n].text, turkish=turkish)
        return self._texts[n]

    def of_one_speaker(self, *, with_first: bool = False) -> list[tuple[int, int]]:
        """Pairs of one speaker in one scope, the older first, that may answer the question and of
        which the later may be believed instead.

        Args:
            with_first: only those of the first hit with another one.
        """
        hits, answers, changes = self._hits, self._answers, self._changes
        if not any(changes) and sum(answers) < 2:
            return []
        found = [found_of(hit) for hit in hits]
        times = [each.event_ms for each in found]
        certain = [each.certainty for each in found]
        speakers = map(plain, [each.speaker for each in found])
        sources = [(*each.scope, who) for each, who in zip(found, speakers, strict=True)]
        return [
            (o, n)
            for n, new in enumerate(hits)
            if changes[n] or answers[n]
            for o, old in enumerate(hits)
            if times[o] < times[n]
            and (changes[n] or answers[o])
            and sources[o] == sources[n]
            and 0 < _SHARE_MOVED * old.score <= new.score
            and certain[n] >= certain[o]
            and (found[n].source is None or found[o].source is not None)
            and old.text != new.text
            and not (with_first and n and o)
        ]


def _without_lists(framed: Sequence[tuple[Hit, Hit]]) -> list[tuple[Hit, Hit]]:
    """Pairs of one frame without lists: three and more statements of one day."""
    together = Counter(hit.id for pair in framed if _day(pair[0]) == _day(pair[1]) for hit in pair)
    return [pair for pair in framed if all(together[hit.id] < _LIST for hit in pair)]


def _day(hit: Hit) -> int:
    return found_of(hit).event_ms // _DAY_MS


def _cosines(hits: Sequence[Hit]) -> NDArray[np.float32]:
    vectors = units_of(hits)
    return np.asarray(cosine_table(vectors, vectors), np.float32)

"""Newer first: of two statements that answer one question, the newer one ranks first.

Without an explicit ``supersedes`` nothing in a store says that "I now work at Contoso" replaced "I
work at Northwind". Where a cue asks how things are now, the later statement belongs first if both
are one person's and it has the same words with another value. The older one keeps its score and
ranks behind.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from spector.kernel.contract import cosine_table
from spector.language.cues import asks_for_value
from spector.language.statements import asks_for_many, value_replaced
from spector.language.tables import words_of
from spector.language.words import plain
from spector.records import Hit
from spector.search.selection import put_below, raise_above
from spector.search.snapshot import found_of, units_of

if TYPE_CHECKING:
    from spector.language.frames import Given, ValueAsked


#: hits among which newer versions are looked for; the second where half of the first are versions
LOOKED_AT: Final = 10
_MOST_VERSIONS: Final = 32
#: least cosine of two versions, and least score of the newer as a share of the older one's
_ALIKE, _SHARE = 0.35, 0.75
#: others of the same words and day from which statements are a list
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
    least as close: a document does not overrule what the user said. Of a series, whose newest may
    be farther behind, more hits are compared with the newest.
    """
    looked_at = [hit for hit in hits[:_MOST_VERSIONS] if hit._found is not None]
    if len(looked_at) < 2 or looked_at[0].score <= 0 or asks_for_many(cue):
        return {}
    versions = _Versions(cue, looked_at)
    first, far = range(min(LOOKED_AT, len(looked_at))), range(LOOKED_AT, len(looked_at))
    found = versions.among(itertools.combinations(first, 2))
    if 2 * len({old for old, _ in found}) >= LOOKED_AT:
        newest = versions.newest({new for _, new in found})
        found += versions.among((newest, n) for n in far)
        found = versions.in_order({n for pair in found for n in pair})
    ids, out = [hit.id for hit in looked_at], dict[int, tuple[int, ...]]()
    for old, new in found:
        out[ids[old]] = (*out.get(ids[old], ()), ids[new])
    return out


class _Versions:
    """Hits by number, and of which two the later one is a version of the earlier one."""

    def __init__(self, cue: str, hits: Sequence[Hit]) -> None:
        asked = words_of(cue)
        self._asked = frozenset([each.text for each in asked])
        named = {each.text for each in asked[1:] if each.raw != each.raw.lower()}
        named |= {each.text for each in asked if any(map(str.isdecimal, each.raw))}
        #: of each text, the names and numbers of the cue that it has
        self._named = [
            named & {each.text for each in words_of(hit.text[:_LONGEST])} if named else named
            for hit in hits
        ]
        vectors = units_of(hits)
        self._alike = cosine_table(vectors, vectors)
        self._sources = [_source_of(hit) for hit in hits]
        self._scores, self._texts = [hit.score for hit in hits], [hit.text for hit in hits]
        self._times = [each.event_ms for each in self._sources]

    def newest(self, of: Collection[int]) -> int:
        """The latest of some."""
        return max(of, key=self._times.__getitem__)

    def in_order(self, of: Collection[int]) -> list[tuple[int, int]]:
        """All pairs of a series whose times differ and whose scores do not, the earlier first."""
        ordered = sorted(of, key=self._times.__getitem__)
        return [
            (old, new)
            for old, new in itertools.combinations(ordered, 2)
            if self._times[old] < self._times[new]
            and self._scores[new] >= _SHARE * self._scores[old]
        ]

    def among(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """(earlier, later) of those of which one is a version of the other."""
        found: list[tuple[int, int]] = []
        for one, other in pairs:
            old, new = (one, other) if self._times[one] < self._times[other] else (other, one)
            before, after = self._texts[old], self._texts[new]
            if (
                self._alike[old, new] < _ALIKE
                or max(len(before), len(after)) > _LONGEST
                or self._scores[new] < _SHARE * self._scores[old]
                or not _may_answer(self._sources[old], self._sources[new])
                or self._named[old] - self._named[new]  # what only the older one is about is asked
            ):
                continue
            value = value_replaced(before, after)
            if value and not self._asked.issuperset(value):
                found.append((old, new))
        return self._without_lists(found)

    def _without_lists(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Pairs without lists: three and more statements of one day that differ in a value."""
        days = [each // _DAY_MS for each in self._times]
        together = Counter(n for pair in pairs if days[pair[0]] == days[pair[1]] for n in pair)
        return [pair for pair in pairs if all(together[n] < _LIST for n in pair)]


class _Source(NamedTuple):
    """When and by which speaker something was stated, and how surely."""

    event_ms: int
    scope: object
    speaker: str
    certainty: float
    is_given: bool


def _source_of(hit: Hit) -> _Source:
    found = found_of(hit)
    speaker = plain(found.speaker)
    return _Source(found.event_ms, found.scope, speaker, found.certainty, found.source is not None)


def _may_answer(was: _Source, now: _Source) -> bool:
    """Whether what was said later may be believed in place of what was said before."""
    return (
        now.event_ms > was.event_ms
        and now.scope == was.scope
        and now.speaker == was.speaker
        and now.certainty >= was.certainty
        and (was.is_given or not now.is_given)
    )


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
        later = tuple(
            new.id
            for new, other in given
            if _may_answer(_source_of(old), _source_of(new)) and _is_other_value(one, other)
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

"""What a recall returns: hits, the terms of their scores, and signals about the cue."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from spector.records.memory import MemoryRecord, shortened

#: terms of the evidence that come from the cue's words
_OF_WORDS: Final = frozenset({"words", "name"})
#: fields of a hit that few hits have, and what the others have instead
_ASIDE: Final[Mapping[str, Any]] = {
    "payload": None,
    "graph_distance": 0,
    "conflicts": (),
    "via": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a hit has its score.

    ``values`` are the raw values, ``terms`` the values times their weights, and ``modifiers`` the
    factors. They make ``fused``, the score of the scan: ``sum(terms) * product(modifiers)`` for
    additive profiles, ``sim * (1 + sum(terms without sim)) * product(modifiers)`` for
    multiplicative ones. ``evidence`` has the terms that ranking adds, on the same scale and by name
    (words, name, near, about, ..., see ``Ranking``). ``score`` is ``fused`` plus the evidence.
    """

    profile: str
    fusion: str
    values: Mapping[str, float]
    terms: Mapping[str, float]
    modifiers: Mapping[str, float]
    fused: float
    evidence: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The score of the hit, equal to the last bit.

        Ranking adds in the same order; ``sum`` would not, from Python 3.12 on.
        """
        return functools.reduce(operator.add, self.evidence.values(), self.fused)

    @property
    def lexical(self) -> float:
        """The part of ``evidence`` that comes from the cue's words: ``words`` and ``name``."""
        return sum(value for name, value in self.evidence.items() if name in _OF_WORDS)

    def __str__(self) -> str:
        lines = [f"score {self.score:.4f}  profile {self.profile} ({self.fusion})"]
        for name, term in self.terms.items():
            lines.append(f"  {name:<11} {self.values[name]:>8.4f}  -> {term:+.4f}")
        for name, factor in self.modifiers.items():
            lines.append(f"  {name:<11} {'':>8}  x  {factor:.4f}")
        for name, term in self.evidence.items():
            lines.append(f"  {name:<11} {'':>8}  -> {term:+.4f}")
        return "\n".join(lines)


class RecordSource(Protocol):
    """What a hit makes its record from when the record is first needed."""

    @property
    def id(self) -> int: ...

    @property
    def text(self) -> str: ...

    @property
    def tier(self) -> str: ...

    def record(self) -> MemoryRecord: ...


class _Lazy:
    """A slot that is not a field of the hit: equality and repr leave it out."""

    __slots__ = ("_found",)
    _found: RecordSource | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(_Lazy):
    """A recalled memory and its score. The record's attributes can be read from the hit."""

    record: MemoryRecord
    score: float
    explainer: Callable[[], Explanation] = field(repr=False, compare=False)
    #: ids of memories of the same scope with the same text, and of the sources of a fact or the
    #: facts of a source; they are not listed as hits
    also: tuple[int, ...] = ()
    #: the typed item that the memory is, such as a `FactRecord`; None for a plain memory
    payload: object = field(default=None, compare=False)
    #: edges between the hit and a better one that led to it; 0 for one that the cue found
    graph_distance: int = 0
    #: ids of living memories that contradict it
    conflicts: tuple[int, ...] = ()
    #: what found it: "vector", "words", "entity" or "graph"; "" for a recall without a cue
    via: str = ""

    @classmethod
    def of(
        cls,
        source: RecordSource,
        score: float,
        explainer: Callable[[], Explanation],
        also: tuple[int, ...] = (),
    ) -> Self:
        """A hit that makes its record on first use; most callers read only the text."""
        hit = cls.__new__(cls)
        fill = object.__setattr__
        fill(hit, "_found", source)
        fill(hit, "score", score)
        fill(hit, "explainer", explainer)
        fill(hit, "also", also)
        return hit

    if not TYPE_CHECKING:  # a type checker would take any attribute for one of a hit

        def __getattr__(self, name: str) -> Any:
            """Make the record of a hit from ``of``; a hit from the constructor has it already."""
            if name == "_found":
                return None
            if name in _ASIDE:  # a hit from ``of`` is filled with these only where it has some
                return _via(self.explain()) if name == "via" else _ASIDE[name]
            if name != "record" or self._found is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            record = self._found.record()
            object.__setattr__(self, "record", record)
            return record

    @property
    def made_record(self) -> MemoryRecord | None:
        """The record, if it has been made by now."""
        try:
            made: MemoryRecord = getattr(type(self), "record").__get__(self)  # noqa: B009 - a slot
        except AttributeError:
            return None
        return made

    def hand_on(self, other: Hit, **changes: Any) -> Hit:
        """Give another hit of this memory what was found out about it, and what is given."""
        for name in _ASIDE:
            if name in changes:
                object.__setattr__(other, name, changes[name])
                continue
            try:
                known = getattr(type(self), name).__get__(self)  # a slot: no default is made
            except AttributeError:
                continue
            object.__setattr__(other, name, known)
        return other

    def __repr__(self) -> str:
        return (
            f"Hit(id={self.id}, tier={self.tier!r}, score={self.score:.4f}, "
            f"text={shortened(self.text)!r})"
        )

    @property
    def id(self) -> int:
        return (self._found or self.record).id

    @property
    def text(self) -> str:
        return (self._found or self.record).text

    @property
    def tier(self) -> str:
        return (self._found or self.record).tier

    @property
    def tags(self) -> tuple[str, ...]:
        return self.record.tags

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.record.metadata

    @property
    def event_time(self) -> datetime:
        return self.record.event_time

    @property
    def key(self) -> str | None:
        return self.record.key

    @property
    def aliases(self) -> tuple[str, ...]:
        return self.record.aliases

    @property
    def turn_before(self) -> tuple[str, str]:
        return self.record.turn_before

    @property
    def importance(self) -> float:
        return self.record.importance

    @property
    def valence(self) -> float:
        return self.record.valence

    @property
    def arousal(self) -> float:
        return self.record.arousal

    @property
    def confidence(self) -> float:
        return self.record.confidence

    @property
    def role(self) -> str | None:
        return self.record.role

    @property
    def speaker(self) -> str | None:
        return self.record.speaker

    @property
    def pinned(self) -> bool:
        return self.record.pinned

    @property
    def session_id(self) -> str | None:
        return self.record.session_id

    @property
    def user_id(self) -> str | None:
        return self.record.user_id

    @property
    def agent_id(self) -> str | None:
        return self.record.agent_id

    @property
    def source(self) -> str | None:
        return self.record.source

    def explain(self) -> Explanation:
        """Return the terms of the score; they multiply out to it."""
        return self.explainer()

    def to_dict(self) -> dict[str, Any]:
        """The record's dictionary plus ``score``, ``also`` and ``explain``."""
        out = self.record.to_dict()
        out["score"] = round(self.score, 6)
        out["also"] = list(self.also)
        if self.graph_distance:
            out["graph_distance"] = self.graph_distance
        if self.conflicts:
            out["conflicts"] = list(self.conflicts)
        if self.payload is not None:
            out["payload"] = self.payload.to_dict()  # type: ignore[attr-defined]
        why = self.explain()
        out["explain"] = {
            "profile": why.profile,
            "fusion": why.fusion,
            "terms": {name: round(value, 6) for name, value in why.terms.items()},
            "modifiers": {name: round(value, 6) for name, value in why.modifiers.items()},
            "fused": round(why.fused, 6),
            "evidence": {name: round(value, 6) for name, value in why.evidence.items()},
        }
        return out


def _via(why: Explanation) -> str:
    """What weighs most among the terms of a score that depend on the cue."""
    weights = {
        "graph": why.evidence.get("graph", 0.0),
        "entity": why.evidence.get("entity", 0.0),
        "words": why.lexical,
        "vector": why.terms.get("similarity", 0.0),
    }
    best = max(weights, key=lambda name: weights[name])
    return best if weights[best] > 0.0 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanStats:
    """How many records each phase of one recall dropped."""

    scanned: int = 0
    dropped_state: int = 0
    dropped_tags: int = 0
    dropped_valence: int = 0
    dropped_strength: int = 0
    dropped_similarity: int = 0
    dropped_filter: int = 0
    #: records whose upper bound could not reach the answer, so they were not scored
    skipped_bound: int = 0
    scored: int = 0
    partitions: int = 0
    partitions_skipped: int = 0
    backend: str = ""
    #: with ``dormant_hint``: ids of dormant memories that the cue would have hit
    dormant: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a recall measured about its cue; abstention is decided from it.

    Attributes:
        kind: "fact", "talk" or "request".
        coverage: the largest share of the cue's words that one memory and its neighbours have:
            BM25 with blended frequencies over the sum of the words' weights, absent words included.
        cosine: highest raw similarity; None without a vector of the cue.
        likeness: the same in standard deviations above the cosines that unrelated questions have
            with this store's memories. None with fewer than four memories or without an embedder.
            For other embedders than the offline one also None until a context or a selective recall
            has measured those cosines.
        unknown_name: True when a capitalized word inside a sentence of the cue is in no memory;
            for questions of fact only.
        memories: how many memories could answer; None when they were not counted.
        measured: False when a filter leaves so little of a large store that a sample would not
            represent it; recall then never abstains.

    With a filter, all but ``unknown_name`` are computed over the memories that pass it;
    ``memories`` is an estimate above 256.
    """

    kind: str = "fact"
    coverage: float = 0.0
    cosine: float | None = None
    unknown_name: bool = False
    memories: int | None = None
    likeness: float | None = None
    measured: bool = True


class HitList(list[Hit]):
    """A list of hits, with the statistics of the scan and the reasons of the answer.

    Attributes:
        stats: how many records each phase of the scan dropped.
        signals: what was measured about the cue; None when nothing was measured.
        abstained: True when the list is empty on purpose: no memory seems to answer, or the cue is
            small talk and nothing was searched. ``reason`` says which.
        reason: why the list is empty, when a decision made it so.
        standing: at most two standing instructions of the user that fit the cue, best first. They
            are not hits and do not count towards k. Their score is the similarity of the cue to
            their condition, or the usual score where the cue asks for the instruction itself.
        limits: at most three memories that limit what may be suggested for a request (an allergy,
            a budget, the age of a child); they may be hits as well. Their score is their similarity
            to others of their kind.
        request: the request that the list answers, from which more of the same can be asked.
        notes: how the cue was read where that differs from its text, as for a cue that is too long.
        is_survey: True when the cue asked for everything ("what do you know about me?"). The list
            then has the strongest and most distinct memories, and none of them stands out.
        layers: name of a layer of a caller's -> what it recalled for the cue, beside the k hits.
        outdated: id of a hit -> ids of hits that count instead and stand before it: newer ones that
            may have changed it, contradict it or answer a question about now anew, and the user's
            word beside that of others.
    """

    #: themes that nights made of what the cue names, each with its sources
    _themes: tuple[tuple[Hit, frozenset[int]], ...] = ()
    limits: tuple[Hit, ...] = ()
    #: places of what was left out, in the order that hits have without edges and entities
    _left_out: tuple[int, ...] = ()

    def __init__(
        self,
        hits: list[Hit] | None = None,
        stats: ScanStats | None = None,
        *,
        signals: Signals | None = None,
        abstained: bool = False,
        reason: str = "",
        standing: tuple[Hit, ...] = (),
        notes: tuple[str, ...] = (),
        is_survey: bool = False,
        outdated: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(hits or [])
        self.outdated = outdated or {}
        self.standing = standing
        self.request: object = None
        self.layers: Mapping[str, tuple[Any, ...]] = {}
        self.stats = stats or ScanStats()
        self.signals = signals
        self.abstained = abstained
        self.reason = reason
        self.notes = notes
        self.is_survey = is_survey

    def _holding(
        self, hits: Iterable[Hit], *, abstained: bool | None = None, reason: str | None = None
    ) -> HitList:
        """A copy of this list with other hits, and with what else is given."""
        out = HitList(list(hits))
        vars(out).update(vars(self))
        if abstained is not None:
            out.abstained = abstained
        if reason is not None:
            out.reason = reason
        return out

    @property
    def themes(self) -> tuple[Hit, ...]:
        """Themes of what the cue names, beside the hits: no source of theirs is a hit."""
        if not self._themes:
            return ()
        return self._themes_beside({each for hit in self for each in (hit.id, *hit.also)})

    def _themes_beside(self, shown: Set[int]) -> tuple[Hit, ...]:
        """Themes of which none of the memories that are shown is a source."""
        return tuple(hit for hit, sources in self._themes if not sources & shown)

    def __repr__(self) -> str:
        if not self.standing:
            return super().__repr__()
        return f"HitList({super().__repr__()}, standing={self.standing!r})"

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "request": None}  # it belongs to the memory that answered

    def by_session(self) -> dict[str | None, list[Hit]]:
        """Group hits by session, in the order of their best hit; None stands for no session."""
        out: dict[str | None, list[Hit]] = {}
        for hit in self:
            out.setdefault(hit.session_id, []).append(hit)
        return out

"""Promotes patterns: what sources have found becomes concepts, each in a commit of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from spector.errors import InvalidInputError
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    New,
    concepts_with,
    plan_new_figures,
    plan_restated_figure,
)
from spector.knowledge.induction import (
    CAUSAL,
    OPERATIONAL,
    Admitted,
    Trend,
    admitted,
    causal_candidates,
    is_same_pattern,
    operational_candidates,
    plan_promotion,
)
from spector.layout import Category
from spector.process import elsewhere
from spector.providers import PromotionSource, embedded
from spector.write.context import WriteContext
from spector.write.knowledge.commit import KnowledgeWriter, Prepared
from spector.write.knowledge.concepts import codes_of, cosines, vector_field

__all__ = ["ConceptPromoter", "Promoted", "Promotion"]

_log = logging.getLogger("spector.concepts")
#: likeness of words from which a pattern of a foreign source is a known concept
_SIMILAR: Final = 0.8
#: categories whose names differ by their words, and not by likeness
_BY_WORDS: Final = frozenset({CAUSAL, OPERATIONAL})


@dataclass(frozen=True, slots=True)
class Promotion:
    """One candidate: the commit that takes it over, or why there is none."""

    name: str
    category: str
    confidence: float
    sources: tuple[int, ...]
    #: why it is not promoted; "" when it is
    reason: str = ""
    #: the concept that it reinforces; None: one is made
    concept: int | None = None
    prepared: tuple[Prepared, ...] = ()
    decide: Callable[[KnowledgeReader, int], Changes] | None = None
    #: the statistic whose words become ``name``, in the commit of ``decide``
    restates: int | None = None


@dataclass(frozen=True, slots=True)
class Promoted:
    """What a promotion has come to."""

    #: concepts that were made
    made: tuple[int, ...] = ()
    #: concepts that were reinforced, or that nothing was new about
    met: tuple[int, ...] = ()
    #: statistics of trends that were made
    statistics: tuple[int, ...] = ()
    #: reason -> candidates that were rejected
    rejected: Mapping[str, int] = field(default_factory=dict)


class ConceptPromoter:
    """Promotes candidates. Callers check that the store is open and writable.

    Args:
        restate: brings a memory of knowledge to new words and rows, in one commit.
    """

    def __init__(
        self,
        parts: WriteContext,
        knowledge: KnowledgeWriter,
        *,
        restate: Callable[[int, str, Changes], None],
    ) -> None:
        self._parts = parts
        self._knowledge = knowledge
        self._restate = restate
        self._sources: list[PromotionSource] = []

    def add_source(self, source: PromotionSource) -> Callable[[], None]:
        """Ask a further source whenever patterns are promoted; returns what ends it."""
        if not callable(getattr(source, "get_promotion_candidates", None)):
            raise InvalidInputError(
                f"a {type(source).__name__} is no source of promotions",
                hint="give it get_promotion_candidates(min_confidence, min_observations)",
            )
        self._sources.append(source)

        def cancel() -> None:
            self._sources[:] = [each for each in self._sources if each is not source]

        return cancel

    def promotions(self) -> Iterator[Promotion]:
        """Every candidate of every source, the built-in ones first.

        The caller commits each before it takes the next, unless nothing shall be written. The
        statistic of a trend comes after its concept.
        """
        sleep = self._parts.config.sleep
        asked = sleep.promote_min_confidence, sleep.promote_min_observations
        limits: dict[str, Any] = {
            "min_confidence": asked[0],
            "min_observations": asked[1],
            "operational_min_confidence": sleep.operational_min_confidence,
            "randomness_gate": sleep.randomness_gate,
            "randomness_from": sleep.randomness_from,
        }
        with self._knowledge.reading() as reader:
            causal = causal_candidates(reader, *asked)
            trends = operational_candidates(
                reader, sleep.operational_min_confidence, asked[1], enough=sleep.randomness_from
            )
        for each in causal:
            yield self._promotion(each, limits)
        for candidate, trend in trends:
            found = self._promotion(candidate, limits)
            yield found
            statistic = self._statistic(found, trend)
            if statistic is not None:
                yield statistic
        for source in list(self._sources):
            for candidate in self._asked(source, *asked):
                yield self._promotion(candidate, limits)

    def promote(self) -> Promoted:
        """Commit every promotion."""
        made: list[int] = []
        met: list[int] = []
        statistics: list[int] = []
        rejected: dict[str, int] = {}
        for each in self.promotions():
            if each.decide is None:
                rejected[each.reason] = rejected.get(each.reason, 0) + 1
                continue
            ids = self._commit(each)
            if each.category == "statistic":
                statistics += ids
            elif each.concept is None:
                made += ids
            else:
                met.append(each.concept)
        return Promoted(tuple(made), tuple(met), tuple(statistics), rejected)

    def _commit(self, promotion: Promotion) -> list[int]:
        """Commit a promotion; the memories that it makes."""
        assert promotion.decide is not None
        if promotion.restates is None:
            done = self._knowledge.commit(promotion.decide, promotion.prepared)
            return [record.id for record in done.records.values()]
        with self._knowledge.reading() as reader:
            changes = promotion.decide(reader, self._parts.clock.now_ms())
        self._restate(promotion.restates, promotion.name, changes)
        return []

    def _asked(
        self, source: PromotionSource, min_confidence: float, min_observations: int
    ) -> list[Any]:
        """What a foreign source answers; one that fails has nothing to say."""
        try:
            found: Iterable[Any] = elsewhere(
                source.get_promotion_candidates, min_confidence, min_observations
            )
            return list(found)
        except Exception:
            _log.exception("a source of promotions failed: %s", type(source).__name__)
            return []

    def _promotion(self, candidate: Any, limits: Mapping[str, Any]) -> Promotion:
        with self._knowledge.reading() as reader:
            found = admitted(reader, candidate, **limits)
            if isinstance(found, str):
                return _rejected(candidate, found)
            known = self._known(reader, found)
        return self._admitted(found, known, limits)

    def _admitted(self, found: Admitted, known: int | None, limits: Mapping[str, Any]) -> Promotion:
        candidate = found.candidate

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            still = admitted(reader, candidate, **limits)
            if isinstance(still, str):  # a source was forgotten meanwhile
                return Changes()
            concept = known
            if concept is None or not reader.payloads([concept], "concept"):
                concept = _by_name(reader, still)
            if concept is None and known is not None:
                return Changes()  # it was forgotten: the next cycle makes it anew
            return plan_promotion(
                reader,
                still,
                now_ms,
                known=concept,
                most_references=self._parts.config.knowledge.max_refs,
            )

        fields: dict[str, Any] = {
            "tier": "semantic",
            "category": Category.PATTERN if candidate.category in _BY_WORDS else Category.ENTITY,
        } | vector_field(self._parts, found.sources)
        if found.scope:
            fields["user_id"] = found.scope
        prepared = () if known is not None else (Prepared(candidate.pattern_name, fields),)
        return Promotion(
            candidate.pattern_name,
            candidate.category,
            candidate.confidence,
            found.sources,
            concept=known,
            prepared=prepared,
            decide=decide,
        )

    def _known(self, reader: KnowledgeReader, pattern: Admitted) -> int | None:
        """The concept of a pattern, by its name, its words, or for foreign ones by likeness."""
        found = _by_name(reader, pattern)
        if found is not None or pattern.candidate.category in _BY_WORDS:
            return found
        if self._parts.embedder is None:
            return None
        ids, table = codes_of(
            self._parts.router.durable_store(),
            self._parts.dim,
            concepts_with(reader, "category", pattern.candidate.category, pattern.scope),
        )
        if not ids:
            return None
        cue = embedded(self._parts.embedder, [pattern.candidate.pattern_name])[0]
        likeness = cosines(np.asarray(cue), table)
        best = int(likeness.argmax())
        return ids[best] if likeness[best] >= _SIMILAR else None

    def _statistic(self, of: Promotion, trend: Trend) -> Promotion | None:
        """The statistic of a trend, once its concept is there and unless it says it already."""
        figure = trend.figure()
        with self._knowledge.reading() as reader:
            concept = of.concept
            if concept is None:
                named = concepts_with(reader, "category", OPERATIONAL, trend.scope)
                known = reader.payloads(named, "concept")
                same = (
                    each for each, values in sorted(known.items()) if values["name"] == trend.name
                )
                concept = next(same, None)
            if concept is None:
                return None
            edges = reader.edges([concept], direction="in", kinds=["quantifies"])
            stored = reader.payloads([each.source for each in edges], "statistic")
        old = next((each for each, about in stored.items() if about["code"] == figure.code), None)
        if old is not None and dict(stored[old]["values"]) == dict(figure.values):
            return None
        made: int = concept

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            sources = list(reader.owners(trend.sources))
            if not (sources and reader.payloads([made], "concept")):
                return Changes()
            if old is None:
                changes = plan_new_figures([figure], made, sources, now_ms)
                changes.put(
                    "edge",
                    source_id=New(0),
                    kind="statistically_confirms",
                    target_id=made,
                    weight=1.0,
                    confidence=figure.confidence,
                    origin="promote",
                    created_ms=now_ms,
                    note=None,
                )
                return changes
            known = reader.edges([old], direction="out", kinds=["computed_from"])
            before = [each.target for each in known]
            return plan_restated_figure(figure, old, made, before, sources, now_ms)

        fields: dict[str, Any] = {"tier": "semantic", "category": Category.SUMMARY}
        fields |= vector_field(self._parts, trend.sources)
        if trend.scope:
            fields["user_id"] = trend.scope
        return Promotion(
            figure.text,
            "statistic",
            trend.r2,
            trend.sources,
            concept=concept,
            prepared=(Prepared(figure.text, fields),),
            decide=decide,
            restates=old,
        )


def _by_name(reader: KnowledgeReader, pattern: Admitted) -> int | None:
    """The concept of the pattern's category and scope whose name says the same."""
    candidate = pattern.candidate
    others = concepts_with(reader, "category", candidate.category, pattern.scope)
    names = reader.payloads(others, "concept")
    return next(
        (
            each
            for each, values in sorted(names.items())
            if is_same_pattern(values["name"], candidate.pattern_name)
        ),
        None,
    )


def _rejected(candidate: Any, reason: str) -> Promotion:
    if reason == "malformed":
        return Promotion(repr(candidate)[:60], "", 0.0, (), reason)
    return Promotion(
        candidate.pattern_name,
        candidate.category,
        candidate.confidence,
        tuple(candidate.source_memory_ids),
        reason,
    )

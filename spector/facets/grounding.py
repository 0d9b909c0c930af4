"""The episodes and statistics of concepts, as the facets of concepts and of the graph need them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from spector.arguments import parse_integer, parse_number
from spector.clock import from_ms
from spector.errors import InvalidInputError
from spector.facets.base import Facet
from spector.knowledge import (
    ENOUGH,
    Changes,
    Experience,
    Figure,
    KnowledgeReader,
    Registry,
    certainty,
    concepts_named,
    figures_of,
    normalize_tokens,
    plan_cooccurrence,
    plan_new_figures,
    plan_restated_figure,
    predicted_outcomes,
    references_of,
)
from spector.layout import MUTABLE_DTYPE, Category, Flag
from spector.process import verb
from spector.records import Percept, PredictedOutcome, Statistic
from spector.store.catalog import Scope
from spector.write import Prepared


class Grounding(Facet):
    """Reads and renews the statistics of concepts."""

    def experiences(self, ids: Iterable[int]) -> list[Experience]:
        """The living episodes among ids, with their details."""
        asked = list(dict.fromkeys(ids))
        with self._read() as reader:
            rows = self._parts.store.catalog.fetch(asked)  # the bytes of vectors are not needed
            details = reader.payloads(list(rows), "episode")
            observed = reader.payloads(list(rows), "observed")
        headers = {each: np.frombuffer(row.mutable, MUTABLE_DTYPE)[0] for each, row in rows.items()}
        return [
            Experience(
                each,
                rows[each].event_ms,
                float(headers[each]["importance"]),
                details.get(each, {}),
                observed.get(each, {}).get("novelty"),
                bool(int(headers[each]["flags"]) & Flag.CONSOLIDATED),
            )
            for each in asked
            if each in rows
        ]

    def statistics(self, concepts: Collection[int]) -> dict[int, list[Statistic]]:
        """The statistics of concepts that are stored, by concept."""
        with self._read() as reader:
            ties = reader.edges(concepts, direction="in", kinds=["quantifies"])
            payloads = reader.payloads([each.source for each in ties], "statistic")
        records = self._living(sorted(payloads))
        out: dict[int, list[Statistic]] = {}
        for each, record in records.items():
            values = payloads[each]
            out.setdefault(values["concept_id"], []).append(
                Statistic(
                    id=each,
                    concept_id=values["concept_id"],
                    name=values["name"],
                    category=values["category"],
                    domain=values["domain"],
                    values=values["values"],
                    text=record.text,
                    code=values["code"],
                    confidence=values["confidence"],
                    computed_at=from_ms(values["computed_ms"]),
                    record=record,
                )
            )
        return out

    def ground(self, concept: int, name: str, episodes: Collection[int]) -> list[Statistic]:
        """The statistics of a concept, stored or brought up to date; none below eight episodes."""
        known = self.experiences(episodes)
        figures = figures_of(name, known, self._parts.config.knowledge.ground_from)
        stored = {each.code: each for each in self.statistics([concept]).get(concept, [])}
        ids = [each.id for each in known]
        for each in figures:
            old = stored.get(each.code)
            if old is not None:
                self._restate(each, old, concept, ids)
        fresh = [each for each in figures if each.code not in stored]
        if fresh:
            self._store(fresh, concept, ids)
        self.relate(concept)
        return self.statistics([concept]).get(concept, []) if figures else []

    def _store(self, figures: list[Figure], concept: int, episodes: list[int]) -> None:
        record = self._record(concept)
        fields = {"tier": "semantic", "category": Category.SUMMARY}
        if record.user_id is not None:
            fields["user_id"] = record.user_id

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            living = [each for each in episodes if each in self._living([each])]
            return plan_new_figures(figures, concept, living, now_ms)

        self._parts.knowledge.commit(decide, [Prepared(each.text, fields) for each in figures])

    def _restate(self, figure: Figure, old: Statistic, concept: int, episodes: list[int]) -> None:
        with self._read() as reader:
            edges = reader.edges([old.id], direction="out", kinds=["computed_from"])
        before = [each.target for each in edges]
        if dict(old.values) == dict(figure.values) and set(before) == set(episodes):
            return
        now_ms = self._parts.clock.now_ms()
        changes = plan_restated_figure(figure, old.id, concept, before, episodes, now_ms)
        self._parts.updater.restate(old.id, figure.text, changes)

    def matching(self, percept: Percept, scope: Scope) -> list[int]:
        """Active concepts of a percept: objects and people by name, the goal by its tokens."""
        return self.active(self.named(percept, scope), scope)

    def surest(self, percept: Percept, scope: Scope, most: int) -> dict[int, dict[str, Any]]:
        """The same, with their fields: the ``most`` surest ones, of equals the older."""
        payloads = self.payloads(self.named(percept, scope))
        order = sorted(payloads, key=lambda each: (-payloads[each]["confidence"], each))
        chosen: dict[int, dict[str, Any]] = {}
        for each in order:  # records are read one by one: most names have few concepts
            if len(chosen) == most:
                break
            if self.active([each], scope):
                chosen[each] = payloads[each]
        return chosen

    def named(self, percept: Percept, scope: Scope) -> list[int]:
        """Concepts with the names of a percept, whether they are active or not."""
        names = [*percept.objects, *percept.people]
        if percept.goal:
            names += [percept.goal, *normalize_tokens(percept.goal)]
        with self._read() as reader:
            found = {
                each for name in names for each in concepts_named(reader, name, scope=scope.user_id)
            }
        return sorted(found)

    def active(self, concepts: Iterable[int], scope: Scope) -> list[int]:
        """Those that recalls may show."""
        return [
            each
            for each, record in self._living(concepts, scope).items()
            if not record.flags & (Flag.DORMANT | Flag.SUPERSEDED | Flag.QUARANTINED)
        ]

    def references(self, concepts: Collection[int]) -> Mapping[int, dict[str, tuple[int, ...]]]:
        """Layer -> memories, of each concept."""
        with self._read() as reader:
            return references_of(reader, concepts)

    def episode_counts(self, concepts: Collection[int]) -> dict[int, int]:
        """How many episodes each concept refers to."""
        with self._read() as reader:
            return {each: reader.reference_count(each, "episodes") for each in concepts}

    def payloads(self, concepts: Collection[int]) -> dict[int, dict[str, Any]]:
        """The fields of concepts."""
        with self._read() as reader:
            return reader.payloads(concepts, "concept")

    def relations(self, concept: int) -> list[dict[str, Any]]:
        """Relations of a concept to other living concepts, the strongest first."""
        with self._read() as reader:
            edges = reader.edges([concept])
            others = {each.source for each in edges} | {each.target for each in edges}
            return _relations_of(reader, concept, self._living(sorted(others)))

    def relate(self, concept: int) -> None:
        """Renew the ties of a concept to those with which it shares episodes."""

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            least = self._parts.config.knowledge.jaccard
            return plan_cooccurrence(reader, concept, now_ms, least)

        self._parts.knowledge.commit(decide)


def _relations_of(
    reader: KnowledgeReader, concept: int, living: Collection[int]
) -> list[dict[str, Any]]:
    """Relations of a concept to other living concepts, the strongest first."""
    kinds = {each.name: each for each in Registry(reader.kinds())}
    edges = reader.edges([concept])
    others = {each.source for each in edges} | {each.target for each in edges}
    names = reader.payloads(sorted(others & set(living)), "concept")
    out = []
    for each in edges:
        is_out = each.source == concept
        other, kind = (each.target if is_out else each.source), kinds.get(each.kind)
        name = each.kind if is_out or (kind and kind.symmetric) else kind and kind.inverse
        if name and other in names and other != concept:
            out.append({"type": name, "target": names[other]["name"], "weight": each.weight})
    return sorted(out, key=lambda each: (-each["weight"], each["type"], each["target"]))


# From a percept to concepts, what is known of them, and what their episodes foretell.

#: levels of an entry: everything, what is stored, the name alone
_FULL, _STORED, _NAMED = 1, 2, 3


class CompletingFacet(Facet):
    """A facet that completes a percept from experience."""

    @verb
    def complete(
        self,
        percept: Percept,
        *,
        limit: int = 5,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[PredictedOutcome]:
        """What happened in the newest twenty episodes of the concepts of a percept.

        Episodes without a tool foretell nothing. The newest come first, then the surest.
        """
        wanted = parse_percept(percept)
        most, scope = parse_integer(limit, "limit", low=1), self._scope(user_id, agent_id)
        ground = Grounding(self._parts)
        concepts = ground.matching(wanted, scope)
        references = ground.references(concepts)
        ids = {each for layers in references.values() for each in layers.get("episodes", ())}
        living = self._living(sorted(ids), scope)
        figures = {
            each.name: each.text for found in ground.statistics(concepts).values() for each in found
        }
        newest = self._parts.config.association.completion_episodes
        return predicted_outcomes(ground.experiences(living), figures, most, newest)


def parse_percept(percept: Any) -> Percept:
    """A percept whose parts are texts.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(percept, Percept):
        raise InvalidInputError(
            f"a percept is expected, not {type(percept).__name__}",
            hint='write it like Percept(objects=["mug"], goal="grasp_mug")',
        )
    for name in ("objects", "people"):
        value = getattr(percept, name)
        if (
            isinstance(value, str)
            or not isinstance(value, Iterable)
            or not all(isinstance(each, str) for each in value)
        ):
            raise InvalidInputError(
                f"{name} of a percept is {value!r:.60}", hint=f'write it like {name}=["mug"]'
            )
    if percept.goal is not None and not isinstance(percept.goal, str):
        raise InvalidInputError(
            f"goal of a percept is {percept.goal!r:.60}", hint='write it like goal="grasp_mug"'
        )
    return percept


def concept_context(
    ground: Grounding, percept: Percept, scope: Scope, *, limit: Any, budget_ms: Any
) -> list[dict[str, Any]]:
    """What is known of the concepts of a percept, the surest first, within a budget of time.

    With time left an entry is computed anew (level 1); in the second half of the budget it has
    what is stored (level 2); after it, its name, category and number of episodes (level 3).
    """
    start = time.monotonic()
    most = parse_integer(limit, "limit", low=1)
    budget_s = parse_number(budget_ms, "budget_ms", low=0.0, high=3.6e6) / 1000.0
    chosen = ground.surest(parse_percept(percept), scope, most)
    counts = ground.episode_counts(chosen)
    out = []
    for each, values in chosen.items():
        entry: dict[str, Any] = {
            "name": values["name"],
            "category": values["category"],
            "confidence": values["confidence"],
            "episode_count": counts[each],
            "relationships": [],
            "properties": {},
            "layer_context": [],
            "level": _NAMED,
        }
        out.append(entry)
        spent = time.monotonic() - start
        if spent < budget_s:
            entry["level"] = _STORED
            _fill(entry, ground, each)
            if spent < budget_s / 2:
                entry["level"] = _FULL
                _renew(entry, ground, each)
    return out


def _fill(entry: dict[str, Any], ground: Grounding, concept: int) -> None:
    """Add what is stored: relations to other concepts, statistics."""
    entry["relationships"] = ground.relations(concept)
    for each in ground.statistics([concept]).get(concept, []):
        _note(entry, each.code, each.name, each.text, each.values, each.confidence)


def _renew(entry: dict[str, Any], ground: Grounding, concept: int) -> None:
    """Put what the episodes say now in the place of stored statistics."""
    if entry["episode_count"] >= ENOUGH:
        episodes = ground.references([concept]).get(concept, {}).get("episodes", ())
        for each in figures_of(entry["name"], ground.experiences(episodes)):
            _note(entry, each.code, each.name, each.text, each.values, certainty(each.n))


def _note(
    entry: dict[str, Any], code: str, name: str, text: str, values: Any, confidence: float
) -> None:
    entry["properties"][code] = values["rate"] if "rate" in values else values["mean"]
    verbal = {"layer": "statistics", "name": name, "verbal": text, "confidence": confidence}
    others = [each for each in entry["layer_context"] if each["name"] != name]
    entry["layer_context"] = [*others, verbal]

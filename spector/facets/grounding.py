"""The episodes and statistics of concepts, as the facets of concepts and of the graph need them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from spector.clock import from_ms
from spector.facets.base import Facet
from spector.knowledge import (
    Changes,
    Experience,
    Figure,
    KnowledgeReader,
    concepts_named,
    figures_of,
    normalize_tokens,
    plan_cooccurrence,
    plan_new_figures,
    plan_restated_figure,
    references_of,
)
from spector.knowledge.graph import Registry
from spector.layout import MUTABLE_DTYPE, Category, Flag
from spector.records import Percept, Statistic
from spector.store.catalog import Scope
from spector.write import Prepared

__all__ = ["Grounding"]


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

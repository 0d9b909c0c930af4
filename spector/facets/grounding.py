"""The episodes and statistics of concepts, as the facets of concepts and of the graph need them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

import numpy as np

from spector.arguments import parse_integer, parse_number
from spector.errors import InvalidInputError
from spector.facets.base import HIDDEN, Facet
from spector.knowledge import (
    ENOUGH,
    Changes,
    Experience,
    Figure,
    KnowledgeReader,
    Registry,
    certainty,
    concepts_named,
    experiences,
    figures_of,
    items_made,
    normalize_tokens,
    plan_cooccurrence,
    plan_new_figures,
    plan_restated_figure,
    references_of,
    statistics_of,
)
from spector.layout import MUTABLE_DTYPE, Category
from spector.records import Percept, Statistic
from spector.store.catalog import Scope
from spector.write import Prepared


class Grounding(Facet):
    """Reads and renews the statistics of concepts."""

    def experiences(self, ids: Iterable[int]) -> list[Experience]:
        """The living episodes among ids, with their details."""
        asked = list(dict.fromkeys(ids))
        with self._read() as reader:
            rows = self._parts.store.catalog.fetch(asked)  # the bytes of vectors are not needed
            known = {}
            for each, row in rows.items():
                header = np.frombuffer(row.mutable, MUTABLE_DTYPE)[0]
                known[each] = row.event_ms, float(header["importance"]), int(header["flags"])
            return experiences(reader, asked, known)

    def statistics(self, concepts: Collection[int]) -> dict[int, list[Statistic]]:
        """The statistics of concepts that are stored, by concept."""
        with self._read() as reader:
            payloads = statistics_of(reader, concepts)
            living = self._living(sorted(payloads))
            found = [(record, payloads[each]) for each, record in living.items()]
            out: dict[int, list[Statistic]] = {}
            for made in items_made(reader, "statistic", found):
                out.setdefault(made.concept_id, []).append(made)
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
                with self._read() as reader:
                    now_ms = self._parts.clock.now_ms()
                    changes = plan_restated_figure(reader, each, old.id, concept, ids, now_ms)
                if changes:
                    self._parts.updater.restate(old.id, each.text, changes)
        fresh = [each for each in figures if each.code not in stored]
        if fresh:
            self._store(fresh, concept, ids)
        self.relate(concept)
        return self.statistics([concept]).get(concept, []) if figures else []

    def _store(self, figures: list[Figure], concept: int, episodes: list[int]) -> None:
        user = self._record(concept).user_id
        fields = {"tier": "semantic", "category": Category.SUMMARY, "user_id": user}

        def decide(reader: KnowledgeReader, changes: Changes, now_ms: int) -> None:
            living = list(self._living(episodes))
            changes.add(plan_new_figures(figures, concept, living, now_ms))

        self._commit(decide, [Prepared(each.text, fields) for each in figures])

    def matching(self, percept: Percept, scope: Scope) -> dict[int, dict[str, Any]]:
        """Concepts of a percept, active or not, with their fields.

        Objects and people are found by their names, the goal by its tokens as well.
        """
        names = [*percept.objects, *percept.people]
        if percept.goal:
            names += [percept.goal, *normalize_tokens(percept.goal)]
        with self._read() as reader:
            found = {
                each for name in names for each in concepts_named(reader, name, scope=scope.user_id)
            }
            return reader.payloads(sorted(found), "concept")

    def active(self, concepts: Iterable[int], scope: Scope) -> list[int]:
        """Those that recalls may show."""
        living = self._living(concepts, scope)
        return [each for each, record in living.items() if not record.flags & HIDDEN]

    def episodes(self, concepts: Collection[int]) -> dict[int, tuple[int, ...]]:
        """The episodes that concepts refer to."""
        with self._read() as reader:
            found = references_of(reader, concepts)
        return {each: layers.get("episodes", ()) for each, layers in found.items()}

    def episode_counts(self, concepts: Collection[int]) -> dict[int, int]:
        """How many episodes each concept refers to."""
        with self._read() as reader:
            return {each: reader.reference_count(each, "episodes") for each in concepts}

    def relations(self, concept: int) -> list[dict[str, Any]]:
        """Relations of a concept to other living concepts, the strongest first."""
        out = []
        with self._read() as reader:
            edges = reader.edges([concept])
            others = {end for each in edges for end in (each.source, each.target)}
            names = reader.payloads(list(self._living(sorted(others))), "concept")
            kinds = {each.name: each for each in Registry(reader.kinds())}
        for each in edges:
            is_out = each.source == concept
            other, kind = (each.target if is_out else each.source), kinds.get(each.kind)
            name = each.kind if is_out or (kind and kind.symmetric) else kind and kind.inverse
            if name and other in names and other != concept:
                out.append({"type": name, "target": names[other]["name"], "weight": each.weight})
        return sorted(out, key=lambda each: (-each["weight"], each["type"], each["target"]))

    def relate(self, concept: int) -> None:
        """Renew the ties of a concept to those with which it shares episodes."""
        least = self._parts.config.knowledge.jaccard
        self._parts.knowledge.commit(
            lambda reader, now_ms: plan_cooccurrence(reader, concept, now_ms, least)
        )


# From a percept to concepts, what is known of them, and what their episodes foretell.

#: levels of an entry: everything, what is stored, the name alone
_FULL, _STORED, _NAMED = 1, 2, 3


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
    known = ground.matching(parse_percept(percept), scope)
    order = sorted(known, key=lambda each: (-known[each]["confidence"], each))
    # records are read one by one: most names have few concepts
    chosen = list(islice((each for each in order if ground.active([each], scope)), most))
    counts = ground.episode_counts(chosen)
    out = []
    for each in chosen:
        entry: dict[str, Any] = {
            "name": known[each]["name"],
            "category": known[each]["category"],
            "confidence": known[each]["confidence"],
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
            entry["relationships"] = ground.relations(each)
            for one in ground.statistics([each]).get(each, []):
                _note(entry, one, one.confidence)
        if spent < budget_s / 2:
            entry["level"] = _FULL
            if entry["episode_count"] >= ENOUGH:
                episodes = ground.experiences(ground.episodes([each]).get(each, ()))
                for figure in figures_of(entry["name"], episodes):
                    _note(entry, figure, certainty(figure.n))
    return out


def _note(entry: dict[str, Any], one: Statistic | Figure, confidence: float) -> None:
    """Have an entry say a statistic, in place of one of its name."""
    entry["properties"][one.code] = one.values.get("rate", one.values.get("mean"))
    others = [each for each in entry["layer_context"] if each["name"] != one.name]
    entry["layer_context"] = [
        *others,
        {"layer": "statistics", "name": one.name, "verbal": one.text, "confidence": confidence},
    ]

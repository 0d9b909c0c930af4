"""From a percept to concepts, what is known of them, and what their episodes foretell."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from spector.arguments import parse_integer, parse_number
from spector.errors import InvalidInputError
from spector.facets.base import Facet
from spector.facets.grounding import Grounding
from spector.knowledge import ENOUGH, certainty, figures_of, predicted_outcomes
from spector.process import verb
from spector.records import Percept, PredictedOutcome
from spector.store.catalog import Scope

__all__ = ["CompletingFacet", "concept_context", "parse_percept"]

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

"""Modifiers of scores from knowledge: entities of the cue, and memories often used together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from spector._types import F32
from spector.knowledge.association import entities_of_cue, partners_of
from spector.search.associations.reading import knowledge_of
from spector.search.view import Modifier, Plan, Ranked

__all__ = ["ASSOCIATIVE", "coactivation", "entity"]

#: entities of the cue that count for a memory
_MOST_ENTITIES: Final = 3


def entity(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.10 for each entity of the cue that a memory mentions, at most 0.30."""
    request = plan.request
    if not request.associate:
        return None
    with knowledge_of(plan) as reader:
        found = entities_of_cue(reader, request.cue.text, request.selection.user_id)
        if not found:
            return None
        ids = np.sort(ranked.ids)
        if sum(reader.mention_counts(found).values()) <= len(ids):
            rows = reader.links("mention", a=found)
        else:  # an entity may be mentioned by far more memories than there are candidates
            rows = reader.links_between("mention", found, ids.tolist())
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["b"]] = min(counts.get(row["b"], 0) + 1, _MOST_ENTITIES)
    amount = request.tuning.entity
    return _added(plan, ranked, "entity", counts.keys(), lambda each: amount * counts[each])


def coactivation(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.05 for what was used three times or more together with one of the best k."""
    tuning = plan.request.tuning
    if not plan.request.associate:
        return None
    best = ranked.best_ids(plan.request.k).tolist()
    with knowledge_of(plan) as reader:
        found = partners_of(reader, best, tuning.coactivation_from) if reader.holds_any else set()
    if not found:
        return None
    return _added(plan, ranked, "coactivation", found, lambda _: tuning.coactivation)


def _added(
    plan: Plan, ranked: Ranked, name: str, ids: Iterable[int], amount: Callable[[int], float]
) -> Modifier | None:
    """A modifier that adds to some memories; in a score that multiplies, on likeness's scale."""
    rows = ranked.rows_of(np.array(list(ids), np.int64))
    if not len(rows):
        return None
    profile = plan.request.profile
    scale = 1.0 if profile.fusion == "additive" else profile.w_similarity
    addend: F32 = np.zeros(len(ranked.ids), np.float32)
    addend[rows] = [scale * amount(each) for each in ranked.ids[rows].tolist()]
    return Modifier(name, np.ones(len(addend), np.float32), addend)


#: in the order in which they act
ASSOCIATIVE: Final = (entity, coactivation)

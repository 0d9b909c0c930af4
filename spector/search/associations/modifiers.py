"""Modifiers of scores: entities of the cue, its session, use together, kinds within a tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from spector._types import F32
from spector.knowledge.association import entities_of_cue, partners_of
from spector.layout import Category, TierCode
from spector.records import SUB_TIERS, source_of_role, sub_tier_of
from spector.search.associations.reading import knowledge_of
from spector.search.view import Modifier, Plan, Ranked, header_column
from spector.store.catalog import Scope, members

__all__ = ["ASSOCIATIVE", "coactivation", "entity", "episode", "sub_tier"]

#: entities of the cue that count for a memory
_MOST_ENTITIES: Final = 3
#: tiers with kinds within them, by code
_TIERS: Final = {TierCode.EPISODIC: "episodic", TierCode.SEMANTIC: "semantic"}
#: a candidate below this share of the score of the last one that counts stays behind it
_RIVAL: Final = 0.9 / 1.1
#: hits whose partners count
_BEST: Final = 10
_MOST_RIVALS: Final = 2048


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


def episode(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.15 for memories of the session that the cue belongs to."""
    session, amount = plan.request.near, plan.request.tuning.episode
    if session is None or plan.request.selection.session_id is not None:
        return None
    ids, found = ranked.ids.tolist(), set[int]()
    for store in plan.snap.stores:
        found |= members(store.catalog, ids, Scope(session_id=session), inside=True)
    return _added(plan, ranked, "episode", found, lambda _: amount)


def sub_tier(plan: Plan, ranked: Ranked) -> Modifier | None:
    """Factors of kinds within a tier: what a user said, what always holds; see `SUB_TIERS`.

    Only for candidates that could be in the pool by it, as the factors lie in 0.9..1.1, and
    in stores with knowledge, or in a session: others rank as if there were none.
    """
    request = plan.request
    if not (request.associate and request.tuning.subtiers):
        return None
    with knowledge_of(plan) as reader:
        if request.near is None and not reader.holds_any:
            return None
    rows, scores = ranked.rivals(2 * plan.k, _RIVAL, _MOST_RIVALS)
    rows = rows[scores > 0]
    ids, snap = ranked.ids[rows].tolist(), plan.snap
    categories = header_column(snap, ranked.part[rows], ranked.slot[rows], "category").tolist()
    tiers = header_column(snap, ranked.part[rows], ranked.slot[rows], "tier").tolist()
    stored = {each: row for store in snap.stores for each, row in store.catalog.fetch(ids).items()}
    with knowledge_of(plan) as reader:
        observed = reader.payloads(ids, "observed") if reader.holds_any else {}
    factor: F32 = np.ones(len(ranked.ids), np.float32)
    for n, each, category, tier in zip(rows.tolist(), ids, categories, tiers, strict=True):
        row = stored.get(each)
        name = _TIERS.get(tier)
        if row is None or name is None:
            continue
        source = observed.get(each, {}).get("data_source") or source_of_role(row.role)
        factor[n] = SUB_TIERS.get(sub_tier_of(name, Category(category), source, row.text), 1.0)
    if bool((factor == 1.0).all()):
        return None
    return Modifier("sub_tier", factor, np.zeros(len(factor), np.float32))


def coactivation(plan: Plan, ranked: Ranked) -> Modifier | None:
    """0.05 for what was used three times or more together with one of the best."""
    tuning = plan.request.tuning
    if not plan.request.associate:
        return None
    best = ranked.best_ids(_BEST).tolist()
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
ASSOCIATIVE: Final = (entity, episode, coactivation, sub_tier)

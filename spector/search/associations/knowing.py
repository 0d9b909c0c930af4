"""Concepts and patterns that some memories bring to mind, by spreading activation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from spector.knowledge import KnowledgeReader
from spector.knowledge.association import themes_named
from spector.knowledge.graph import StoreEdges, activate
from spector.knowledge.induction import TIME_OF_DAY
from spector.layout import Category
from spector.records import Hit, HitList, MemoryRecord
from spector.search.associations.reading import has_details, knowledge_of
from spector.search.score_search import ScoreSearch
from spector.search.view import Plan
from spector.store.catalog import Row

__all__ = ["is_bare_node", "known_from", "themes_of_cue"]

#: what a concept that refers to a seed is activated by: one edge of full weight
_REFERENCE: Final = 0.5
#: themes of a cue
_MOST_THEMES: Final = 3
#: candidates that are looked up for each one that is wanted
_SPARE: Final = 8
#: nodes of the graph that everything is tied to, and that say nothing when they are quoted
_BARE: Final = frozenset({"user", "agent", "assistant", TIME_OF_DAY[0]})


def known_from(plan: Plan, by_score: ScoreSearch, *, seeds: Sequence[int], limit: int) -> HitList:
    """Concepts and patterns that pass a plan's filters, the most active first."""
    with knowledge_of(plan) as reader:
        if not reader.holds_any:
            return HitList()
        active = _activation(plan, reader, seeds)
        sorts = reader.sorts(sorted(active))
    ranked = sorted(active, key=lambda each: (-active[each], each))
    hits = by_score.hits_of(plan, ranked[: _SPARE * limit])
    known = [
        hit
        for hit in hits
        if ("concept" in sorts.get(hit.id, ()) or hit.record.category is Category.PATTERN)
        and not is_bare_node(hit.record)
    ]
    return HitList(known[:limit])


def themes_of_cue(plan: Plan, by_score: ScoreSearch) -> list[tuple[Hit, frozenset[int]]]:
    """Themes of what a cue names, each with its sources, which all pass the filters.

    A source that a night put to rest counts; of one that a caller retired, or that has ended, no
    theme speaks.

    Args:
        plan: one that lets derived and dormant memories pass.
    """
    if not has_details(plan):
        return []
    cue, user = plan.request.cue.text, plan.request.selection.user_id
    with knowledge_of(plan) as reader:
        if reader.sleep_state() is None:  # no night has made any
            return []
        found = themes_named(reader, cue, user)
        sources = sorted({one for some in found.values() for one in some})
        rested = reader.payloads(sources, "rest")
    if not found:
        return []
    living = {
        hit.id
        for hit in by_score.hits_of(plan, sources)
        if not hit.record.dormant or hit.id in rested
    }
    themes = [
        (hit, found[hit.id])
        for hit in by_score.hits_of(plan, list(found))
        if not hit.record.dormant and found[hit.id] <= living
    ]
    return sorted(themes, key=lambda each: (-each[0].score, each[0].id))[:_MOST_THEMES]


def is_bare_node(record: MemoryRecord) -> bool:
    """Whether a memory is a node that everything is tied to, and not worth a quote."""
    return record.category is Category.ENTITY and record.text.casefold() in _BARE


def _activation(plan: Plan, reader: KnowledgeReader, seeds: Sequence[int]) -> dict[int, float]:
    """Activation of memories that edges and references lead to, without the seeds."""
    stores = plan.snap.stores
    store = next((each for each in stores if each.files.durable), stores[0])

    def rows_of(ids: Collection[int]) -> Mapping[int, Row]:
        return store.catalog.fetch(sorted(ids))

    def layers(ids: Iterable[int]) -> dict[int, str]:
        asked = list(ids)
        found = reader.sorts(asked)
        return {each: "concepts" if "concept" in found.get(each, ()) else "" for each in asked}

    spread = activate(StoreEdges(reader, rows_of, "both", None), seeds, layers)
    out = {each: value for some in spread.values() for each, value in some}
    for row in reader.links("reference:episodes", b=seeds):
        out[row["a"]] = max(out.get(row["a"], 0.0), _REFERENCE)
    return {each: value for each, value in out.items() if each not in seeds}

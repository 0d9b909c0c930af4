"""Figures of what a memory thinks: sessions, knowledge, the graph, sleep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spector.clock import iso_of_ms
from spector.knowledge import KnowledgeReader, current_facts
from spector.providers import CachedEmbedder, Embedder
from spector.store.catalog import has_windows
from spector.store.core import Store
from spector.upkeep import count_flags

__all__ = ["cognition_stats"]


def cognition_stats(
    *,
    store: Store,
    stores: Iterable[Store],
    sessions: Mapping[str, Any],
    cache: Embedder | None,
    operations: Mapping[str, Any] | None,
    model: Mapping[str, int] | None,
    waiting: int,
    now_ms: int,
) -> dict[str, Any]:
    """See ``Memory.stats``; JSON-ready. Each count equals what the facets list.

    Args:
        waiting: memories whose concepts are not extracted yet.

    Edges are those that are stored: ``supersedes`` and ``parents`` of memories are not counted.
    """
    flags = count_flags(stores)
    with store.catalog.reading() as db:
        known = _knowledge(reader := KnowledgeReader(db, store.catalog.path))
        if flags.dormant or store.catalog.ends.along() or has_windows(store.catalog):
            current = current_facts(reader, reader.facts(holds=1), store.catalog.fetch, now_ms)
            known["facts"]["count"] = len(current)
    return {
        "sessions": sessions["live"],
        "sensory": sessions["sensory"],
        "zones": sessions["zones"],
        "episodes": {
            "short_term": flags.episodes - flags.consolidated,
            "medium_term": flags.consolidated,
        },
        **known,
        "dormant": flags.dormant,
        "queue": waiting,
        "cache_hit_rate": cache.stats().hit_rate if isinstance(cache, CachedEmbedder) else None,
        "ops_log": operations,
        "llm": {"calls": 0, "failures": 0} | dict(model or {}),
    }


def _knowledge(reader: KnowledgeReader) -> dict[str, Any]:
    counts = reader.counts()
    nodes, kinds = reader.graph_size()
    procedures = reader.all_payloads("procedure")
    triggers = {row["folded"] for row in reader.all_names(["trigger"]) if row["id"] in procedures}
    state = reader.sleep_state()
    return {
        "facts": {"count": counts["held_fact"], "entities": counts["entity"]},
        "procedures": {"count": len(procedures), "triggers": len(triggers)},
        "learnings": counts["learning"],
        "concepts": counts["concept"],
        "statistics": counts["statistic"],
        "graph": {"nodes": nodes, "edges": sum(kinds.values()), "by_kind": kinds},
        "coactivation_pairs": counts["pair"],
        "last_cycle": None
        if state is None or not state["cycle"]
        else {
            "cycle": state["cycle"],
            "started_at": iso_of_ms(state["started_ms"]),
            "step": state["step"] or None,
        },
    }

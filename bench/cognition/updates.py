"""Rows 15 and 16: statements of long chats that are updated or contradicted later (BEAM).

Every message goes through the product as it comes; the user's ask for ``supersedes="auto"``. Asked
are the set's own questions, ten hits each. Nothing is fitted to the set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

import spector
from bench.cognition.score import Score, scores
from bench.data import NOW, data_root
from bench.recall.sets import load
from bench.recall.shape import Store
from spector.clock import ManualClock

__all__ = ["update_rows"]

_HITS: Final = 10
Questions = Mapping[str, list[dict[str, Any]]]


def measured(store: Store, asked: Questions) -> Counter[str]:
    """What recall makes of the updates and contradictions of one chat."""
    out, ids = Counter[str](), dict[str, int]()
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        for n, item in enumerate(store.items):
            if item.text:
                record = memory.remember(
                    {"role": item.speaker, "content": item.text},
                    event_time=NOW - timedelta(hours=len(store.items) - n),
                    supersedes="auto" if item.speaker == "user" else None,
                )
                ids[item.id] = record.id
                out["messages"] += item.speaker == "user"
        meant = []
        for ability in ("knowledge_update", "contradiction_resolution"):
            for each in asked[ability]:
                sides = {
                    name: {ids[one] for one in _flat(side) if one in ids}
                    for name, side in each["source_chat_ids"].items()
                }
                meant.append(frozenset().union(*sides.values()))
                hits = memory.recall(each["question"], k=_HITS)
                if ability == "knowledge_update":
                    _update(hits, sides["original_info"], sides["updated_info"], out)
                else:
                    _contradiction(hits, list(sides.values()), out)
        ties = {
            frozenset((edge.source, edge.target))
            for id_ in ids.values()
            for edge in memory.graph.edges(id_, kinds=["contradicts"])
        }
        out["false"] = sum(not any(tie <= each for each in meant) for tie in ties)
    return out


def _flat(side: Any) -> Iterator[str]:
    for each in side if isinstance(side, list) else [side]:
        if isinstance(each, list):
            yield from _flat(each)
        else:
            yield str(each)


def _update(hits: Any, old: set[int], new: set[int], out: Counter[str]) -> None:
    """Whether the newer statement is among the hits, and before the older one."""
    if old and new - old:
        found = [hit.id for hit in hits]
        place, before = (
            min((found.index(each) for each in side if each in found), default=_HITS)
            for side in (new - old, old)
        )
        out["updates"] += 1
        out["among"] += place < _HITS
        out["first"] += place < min(before, _HITS)


def _contradiction(hits: Any, sides: list[set[int]], out: Counter[str]) -> None:
    """Whether both statements are among the hits, and shown as a conflict."""
    found, (one, other) = {hit.id: set(hit.conflicts) for hit in hits}, sides[:2]
    out["pairs"] += 1
    out["both"] += bool(one & found.keys()) and bool(other & found.keys())
    out["flagged"] += any(found[each] & other for each in one & found.keys())


def update_rows() -> list[Score]:
    """Rows 15 and 16, over all chats."""
    total = Counter[str]()
    for store in load("beam").stores:
        path = data_root() / f"beam_100k/probing_{store.name.removeprefix('beam-')}.json"
        total += measured(store, json.loads(path.read_text(encoding="utf-8")))
    updates, pairs = max(1, total["updates"]), max(1, total["pairs"])
    rate = 100 * total["false"] / max(1, total["messages"])
    return scores(
        "updates",
        updates=total["updates"],
        pairs=total["pairs"],
        first=100 * total["first"] / updates,
        among=100 * total["among"] / updates,
        both=100 * total["both"] / pairs,
        flagged=100 * total["flagged"] / pairs,
        rate=rate,
    )

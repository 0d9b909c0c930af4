"""Upkeep of the graph: what it turns on, and edges and pairs that are too many."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

import numpy as np

from spector.knowledge import Changes, KnowledgeReader
from spector.knowledge.graph import EdgeArrays, Registry, pagerank
from spector.sleep.night import Night, Units
from spector.write import Unit

__all__ = ["graph"]

#: central memories that are kept in mind
_MOST_CENTRAL: Final = 1_000
_TIMES_MEAN: Final = 1.5
#: pairs that are left when there are too many
_PAIRS_SHARE: Final = 0.9


def graph(night: Night, cursor: int) -> Units:
    """Compute what is central; drop the weakest of too many prunable edges, and rare pairs."""
    with night.survey.knowledge() as reader:
        kinds = Registry(reader.kinds())
        # as it was before this step has dropped any edge
        central = night.once("central", lambda: _central(night, reader, kinds))
        edges = _too_many_edges(night, reader, kinds)
        pairs = _too_many_pairs(night, reader)
    for table, keys in (("edge", edges), ("link", pairs)):
        for start in range(0, len(keys), night.sleep.batch_records):
            part = keys[start : start + night.sleep.batch_records]

            def decide(
                reader: KnowledgeReader, now_ms: int, table: str = table, part: Any = part
            ) -> Changes:
                changes = Changes()
                for key in part:
                    changes.drop(table, *key)
                return changes

            yield Unit(decide=decide, seen=len(part), skipped={f"{table}s dropped": len(part)})
    return {"central": central}


def _central(night: Night, reader: KnowledgeReader, kinds: Registry) -> dict[str, float]:
    """Rank of the memories that the graph of their user turns on."""
    knowledge = night.config.knowledge
    symmetric = {each.name for each in kinds if each.symmetric}
    by_user: dict[str, list[tuple[int, int, float, str, str | None]]] = defaultdict(list)
    for row in reader.edge_columns():
        by_user[row[4] or ""].append(row)
    found: list[tuple[float, int]] = []
    for _, rows in sorted(by_user.items()):
        source, target, weight, kind, _ = zip(*rows, strict=True)
        table = EdgeArrays.make(
            np.array(source, np.int64),
            np.array(target, np.int64),
            np.array(weight),
            np.array([each in symmetric for each in kind]),
        )
        ranks = pagerank(
            table, damping=knowledge.pagerank_damping, iterations=knowledge.pagerank_iterations
        )
        least = knowledge.pagerank_protection
        if knowledge.pagerank_relative:
            least = max(least, _TIMES_MEAN / max(1, len(ranks)))
        chosen = np.flatnonzero(ranks > least)
        found += zip(ranks[chosen].tolist(), table.ids[chosen].tolist(), strict=True)
    found.sort(key=lambda each: (-each[0], each[1]))
    return {str(each): round(rank, 9) for rank, each in found[:_MOST_CENTRAL]}


def _too_many_edges(
    night: Night, reader: KnowledgeReader, kinds: Registry
) -> list[tuple[int, str, int]]:
    """Edges that go, of users with more prunable ones than they may have."""
    knowledge, rows = night.config.knowledge, night.memories.rows
    priority = {each.name: each.priority for each in kinds if each.prunable}
    count = Counter(rows["user"].tolist())
    names = {number: user or "" for number, user in enumerate(night.memories.users)}
    memories = {names[number]: n for number, n in count.items()}
    by_user: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for source, target, _, kind, user in reader.edge_columns():
        if kind in priority:
            by_user[user or ""].append((source, kind, target))
    out: list[tuple[int, str, int]] = []
    gone = night.dropped("edge")
    owners = reader.owners(gone)
    before = Counter[str]()  # dropped already, when this step was cut short
    for each, n in gone.items():
        before[owners[each].scope if each in owners else ""] += n
    for user, keys in sorted(by_user.items()):
        most = max(knowledge.max_edges, knowledge.edges_per_memory * memories.get(user, 0))
        if len(keys) + before[user] <= most:
            continue
        known = {
            (each.source, each.kind, each.target): each
            for each in reader.edges(sorted({key[0] for key in keys}), direction="out")
        }
        free = [
            key
            for key in keys
            if key in known and not (key[1] == "elaborates" and known[key].origin == "gate")
        ]
        free.sort(
            key=lambda key: (priority[key[1]], known[key].confidence, known[key].created_at, key)
        )
        out += free[: max(0, len(free) - int(most * knowledge.pruned_share))]
    return out


def _too_many_pairs(night: Night, reader: KnowledgeReader) -> list[tuple[int, str, int]]:
    """The rarest pairs, of equals the oldest, when there are too many."""
    most = night.config.association.max_pairs
    dropped = night.dropped("link").total()
    pairs = reader.links("pair") if reader.counts()["pair"] + dropped > most else []
    pairs.sort(key=lambda row: (row["n"] or 0, row["t_ms"] or 0, row["a"], row["b"]))
    return (
        [
            (row["a"], "pair", row["b"])
            for row in pairs[: max(0, len(pairs) - int(most * _PAIRS_SHARE))]
        ]
        if pairs
        else []
    )

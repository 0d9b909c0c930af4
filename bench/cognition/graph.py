"""How fast the graph of a large store is, and what it costs a recall.

    python -m bench.cognition.graph [memories]

Rows: ``graph.neighbours`` (2 hops), ``graph.edges``, ``concepts.context`` without time and with the
default budget, a recall with and without expansion, paired, and PageRank over a table of edges;
each beside its goal. The memories have random vectors, the
edges random ends. Times are of the wall, the medians of many calls; a busy machine makes them
longer.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import spector
from spector import Memory
from spector.knowledge import Changes
from spector.knowledge.graph import EdgeArrays, pagerank
from spector.store.payloads import edge_columns, encode

SEED = 20261126
DIM = 64
#: memories and edges of the stores for walks, and for expansion and PageRank
WALK_EDGES, EDGES_OF_EACH = 100_000, 5
CALLS = 300
KINDS = ("causes", "supports", "related_to", "elaborates")
_BATCH = 20_000


def main(memories: int) -> dict[str, Any]:
    """Measure and print every row; returns them."""
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with spector.open(Path(folder, "walk"), embedder=None, dim=DIM) as memory:
            ids = fill(memory, max(memories // 5, 10))
            link(memory, ids, WALK_EDGES * memories // 100_000)
            rows |= walks(memory, ids)
            rows |= contexts(memory, ids)
        with spector.open(Path(folder, "wide"), embedder=None, dim=DIM) as memory:
            ids = fill(memory, memories)
            link(memory, ids, EDGES_OF_EACH * memories)
            rows |= expansion(memory)
            rows |= ranks(memory)
    for name, row in rows.items():
        print(f"{name:<34} {row['value']:10.3f} {row['unit']:<3} goal {row['goal']}")
    print(json.dumps(rows))
    return rows


def fill(memory: Memory, count: int) -> list[int]:
    """Memories with random vectors and words."""
    chance = np.random.default_rng(SEED)
    vectors = chance.standard_normal((count, DIM)).astype(np.float32)
    names = chance.integers(0, 5_000, (count, 4))
    return [
        each.id
        for each in memory.remember_many(
            {
                "text": f"note {n} on " + " ".join(f"w{each}" for each in names[n]),
                "vector": vectors[n],
            }
            for n in range(count)
        )
    ]


def link(memory: Memory, ids: list[int], count: int) -> None:
    """Random edges between memories, in commits of 20,000."""
    chance = np.random.default_rng(SEED + 1)
    for at in range(0, count, _BATCH):
        size = min(_BATCH, count - at)
        ends = chance.integers(0, len(ids), (size, 2))
        weights = chance.uniform(0.2, 1.0, size)
        kinds = chance.integers(0, len(KINDS), size)
        changes = Changes()
        for (a, b), weight, kind in zip(
            ends.tolist(), weights.tolist(), kinds.tolist(), strict=True
        ):
            if a != b:
                changes.put(
                    "edge",
                    source_id=ids[min(a, b)],
                    kind=KINDS[kind],
                    target_id=ids[max(a, b)],
                    weight=weight,
                    confidence=weight,
                    origin="user",
                    created_ms=0,
                    note=None,
                )
        memory._parts.knowledge.commit(lambda reader, now_ms, made=changes: made)


def walks(memory: Memory, ids: list[int]) -> dict[str, Any]:
    """Neighbours in two hops, and the edges of a memory."""
    chosen = np.random.default_rng(SEED + 2).choice(ids, CALLS).tolist()
    return {
        "graph.neighbours.2hops": row(
            times(lambda each: memory.graph.neighbours(each, hops=2), chosen), 2.0
        ),
        "graph.edges": row(times(memory.graph.edges, chosen), 0.2),
    }


def contexts(memory: Memory, ids: list[int]) -> dict[str, Any]:
    """What is known of five concepts with two hundred episodes each."""
    names = tuple(f"thing {n}" for n in range(5))
    details = encode("episode", {"objects": list(names), "tool": "grasp", "success": True})
    changes = Changes()
    for each in ids[:200]:
        changes.put("payload", id=each, sort="episode", json=details)
    memory._parts.knowledge.commit(lambda reader, now_ms: changes)
    memory._parts.extractor.extract_from(ids[:200])
    percept = spector.Percept(objects=names)
    assert [each["episode_count"] for each in memory.concepts.context(percept)] == [200] * 5
    return {
        f"concepts.context.{budget}ms": row(
            times(
                lambda _, budget=budget: memory.concepts.context(percept, budget_ms=budget),
                ids[:CALLS],
            ),
            goal,
        )
        for budget, goal in ((0, 5.0), (50, 50.0))
    }


def expansion(memory: Memory) -> dict[str, Any]:
    """What expansion adds to a recall: the median of paired differences."""
    chance = np.random.default_rng(SEED + 3)
    plain, more = [], []
    for vector in chance.standard_normal((CALLS, DIM)).astype(np.float32):
        cue = " ".join(f"w{each}" for each in chance.integers(0, 5_000, 3))
        pair = {}
        for wide in (False, True) if len(plain) % 2 else (True, False):
            begin = time.perf_counter()
            memory.recall(cue, vector=vector, expand=wide)
            pair[wide] = time.perf_counter() - begin
        plain.append(pair[False])
        more.append(pair[True] - pair[False])
    return {"recall.without.expansion": row(plain, None), "recall.expansion.adds": row(more, 2.0)}


def ranks(memory: Memory) -> dict[str, Any]:
    """Loading the arrays of PageRank, and its rounds."""
    begin = time.perf_counter()
    with memory._parts.store.catalog.reading() as db:
        columns = edge_columns(db)
    source, target, weight, _, _ = zip(*columns, strict=True)
    table = EdgeArrays.make(
        np.array(source, np.int64), np.array(target, np.int64), np.array(weight)
    )
    loaded = time.perf_counter()
    pagerank(table)
    done = time.perf_counter()
    return {
        "graph.pagerank.load": row([loaded - begin], 1500.0),
        "graph.pagerank.rounds": row([done - loaded], 1000.0),
    }


def times(call: Callable[[int], object], ids: list[int]) -> Iterator[float]:
    """Seconds of each call, after a few that warm up."""
    for each in ids[:20]:
        call(each)
    for each in ids:
        begin = time.perf_counter()
        call(each)
        yield time.perf_counter() - begin


def row(seconds: Any, goal_ms: float | None) -> dict[str, Any]:
    """The median in ms beside its goal."""
    value = 1000 * statistics.median(seconds)
    return {"value": value, "unit": "ms", "goal": goal_ms, "n": CALLS}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)

"""The figures of cognition are what the facets list.

Mechanism: a store with some of everything, counted by ``stats()`` and by the facets. Damage without
it: figures that nobody can trust, or that a log cannot write. Guard: the whole is compared, not
single keys.
"""

from __future__ import annotations

import json
from pathlib import Path

import spector
from spector import Config, ManualClock, Memory
from spector.arguments import SORTS
from spector.records import Percept
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def listed(memory: Memory) -> dict[str, object]:
    """The same counts from what the facets and verbs return."""
    records = list(memory.records())
    edges = {
        (edge.source, edge.kind, edge.target): edge.kind
        for record in records
        for edge in memory.graph.edges(record)
        if edge.origin not in ("supersedes", "parents")
    }
    episodes = [record for record in records if record.tier == "episodic"]
    procedures = memory.procedures.all()
    entities = {each.id for record in records for each in memory.entities.of(record.id)}
    kinds = sorted(edges.values())
    return {
        "facts": {"count": len(memory.facts.query()), "entities": len(entities)},
        "procedures": {
            "count": len(procedures),
            "triggers": len({tag for each in procedures for tag in each.triggers}),
        },
        "learnings": len(memory.learnings.all()),
        "concepts": memory.concepts.stats()["concepts"],
        "statistics": len(memory.layers["statistics"]),
        "episodes": {
            "short_term": sum(not each.consolidated for each in episodes),
            "medium_term": sum(each.consolidated for each in episodes),
        },
        "graph": {
            "nodes": len({end for a, _, b in edges for end in (a, b)}),
            "edges": len(edges),
            "by_kind": {kind: kinds.count(kind) for kind in kinds},
        },
        "dormant": sum(each.dormant for each in memory.records(sorts=SORTS)),
        "sessions": len(memory.sessions()),
    }


def test_each_count_is_what_the_facets_list(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"text": "packed", "flags": ["consolidated"]}\n', encoding="utf-8"
    )
    clock = ManualClock(NOW)
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as memory:
        assert {**memory.stats()["cognition"], **listed(memory)} == memory.stats()["cognition"]
        told = memory.remember("Ada lives in Kars. She works at Acme.")
        memory.facts.learn(told)
        memory.facts.add("Ada", "lives_in", "Paris", source=told)
        memory.procedures.add("deploy", ["build"], triggers=["ship", "go"])
        memory.procedures.add("undo", ["revert"], triggers=["go"])
        memory.learnings.add("keep it small", "success_pattern", applies_to=["ship", "x"])
        mug, _ = memory.concepts.find_or_create("mug")
        for n in range(8):
            memory.concepts.reinforce(mug.id, memory.remember(f"mug {n}", importance=n / 9))
        memory.concepts.ground(mug.id)
        memory.graph.link(told, mug.id, "associates")
        memory.import_(tmp_path / "x.jsonl")
        replaced = memory.remember("the port is 8080")
        memory.remember("the port is 8443", supersedes=replaced, parents=[told.id])
        memory.retire([told, memory.remember("here", tier="working")])
        memory.forget(memory.remember("gone"))
        memory.recall("mug", k=4, learn=True, associate=True)
        with memory.session("s", user_id="u") as session:
            session.remember("hello")
            found = memory.stats()["cognition"]
            assert {**found, **listed(memory)} == found
            assert found["concepts"] == len(memory.concepts.find(limit=99)) == 1
            assert found["coactivation_pairs"] == 6
            assert found["statistics"] == 1
            assert found["dormant"] == 4, "its facts rest, too"
            assert found["sensory"] == {"size": 1, "total_ingested": 1}
            assert set(found["zones"]) == {"system", "active", "staging"}
        assert json.loads(json.dumps(memory.stats())) == memory.stats()
        assert memory.graph.complete(Percept(objects=("mug",))) == []
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r", clock=clock) as reader:
        again = reader.stats()["cognition"]
        kept = ("facts", "procedures", "learnings", "concepts", "statistics", "graph")
        assert {name: again[name] for name in kept} == {name: found[name] for name in kept}


def test_the_cache_is_counted_where_there_is_one() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.remember("river")
        for _ in range(3):
            memory.recall("river")
        rate = memory.stats()["cognition"]["cache_hit_rate"]
        assert rate == memory.stats()["embedding_cache"]["hit_rate"] > 0
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), config=Config(cache_entries=0)
    ) as memory:
        assert memory.stats()["cognition"]["cache_hit_rate"] is None


def test_a_scope_has_no_figures_of_others() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.remember("mine", user_id="ada")
        assert "cognition" not in memory.stats(user_id="ada")


def test_a_log_and_the_last_cycle_are_told(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with spector.open(
        tmp_path / "mind", embedder=FakeEmbedder(), clock=clock, ops_log=tmp_path / "log.jsonl"
    ) as memory:
        memory.remember("river")
        assert memory.stats()["cognition"]["last_cycle"] is None
        assert memory.stats()["cognition"]["ops_log"] == memory.stats()["ops_log"] is not None
        clock.advance(days=10)
        report = memory.reflect("decay")
        found = memory.stats()["cognition"]["last_cycle"]
        assert found == {"cycle": report.cycle, "started_at": "2026-12-01T12:00:00Z", "step": None}

"""Which memories may be an answer: scopes, exact tags, times, strengths, metadata.

Mechanism: a scan drops strangers by Bloom filter and header fields, the catalog confirms what is
left. Damage without it: one user reads another's memories; a filter that is applied after the best
k were taken answers with too few. Guard: every answer is compared with brute force over all
records, and strangers are built so that the Bloom filter must take them for the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector import ManualClock, Memory, MemoryRecord
from spector.kernel.contract.quantization import scope_tag, tag_mask, tags_mask
from tests.api.helpers import ids, own_vectors, texts, vector, vectors
from tests.fakes import FakeEmbedder

# -- scopes ---------------------------------------------------------------------------------------

NAMES = [None, "ada", "bob", "Ada", "ada ", "a" * 200]
ITEM = st.fixed_dictionaries(
    {
        "user_id": st.sampled_from(NAMES),
        "agent_id": st.sampled_from(NAMES[:3]),
        "session_id": st.sampled_from(NAMES[:3]),
        "tags": st.lists(st.sampled_from(["ada", "bob", "red", "blue"]), max_size=3),
        "tier": st.sampled_from(["episodic", "semantic", "working"]),
        "text": st.sampled_from(["ada likes tea", "bob likes rum", "tea and rum"]),
    }
)
QUERY = st.fixed_dictionaries(
    {},
    optional={
        "user_id": st.sampled_from(NAMES[1:]),
        "agent_id": st.sampled_from(NAMES[1:3]),
        "session_id": st.sampled_from(NAMES[1:3]),
        "tags": st.lists(st.sampled_from(["ada", "red", "blue"]), min_size=1, max_size=2),
        "any_tags": st.lists(st.sampled_from(["bob", "red", "blue"]), min_size=1, max_size=2),
        "tiers": st.sampled_from(["episodic", "working", "semantic"]),
    },
)


def belongs(record: MemoryRecord, query: dict[str, Any]) -> bool:
    return (
        all(
            getattr(record, name) == query[name]
            for name in ("user_id", "agent_id", "session_id")
            if name in query
        )
        and set(query.get("tags", [])) <= set(record.tags)
        and (not query.get("any_tags") or bool(set(query["any_tags"]) & set(record.tags)))
        and query.get("tiers", record.tier) == record.tier
    )


@pytest.mark.sampled
@settings(max_examples=60)
@given(items=st.lists(ITEM, max_size=25), queries=st.lists(QUERY, min_size=1, max_size=4))
@pytest.mark.parametrize("lexical", [True, False])
def test_recall_answers_with_exactly_what_belongs_to_the_scope(
    lexical: bool, items: list[dict[str, Any]], queries: list[dict[str, Any]]
) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=8)) as memory:
        memory.remember_many(items)
        for query in queries:
            wanted = {r.id for r in memory if belongs(memory.get(r.id), query)}
            for cue in ("ada tea", None):
                hits = memory.recall(cue, k=50, lexical=lexical, cut=0, **query)
                found = [each for hit in hits for each in (hit.id, *hit.also)]
                assert set(found) == wanted, query
                assert len(found) == len(wanted)
                assert hits == sorted(hits, key=lambda h: -h.score)
                few = memory.recall(cue, k=3, lexical=lexical, cut=0, **query)
                assert len(few) == min(3, len(hits)), "a filter truncated the answer"
                assert set(ids(few)) <= wanted
            assert {r.id for r in memory.records(**query)} == wanted


# -- strangers that the Bloom filter lets through -------------------------------------------------


def lookalikes(mask: int, count: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Lists of tags that together set every bit of ``mask``: false positives by construction."""
    pool = [f"tag-{n}" for n in range(3000)]
    masks = [tag_mask(tag) for tag in pool]
    for _ in range(count):
        chosen: list[str] = []
        missing = mask
        for n in rng.permutation(len(pool)).tolist():
            if masks[n] & missing:
                chosen.append(pool[n])
                missing &= ~masks[n]
            if not missing:
                break
        yield chosen


@pytest.mark.parametrize("verb", ["tags", "any_tags"])
@pytest.mark.parametrize("cued", [True, False])
def test_a_bloom_collision_never_reaches_a_user_and_never_crowds_out_a_true_hit(
    verb: str, cued: bool, rng: np.random.Generator
) -> None:
    cue = vector(1)
    mask = tag_mask("alpha")
    strangers = [
        {"text": "alpha stranger", "tags": tags, "vector": cue, "importance": 1.0}
        for tags in lookalikes(mask, 400, rng)
    ]
    assert all(tags_mask(s["tags"]) & mask == mask and "alpha" not in s["tags"] for s in strangers)  # type: ignore[arg-type]
    true = [
        {"text": f"quite another thing {n}", "tags": ["alpha"], "vector": v, "importance": 0.0}
        for n, v in enumerate(vectors(5, seed=9))
    ]
    with own_vectors() as memory:
        memory.remember_many([*strangers[:200], *true, *strangers[200:]])
        for k in (1, 4, 5, 100):
            hits = memory.recall(
                "alpha" if cued else None,
                vector=cue,
                k=k,
                **{verb: ["alpha"]},  # type: ignore[arg-type]
            )
            assert len(hits) == min(k, 5)
            assert all("alpha" in hit.tags for hit in hits)
        assert memory.recall(vector=cue, tags=["alpha", "tag-1"], k=5) == [
            hit for hit in memory.recall(vector=cue, tags=["alpha"], k=5) if "tag-1" in hit.tags
        ]


@pytest.mark.parametrize("scope", ["user", "agent", "session"])
def test_tags_that_imitate_a_scope_in_the_bloom_filter_open_nothing(
    scope: str, rng: np.random.Generator
) -> None:
    mask = tag_mask(scope_tag(scope, "ada"))  # type: ignore[arg-type]
    with own_vectors() as memory:
        memory.remember_many(
            [
                {"text": "not hers", "tags": tags, "vector": vector(1), f"{scope}_id": "eve"}
                for tags in lookalikes(mask, 100, rng)
            ]
        )
        hers = memory.remember("hers", vector=vector(2), **{f"{scope}_id": "ada"})  # type: ignore[arg-type]
        for cue in ("hers", "not hers", None):
            hits = memory.recall(cue, vector=vector(1), k=20, **{f"{scope}_id": "ada"})  # type: ignore[arg-type]
            assert ids(hits) == [hers.id]


# -- filters come before ranking ------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd() -> Iterator[Memory]:
    """5,000 strangers that fit the cue, and one answer that does not and differs in every field."""
    rng = np.random.default_rng(5)
    noise = vectors(5000, seed=3) * 0.1 + np.asarray(vector(1), np.float32)
    with own_vectors() as memory:
        memory.remember_many(
            [
                {
                    "text": f"the common cue words {n}",
                    "vector": noise[n],
                    "importance": 0.6,
                    "event_time": "2026-05-04",
                    "valence": 0.5,
                    "category": "fact",
                    "metadata": {"n": n, "kind": "noise"},
                    "tags": [f"t{n % 7}"],
                    "user_id": "crowd",
                    "confidence": 1.0,
                }
                for n in rng.permutation(5000).tolist()
            ]
        )
        memory.remember(
            "the rare one",
            vector=[-x for x in vector(1)],
            importance=0.9,
            valence=-0.5,
            event_time="2026-06-04",
            category="plan",
            modality="code",
            tags=["rare"],
            user_id="hermit",
            agent_id="hermit",
            session_id="hermit",
            confidence=0.1,
            metadata={"n": -1, "kind": "rare", "list": ["a", {"x": 1}]},
            tier="semantic",
        )
        yield memory


RARE: dict[str, dict[str, Any]] = {
    "where eq": {"where": {"kind": "rare"}},
    "where lt": {"where": {"n": {"lt": 0}}},
    "where contains": {"where": {"list": {"contains": "a"}}},
    "where or": {"where": {"or": [{"n": {"gt": 10_000}}, {"kind": "rare"}]}},
    "where not": {"where": {"not": {"kind": "noise"}}},
    "where exists": {"where": {"list": {"exists": True}}},
    "tags": {"tags": ["rare"]},
    "any_tags": {"any_tags": ["rare", "never"]},
    "user_id": {"user_id": "hermit"},
    "agent_id": {"agent_id": "hermit"},
    "session_id": {"session_id": "hermit"},
    "time_range": {"time_range": ("2026-06-01", "2026-07-01")},
    "valence": {"valence": (-1, -0.1)},
    "min_importance": {"min_importance": 0.8},
    "tiers": {"tiers": ["semantic", "working"]},
    "categories": {"categories": ["plan"]},
    "modalities": {"modalities": "code"},
}


@pytest.mark.parametrize("how", RARE.values(), ids=RARE)
@pytest.mark.parametrize("cue", ["the common cue words", None])
def test_one_match_among_5000_strangers_is_found_with_k_of_1(
    crowd: Memory, how: dict[str, Any], cue: str | None
) -> None:
    assert texts(crowd.recall(cue, vector=vector(1), k=1, **how)) == ["the rare one"]
    assert len(crowd.recall(cue, vector=vector(1), k=10, **how)) == 1
    assert texts(crowd.recall(cue, vector=vector(1), k=1)) != ["the rare one"]


# -- single gates ---------------------------------------------------------------------------------


def test_a_time_range_is_half_open_to_the_millisecond(memory: Memory) -> None:
    start = datetime(2026, 5, 4, 23, 59, 59, 999_000, tzinfo=UTC)
    step = timedelta(milliseconds=1)
    a, b, c = (memory.remember(f"t {n}", event_time=start + n * step) for n in range(3))
    assert set(ids(memory.recall("t", time_range=(start, start + 2 * step)))) == {a.id, b.id}
    assert set(ids(memory.recall("t", time_range=(None, start + step)))) == {a.id}
    assert set(ids(memory.recall("t", time_range=(start + step, None)))) == {b.id, c.id}


@pytest.mark.parametrize("value", [-1.0, -0.7, -0.3, 0.0, 0.1, 0.3, 0.5, 0.55, 0.9, 1.0])
def test_a_valence_range_includes_its_ends(memory: Memory, value: float) -> None:
    record = memory.remember("x", valence=value)
    assert ids(memory.recall("x", valence=(value, 1.0))) == [record.id]
    assert ids(memory.recall("x", valence=(-1.0, value))) == [record.id]
    assert ids(memory.recall("x", valence=(value, value))) == [record.id]
    above = memory.recall("x", valence=(min(value + 0.02, 1.0), 1.0))
    assert len(above) == (value == 1.0)


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1.0])
def test_min_importance_includes_its_own_value_and_spares_the_pinned(
    memory: Memory, value: float
) -> None:
    record = memory.remember("x", importance=value)
    weak = memory.remember("x too", importance=0.0)
    assert ids(memory.recall("x", min_importance=value)) == [record.id]
    memory.pin(weak.id)
    assert set(ids(memory.recall("x", min_importance=value))) == {record.id, weak.id}


@pytest.mark.parametrize("flag", ["dormant", "superseded", "quarantined"])
def test_what_sleeps_is_recalled_only_when_included(
    memory: Memory, tmp_path: Path, flag: str
) -> None:
    line = {"text": "a sleeping memory", "flags": [flag]}
    (tmp_path / "one.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (record,) = memory.import_(tmp_path / "one.jsonl")
    others = {"dormant", "superseded", "quarantined"} - {flag}
    assert memory.recall("sleeping memory") == []
    assert memory.recall(str(record.id)) == []
    assert memory.recall("sleeping memory", include=others) == []
    assert ids(memory.recall("sleeping memory", include=[flag])) == [record.id]
    assert ids(memory.recall("sleeping memory", include=flag)) == [record.id]
    assert memory.get(record.id).text == "a sleeping memory"


def test_categories_and_modalities_take_names_members_and_numbers(memory: Memory) -> None:
    plan = memory.remember("x", category="PLAN", modality=spector.Modality.CODE)
    memory.remember("x too", category=1)
    for name in ("plan", "Plan", spector.Category.PLAN, 6, int(spector.Category.PLAN)):
        wanted = [plan.id] if name != 6 or spector.Category(6) is spector.Category.PLAN else []
        assert ids(memory.recall("x", categories=[name])) == wanted
    assert ids(memory.recall("x", modalities=["code", "audio"])) == [plan.id]
    assert len(memory.recall("x", categories=["plan", "fact"])) == 2


def test_k_larger_than_the_store_returns_everything_once(memory: Memory) -> None:
    made = memory.remember_many([f"n {n}" for n in range(7)])
    for _ in range(3):
        memory.update(made[3].id, text="n three")
    hits = memory.recall("n", k=10_000)
    assert sorted(ids(hits)) == ids(made)


def test_a_reader_in_the_same_process_sees_each_write(store_path: Path, clock: ManualClock) -> None:
    options: dict[str, Any] = {"embedder": FakeEmbedder(), "clock": clock}
    with (
        spector.open(store_path, **options) as writer,
        spector.open(store_path, mode="r", **options) as reader,
    ):
        record = writer.remember("hello reader", user_id="ada")
        assert ids(reader.recall("hello")) == [record.id]
        assert reader.get(record.id) == record
        assert len(reader) == 1
        writer.update(record.id, text="goodbye reader")
        assert texts(reader.recall("goodbye")) == ["goodbye reader"]
        writer.forget(record.id)
        assert reader.recall("reader") == []
        writer.compact()
        assert reader.recall("reader") == []
        assert len(reader) == 0

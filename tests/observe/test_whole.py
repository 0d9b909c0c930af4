"""What is observed meets what is known: superseded, contradicted, repeated, tied, captured.

Mechanism: gate, tags and relations decide in the commit that writes them. Damage without it: two
ports that both hold, an assistant that overrules its user, a memory without its facts. Guard: the
acceptance statements of the gate over a store, with other values in English and Turkish; batches
beside single calls; a writer that comes in between.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Config, ManualClock, Memory, ObserveConfig
from spector.errors import EmbeddingError
from tests.cases import Cases
from tests.fakes import FailingEmbedder, FakeEmbedder

cases = Cases(__file__)

DAY = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(DAY)


@pytest.fixture
def mind(clock: ManualClock) -> Any:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64), clock=clock) as memory:
        yield memory
        assert memory.check().ok


def texts(memory: Memory, **selection: Any) -> list[str]:
    return [each.text for each in memory.records(tiers="episodic", **selection)]


class Stub(FakeEmbedder):
    """Vectors with the cosines that a test names, to the first text of all."""

    def __init__(self, cosines: dict[str, float]) -> None:
        super().__init__(dim=64)
        self.cosines = cosines

    def _one(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        for start, cosine in self.cosines.items():
            if text.startswith(start):
                out = np.zeros(64, np.float32)
                out[0], out[1] = cosine, np.sqrt(1 - cosine * cosine)
                return out
        return super()._one(text)


# -- what contradicts ------------------------------------------------------------------------------


def test_a_changed_value_supersedes(mind: Memory, clock: ManualClock) -> None:
    old = mind.observe("The staging server uses port 8080.").records[0]
    clock.advance(days=2)
    result = mind.observe("The staging server uses port 8443.")
    new = result.records[0]
    assert result.units[0].action == "supersede"
    assert old.id in result.units[0].superseded
    hits = [hit.text for hit in mind.recall("which port does the staging server use?")]
    assert any("8443" in each for each in hits)
    assert not any("8080" in each for each in hits)
    assert [each.id for each in mind.history(new.id)] == [old.id, new.id]
    then = mind.recall("staging server port", as_of=DAY)
    assert any("8080" in hit.text for hit in then)
    assert [fact.object for fact in mind.facts.query(subject="staging server")] == ["8443"]


def test_an_assistant_contradicts_and_never_supersedes(mind: Memory) -> None:
    old = mind.observe({"role": "user", "content": "The staging server uses port 8080."}).records[0]
    result = mind.observe({"role": "assistant", "content": "The staging server uses port 8443."})
    unit = result.units[0]
    assert (unit.action, unit.relation, unit.nearest) == ("create", "contradicts", old.id)
    assert not mind.get(old.id).superseded
    hits = {hit.id: hit for hit in mind.recall("staging server port", k=10)}
    new = result.records[0]
    assert new.id in hits[old.id].conflicts
    assert old.id in hits[new.id].conflicts
    holding = mind.facts.query(subject="staging server", predicate="port")
    assert "8080" in [fact.object for fact in holding]


@cases("before", "after")
def test_what_changes_supersedes(mind: Memory, before: str, after: str) -> None:
    old = mind.observe(before, event_time="2026-06-01").records[0]
    result = mind.observe(after)
    assert result.units[0].action == "supersede", str(result)
    assert mind.get(old.id).superseded
    assert [each.said for each in result.units] == [after]
    assert texts(mind, include=[]) == [result.units[0].text]


def test_a_memory_that_was_remembered_is_compared_too(mind: Memory) -> None:
    old = mind.remember("I live in Paris.")
    pinned = mind.remember("My email is a@x.org.", pinned=True)
    assert mind.observe("I live in Berlin.").units[0].superseded == (old.id,)
    kept = mind.observe("My email is b@y.org.").units[0]
    assert (kept.action, kept.relation) == ("create", "contradicts")
    assert not mind.get(pinned.id).superseded


# -- what repeats ----------------------------------------------------------------------------------


def test_the_same_message_twice_is_one_memory(mind: Memory) -> None:
    first = mind.observe("I'm a nurse.").records[0]
    again = mind.observe("I'm a nurse.")
    assert again.units[0].action == "reinforce"
    assert not again.stored
    assert again.records[0].id == first.id
    assert texts(mind) == ["I'm a nurse."]
    assert mind.get(first.id).access_count == 1
    assert len(mind.facts.query(predicate="works_as")) == 1


def test_a_further_detail_elaborates(mind: Memory) -> None:
    old = mind.observe("Ada bought a boat.").records[0]
    result = mind.observe("Ada bought a boat in Kars for 9,000 euros.")
    assert result.units[0].relation == "elaborates"
    assert result.units[0].nearest == old.id
    edges = [each for each in mind.graph.edges(old.id) if each.kind == "elaborates"]
    assert [(each.source, each.target, each.origin) for each in edges] == [
        (result.records[0].id, old.id, "gate")
    ]


def test_an_update_merges_both_texts_in_a_preset(clock: ManualClock) -> None:
    embedder = Stub({"User lik": 1.0, "User vis": 0.8})
    with spector.open(
        ":memory:", embedder=embedder, clock=clock, config=Config.preset("v9")
    ) as memory:
        first = memory.observe({"content": "I like the old town of Kars.", "tags": ["a"]})
        second = memory.observe({"content": "I visit the castle with my uncle.", "tags": ["b"]})
        assert second.units[0].action == "update", str(second)
        record = memory.get(first.records[0].id)
        assert "old town of Kars" in record.text
        assert "castle with" in record.text
        assert record.tags == ("a", "b")
        assert record.access_count == 1
        assert record.event_time == first.records[0].event_time
        assert second.records[0].id == record.id
        assert len(texts(memory)) == 1
        third = memory.observe("I like the old town of Kars.", dry_run=True)
        assert third.units
        assert memory.check().ok


def test_without_a_gate_all_is_created(clock: ManualClock) -> None:
    config = Config(observe=ObserveConfig(gate=False))
    with spector.open(
        ":memory:", embedder=FakeEmbedder(dim=64), clock=clock, config=config
    ) as memory:
        for _ in range(2):
            assert memory.observe("I'm a nurse.").units[0].action == "create"
        assert texts(memory) == ["I'm a nurse."] * 2


def weak(memory: Memory, session: str = "s", place: str = "Kars") -> spector.ObserveResult:
    return memory.observe(
        {"content": f"The cafe in {place} opens at nine.", "importance": 0.4}, session_id=session
    )


def strong(memory: Memory, text: str, session: str = "s") -> spector.ObserveResult:
    return memory.observe({"content": text, "importance": 0.7}, session_id=session)


def test_a_strong_memory_captures_a_weak_one_of_its_session(
    mind: Memory, clock: ManualClock
) -> None:
    first = weak(mind)
    assert first.units[0].tagged
    record = first.records[0]
    assert record.stability_days == pytest.approx(6.3)
    other = weak(mind, "other", "Oslo").records[0]
    clock.advance(hours=3, seconds=3540)
    result = strong(mind, "Ada moved to Van with Bob.")
    assert result.captured == (record.id,)
    assert mind.get(record.id).stability_days == pytest.approx(8.19)
    assert mind.get(other.id).stability_days == pytest.approx(other.stability_days)
    assert strong(mind, "Carl moved to Bursa with Dora.").captured == ()
    assert mind.get(record.id).stability_days == pytest.approx(8.19)


# -- relations -------------------------------------------------------------------------------------


def test_two_entities_in_common_are_one_edge(mind: Memory) -> None:
    first = mind.observe("Ada met Bob in Kars.").records[0]
    second = mind.observe("Bob called Ada about the boat.").records[0]
    for _ in range(2):
        edges = [each for each in mind.graph.edges(first.id) if each.kind == "same_entity"]
        assert [(each.source, each.target, each.weight) for each in edges] == [
            (first.id, second.id, 0.7)
        ]
        mind.observe("Bob called Ada about the boat.")


def test_messages_of_a_session_follow_one_another(mind: Memory) -> None:
    ids = [
        mind.observe(text, session_id="s").records[0].id
        for text in ("Ada moved to Kars.", "The rent is 900 euros.", "The bakery opens at six.")
    ]
    mind.observe("Bob moved to Van.", session_id="t")
    found = [
        (each.source, each.target)
        for record in ids
        for each in mind.graph.edges(record)
        if each.kind == "followed_by"
    ]
    assert sorted(set(found)) == [(ids[0], ids[1]), (ids[1], ids[2])]


# -- batches ---------------------------------------------------------------------------------------


def test_a_batch_is_one_embedding_call_and_one_commit(store_path: Path, clock: ManualClock) -> None:
    embedder = FakeEmbedder(dim=64)
    with spector.open(store_path, embedder=embedder, clock=clock) as memory:
        before, calls = memory._parts.series.moment(), len(embedder.calls)
        memory.observe_many(f"Person{n} lives in Town{n}." for n in range(60))
        assert len(embedder.calls) - calls == 1
        head = memory._parts.store.head
        assert len(texts(memory)) == 60
        assert memory._parts.series.moment() > before
        assert head.change_seq == memory._parts.series.moment()
    with spector.open(store_path, embedder=embedder, clock=clock) as memory:
        assert len(texts(memory)) == 60
        assert memory.check().ok


def test_progress_and_bad_messages_of_a_batch(clock: ManualClock) -> None:
    config = Config(observe=ObserveConfig(batch=4))
    with spector.open(
        ":memory:", embedder=FakeEmbedder(dim=64), clock=clock, config=config
    ) as memory:
        seen: list[tuple[int, int | None]] = []
        memory.observe_many(
            [f"Person{n} lives in Town{n}." for n in range(10)],
            progress=lambda done, total: seen.append((done, total)),
        )
        assert seen == [(4, 10), (8, 10), (10, 10)]
        with pytest.raises(spector.InvalidInputError) as error:
            memory.observe_many(["Ann lives in Oslo.", *["ok"] * 4, {"content": 7}])
        assert "first 4 are observed" in "".join(error.value.__notes__)
        assert "Ann lives in Oslo." in texts(memory)
        with pytest.raises(spector.InvalidInputError, match="observe_many"):
            memory.observe_many("one text")


def test_a_failing_embedder_leaves_nothing(clock: ManualClock) -> None:
    embedder = FailingEmbedder(64, fail_from=0)
    with spector.open(":memory:", embedder=embedder, clock=clock) as memory:
        with pytest.raises(EmbeddingError):
            memory.observe("I live in Paris.", session_id="s")
        assert not list(memory.records())
        assert len(memory.session("s").buffer) == 0


# -- several writers -------------------------------------------------------------------------------


def test_a_writer_that_comes_in_between_is_seen(mind: Memory) -> None:
    """Between the look at the neighbours and the commit, another call says the same."""
    comparer = mind._parts.observing.observer.comparer
    before = comparer.candidates
    done: list[str] = []

    def between(*args: Any, **kwargs: Any) -> Any:
        found = before(*args, **kwargs)
        if not done:
            done.append("once")
            mind.remember("I'm a nurse.", metadata={"by": "another"})
        return found

    comparer.candidates = between  # type: ignore[method-assign]
    result = mind.observe("I'm a nurse.")
    assert result.units[0].action == "reinforce"
    assert texts(mind) == ["I'm a nurse."]

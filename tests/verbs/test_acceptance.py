"""What was agreed on for records, payloads and the configuration, statement by statement.

Mechanism: each test is one statement, with the values that it names, and others. Damage without it:
a store that changes its format without need, a fact that outlives its sources, ties between users.
"""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ImmutableRecordError, ManualClock, Memory
from tests.api.helpers import ids
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

TABLES = {"payload", "fact", "item", "name", "edge", "link", "sleep_state", "cycle_change"}


def mind(path: Path | str = ":memory:", clock: ManualClock | None = None, **how: Any) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), clock=clock or ManualClock(NOW), **how)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with mind(tmp_path / "mind") as opened:
        yield opened


def catalog(path: Path) -> set[str]:
    """The tables of knowledge that a closed store has."""
    with sqlite3.connect(path / "catalog.db") as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    return names & TABLES


def test_a_store_of_plain_verbs_has_no_table(tmp_path: Path) -> None:
    with mind(tmp_path / "new") as memory:
        old = memory.remember("the port is 8080", tags=["ops"])
        new = memory.remember("the port is 8443", supersedes=old)
        memory.remember_many(["a", "b"])
        memory.recall("port", learn=True)
        memory.context("which port is it?")
        memory.reinforce(new)
        memory.retire(memory.reactivate(memory.retire(new)))
        memory.forget(new)
        memory.reinstate(old, keep=True)
        memory.reflect("upkeep")
        memory.stats()
    assert catalog(tmp_path / "new") == set()
    with mind(tmp_path / "new") as memory:
        assert memory.observe("I live in Kars.", user_id="u").stored
    assert catalog(tmp_path / "new") == TABLES


def test_a_fact_lives_as_long_as_one_of_its_sources(memory: Memory) -> None:
    a, b = memory.remember("Ada is at Acme"), memory.remember("Acme has Ada")
    memory.facts.add("Ada", "works_at", "Acme", source=a)
    fact = memory.facts.add("Ada", "works_at", "Acme", source=b)
    assert fact.sources == (a.id, b.id)
    memory.forget(a)
    assert memory.facts.get(fact.id).sources == (b.id,)
    memory.forget(b)
    with pytest.raises(spector.UnknownRecordError):
        memory.facts.get(fact.id)
    assert memory.facts.query() == []


@pytest.mark.parametrize(
    "change", ["json = json || ' '", "verified_ms = verified_ms + 1", "object = 'acne'"]
)
def test_a_flipped_row_is_reported_and_a_repair_keeps_the_memory(
    tmp_path: Path, change: str
) -> None:
    with mind(tmp_path / "mind") as memory:
        fact = memory.facts.add("Ada", "works_at", "Acme")
    with sqlite3.connect(tmp_path / "mind" / "catalog.db") as db:
        db.execute(f"UPDATE fact SET {change}")
    db.close()
    with mind(tmp_path / "mind", mode="r") as memory:
        problems = [each for each in memory.check().problems if each.code == "I27"]
        assert [str(fact.id) in str(each) for each in problems] == [True]
    report = spector.repair(tmp_path / "mind", tmp_path / "whole", embedder=FakeEmbedder())
    assert any(str(fact.id) in str(loss) for loss in report.lost)
    with mind(tmp_path / "whole") as memory:
        assert memory.get(fact.id).text == fact.text
        assert memory.check().ok


def test_a_dormant_memory_is_frozen(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with mind(tmp_path / "mind", clock) as memory:
        record = memory.remember("the river rose", importance=0.1)
        memory.remember("the river fell")
        memory.retire(record)
        assert record.id not in ids(memory.recall("river"))
        assert record.id in ids(memory.recall("river", include=["dormant"]))
        before = memory.get(record)
        assert before.dormant
        for _ in range(3):
            clock.advance(days=30)
            memory.reflect()
        after = memory.get(record)
        assert (after.stability_days, after.utility) == (before.stability_days, before.utility)
        memory.reactivate(record)
        assert record.id in ids(memory.recall("river"))


def test_a_memory_that_changes_its_user_leaves_its_ties_behind(memory: Memory) -> None:
    a = memory.remember("Ada lives in Kars.", user_id="a")
    other = memory.remember("Ada has a dog.", user_id="a")
    mug, _ = memory.concepts.find_or_create("mug", user_id="a")
    memory.concepts.add_ref(mug.id, "episodes", a)
    memory.facts.learn([a, other])
    memory.graph.link(a, other, "causes")
    for _ in range(3):
        memory.recall("Ada", user_id="a", learn=True, associate=True)
    assert a.id in ids(memory.entities.profile("Ada", user_id="a"))
    moved = memory.update(a, move_to={"user_id": "b"})
    assert moved.user_id == "b"
    assert memory.graph.edges(a) == []
    assert ids(memory.entities.profile("Ada", user_id="a")) == [other.id]
    assert all(a.id not in fact.sources for fact in memory.facts.query(user_id="a"))
    found = memory.concepts.of(mug.id)
    assert found is not None
    assert found.memory_refs.get("episodes", ()) == ()
    assert memory.stats()["cognition"]["coactivation_pairs"] == 0
    hits = memory.recall("Ada", user_id="a", associate=True, expand=True)
    assert a.id not in ids(hits)
    assert memory.check().ok


def test_immutable_and_pinned_hold_against_sleep(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    config = Config(erase_after_s=0.0)
    with mind(tmp_path / "mind", clock, config=config) as memory:
        kept = [
            memory.remember("thanks a lot", importance=0.1, **how)
            for how in ({"pinned": True}, {"immutable": True})
        ]
        for _ in range(60):
            clock.advance(days=14)
            memory.reflect()
        for each in kept:
            now = memory.get(each)
            assert (now.dormant, now.superseded, now.tier, now.text) == (
                False,
                False,
                "episodic",
                each.text,
            )
        with pytest.raises(ImmutableRecordError):
            memory.retire(kept[1])


def test_a_doubtful_source_ranks_below_a_sure_one(memory: Memory) -> None:
    vector = [1.0] * memory.dim
    sure = memory.remember("the river rose", confidence=0.9, vector=vector)
    doubtful = memory.remember("a brook fell", confidence=0.2, vector=vector)
    for first in (sure, doubtful):
        assert first.confidence in (pytest.approx(0.9, abs=0.01), pytest.approx(0.2, abs=0.01))
    hits = memory.recall(vector=vector, profile="cognitive")
    assert ids(hits) == [sure.id, doubtful.id]


def test_what_observing_stores_says_where_it_is_from(memory: Memory) -> None:
    for role, source in (("user", "user_message"), ("assistant", "assistant_message")):
        result = memory.observe(
            {"role": role, "content": f"The {role} server uses port 8080."}, user_id="u"
        )
        (record,) = result.records
        found = memory.get(record)
        assert (found.write_source, found.data_source) == ("observer", source)
        assert found.said == f"The {role} server uses port 8080."
        assert json.loads(json.dumps(found.to_dict()))["details"]["write_source"] == "observer"


def test_nothing_opens_a_socket(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    with memory.session("s", user_id="u") as session:
        session.observe("I live in Kars and I work at Acme.")
        session.observe("I moved to Berlin.")
        session.recall("where do I live?")
        session.context("where do I live?")
    memory.reflect()
    assert memory.recall("where do I live?", user_id="u")

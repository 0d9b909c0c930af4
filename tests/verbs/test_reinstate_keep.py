"""A superseding that was wrong is undone in one call, and both memories hold.

Mechanism: ``reinstate(old, keep=True)`` on chains, users, facts and tiers; recalls, graph, history
and check afterwards. Damage without it: a user's word that stays hidden because a newer one was
taken for its replacement, or two words on one thing of which neither tells of the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, ManualClock, Memory, SupersededRecordError
from tests.api.helpers import ids
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def mind(path: Path | str = ":memory:", **how: Any) -> Memory:
    how.setdefault("clock", ManualClock(NOW))
    return spector.open(path, embedder=FakeEmbedder(), **how)


def test_both_hold_and_each_names_the_other(tmp_path: Path) -> None:
    with mind(tmp_path / "mind") as memory:
        old = memory.remember("the port is 8080", event_time="2026-01-01", valid_until="2030-01-01")
        new = memory.remember("the port is 8443", event_time="2026-02-01", supersedes=old)
        assert ids(memory.recall("which port is it")) == [new.id]
        back = memory.reinstate(old, keep=True)
        assert (back.superseded, back.superseded_by, back.valid_until) == (
            False,
            (),
            old.valid_until,
        )
        assert back == memory.get(old)
        assert memory.get(new).supersedes == ()
    with mind(tmp_path / "mind", mode="r") as memory:
        hits = memory.recall("which port is it")
        assert {hit.id: hit.conflicts for hit in hits} == {new.id: (old.id,), old.id: (new.id,)}
        (edge,) = memory.graph.edges(old)
        assert (edge.source, edge.kind, edge.target) == (old.id, "contradicts", new.id)
        assert ids(memory.history(old)) == [old.id]
        assert memory.check().ok


def test_the_newer_one_comes_first_and_its_score_says_so() -> None:
    with mind() as memory:
        old = memory.remember("the port is 8080 now", event_time="2026-01-01")
        new = memory.remember("8443", event_time="2026-02-01", supersedes=old)
        memory.reinstate(old, keep=True)
        hits = memory.recall("the port is 8080 now", cut=0)
        assert ids(hits) == [new.id, old.id]
        assert hits[0].score > hits[1].score
        assert hits[0].explain().score == hits[0].score
        assert hits[0].explain().evidence["contradicts"] > 0


def test_a_context_marks_what_is_contradicted_and_has_the_older_behind_it() -> None:
    with mind() as memory:
        old = memory.remember("the port is 8080", event_time="2026-01-01")
        new = memory.remember("the port is 8443", event_time="2026-02-01", supersedes=old)
        memory.remember("the host is called ada")
        ask = {"cue": "which port is it", "always": True, "cut": 0}
        assert "(contradicted)" not in memory.context(**ask).text
        memory.reinstate(old, keep=True)
        lines = memory.context(**ask).text.splitlines()
        at = lines.index('- (contradicted): "the port is 8443"')
        assert lines[at + 1] == '- (earlier, 2026-01-01: "the port is 8080")'
        memory.forget(new)
        assert "(contradicted)" not in memory.context(**ask).text


def test_without_keep_the_successor_has_to_go_first() -> None:
    with mind() as memory:
        old = memory.remember("in Rome")
        new = memory.remember("in Paris", supersedes=old)
        with pytest.raises(SupersededRecordError, match=str(new.id)):
            memory.reinstate(old)
        memory.forget(new)
        assert memory.reinstate(old, keep=True) == memory.reinstate(old) == memory.get(old)
        assert memory.graph.edges(old) == []


def test_what_was_never_superseded_stays_as_it_is() -> None:
    with mind() as memory:
        record = memory.remember("in Rome")
        assert memory.reinstate(record, keep=True) == record
        assert memory.graph.edges(record) == []


def test_the_rest_of_a_chain_stays(tmp_path: Path) -> None:
    with mind(tmp_path / "mind") as memory:
        one = memory.remember("in Rome", event_time="2026-01-01")
        two = memory.remember("in Paris", event_time="2026-02-01", supersedes=one)
        three = memory.remember("in Oslo", event_time="2026-03-01", supersedes=two)
        memory.reinstate(one, keep=True)
        assert [memory.get(each).superseded for each in (one, two, three)] == [False, True, False]
        assert ids(memory.history(three)) == [two.id, three.id]
        (hit,) = [hit for hit in memory.recall("in Rome") if hit.id == one.id]
        assert hit.conflicts == ()  # the other one does not hold
        memory.reinstate(two, keep=True)
        found = {hit.id: hit.conflicts for hit in memory.recall("in", cut=0)}
        assert found == {one.id: (two.id,), two.id: (one.id, three.id), three.id: (two.id,)}
        assert memory.check().ok


def test_one_of_several_that_were_superseded_at_once() -> None:
    with mind() as memory:
        one, two = memory.remember("in Rome"), memory.remember("in Milan")
        new = memory.remember("in Paris", supersedes=[one, two])
        memory.reinstate(two, keep=True)
        assert memory.get(new).supersedes == (one.id,)
        assert memory.get(one).superseded_by == (new.id,)
        assert memory.get(two).superseded_by == ()


def test_a_guard_keeps_the_successor_of_another_agent_out() -> None:
    with mind() as memory:
        old = memory.remember("in Rome", user_id="ada", agent_id="a")
        new = memory.remember("in Paris", user_id="ada", agent_id="b", supersedes=old)
        with pytest.raises(SupersededRecordError) as caught:
            memory.reinstate(old, keep=True, agent_id="a")
        assert str(new.id) not in str(caught.value)
        assert memory.get(old).superseded
        memory.reinstate(old, keep=True, user_id="ada")
        assert not memory.get(old).superseded


def test_facts_hold_again_beside_each_other() -> None:
    with mind() as memory:
        memory.facts.add("Ada", "lives_in", "Paris")
        berlin = memory.facts.add("Ada", "lives_in", "Berlin")
        paris = next(each for each in memory.records() if each.id != berlin.id)
        memory.reinstate(paris, keep=True)
        assert {fact.object for fact in memory.facts.about("Ada")} == {"Paris", "Berlin"}
        assert memory.check().ok


def test_memories_of_the_working_tier_have_no_edges() -> None:
    with mind() as memory:
        old = memory.remember("in Rome", tier="working")
        new = memory.remember("in Paris", tier="working", supersedes=old)
        with pytest.raises(InvalidInputError, match=rf"working tier.*forget\({new.id}\)"):
            memory.reinstate(old, keep=True)
        assert memory.get(old).superseded


@pytest.mark.parametrize("keep", ["yes", 1, None])
def test_keep_is_a_switch(keep: Any) -> None:
    with mind() as memory:
        record = memory.remember("in Rome")
        with pytest.raises(InvalidInputError, match="keep"):
            memory.reinstate(record, keep=keep)

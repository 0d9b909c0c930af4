"""Dormant memories rest until they are woken, and nothing of them changes meanwhile.

Mechanism: ``retire`` and ``reactivate`` on stores in memory and on disk, with every kind of target.
Damage without it: a memory that is gone for good because it was retired by mistake, one of two that
is retired although the call failed, another user's memory put to rest.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    ImmutableRecordError,
    InvalidFilterError,
    InvalidInputError,
    ManualClock,
    Memory,
    RecallOptions,
    SupersededRecordError,
    UnknownRecordError,
)
from tests.api.helpers import ids
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def mind(path: Path | str = ":memory:", clock: ManualClock | None = None, **how: Any) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), clock=clock or ManualClock(NOW), **how)


@pytest.mark.parametrize("tier", ["episodic", "semantic", "procedural", "working"])
def test_a_retired_memory_is_recalled_on_request_only(tmp_path: Path, tier: str) -> None:
    with mind(tmp_path / "mind") as memory:
        old = memory.remember("the river rose", tier=tier)
        other = memory.remember("the river fell", tier=tier)
        (retired,) = memory.retire(old)
        assert retired.id == old.id
        assert retired.to_dict()["flags"] == ["dormant"]
        assert ids(memory.recall("river")) == [other.id]
        assert set(ids(memory.recall("river", include=["dormant"]))) == {old.id, other.id}
        assert ids(memory.records(include=["dormant"])) == [old.id, other.id]
        assert ids(memory.records(include=[])) == [other.id]
        assert ids(memory.records()) == [old.id, other.id]
        memory.reactivate(old)
        assert set(ids(memory.recall("river"))) == {old.id, other.id}
        assert memory.check().ok


def test_a_round_trip_keeps_everything_but_the_last_use() -> None:
    clock = ManualClock(NOW)
    with mind(clock=clock) as memory:
        before = memory.remember("the river rose", importance=0.7, tags=["water"])
        memory.reinforce(before)
        before = memory.get(before)
        memory.retire(before)
        clock.advance(days=30)
        (after,) = memory.reactivate(before)
        assert after == memory.get(before)
        assert after.access_count == before.access_count
        assert (after.stability_days, after.utility) == (before.stability_days, before.utility)
        assert after.last_access == NOW + timedelta(days=30)
        assert {**after.to_dict(), "last_access": 0} == {**before.to_dict(), "last_access": 0}


def test_what_is_not_dormant_is_not_touched_by_reactivate() -> None:
    clock = ManualClock(NOW)
    with mind(clock=clock) as memory:
        record = memory.remember("the river rose")
        clock.advance(days=3)
        assert memory.reactivate(record) == [record]
        assert memory.retire(record)[0].flags == memory.retire(record)[0].flags


def test_targets_are_named_as_for_forget() -> None:
    with mind() as memory:
        one, two, three, four = (memory.remember(f"river {n}") for n in range(4))
        hit = memory.recall("river 2", k=1)[0]
        retired = memory.retire([one, two.id, hit, one.id])
        assert ids(retired) == [one.id, two.id, hit.id]
        assert ids(memory.records(include=[])) == [
            each.id for each in (one, two, three, four) if each.id not in ids(retired)
        ]
        assert ids(memory.reactivate(r for r in retired)) == ids(retired)
        assert memory.retire([]) == []


def test_nothing_changes_when_one_of_several_may_not() -> None:
    with mind() as memory:
        free, ring = memory.remember("free"), memory.remember("free", tier="working")
        fixed = memory.remember("fixed", immutable=True)
        for targets, error in (
            ([free, ring, fixed], ImmutableRecordError),
            ([free, ring, 99], UnknownRecordError),
            ([free, "x"], InvalidInputError),
            ([free, None], InvalidInputError),
            ([free, True], InvalidInputError),
            (None, InvalidInputError),
            ({"where": 1}, InvalidInputError),
        ):
            with pytest.raises(error):
                memory.retire(targets)  # type: ignore[arg-type]
        assert ids(memory.records(include=[])) == sorted([free.id, ring.id, fixed.id])
        assert ids(memory.reactivate(fixed)) == [fixed.id]


def test_pinned_memories_may_be_retired_by_name() -> None:
    with mind() as memory:
        record = memory.remember("pinned", pinned=True)
        (retired,) = memory.retire(record)
        assert retired.pinned
        assert memory.recall("pinned") == []


def test_a_guard_makes_the_memories_of_others_unknown() -> None:
    with mind() as memory:
        mine = memory.remember("mine", user_id="ada")
        for verb in (memory.retire, memory.reactivate):
            with pytest.raises(UnknownRecordError):
                verb(mine, user_id="bob")
        assert ids(memory.retire(mine, user_id="ada")) == [mine.id]


def test_records_list_what_is_named_beside_the_active_ones(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    (tmp_path / "x.jsonl").write_text(
        '{"text": "suspect", "flags": ["quarantined"]}\n', encoding="utf-8"
    )
    with mind(clock=clock) as memory:
        old = memory.remember("in Rome", event_time="2026-01-01")
        new = memory.remember("in Paris", supersedes=old)
        later = memory.remember("plan", event_time="2026-01-02")
        planned = memory.remember("plan b", valid_from="2026-12-01", supersedes=later)
        rest = memory.remember("at rest")
        memory.retire(rest)
        (suspect,) = memory.import_(tmp_path / "x.jsonl")
        active = [new.id, later.id, planned.id]
        assert ids(memory.records(include=[])) == active
        for name, record in (("dormant", rest), ("superseded", old), ("quarantined", suspect)):
            found = {r.id: r.to_dict()["flags"] for r in memory.records(include=name)}
            assert list(found) == sorted([*active, record.id])
            assert found[record.id] == [name]
        every = list(memory.records(include=["dormant", "superseded", "quarantined", "derived"]))
        assert every == list(memory.records())
        clock.advance(days=30)  # what a later memory has ended by now holds no more
        assert ids(memory.records(include=[])) == [new.id, planned.id]
        assert later.id in ids(memory.records(include="superseded"))
        with pytest.raises(InvalidFilterError, match="cannot include 'forgotten'"):
            memory.records(include=["forgotten"])


def test_a_dormant_memory_is_as_it_was_after_a_cycle() -> None:
    clock = ManualClock(NOW)
    with mind(clock=clock) as memory:
        record = memory.remember("the river rose", importance=0.2)
        memory.retire(record)
        before = memory.get(record)
        clock.advance(days=400)
        memory.reflect()
        assert memory.get(record) == before


# -- A recall can say which dormant memories the cue would have hit; it returns none of them -------


def test_dormant_memories_that_the_cue_would_have_hit_are_named() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as memory:
        here = memory.remember("the river rose")
        rest = memory.remember("the river fell", user_id="ada")
        other = memory.remember("the river froze", user_id="bob")
        memory.retire([rest, other])
        plain, hinted = memory.recall("river"), memory.recall("river", dormant_hint=True)
        assert ids(plain) == ids(hinted) == [here.id]
        assert plain.stats.dormant == ()
        assert set(hinted.stats.dormant) == {rest.id, other.id}
        assert memory.recall("river", user_id="ada", dormant_hint=True).stats.dormant == (rest.id,)
        options = RecallOptions(dormant_hint=True)
        assert memory.recall("river", user_id="bob", options=options).stats.dormant == (other.id,)
        asked = memory.recall("river", dormant_hint=True, include=["dormant"])
        assert len(asked) == 3
        assert set(asked.stats.dormant) == {rest.id, other.id}
        assert memory.get(rest).access_count == 0


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_the_hint_is_a_switch(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="dormant_hint"):
        RecallOptions(dormant_hint=bad)


# -- A superseding that was wrong is undone in one call, and both memories hold --------------------
#
# Mechanism: ``reinstate(old, keep=True)`` on chains, users, facts and tiers; recalls, graph,
# history and check afterwards. Damage without it: a user's word that stays hidden because a newer
# one was taken for its replacement, or two words on one thing of which neither tells of the other.


def two_minds(path: Path | str = ":memory:", **how: Any) -> Memory:
    how.setdefault("clock", ManualClock(NOW))
    return spector.open(path, embedder=FakeEmbedder(), **how)


def test_both_hold_and_each_names_the_other(tmp_path: Path) -> None:
    with two_minds(tmp_path / "mind") as memory:
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
    with two_minds(tmp_path / "mind", mode="r") as memory:
        hits = memory.recall("which port is it")
        assert {hit.id: hit.conflicts for hit in hits} == {new.id: (old.id,), old.id: (new.id,)}
        (edge,) = memory.graph.edges(old)
        assert (edge.source, edge.kind, edge.target) == (old.id, "contradicts", new.id)
        assert ids(memory.history(old)) == [old.id]
        assert memory.check().ok


def test_the_newer_one_comes_first_and_its_score_says_so() -> None:
    with two_minds() as memory:
        old = memory.remember("the port is 8080 now", event_time="2026-01-01")
        new = memory.remember("8443", event_time="2026-02-01", supersedes=old)
        memory.reinstate(old, keep=True)
        hits = memory.recall("the port is 8080 now", cut=0)
        assert ids(hits) == [new.id, old.id]
        assert hits[0].score > hits[1].score
        assert hits[0].explain().score == hits[0].score
        assert hits[0].explain().evidence["contradicts"] > 0


def test_a_context_marks_what_is_contradicted_and_has_the_older_behind_it() -> None:
    with two_minds() as memory:
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


def test_the_rest_of_a_chain_stays(tmp_path: Path) -> None:
    with two_minds(tmp_path / "mind") as memory:
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
    with two_minds() as memory:
        one, two = memory.remember("in Rome"), memory.remember("in Milan")
        new = memory.remember("in Paris", supersedes=[one, two])
        memory.reinstate(two, keep=True)
        assert memory.get(new).supersedes == (one.id,)
        assert memory.get(one).superseded_by == (new.id,)
        assert memory.get(two).superseded_by == ()


def test_a_guard_keeps_the_successor_of_another_agent_out() -> None:
    with two_minds() as memory:
        old = memory.remember("in Rome", user_id="ada", agent_id="a")
        new = memory.remember("in Paris", user_id="ada", agent_id="b", supersedes=old)
        with pytest.raises(SupersededRecordError) as caught:
            memory.reinstate(old, keep=True, agent_id="a")
        assert str(new.id) not in str(caught.value)
        assert memory.get(old).superseded
        memory.reinstate(old, keep=True, user_id="ada")
        assert not memory.get(old).superseded


def test_facts_hold_again_beside_each_other() -> None:
    with two_minds() as memory:
        memory.facts.add("Ada", "lives_in", "Paris")
        berlin = memory.facts.add("Ada", "lives_in", "Berlin")
        paris = next(each for each in memory.records() if each.id != berlin.id)
        memory.reinstate(paris, keep=True)
        assert {fact.object for fact in memory.facts.about("Ada")} == {"Paris", "Berlin"}
        assert memory.check().ok


def test_memories_of_the_working_tier_have_no_edges() -> None:
    with two_minds() as memory:
        old = memory.remember("in Rome", tier="working")
        new = memory.remember("in Paris", tier="working", supersedes=old)
        with pytest.raises(InvalidInputError, match=rf"working tier.*forget\({new.id}\)"):
            memory.reinstate(old, keep=True)
        assert memory.get(old).superseded


@pytest.mark.parametrize("keep", ["yes", 1, None])
def test_keep_is_a_switch(keep: Any) -> None:
    with two_minds() as memory:
        record = memory.remember("in Rome")
        with pytest.raises(InvalidInputError, match="keep"):
            memory.reinstate(record, keep=keep)

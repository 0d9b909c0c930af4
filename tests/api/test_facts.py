"""Facts that change: a newer memory takes the place of an older one, and nothing is lost.

Mechanism: half of a change (an older memory that ended without its successor, or goes on beside
it), and a past that shows the words of today. Damage: an agent that answers with an old address, or
has none. Guard: every way to see a memory, before and after, at every moment around the change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import (
    ImmutableRecordError,
    InvalidInputError,
    ManualClock,
    Memory,
    MemoryRecord,
    SpectorError,
    SupersededRecordError,
    UnknownRecordError,
)
from tests.api.helpers import ids, own_vectors, texts, vector
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

MARCH, JUNE = "2026-03-10", "2026-06-05"
CUE = "where do I live"


def moved(memory: Memory, **more: Any) -> tuple[MemoryRecord, MemoryRecord]:
    old = memory.remember("I live in Berlin", event_time=MARCH, tags=["home"], **more)
    new = memory.remember(
        "I live in Lisbon", event_time=JUNE, tags=["home"], supersedes=old.id, **more
    )
    return old, new


@contextmanager
def mind(path: Any = ":memory:", **options: Any) -> Iterator[Memory]:
    given: dict[str, Any] = {"embedder": FakeEmbedder(32), "clock": ManualClock(NOW)} | options
    with spector.open(path, **given) as memory:
        yield memory


def state(memory: Memory) -> dict[int, MemoryRecord]:
    return {record.id: record for record in memory}


# -- what is seen ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [":memory:", "disk"])
def test_what_holds_now_answers_and_an_earlier_time_has_its_own_answer(
    path: str, tmp_path: Path
) -> None:
    with mind(path if path == ":memory:" else tmp_path / path) as memory:
        old, new = moved(memory)
        assert ids(memory.recall(CUE)) == [new.id]
        assert ids(memory.recall()) == ids(memory.recall(vector=vector(3))) == [new.id]
        for moment, held in (
            ("2026-03-09", []),
            (MARCH, [old.id]),
            ("2026-06-04T23:59:59.999Z", [old.id]),
            (JUNE, [new.id]),
            (NOW, [new.id]),
            ("2030-01-01", [new.id]),
        ):
            assert ids(memory.recall(CUE, as_of=moment)) == held, moment
            assert ids(memory.recall(CUE, as_of=moment, lexical=False)) == held, moment
            assert ids(memory.recall(CUE, as_of=moment, tags=["home"])) == held, moment
            assert ids(memory.records(as_of=moment)) == held, moment
            assert ids(memory.context(CUE, as_of=moment).hits) == held, moment
        assert ids(memory.records()) == [old.id, new.id]
        assert set(ids(memory.recall(CUE, include=["superseded"]))) == {old.id, new.id}
        assert set(ids(memory.recall(CUE, intent="temporal"))) == {old.id, new.id}
        assert memory.check().ok


def test_both_sides_know_of_each_other_wherever_they_are_seen(memory: Memory) -> None:
    old, new = moved(memory)
    assert (new.supersedes, new.superseded_by, new.superseded) == ((old.id,), (), False)
    seen = [
        memory.get(old.id),
        next(memory.records()),
        memory.recall(CUE, as_of=MARCH)[0].record,
        memory.pin(old.id),
        memory.reinforce(old.id),
        memory.update(old.id, metadata={"city": "Berlin"}),
        memory.history(old.id)[0],
    ]
    for record in seen:
        assert (record.supersedes, record.superseded_by) == ((), (new.id,))
        assert record.superseded
        assert record.valid_until == new.event_time
        assert record.tags == ("home",)
    again = [memory.get(new.id), memory.recall(CUE)[0].record, *memory.history(new.id)[1:]]
    assert [(each.supersedes, each.superseded_by, each.tags) for each in again] == [
        ((old.id,), (), ("home",))
    ] * 3
    assert memory.get(new.id).to_dict()["supersedes"] == [old.id]
    assert memory.get(old.id).to_dict()["superseded_by"] == [new.id]
    for secret in ("\1supersedes", f"\1supersedes\1{old.id}"):
        with pytest.raises(InvalidInputError):
            memory.recall(CUE, tags=[secret])


def test_a_history_leads_through_every_change(memory: Memory) -> None:
    made = [memory.remember("lives in Ulm", event_time="2020-01-01")]
    for year, city in ((2021, "Bonn"), (2023, "Rome"), (2025, "Oslo")):
        made.append(
            memory.remember(f"lives in {city}", event_time=f"{year}-01-01", supersedes=made[-1])
        )
    alone = memory.remember("likes tea")
    wide = memory.remember("works and lives in Kiel", supersedes=[made[-1], alone])
    every = [*made, alone, wide]
    for each in every:
        assert ids(memory.history(each.id)) == ids(every)
    for year, held in ((2020, 0), (2022, 1), (2024, 2), (2026, 3)):
        assert ids(memory.records(as_of=f"{year}-06-01")) == [made[held].id]
    assert memory.get(made[-1].id).superseded_by == memory.get(alone.id).superseded_by == (wide.id,)
    assert ids(memory.recall("lives")) == [wide.id]
    assert memory.check().ok


def test_a_history_is_in_the_order_of_its_links_not_of_its_times(memory: Memory) -> None:
    old = memory.remember("it is red", event_time=JUNE)
    new = memory.remember("it was green all along", event_time=MARCH, supersedes=old)
    assert (
        ids(memory.history(old))
        == ids(memory.history(memory.recall("green")[0]))
        == [old.id, new.id]
    )
    last = memory.remember("it is blue", supersedes=memory.history(old.id)[-1])
    with pytest.raises(SupersededRecordError, match=str(new.id)) as caught:
        memory.remember("it is grey", supersedes=old)
    assert str(last.id) in caught.value.hint, "it names the one to supersede"
    assert str(new.id) not in caught.value.hint


# -- what is between is forgotten -----------------------------------------------------------------


@pytest.mark.parametrize("purge", [False, True])
def test_forgetting_the_middle_leaves_one_history_and_one_that_holds(
    memory: Memory, purge: bool
) -> None:
    first = memory.remember("lives in Ulm", event_time="2020-01-01")
    beside = memory.remember("has no flat", event_time="2020-01-01")
    middle = memory.remember("lives in Bonn", event_time="2021-01-01", supersedes=[first, beside])
    later = memory.remember("lives in Rome", event_time="2022-01-01", supersedes=middle)
    last = memory.remember("lives in Oslo", event_time="2023-01-01", supersedes=later)
    memory.forget([middle.id, later.id], purge=purge)
    for each in (first, beside, last):
        assert ids(memory.history(each)) == [first.id, beside.id, last.id]
    assert set(memory.get(last.id).supersedes) == {first.id, beside.id, later.id}
    assert memory.get(first.id).superseded_by == (last.id,)
    for moment, held in (
        ("2020-06-01", {first.id, beside.id}),
        ("2021-06-01", set()),
        ("2023-06-01", {last.id}),
    ):
        assert set(ids(memory.records(as_of=moment))) == held
    with pytest.raises(SupersededRecordError, match=str(last.id)):
        memory.reinstate(first)
    assert ids(memory.recall("lives")) == [last.id]
    assert memory.check().ok
    memory.forget(last)
    assert memory.reinstate(first).superseded_by == ()
    assert ids(memory.recall("lives")) == [first.id]
    assert memory.check().ok


# -- when the older one ends ----------------------------------------------------------------------


def test_a_later_beginning_lets_the_older_one_hold_until_then(clock: ManualClock) -> None:
    with mind(clock=clock) as memory:
        old = memory.remember("pays by card", event_time=MARCH)
        start = NOW + timedelta(days=10)
        new = memory.remember("pays in cash", supersedes=old.id, valid_from=start)
        assert ids(memory.recall("pays")) == [old.id]
        assert memory.get(old.id).superseded_by == (new.id,)
        assert ids(memory.recall("pays", as_of=start)) == [new.id]
        with pytest.raises(SupersededRecordError):
            memory.remember("pays never", supersedes=old.id)
        clock.advance(days=10)
        assert ids(memory.recall("pays")) == [new.id]
        assert set(ids(memory.recall("pays", include=["superseded"]))) == {old.id, new.id}
        assert memory.check().ok


def test_a_plan_is_superseded_at_once(memory: Memory) -> None:
    old = memory.remember("the exam is on the 5th", event_time=NOW + timedelta(days=14))
    new = memory.remember(
        "the exam is on the 9th", event_time=NOW + timedelta(days=18), supersedes=old.id
    )
    assert ids(memory.recall("the exam")) == [new.id]
    assert memory.get(old.id).superseded
    assert ids(memory.recall("exam", as_of=NOW + timedelta(days=30))) == [new.id]


# -- refusals -------------------------------------------------------------------------------------


def test_a_refusal_names_the_way_out_and_changes_nothing(memory: Memory) -> None:
    old, new = moved(memory, user_id="ada")
    gone = memory.remember("gone")
    memory.forget(gone.id)
    solid = memory.remember("cast in bronze", immutable=True)
    fine = memory.remember("fine")
    ring = memory.remember("at hand", tier="working")
    before = state(memory)
    refused: list[tuple[type[SpectorError], Any, dict[str, Any]]] = [
        (UnknownRecordError, 12345, {}),
        (UnknownRecordError, [fine.id, gone.id], {}),
        (UnknownRecordError, (1 << 62), {}),
        (SupersededRecordError, old.id, {"user_id": "ada"}),
        (ImmutableRecordError, [fine, solid], {}),
        (InvalidInputError, new.id, {}),
        (UnknownRecordError, new.id, {"user_id": "bob"}),
        (InvalidInputError, ring.id, {}),
        (InvalidInputError, fine.id, {"tier": "working"}),
        (InvalidInputError, "7", {}),
        (InvalidInputError, True, {}),
        (InvalidInputError, [fine.id, None], {}),
        (InvalidInputError, -1, {}),
        (InvalidInputError, {"id": fine.id}, {}),
        (InvalidInputError, range(100), {}),
    ]
    for kind, target, more in refused:
        with pytest.raises(kind) as caught:
            memory.remember("newer", supersedes=target, **more)
        assert type(caught.value) is kind, target
        assert caught.value.hint, target
    with pytest.raises(SupersededRecordError):  # two of one batch
        memory.remember_many([{"text": f"n {n}", "supersedes": fine.id} for n in range(2)])
    with pytest.raises(InvalidInputError, match="supersedes"):
        memory.update(fine.id, supersedes=new.id)
    assert state(memory) == before
    assert memory.check().ok


def test_a_batch_supersedes_with_its_own_commit(memory: Memory) -> None:
    old = memory.remember_many([f"old {n}" for n in range(5)])
    new = memory.remember_many(
        [{"text": f"new {n}", "supersedes": [old[n]]} for n in range(3)] + ["plain"]
    )
    assert [each.supersedes for each in new] == [(old[n].id,) for n in range(3)] + [()]
    assert set(ids(memory.recall(k=50))) == {*ids(old[3:]), *ids(new)}


def test_a_batch_over_two_stores_is_refused_before_any_of_it_is_stored(memory: Memory) -> None:
    old, _ = moved(memory)
    step = memory.remember("step 0", tier="working")
    before = state(memory)
    for batch in (
        [
            {"text": "step 1", "tier": "working", "supersedes": step},
            {"text": "new", "supersedes": old},
        ],
        [{"text": "new"}, {"text": "step 1", "tier": "working", "supersedes": old}],
        [{"text": "new"}, {"text": "step 1", "tier": "working", "parents": [1 << 62]}],
        [{"text": "step 1", "tier": "working"}, {"text": "new", "parents": [1 << 62]}],
    ):
        with pytest.raises(InvalidInputError):
            memory.remember_many(batch)
        assert state(memory) == before
    assert ids(memory.recall(tiers=["working"])) == [step.id]
    made = memory.remember_many(
        [
            {"text": "step 1", "tier": "working", "supersedes": step},
            {"text": "new"},
        ]
    )
    assert texts(made) == ["step 1", "new"]
    assert memory.check().ok


def test_agents_of_one_user_share_what_changes(memory: Memory) -> None:
    old = memory.remember("the key is under the mat", user_id="ada", agent_id="home")
    new = memory.remember("the key is in the box", user_id="ada", agent_id="car", supersedes=old)
    assert memory.recall("key", user_id="ada", agent_id="home") == []
    assert ids(memory.recall("key", user_id="ada")) == [new.id]


def test_within_the_working_tier_one_takes_the_place_of_another(clock: ManualClock) -> None:
    with mind(clock=clock, config=spector.Config(working_capacity=3)) as memory:
        last = memory.remember("step 0", tier="working")
        for n in range(1, 7):  # the ring overwrites what it has just ended
            clock.advance(seconds=1)
            last = memory.remember(f"step {n}", tier="working", supersedes=last)
            assert ids(memory.recall(tiers=["working"])) == [last.id]
        assert len(memory) == 3
        assert memory.check().ok


# -- back and forth -------------------------------------------------------------------------------


def test_forgetting_the_newer_one_does_not_bring_the_older_back(memory: Memory) -> None:
    old, new = moved(memory)
    with pytest.raises(SupersededRecordError) as refused:
        memory.reinstate(old.id)
    assert str(new.id) in refused.value.hint
    memory.forget(new.id)
    assert memory.recall(CUE) == []
    assert ids(memory.recall(CUE, as_of="2026-05-01")) == [old.id]
    assert memory.get(old.id).superseded_by == ()
    with pytest.raises(SupersededRecordError, match="superseded") as caught:
        memory.remember("I live in Porto", supersedes=old.id)
    assert "reinstate" in caught.value.hint
    again = memory.reinstate(old.id)
    assert again == memory.get(old.id)
    assert (again.superseded, again.valid_until) == (False, None)
    assert ids(memory.recall(CUE)) == [old.id]
    porto = memory.remember("I live in Porto", supersedes=old.id)
    assert ids(memory.recall(CUE)) == [porto.id]
    assert memory.check().ok


def test_a_reinstated_memory_has_its_own_end_again(memory: Memory, tmp_path: Path) -> None:
    """However its successor ended it, and wherever it has been since."""
    end, gone = datetime(2027, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
    made = [
        (memory.remember(f"lives in {n}", event_time=MARCH, valid_until=until, tags=["home"]), more)
        for n, (until, more) in enumerate(
            [
                (end, {"event_time": JUNE}),
                (None, {"event_time": JUNE}),
                (gone, {"event_time": JUNE}),
                (end, {"event_time": "2026-01-01"}),
                (None, {"event_time": "2026-01-01"}),
                (end, {"valid_from": NOW + timedelta(days=2)}),
                (None, {"valid_from": NOW + timedelta(days=2)}),
            ]
        )
    ]
    before = [memory.get(old.id) for old, _ in made]
    new = [memory.remember("elsewhere", supersedes=old, **more) for old, more in made]
    for old, _ in made:
        memory.pin(old.id)
        memory.update(old.id, metadata={"seen": True}, tags=["home", "old"])
    memory.backup(tmp_path / "copy")
    memory.export(tmp_path / "out.jsonl")
    with mind(tmp_path / "copy") as copy, mind() as other:
        other.import_(tmp_path / "out.jsonl")
        for each in (memory, copy, other):
            there = ids(each)
            each.forget(there[len(made) :])
            assert all(record.tags == ("home", "old") for record in each)
            for old, target in zip(before, there, strict=False):
                back = each.reinstate(target)
                assert back == each.get(target)
                assert (back.valid_until, back.superseded) == (old.valid_until, False), old.text
                assert (back.tags, back.own_until_ms) == (("home", "old"), ())
                assert "own_until" not in back.to_dict()
            assert {record.valid_until for record in each} == {end, gone, None}
            assert each.check().ok
    assert len(new) == len(made)


def test_the_end_of_a_superseded_memory_is_not_its_own_to_tell(memory: Memory) -> None:
    old, new = moved(memory)
    ending = memory.remember("pays by card", valid_until="2027-01-01")
    soon = memory.remember("pays in cash", supersedes=ending, valid_from=NOW + timedelta(days=9))
    for older, newer in ((old, new), (ending, soon)):
        for until in (None, "2026-11-01"):
            with pytest.raises(SupersededRecordError, match=str(newer.id)) as caught:
                memory.update(older.id, valid_until=until)
            assert "reinstate" in caught.value.hint
            assert "forget" in caught.value.hint
    assert memory.check().ok
    memory.forget(new.id)
    with pytest.raises(SupersededRecordError):
        memory.update(old.id, valid_until=None)
    memory.reinstate(old.id)
    assert memory.update(old.id, valid_until="2026-11-01").valid_until is not None
    assert memory.check().ok


@pytest.mark.parametrize("how", ["event_time", "valid_from"])
def test_what_is_superseded_ends_when_the_newer_one_is_told_to_begin(
    memory: Memory, how: str
) -> None:
    old = memory.remember("I live in Berlin", event_time=MARCH)
    known: dict[str, Any] = {"event_time": MARCH} if how == "valid_from" else {}
    new = memory.remember("I live in Lisbon", **known | {how: JUNE}, supersedes=old)
    last = memory.remember("I live in Porto", **known | {how: "2026-08-01"}, supersedes=new)
    for begin in ("2026-07-01", "2026-05-01", "2026-02-01", JUNE):
        memory.update(new.id, **{how: begin})
        assert memory.check().ok
        for moment in ("2026-04-01", "2026-05-15", "2026-06-15", "2026-07-15", "2026-08-15"):
            held = last if moment > "2026-08" else new if moment > begin else old
            assert ids(memory.records(as_of=moment)) == [held.id], (begin, moment)
            assert ids(memory.recall(CUE, as_of=moment)) == [held.id], (begin, moment)
        assert ids(memory.recall(CUE)) == [last.id]
    memory.update(new.id, **{how: "2026-09-01"})  # it never held
    assert ids(memory.records(as_of="2026-07-15")) == [old.id]
    memory.update(new.id, text="I live in Faro", **{how: JUNE})
    assert ids(memory.records(as_of="2026-07-15")) == [new.id]
    assert memory.get(old.id).valid_until == datetime(2026, 6, 5, tzinfo=UTC)
    memory.forget([new.id, last.id])
    assert memory.reinstate(old.id).valid_until is None


def test_nothing_is_reinstated_that_was_not_superseded(memory: Memory) -> None:
    plain = memory.remember("plain", valid_until="2030-01-01")
    assert memory.reinstate(plain.id) == plain == memory.get(plain.id)
    with pytest.raises(UnknownRecordError):
        memory.reinstate(5)


def test_forgetting_the_older_one_leaves_the_newer(memory: Memory) -> None:
    old, new = moved(memory)
    report = memory.forget(old.id, purge=True, verify=True)
    assert report.receipt.verification.residue == ()
    assert memory.get(new.id).supersedes == (old.id,)
    assert ids(memory.history(new.id)) == [new.id]
    assert memory.check().ok
    assert memory.forget(new.id, purge=True, verify=True).receipt.complete  # type: ignore[union-attr]


def test_an_update_corrects_the_past_as_well_and_keeps_the_links(memory: Memory) -> None:
    old, new = moved(memory)
    memory.update(old.id, text="I live in Potsdam", tags=["flat"])
    changed = memory.update(new.id, text="I live in Porto", tags=None)
    assert (changed.supersedes, changed.tags) == ((old.id,), ())
    assert texts(memory.recall(CUE, as_of="2026-05-01")) == ["I live in Potsdam"]
    assert texts(memory.recall(CUE)) == ["I live in Porto"]
    assert memory.get(old.id).superseded_by == (new.id,)
    assert memory.check().ok


# -- what is kept ---------------------------------------------------------------------------------


def test_damage_to_a_link_is_seen(tmp_path: Path) -> None:
    with mind(tmp_path / "mind") as memory:
        moved(memory)
        memory._parts.store.catalog.main.execute("UPDATE record SET valid_until_ms = NULL")
        assert "I17" in {problem.code for problem in memory.check().problems}


# -- any life -------------------------------------------------------------------------------------


def test_every_moment_shows_what_brute_force_says(rng: np.random.Generator) -> None:
    """Chains of changes at random days; each memory holds on one stretch of time, or never."""
    base = datetime(2026, 1, 1, tzinfo=UTC)
    with own_vectors(clock=ManualClock(base + timedelta(days=100))) as memory:
        spans: dict[int, tuple[int, float]] = {}
        current: list[int] = []
        for n in range(60):
            day = int(rng.integers(0, 90))
            chosen = [i for i in current if rng.random() < 0.15][:3]
            new = memory.remember(
                f"fact {n}",
                vector=vector(n),
                event_time=base + timedelta(days=day),
                supersedes=chosen,
            )
            for old in chosen:
                begin, _ = spans[old]
                spans[old] = (begin, day if day > begin else -1)
                current.remove(old)
            spans[new.id] = (day, float("inf"))
            current.append(new.id)
        assert set(ids(memory.recall(k=100))) == set(current)
        for day in range(-1, 102):
            moment = base + timedelta(days=day)
            held = {i for i, (begin, end) in spans.items() if begin <= day < end}
            assert set(ids(memory.recall(k=100, as_of=moment))) == held
            assert set(ids(memory.recall("fact", k=100, as_of=moment))) == held
            assert set(ids(memory.records(as_of=moment))) == held
        assert memory.check().ok

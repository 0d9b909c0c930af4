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
    StoreClosedError,
    StoreReadOnlyError,
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


def test_readers_and_closed_memories_refuse(tmp_path: Path) -> None:
    with mind(tmp_path / "mind") as memory:
        record = memory.remember("here")
        memory.retire(record)
    with mind(tmp_path / "mind", mode="r") as reader:
        assert ids(reader.records(include=["dormant"])) == [record.id]
        for verb in (reader.retire, reader.reactivate):
            with pytest.raises(StoreReadOnlyError):
                verb(record)
    with pytest.raises(StoreClosedError):
        memory.retire(record)


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
        for name, record in (
            ("dormant", rest),
            ("superseded", old),
            ("quarantined", suspect),
        ):
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

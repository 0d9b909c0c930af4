"""Shared writers in one process: what they see of one another, who is refused, what is left.

Mechanism: a shared object is a reader that has the lock only for the length of a write, and follows
the others before it. Damage without it: a second process is refused, or writes over what the first
has done. Guard: two objects of one store, threads, forks, a plain writer between, restarts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, StoreForkedError, StoreLockedError
from tests.fakes import FakeEmbedder
from tests.sharing.workers import CONFIG, opened
from tests.threads import at_once


def alone(path: Path, **more: Any) -> spector.Memory:
    return spector.open(path, embedder=FakeEmbedder(), config=CONFIG, **more)


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    return tmp_path / "mind"


def test_each_sees_at_once_what_the_other_has_committed(mind: Path) -> None:
    with opened(mind) as one, opened(mind) as two:
        made = one.remember("the heron stands in the pond", key="heron", user_id="ada")
        assert two.get(made.id).text == made.text
        assert two.get(key="heron", user_id="ada").id == made.id
        assert [hit.id for hit in two.recall("heron pond", k=1)] == [made.id]
        assert len(two) == two.count(user_id="ada") == 1
        two.update(made.id, text="the heron has left")
        assert one.get(made.id).text == "the heron has left"
        again = two.remember("the heron is back", key="heron", user_id="ada")
        assert again.id == made.id
        assert one.recall("heron back", k=1)[0].text == "the heron is back"
        one.forget(made.id)
        assert made.id not in two
        assert two.recall("heron pond", k=1) == []
        assert [each.text for each in two.records()] == []
        assert one.check().ok
        assert two.check().ok
    assert spector.check(mind).ok


def test_partitions_fill_move_and_go_under_both(mind: Path) -> None:
    """Numbers, groups, indexes and retired slots and files of both follow the other's changes."""
    with opened(mind) as one, opened(mind) as two:
        texts: dict[int, str] = {}
        for n in range(70):
            memory = (one, two)[n % 2]
            made = memory.remember(f"bird {n} at pond {n % 7}", event_time=f"2026-03-0{1 + n % 3}")
            texts[made.id] = made.text
        for n, each in enumerate(sorted(texts)[::3]):
            (two, one)[n % 2].forget(each)
            del texts[each]
        for n, each in enumerate(sorted(texts)[::4]):
            texts[each] = f"moved {n}"
            (one, two)[n % 2].update(each, text=texts[each])
        one.compact()
        two.remember_many([f"flock {n}" for n in range(80)])
        two.compact()
        one.reflect("upkeep")
        two.reflect("upkeep")
        for memory in (one, two):
            found = {each.id: each.text for each in memory.records()}
            assert found.items() >= texts.items()
            assert len(found) == len(texts) + 80 == len(memory)
            assert memory.recall("moved 1", k=1)[0].text == "moved 1"
            assert memory.check().ok, memory.check().problems
    report = spector.check(mind)
    assert report.ok, report.problems
    with alone(mind) as after:
        assert {each.id: each.text for each in after.records()}.items() >= texts.items()


def test_purging_in_one_leaves_nothing_of_the_other(mind: Path) -> None:
    with opened(mind) as one, opened(mind) as two:
        secret = two.remember("the password is xylophone-47")
        assert one.recall("password", k=1)[0].id == secret.id
        assert two.recall("xylophone", k=1)[0].id == secret.id
        one.remember("nothing to see")
        report = one.forget(secret.id, purge=True, verify=True)
        assert report.receipt.complete, report.receipt
        assert secret.id not in two
        two.remember("another one")
    raw = b"".join(each.read_bytes() for each in mind.rglob("*") if each.is_file())
    assert b"xylophone" not in raw
    assert spector.check(mind).ok


def test_a_plain_writer_excludes_shared_ones_and_not_the_other_way_round(mind: Path) -> None:
    with opened(mind, wait=0.2) as shared:
        shared.remember("one")
        with alone(mind) as plain:
            plain.remember("two")
            assert len(shared) == 2
            with pytest.raises(StoreLockedError, match=f"pid {os.getpid()}"):
                shared.remember("refused")
            with opened(mind, wait=0.1) as late:
                assert len(late) == 2
            with pytest.raises(StoreLockedError):
                shared.forget(where={"a": 1})
            plain.compact()
        shared.remember("three")
        assert [each.text for each in shared.records()] == ["one", "two", "three"]
    assert spector.check(mind).ok


def test_a_relaxed_writer_between_costs_nothing(mind: Path) -> None:
    with opened(mind) as shared:
        shared.remember("one")
        with alone(mind, durability="relaxed") as plain:
            plain.remember_many([f"two {n}" for n in range(70)])
        shared.remember("three")
        assert len(shared) == 72
        assert shared.check().ok
    assert spector.check(mind).ok


def test_what_cannot_be_shared_is_refused(mind: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"mode": "r"},
        {"durability": "relaxed"},
        {"ops_log": True},
        {"shared": "yes"},
        {"wait": -1},
        {"wait": float("nan")},
    ]
    for each in wrong:
        with pytest.raises(InvalidInputError):
            opened(mind, **each)
    assert not mind.exists()
    with spector.open(":memory:", embedder=None, dim=4, shared=True) as volatile:
        volatile.remember("x", vector=[1, 0, 0, 0])
        assert len(volatile) == 1


def test_threads_of_two_objects_write_at_once(mind: Path) -> None:
    with opened(mind) as one, opened(mind) as two:

        def write(n: int) -> None:
            memory = (one, two)[n % 4 == 0]
            for k in range(2):
                made = memory.remember(f"thread {n} line {k}", key=f"k{k}")
                assert memory.get(made.id).id == made.id
                assert memory.recall(f"thread {n}", k=3)

        at_once(write, range(32))
        assert len(one) == len(two) == 2
        assert one.check().ok
    assert spector.check(mind).ok


def test_ids_of_the_working_tier_are_of_one_process_and_of_nobody_else(mind: Path) -> None:
    clock = spector.ManualClock("2026-03-02T09:00:00Z")
    with opened(mind, clock=clock) as one, opened(mind, clock=clock) as two:
        made = [
            (one, two)[n % 2].remember(f"n {n}", tier=("working", "episodic")[n // 2 % 2])
            for n in range(12)
        ]
        assert len({each.id for each in made}) == 12
        assert [each.text for each in one.records(tiers=["working"])] == ["n 0", "n 4", "n 8"]
        assert made[0].id not in two


def test_a_forked_child_is_told_to_open_its_own(mind: Path) -> None:
    with opened(mind) as one:
        one.remember("before")
        pid = os.fork()
        if pid == 0:
            try:
                one.remember("in the child")
            except StoreForkedError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        one.remember("after")
        assert len(one) == 2


def test_who_only_reads_waits_for_no_holder_not_even_for_the_working_tier(mind: Path) -> None:
    with opened(mind) as one, opened(mind, wait=0.05) as two:
        one.remember("kept")
        two.remember("of the moment", tier="working")
        with one._parts.store.exclusive():
            with pytest.raises(StoreLockedError):
                two.remember("refused")
            assert two.check().ok
            assert two.count() == len(list(two.records())) == 2
            assert two.backup(mind.parent / "copy").records == 1
    assert spector.check(mind.parent / "copy").ok


def test_a_store_that_another_gave_a_new_format_or_model_is_told(mind: Path) -> None:
    with opened(mind) as one:
        one.remember("before")
        with alone(mind) as plain:
            plain._parts.store.catalog.set_meta({"fingerprint": "another"})
        with pytest.raises(spector.ModelMismatchError):
            one.remember("x")

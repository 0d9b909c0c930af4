"""The working tier has a ring for each user.

Mechanism: one slab whose slots belong to the user of the memory in them; the catalog says whose
they are. Damage without it: a busy user overwrites what all others have at hand, and a service that
gives one store to many users has no working memory at all. Guard: against a plain dictionary of
lists, whatever is written, forgotten and moved between users, in batches and alone; and the slab
stays bounded however many users there are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from spector import Config, ManualClock, Memory
from tests.api.helpers import ids, texts
from tests.fakes import FakeEmbedder


def mind(path: str | Path, clock: ManualClock, *, each: int = 4, users: int = 50) -> Memory:
    config = Config(working_capacity=each, working_users=users)
    return spector.open(path, embedder=FakeEmbedder(), clock=clock, config=config)


def at_hand(memory: Memory, user: str | None) -> list[str]:
    return [r.text for r in memory.records(tiers="working") if r.user_id == user]


@pytest.mark.parametrize("path", [":memory:", "disk"])
def test_one_users_writes_leave_the_others_alone(
    path: str, tmp_path: Path, clock: ManualClock
) -> None:
    with mind(path if path == ":memory:" else tmp_path / path, clock) as memory:
        memory.remember_many(["list: salt", "list: rope"], tier="working", user_id="ines")
        memory.remember("nobody's note", tier="working")
        for n in range(30):
            memory.remember(f"step {n}", tier="working", user_id="otto")
        memory.remember_many([f"bulk {n}" for n in range(30)], tier="working", user_id="otto")
        assert at_hand(memory, "ines") == ["list: salt", "list: rope"]
        assert at_hand(memory, None) == ["nobody's note"]
        assert at_hand(memory, "otto") == [f"bulk {n}" for n in range(26, 30)]
        assert texts(memory.recall("step", tiers="working", user_id="otto", k=9, lexical=False))
        assert memory.check().ok


def test_what_has_no_user_shares_one_ring(clock: ManualClock) -> None:
    with mind(":memory:", clock) as memory:
        for n in range(9):
            memory.remember(f"n {n}", tier="working", session_id=f"s{n}", agent_id=f"a{n}")
        assert at_hand(memory, None) == [f"n {n}" for n in range(5, 9)]


@pytest.mark.parametrize("batch", [1, 7])
def test_of_too_many_users_the_one_who_wrote_longest_ago_makes_room(
    clock: ManualClock, batch: int
) -> None:
    with mind(":memory:", clock, each=2, users=3) as memory:
        items: list[tuple[str | None, str]] = [
            ("a", "a1"),
            ("b", "b1"),
            ("a", "a2"),
            (None, "n1"),
            ("c", "c1"),
            ("a", "a3"),
        ]
        for start in range(0, len(items), batch):
            memory.remember_many(
                [{"text": text, "user_id": user} for user, text in items[start : start + batch]],
                tier="working",
            )
        assert texts(memory.records()) == ["a2", "n1", "c1", "a3"]
        assert at_hand(memory, "b") == []
        assert memory.stats()["tiers"]["working"]["partitions"] == 1
        assert memory.check().ok


def test_a_batch_of_many_users_keeps_as_many_as_there_is_room_for(clock: ManualClock) -> None:
    with mind(":memory:", clock, each=3, users=5) as memory:
        made = memory.remember_many(
            [{"text": f"u{n}", "user_id": f"u{n}"} for n in range(40)], tier="working"
        )
        assert ids(memory.records()) == ids(made)[-5:]
        assert memory.check().ok
        for record in made[:35]:
            assert record not in memory


def test_a_failed_write_turns_no_ring(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    from spector.store.catalog import rows

    with mind(":memory:", clock, each=2, users=2) as memory:
        memory.remember_many(["a1", "a2"], tier="working", user_id="a")
        memory.remember("b1", tier="working", user_id="b")
        with monkeypatch.context() as patch:
            patch.setattr(rows, "insert_rows", lambda *_: 1 / 0)
            for user in ("a", "c"):
                with pytest.raises(ZeroDivisionError):
                    memory.remember("never", tier="working", user_id=user)
        assert sorted(texts(memory)) == ["a1", "a2", "b1"]
        memory.remember("a3", tier="working", user_id="a")
        assert sorted(texts(memory)) == ["a2", "a3", "b1"]
        assert memory.check().ok


def test_moves_between_users_never_take_the_slab_beyond_its_bound(clock: ManualClock) -> None:
    """Rings that moves made too long, or too many, give way to the next write."""
    with mind(":memory:", clock, each=4, users=2) as memory:
        for user in ("a", "b"):
            memory.remember_many([f"{user}{n}" for n in range(4)], tier="working", user_id=user)
        for record in list(memory.records(user_id="a"))[:3]:
            memory.update(record, move_to={"user_id": "b"})
        for n in range(4, 7):
            memory.remember(f"a{n}", tier="working", user_id="a")
        assert at_hand(memory, "a") == ["a3", "a4", "a5", "a6"]
        assert len(at_hand(memory, "b")) == 4
        for n, record in enumerate(list(memory.records(user_id="b"))):
            memory.update(record, move_to={"user_id": f"c{n}"})
        memory.remember_many([f"new {n}" for n in range(8)], tier="working", user_id="z")
        assert at_hand(memory, "z") == [f"new {n}" for n in range(4, 8)]
        assert len(memory) <= 8
        assert memory.check().ok


def test_a_dead_memory_keeps_its_place_in_its_users_ring_only(clock: ManualClock) -> None:
    with mind(":memory:", clock, each=3) as memory:
        a = memory.remember_many(["a0", "a1", "a2"], tier="working", user_id="a")
        memory.remember_many(["b0", "b1", "b2"], tier="working", user_id="b")
        memory.forget([a[0], a[1]])
        memory.remember("b3", tier="working", user_id="b")
        assert at_hand(memory, "b") == ["b1", "b2", "b3"]
        memory.remember_many(["a3", "a4"], tier="working", user_id="a")
        assert at_hand(memory, "a") == ["a2", "a3", "a4"]
        assert memory.stats()["tiers"]["working"] == {
            "records": 6,
            "tombstones": 0,
            "partitions": 1,
        }

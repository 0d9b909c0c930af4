"""Past its end no read of any process returns a memory, and the next upkeep erases it.

Mechanism: the end stands beside the memory, and every read compares it with the clock. Damage
without it: a memory that should be gone is quoted until somebody cleans up, or its key stays taken.
Guard: every reading verb at the moment before the end and at the end, without any write between.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import (
    ImmutableRecordError,
    InvalidInputError,
    ManualClock,
    Memory,
    UnknownRecordError,
)
from tests.api.helpers import sound_memory  # noqa: F401 - a fixture
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def seen(memory: Memory, record_id: int, key: str | None = None) -> dict[str, bool]:
    """Where a memory is seen; ``text`` has a word of its own."""

    def finds(call: Callable[[], Any]) -> bool:
        try:
            call()
        except UnknownRecordError:
            return False
        return True

    word = "quetzal"
    return {
        "get": finds(lambda: memory.get(record_id)),
        "key": key is not None and finds(lambda: memory.get(key=key)),
        "in": record_id in memory,
        "records": record_id in [each.id for each in memory.records()],
        "newest": record_id in [each.id for each in memory.records(newest_first=True, limit=99)],
        "by tag": bool(list(memory.records(tags=["bird"]))),
        "by key": bool(list(memory.records(key_prefix=""))),
        "count": memory.count(tags=["bird"]) > 0,
        "count by user": memory.count(user_id="u") > 0,
        "users": [each.id for each in memory.users()] == ["u"],
        "recall": any(word in hit.text for hit in memory.recall(word, k=20)),
        "recall exact": any(word in h.text for h in memory.recall(word, k=20, exact=True)),
        "by user": bool(memory.recall(word, user_id="u")),
        "as of": bool(memory.recall(word, user_id="u", as_of=NOW + timedelta(seconds=1))),
        "ended": bool(memory.recall(word, user_id="u", include=["superseded", "dormant"])),
        "context": word in memory.context(word, always=True).text,
        "history": finds(lambda: memory.history(record_id)),
        "update": finds(lambda: memory.update(record_id, importance=0.5)),
        "pin": finds(lambda: memory.unpin(record_id)),
    }


def test_at_its_end_nothing_returns_it(memory: Memory, clock: ManualClock, proof: Any) -> None:
    memory.remember_many([f"a sparrow number {n}" for n in range(5)])
    made = memory.remember(
        "a quetzal in the tree", key="k", user_id=None, tags=["bird"], expires_in=60
    )
    memory.update(made.id, move_to={"user_id": "u"})
    memory.remember("another quetzal", key="other", user_id="u", expires_in=60, tags=["bird"])
    assert made.expires_at == NOW + timedelta(seconds=60)
    clock.advance(seconds=59.999)
    found = seen(memory, made.id)
    assert all(value for name, value in found.items() if name != "key"), found
    assert len(memory) == memory.count() == 7
    clock.advance(seconds=0.001)
    before = memory._parts.store.head.change_seq
    found = seen(memory, made.id)
    assert not any(found.values()), found
    proof("expiry", reads=len(found), shown=sum(found.values()))
    assert len(memory) == memory.count() == 5
    assert memory.stats()["records"] == 5
    assert memory.stats()["tiers"]["episodic"]["records"] == 5
    assert memory._parts.store.head.change_seq == before, "nothing is written for it"
    with pytest.raises(UnknownRecordError):
        memory.forget(made.id)


def test_a_reader_leaves_it_out_by_its_own_clock(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember("stays")
        with spector.open(path, embedder=FakeEmbedder(), clock=clock, mode="r") as reader:
            made = memory.remember("goes", expires_in=10, key="k")
            assert reader.get(key="k").text == "goes"
            clock.advance(seconds=10)
            assert made.id not in reader
            assert [each.text for each in reader.records()] == ["stays"]
            assert [hit.text for hit in reader.recall("goes")] == ["stays"]
            assert len(reader) == 1


def test_upkeep_and_compact_erase_it_with_a_receipt(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    for n, erase in enumerate(
        (lambda: memory.compact(), lambda: memory.reflect("upkeep").compaction)
    ):
        source = memory.remember(
            f"Zebulon number {n} is here", key="k", expires_in=5, pinned=True, user_id="u"
        )
        fact = memory.facts.add("Zebulon", "is", f"here {n}", source=source)
        clock.advance(seconds=6)
        report = erase()
        assert report.receipt.complete
        assert source.id in report.receipt.ids
        assert report.expired == 1, "the fact went along"
        assert erase().expired == 0
        assert fact.id not in memory
        assert memory.remember_many(
            [{"text": "x", "key": "k", "user_id": "u"}], if_forgotten="skip"
        ).outcomes == ["new"], "what expires was not forgotten"
        memory.forget(key="k", user_id="u", purge=True)
    memory.checkpoint()
    for file in (tmp_path / "mind").rglob("*"):
        assert not file.is_file() or b"Zebulon" not in file.read_bytes(), file


def test_a_dry_run_erases_nothing(memory: Memory, clock: ManualClock) -> None:
    memory.remember("goes", expires_in=5)
    clock.advance(seconds=6)
    before = memory._parts.store.head.change_seq
    assert memory.compact(dry_run=True).expired == 1
    assert memory._parts.store.head.change_seq == before


def test_its_key_is_free_and_a_new_memory_is_another(memory: Memory, clock: ManualClock) -> None:
    old = memory.remember("old", key="k", expires_in=5)
    clock.advance(seconds=5)
    with pytest.raises(UnknownRecordError):
        memory.get(key="k")
    new = memory.remember("new", key="k")
    assert new.id != old.id
    assert (new.revision, new.expires_at) == (1, None)
    clock.advance(days=1)
    assert memory.get(key="k").text == "new"


def test_replacing_gives_the_end_of_the_call(memory: Memory, clock: ManualClock) -> None:
    memory.remember("one", key="k", expires_in=5)
    assert memory.remember("two", key="k", expires_in=50).expires_at == NOW + timedelta(seconds=50)
    assert memory.remember("three", key="k").expires_at is None
    clock.advance(days=1)
    assert memory.get(key="k").text == "three"


def test_an_update_moves_an_end_or_takes_it_off(memory: Memory, clock: ManualClock) -> None:
    made = memory.remember("something")
    ten = timedelta(seconds=10)
    assert memory.update(made.id, expires_in=ten).expires_at == NOW + ten
    at = NOW + timedelta(days=3)
    assert memory.update(made.id, expires_at=at, text="changed").expires_at == at
    assert memory.update(made.id, importance=0.7).expires_at == at
    assert memory.update(made.id, expires_in=None).expires_at is None
    assert memory.get(made.id).text == "changed"
    clock.advance(days=9)
    assert memory.get(made.id).importance == pytest.approx(0.7)


def test_validity_is_something_else(memory: Memory, clock: ManualClock) -> None:
    made = memory.remember("valid", valid_until=NOW + timedelta(seconds=5), expires_in=60)
    clock.advance(seconds=10)
    assert memory.get(made.id).valid_until == NOW + timedelta(seconds=5)
    assert not memory.recall("valid")
    assert memory.recall("valid", as_of=NOW)
    clock.advance(seconds=60)
    assert not memory.recall("valid", as_of=NOW)


def test_a_recall_moves_the_end_of_what_it_returns(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "mind"
    with spector.open(path, embedder=FakeEmbedder(), clock=clock) as memory:
        used = memory.remember("a quetzal in the tree", expires_in=60, refresh=True)
        other = memory.remember("a sparrow", expires_in=60)
        clock.advance(seconds=40)
        with spector.open(path, embedder=FakeEmbedder(), clock=clock, mode="r") as reader:
            assert reader.recall("a quetzal in the tree")
        assert memory.get(used.id).expires_at == NOW + timedelta(seconds=60)
        assert len(memory.recall("a quetzal in the tree")) == 2
        assert memory.get(used.id).expires_at == NOW + timedelta(seconds=100)
        assert memory.get(other.id).expires_at == NOW + timedelta(seconds=60)
        clock.advance(seconds=30)
        assert [each.id for each in memory.records()] == [used.id]
        memory.context("a quetzal in the tree", always=True)
        assert memory.get(used.id).expires_at == NOW + timedelta(seconds=130)


def test_a_recall_of_memories_without_ends_writes_nothing(memory: Memory) -> None:
    memory.remember("plain")
    memory.remember("with an end", expires_in=60)
    before = memory._parts.store.head.change_seq
    memory.recall("plain")
    memory.context("with an end", always=True)
    assert memory._parts.store.head.change_seq == before


def test_immutable_ones_do_not_expire(memory: Memory) -> None:
    made = memory.remember("stone", immutable=True)
    with pytest.raises(ImmutableRecordError):
        memory.update(made.id, expires_in=5)
    going = memory.remember("sand", expires_in=5)
    with pytest.raises(InvalidInputError, match="immutable"):
        memory.update(going.id, immutable=True)
    assert not memory.get(going.id).immutable


def test_a_memory_in_memory_expires_too() -> None:
    clock = ManualClock(NOW)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember("goes", expires_in=5)
        memory.remember("passing", tier="working")
        clock.advance(seconds=5)
        assert [each.text for each in memory.records()] == ["passing"]
        assert len(memory) == 1
        assert memory.compact().partitions_seen >= 1


def test_a_day_as_the_end_is_that_whole_day_in_the_zone_of_the_store(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with spector.open(
        tmp_path / "mind", embedder=FakeEmbedder(), clock=clock, timezone="Europe/Istanbul"
    ) as memory:
        end = datetime(2030, 5, 4, 21, tzinfo=UTC)
        made = memory.remember("the coupon", expires_at="2030-05-04", valid_until="2030-05-04")
        assert made.expires_at == made.valid_until == end
        later = memory.update(made.id, expires_at="2030-05-05")
        assert later.expires_at == end + timedelta(days=1)
        never = memory.remember("for good", expires_at="9999-12-31")
        assert memory.update(never.id, expires_at="9999-12-31").expires_at == never.expires_at
        assert memory.check().ok


@pytest.mark.parametrize("how", ["user", "id", "key", "another"])
def test_a_purge_erases_what_has_expired_from_every_file(tmp_path: Path, how: str) -> None:
    """A receipt that is complete must not leave the words of an expired memory behind."""
    clock = ManualClock(NOW)
    with spector.open(tmp_path / "mind", embedder=None, dim=3, clock=clock) as memory:
        gone = memory.remember(
            "quokka vault", vector=[1, 0, 0], user_id="ada", key="q", expires_in=5
        )
        memory.remember("also hers", vector=[0, 1, 0], user_id="ada")
        other = memory.remember("another one", vector=[0, 1, 0])
        clock.advance(seconds=6)
        report = {
            "user": lambda: memory.forget(user_id="ada", purge=True, verify=True),
            "id": lambda: memory.forget(gone.id, purge=True),
            "key": lambda: memory.forget(key="q", user_id="ada", purge=True),
            "another": lambda: memory.forget(other.id, purge=True),
        }[how]()
        assert report.receipt.complete
        assert memory.check().ok
    left = [each for each in (tmp_path / "mind").rglob("*") if each.is_file()]
    assert [each.name for each in left if b"quokka" in each.read_bytes()] == []

"""Ids are never given out twice.

Mechanism: the working tier is volatile, and so was the highest id it had been given. Damage: after
reopening under a clock that had gone back, another memory took the id of one a caller still held.
Guard: the durable store learns the highest id when it is closed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from tests.fakes import FakeEmbedder


def test_an_id_of_the_working_tier_is_not_given_out_again_after_reopening(store_path: Path) -> None:
    clock = spector.ManualClock(1_800_000_000_000)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        held = memory.remember("scratch", tier="working").id
    clock.advance(days=-1)
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert memory.remember("lasting").id > held


def test_hits_and_records_can_be_forgotten_like_ids(store_path: Path) -> None:
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        first, second = memory.remember("alpha one"), memory.remember("beta two")
        hit = memory.recall("alpha one", k=1)[0]
        report = memory.forget([hit, second])
        assert set(report.ids) == {first.id, second.id}
        assert len(memory) == 0


def test_an_empty_store_is_a_store(store_path: Path) -> None:
    """Mechanism: a length of 0 made ``if memory:`` false until something was remembered."""
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        assert len(memory) == 0
        assert memory
    assert memory, "closed, and still the object that it was"


def test_an_id_tells_the_millisecond_that_it_was_given_out_in(store_path: Path) -> None:
    """Or numbers of two versions overlap, and soon none is a number in JSON any more."""
    now_ms = 1_800_000_000_000
    with spector.open(
        store_path, embedder=FakeEmbedder(), clock=spector.ManualClock(now_ms)
    ) as memory:
        first, second = memory.remember_many(["alpha one", "beta two"])
    assert (first.id, second.id) == (now_ms << 10, (now_ms << 10) + 1)
    assert second.id < 1 << 53


@pytest.mark.parametrize("number", [-1, 0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64])
def test_a_number_that_no_memory_can_have_is_an_unknown_one(store_path: Path, number: int) -> None:
    """SQLite has numbers of 64 bits with a sign, and Python has no end of them."""
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("alpha one")
        assert number not in memory
        for verb in (memory.get, memory.pin, memory.reinforce, memory.forget):
            with pytest.raises(spector.UnknownRecordError):
                verb(number)

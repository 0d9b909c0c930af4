"""Ids are never given out twice.

Mechanism: the working tier is volatile, and so was the highest id it had been given. Damage: after
reopening under a clock that had gone back, another memory took the id of one a caller still held.
Guard: the durable store learns the highest id when it is closed.
"""

from __future__ import annotations

from pathlib import Path

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

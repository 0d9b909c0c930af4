"""A fifth tier, added from outside.

Mechanism: everything that differs between tiers is a method of the tier; the store, the catalog,
recall, compaction and check ask the router. Damage without it: a switch over four names somewhere,
and a fifth tier that remembers but is never checked or compacted. Guard: this tier is not part of
spector, and it goes through the public API alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, ManualClock, StoreError
from tests.api.helpers import files_with, ids, texts
from tests.fakes import FakeEmbedder
from tests.tiers.flash import FlashTier, SparkTier


def mind(path: Path, clock: ManualClock, **options: object) -> spector.Memory:
    tiers = [FlashTier(), SparkTier()]
    return spector.open(path, embedder=FakeEmbedder(), clock=clock, extra_tiers=tiers, **options)  # type: ignore[arg-type]


def test_a_tier_from_outside_remembers_recalls_and_survives_a_restart(
    store_path: Path, clock: ManualClock
) -> None:
    with mind(store_path, clock) as memory:
        record = memory.remember("the lightning struck the old oak", tier="flash", tags=["storm"])
        memory.remember("lightning in a book", tier="episodic")
        assert record.tier == "flash"
        assert ids(memory.recall("lightning oak", tiers="flash")) == [record.id]
        assert ids(memory.recall(tags=["storm"])) == [record.id]
        assert memory.stats()["tiers"]["flash"]["records"] == 1
    with mind(store_path, clock) as memory:
        assert texts(memory.recall("lightning oak", k=1)) == ["the lightning struck the old oak"]
        assert memory.get(record.id).tier == "flash"
        assert memory.check().ok
    assert sorted(p.name for p in (store_path / "flash").iterdir()) == ["flash-000.mem"]
    assert spector.check(store_path, extra_tiers=[FlashTier(), SparkTier()]).ok


def test_a_tier_from_outside_rolls_compacts_and_erases(
    store_path: Path, clock: ManualClock
) -> None:
    with mind(store_path, clock) as memory:
        kept = memory.remember_many([f"flash number {n}" for n in range(9)], tier="flash")
        secret = memory.remember("the password is swordfish", tier="flash")
        assert memory.stats()["tiers"]["flash"]["partitions"] == 3
        updated = memory.update(kept[0].id, text="flash number zero")
        assert updated.tier == "flash"
        memory.forget(secret.id)
        slept = memory.reflect()
        assert slept.marked_reflectable == 2  # the two that rolled over
        assert slept.compaction.records_reclaimed + memory.compact().records_reclaimed == 2
        assert files_with(store_path, "swordfish") == []
        assert memory.stats()["tiers"]["flash"]["tombstones"] == 0
        assert memory.check().ok
        assert len(memory.recall(tiers="flash", k=50)) == 9


def test_a_volatile_tier_from_outside_leaves_no_byte_behind(
    store_path: Path, clock: ManualClock
) -> None:
    with mind(store_path, clock) as memory:
        memory.remember_many([f"a spark of kryptonite {n}" for n in range(6)], tier="spark")
        memory.remember("a lasting thought")
        assert len(memory.recall("kryptonite", tiers="spark")) == 6
        assert memory.check().ok
        gone = memory.forget(tiers="spark", where=None)
        assert len(gone) == 6
        memory.remember("one more kryptonite", tier="spark")
    assert files_with(store_path, "kryptonite") == []
    with mind(store_path, clock) as memory:
        assert texts(memory) == ["a lasting thought"]


def test_a_store_with_a_foreign_tier_says_which_tier_it_needs(
    store_path: Path, clock: ManualClock
) -> None:
    with mind(store_path, clock) as memory:
        memory.remember("a flash", tier="flash")
    with pytest.raises(StoreError, match="extra_tiers") as caught:
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock)
    assert "flash" in str(caught.value)
    mind(store_path, clock).close()  # the refused attempt left no lock behind


class _SameName(FlashTier):
    code = 50


class _SameCode(FlashTier):
    name = "blitz"


class _TakenCode(FlashTier):
    name, code = "blitz", 1


class _BadName(FlashTier):
    name = "../evil"


class _BadCode(FlashTier):
    code = 256


class _NoTier:
    name, code = "nothing", 60


@pytest.mark.parametrize(
    "wrong", [_SameName(), _SameCode(), _TakenCode(), _BadName(), _BadCode(), _NoTier(), "flash"]
)
def test_a_tier_that_cannot_be_registered_is_refused(store_path: Path, wrong: object) -> None:
    with pytest.raises(InvalidInputError):
        spector.open(store_path, embedder=FakeEmbedder(), extra_tiers=[FlashTier(), wrong])  # type: ignore[list-item]
    assert not store_path.exists()

"""A fifth tier, added from outside.

Mechanism: everything that differs between tiers is a method of the tier; the store, the catalog,
recall, compaction and check ask the router. Damage without it: a switch over four names somewhere,
and a fifth tier that remembers but is never checked or compacted. Guard: this tier is not part of
spector, and it goes through the public API alone.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import spector
from spector import InvalidInputError, ManualClock, StoreError
from tests.api.helpers import files_with, ids, texts
from tests.fakes import FakeEmbedder
from tests.tiers.flash import FlashTier, SparkTier
from tests.trees import nodes_of, tree_of

PACKAGE = Path(spector.__file__).parent
NAMES = {"working", "episodic", "semantic", "procedural"}
CODES = {"WORKING", "EPISODIC", "SEMANTIC", "PROCEDURAL"}


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


def dispatches_on_tiers(tree: ast.AST) -> list[int]:
    """Lines that compare something with the name or code of one of the four tiers."""

    def is_tier(node: ast.AST) -> bool:
        match node:
            case ast.Constant(value=str(value)):
                return value in NAMES
            case ast.Attribute(value=ast.Name(id="TierCode"), attr=attr):
                return attr in CODES
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return any(is_tier(item) for item in elts)
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=name)]):
                return name in {f"{n.title()}Tier" for n in NAMES}
        return False

    found = []
    for node in nodes_of(tree):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(is_tier, [left, *others])):
                found.append(node.lineno)
            case ast.MatchValue(value=value) if is_tier(value):
                found.append(value.lineno)
            case ast.Call() if is_tier(node):
                found.append(node.lineno)
    return found


EXEMPT = {
    "layout.py": "derives the magic numbers that the format prescribes",
    "cli/commands/writing.py": "a command's process ends at once, and volatile memory with it",
}
MODULES = sorted({*PACKAGE.rglob("*.py")} - {PACKAGE / name for name in EXEMPT})


def test_no_module_asks_which_of_the_four_tiers_it_has() -> None:
    asking = {path.name: dispatches_on_tiers(tree_of(path)) for path in MODULES}
    assert {name: lines for name, lines in asking.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "if tier == 'working': pass",
        "x = 'semantic' != tier.name",
        "if tier in ('episodic', 'other'): pass",
        "if code == TierCode.SEMANTIC: pass",
        "isinstance(tier, WorkingTier)",
        "match tier:\n    case 'episodic': pass",
    ],
)
def test_the_search_for_tier_switches_finds_one(source: str) -> None:
    assert dispatches_on_tiers(ast.parse(source))

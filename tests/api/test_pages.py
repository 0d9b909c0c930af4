"""Lists come in pages, in either order, whatever happens between two of them.

Mechanism: a page begins behind an id, not at a number of rows. Damage without it: a memory that is
shown twice or never because another was forgotten meanwhile. Guard: pages of every size in both
orders beside the whole list, with changes in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import InvalidInputError, Memory, UnknownArgumentError
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as opened:
        opened.remember_many(
            [
                {
                    "text": f"memory {n}",
                    "user_id": f"u{n % 2}",
                    "tags": [f"t{n % 3}"],
                    "metadata": {"n": n},
                    "tier": "semantic" if n % 5 else "episodic",
                }
                for n in range(23)
            ]
        )
        opened.remember("passing", tier="working", user_id="u0")
        yield opened


def pages(memory: Memory, size: int, **more: Any) -> list[list[int]]:
    """The ids of every page."""
    out: list[list[int]] = []
    last = None
    while found := [each.id for each in memory.records(after=last, limit=size, **more)]:
        out.append(found)
        last = found[-1]
    return out


@pytest.mark.parametrize("size", [1, 2, 7, 23, 24, 25, 1000])
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"user_id": "u1"},
        {"tags": ["t1"]},
        {"where": {"n": {"gt": 8}}},
        {"tiers": ["semantic"], "user_id": "u0"},
        {"include": []},
    ],
)
def test_pages_are_the_list_in_parts(memory: Memory, size: int, chosen: dict[str, Any]) -> None:
    whole = [each.id for each in memory.records(**chosen)]
    assert whole == sorted(whole)
    assert whole
    found = pages(memory, size, **chosen)
    assert [each for page in found for each in page] == whole
    assert all(len(page) == size for page in found[:-1])
    back = pages(memory, size, newest_first=True, **chosen)
    assert [each for page in back for each in page] == whole[::-1]
    assert [each.id for each in memory.records(newest_first=True, **chosen)] == whole[::-1]


def test_what_goes_or_comes_between_two_pages_disturbs_neither(memory: Memory) -> None:
    ids = [each.id for each in memory.records(tiers=["episodic", "semantic"])]
    first = list(memory.records(limit=5))
    memory.forget([ids[4], ids[6]])  # the last of the page, and one of the next
    memory.update(ids[7], text="changed", user_id=None)
    new = memory.remember("new")
    rest = [each.id for each in memory.records(after=first[-1])]
    assert [*ids[5:6], *ids[7:], new.id] == [each for each in rest if each in {*ids, new.id}]
    newest = list(memory.records(limit=3, newest_first=True))
    memory.forget(newest[-1])
    after = memory.remember("newer still")
    older = [each.id for each in memory.records(after=newest[-1].id, newest_first=True)]
    assert after.id not in older
    assert older == sorted(older, reverse=True)
    assert max(older) < newest[-1].id


def test_an_iterator_is_of_its_moment_of_reading(memory: Memory) -> None:
    found = memory.records(limit=10, newest_first=True)
    first = next(found)
    gone = [each.id for each in memory.records(limit=4, newest_first=True)][2]
    memory.forget(gone)
    assert gone not in [first.id, *(each.id for each in found)]


def test_after_takes_a_record_a_hit_or_an_id_of_anything(memory: Memory) -> None:
    some = list(memory.records(limit=3))
    hit = next(h for h in memory.recall("memory 1", k=30) if h.id == some[1].id)
    for after in (some[1], some[1].id, hit):
        assert next(memory.records(after=after)).id == some[2].id
    assert next(memory.records(after=0)).id == some[0].id
    assert list(memory.records(after=(1 << 63) - 1)) == []
    assert list(memory.records(after=0, newest_first=True)) == []
    assert len(list(memory.records(after=(1 << 63) - 1, newest_first=True))) == len(memory)


@pytest.mark.parametrize(
    "bad",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 1.5},
        {"limit": True},
        {"limit": "5"},
        {"after": -1},
        {"after": "7"},
        {"after": 1.0},
        {"after": True},
        {"after": 1 << 63},
        {"after": [1]},
        {"newest_first": 1},
        {"newest_first": "yes"},
    ],
)
def test_what_is_no_page_is_refused(memory: Memory, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(bad))):
        memory.records(**bad)


def test_only_lists_have_pages(memory: Memory) -> None:
    with pytest.raises(UnknownArgumentError):
        memory.count(limit=3)
    with pytest.raises(UnknownArgumentError):
        memory.forget(limit=3)


def test_counts_agree_with_lists(memory: Memory) -> None:
    for chosen in (
        {},
        {"user_id": "u0"},
        {"tags": ["t0"]},
        {"tags": ["t0"], "user_id": "u1"},
        {"where": {"n": {"lt": 5}}},
        {"tags": ["none"]},
        {"any_tags": ["t0", "t1"]},
        {"tiers": ["working"]},
    ):
        more: dict[str, Any] = dict(chosen)
        assert memory.count(**more) == len(list(memory.records(**more))), chosen


def test_a_reader_pages_while_a_writer_writes(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        memory.remember_many([f"memory {n}" for n in range(12)])
        with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), mode="r") as reader:
            first = list(reader.records(limit=5))
            memory.forget(list(memory.records(limit=8)))
            memory.remember("new")
            rest = [each.text for each in reader.records(after=first[-1])]
            assert rest == ["memory 8", "memory 9", "memory 10", "memory 11", "new"]

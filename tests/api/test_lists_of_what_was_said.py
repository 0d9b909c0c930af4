"""A list of memories has what was said and stored; what is derived comes when it is named.

Mechanism: the mark of a record that repeats others, and the sort of its payload. Damage without it:
a user's list shows "mug salience: mean=0.40" beside their own words, and counts it; or an export, a
forgetting or an erasure leaves it behind. Guard: every list and count of one store, one by one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spector
from spector import Memory
from spector.arguments import SORTS
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory() -> Memory:
    """Eight episodes, a concept and a fact that a caller added, and two statistics."""
    memory = spector.open(":memory:", embedder=FakeEmbedder())
    concept, _ = memory.concepts.find_or_create("tea kettle", user_id="u")
    for n in range(8):
        each = memory.layers["episodes"].store(
            f"boil {n}",
            user_id="u",
            episode={"objects": ["kettle"], "tool": "boil", "success": n != 2, "salience": n / 10},
        )
        memory.concepts.reinforce(concept.id, each)
    memory.concepts.ground(concept.id)
    memory.facts.add("Nadia", "lives_in", "Graz", user_id="u")
    return memory


def test_lists_and_counts_agree_on_what_was_said(memory: Memory) -> None:
    listed = [each.id for each in memory.records()]
    assert len(listed) == 10
    assert len(memory) == memory.count() == memory.count(user_id="u") == 10
    assert [each.id for each in memory] == listed
    assert [each.id for each in memory.records(user_id="u", newest_first=True)] == listed[::-1]
    assert memory.stats()["records"] == memory.stats(user_id="u")["records"] == 10
    assert sum(tier["records"] for tier in memory.stats()["tiers"].values()) == 10
    assert [(user.id, user.count) for user in memory.users()] == [("u", 10)]
    assert not [each for each in memory.records() if each.payload == "statistic"]


def test_what_is_derived_comes_by_its_sort(memory: Memory) -> None:
    assert memory.count(sorts=SORTS) == len(list(memory.records(sorts=SORTS))) == 12
    for sort, count in {"memory": 8, "fact": 1, "concept": 1, "statistic": 2, "theme": 0}.items():
        found = list(memory.records(sorts=sort))
        assert len(found) == memory.count(sorts=[sort], user_id="u") == count, sort
    assert memory.count(sorts=["fact", "statistic"]) == 3
    assert [each.payload for each in memory.records(sorts="statistic", limit=1)] == ["statistic"]
    assert memory.stats()["derived"] == 2


def test_a_drawn_fact_is_derived_and_one_of_a_caller_is_not(memory: Memory) -> None:
    source = memory.remember("Wren keeps bees in Oulu.", user_id="w")
    memory.facts.add("Wren", "keeps", "bees", source=source)
    memory.facts.add("Wren", "owns", "a punt", user_id="w")
    assert memory.count(user_id="w") == 2
    assert memory.count(user_id="w", sorts="fact") == 2
    assert memory.count(user_id="w", sorts=SORTS) == 3
    assert [each.payload for each in memory.records(user_id="w")] == [None, "fact"]


def test_a_fact_that_outlives_its_source_is_a_memory(memory: Memory) -> None:
    """It was in no list and no recall, though nothing else says it any more."""
    source = memory.remember("Wren keeps bees in Oulu.", user_id="w")
    fact = memory.facts.add("Wren", "keeps", "bees", source=source)
    memory.forget(source, cascade=False)
    assert [each.id for each in memory.records(user_id="w")] == [fact.id]
    assert [hit.id for hit in memory.recall("Wren bees", user_id="w")] == [fact.id]
    assert memory.check().ok


def test_a_page_has_as_many_as_it_may(memory: Memory) -> None:
    """What is left out of a list takes no place on its pages."""
    pages, after = [], None
    while page := list(memory.records(after=after, limit=3)):
        pages.append(len(page))
        after = page[-1]
    assert pages == [3, 3, 3, 1]


def test_a_tier_that_is_not_kept_has_no_tables_of_sorts(memory: Memory) -> None:
    memory.remember("the kettle is hot", tier="working")
    assert memory.count(sorts="fact") == 1
    assert memory.count(sorts="memory") == len(list(memory.records(sorts="memory"))) == 9


def test_an_export_is_a_copy_and_sorts_narrow_it(memory: Memory, tmp_path: Path) -> None:
    assert memory.export(tmp_path / "all.jsonl") == 12
    assert memory.export(tmp_path / "facts.jsonl", sorts="fact") == 1
    [line] = map(json.loads, (tmp_path / "facts.jsonl").read_text().splitlines()[:1])
    assert line["payload"]["fact"]["object"] == "Graz"


def test_forgetting_a_user_takes_what_is_derived_along(memory: Memory) -> None:
    assert len(memory.forget(user_id="u", purge=True).ids) == 12
    assert memory.count(sorts=SORTS) == 0
    assert memory.users() == []


@pytest.mark.parametrize("sorts", ["entity", [], [3]])
def test_a_sort_that_is_none_is_refused(memory: Memory, sorts: object) -> None:
    with pytest.raises(spector.InvalidFilterError, match="sort"):
        memory.count(sorts=sorts)

"""Counts and pages by tags and labels are those of the list, whichever index leads.

Mechanism: the index with the fewest ids is followed, the others are probed. Damage without it: a
page or a count that takes as long as the commonest tag is common, or that another index answers.
Guard: every selection of several labels and tags beside a plain list of all memories, with each
index in the lead, with memories that have expired, and after changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory
from spector.store.catalog import ways
from tests.fakes import FakeEmbedder

_TAGS = ([], ["all"], ["t1"], ["all", "t1"], ["t1", "half"], ["İz"], ["nobody's"])
_LABELS: tuple[dict[str, Any], ...] = (
    {},
    {"user_id": "ada"},
    {"user_id": "nobody"},
    {"agent_id": "bot"},
    {"user_id": "çelik", "session_id": "s1"},
    {"user_id": "ada", "agent_id": "bot"},
)
_MORE: tuple[dict[str, Any], ...] = (
    {},
    {"where": {"n": {"lt": 60}}},
    {"tiers": ["semantic"]},
    {"any_tags": ["t2", "half"]},
    {"key_prefix": "k1", "namespace": ()},
    {"time_range": (None, "2026-03-03")},
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    clock = ManualClock("2026-03-02T09:00:00Z")
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as opened:
        opened.remember_many(
            [
                {
                    "text": f"memory {n}",
                    "tags": ["all", f"t{n % 3}", *["half"] * (n % 2)],
                    "user_id": ("ada", "çelik", None)[n // 3 % 3],
                    "session_id": f"s{n % 5}",
                    "agent_id": "bot" if n % 4 else None,
                    "metadata": {"n": n},
                    "key": f"k{n}",
                    "tier": "semantic" if n % 5 else "episodic",
                    "event_time": f"2026-03-0{1 + n % 5}",
                    **({"expires_in": 60.0} if n % 7 == 0 else {}),
                }
                for n in range(90)
            ]
        )
        opened.remember("iz", tags=["İz", "all"], user_id="ada", agent_id="bot")
        clock.advance(seconds=61)
        opened.forget(key="k10", user_id="ada", agent_id="bot")
        opened.update(key="k11", user_id="ada", agent_id="bot", tags=["t1", "moved"])
        yield opened


def _chosen(tags: list[str], labels: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {**({"tags": tags} if tags else {}), **labels, **more}


@pytest.mark.parametrize(
    "few", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (10, 20_000))]
)
def test_counts_and_pages_are_those_of_the_list(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(ways, "FEW", few)
    every = list(memory.records())
    found = 0
    for tags, labels, more in itertools.product(_TAGS, _LABELS, _MORE):
        chosen = _chosen(tags, labels, more)
        whole = [each.id for each in memory.records(**chosen)]
        plain = {
            each.id
            for each in every
            if set(tags) <= set(each.tags)
            and all(getattr(each, name) == value for name, value in labels.items())
        }
        assert set(whole) <= plain, chosen
        assert more or set(whole) == plain, chosen
        assert memory.count(**chosen) == len(whole), chosen
        found += len(whole)
        if whole:
            page = [each.id for each in memory.records(limit=4, after=whole[0], **chosen)]
            assert page == whole[1:5], chosen
            back = memory.records(limit=4, newest_first=True, **chosen)
            assert [each.id for each in back] == whole[::-1][:4], chosen
    assert found > 1000


def test_a_tag_that_all_have_costs_a_page_no_more_than_the_page(memory: Memory) -> None:
    """The steps of SQLite are counted, which no load of the machine changes."""
    catalog, listing = memory._parts.store.catalog, memory._parts.listing
    passed = [0]

    def step() -> int:
        passed[0] += 1
        return 0

    def steps(**given: Any) -> int:
        chosen = listing.select(given, "records")
        condition, _ = listing.condition(chosen, beside_ways=True)
        with catalog.reading() as db:
            passed[0] = 0
            db.set_progress_handler(step, 1)
            try:
                next(catalog.pages(condition.sql, condition.params, 3, ways=chosen.ways))
            finally:
                db.set_progress_handler(None, 0)
        return passed[0]

    few = steps(tags=["all"])
    memory.remember_many([{"text": f"more {n}", "tags": ["all"]} for n in range(250)])
    assert steps(tags=["all"]) == few

"""A budget of memories takes what says least, and never what must stay.

Damage without it: a budget of half that takes the last memory of where someone lives, an
instruction or a name. Guard: stores in English and Turkish whose dull
half is known, and budgets over nights.
"""

from __future__ import annotations

import math

import pytest

import spector
from spector import Config, Memory
from tests.sleep.nights import asleep, is_dormant, pass_days

ENGLISH = {
    "pinned": "hm pinned",
    "rule": "Always answer in short sentences.",
    "name": "My name is Nilgun.",
    "slot": "I live in Bergen.",
}
TURKISH = {
    "pinned": "hm sabit",
    "rule": "Her zaman kısa cevap ver.",
    "name": "Benim adım Nilgün.",
    "slot": "Bergen'de yaşıyorum.",
}


def _budget(share: float, **more: float) -> Config:
    return Config(sleep=spector.SleepConfig(keep_share=share, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [ENGLISH, TURKISH], ids=["en", "tr"])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_pinned_rules_names_and_last_holders_outlast_a_budget(
    said: dict[str, str], share: float
) -> None:
    with asleep(config=_budget(share)) as (memory, clock):
        kept = [
            memory.remember(text, importance=0.05, pinned=what == "pinned")
            for what, text in said.items()
        ]
        memory.remember_many([{"text": f"hm {n}", "importance": 0.4} for n in range(56)])
        for _ in range(12):
            pass_days(clock, 7)
            memory.reflect("forget")
        assert not [each.text for each in kept if is_dormant(memory, each.id)]
        active = list(memory.records(include=[]))
        assert len(active) == math.ceil(60 * share)
        assert memory.count() == 60, "nothing is deleted"


@pytest.mark.parametrize("nights", [1, 4])
def test_of_memories_that_state_one_value_the_last_stays(nights: int) -> None:
    with asleep(config=_budget(0.1, blast_radius=1.0 if nights == 1 else 0.02)) as (memory, clock):
        holders = [memory.remember(text, importance=0.1) for text in ("Kars", "Kars!", "in Kars")]
        for each in holders:
            memory.facts.add("user", "lives_in", "Kars", source=each)
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(30)])
        for _ in range(nights):
            pass_days(clock, 30)
            memory.reflect("forget")
        assert sum(not is_dormant(memory, each.id) for each in holders) == 1


def test_a_holder_that_sleeps_protects_no_other() -> None:
    with asleep(config=_budget(0.1, blast_radius=1.0)) as (memory, clock):
        asleep_one, only = (memory.remember(text, importance=0.1) for text in ("Kars", "in Kars"))
        for each in (asleep_one, only):
            memory.facts.add("user", "lives_in", "Kars", source=each)
        memory.retire(asleep_one)
        memory.remember_many([{"text": f"hm {n}", "importance": 0.9} for n in range(30)])
        pass_days(clock, 30)
        memory.reflect("forget")
        assert not is_dormant(memory, only.id)


def test_each_user_has_a_budget_of_its_own() -> None:
    with asleep(config=_budget(0.5, blast_radius=1.0)) as (memory, clock):
        for user, count in (("a", 40), ("b", 10), (None, 6)):
            memory.remember_many(
                [{"text": f"hm {n}", "importance": 0.3} for n in range(count)], user_id=user
            )
        pass_days(clock, 30)
        memory.reflect("forget")
        assert _active(memory) == {"a": 20, "b": 5, None: 3}


def _active(memory: Memory) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for each in memory.records(include=[]):
        counts[each.user_id] = counts.get(each.user_id, 0) + 1
    return counts


def test_what_is_younger_than_its_floor_waits_and_nothing_better_goes_for_it() -> None:
    with asleep(config=_budget(0.5, blast_radius=1.0)) as (memory, clock):
        said = memory.remember_many(
            [f"The harbour of Foca has {n} blue boats and {n + 40} nets" for n in range(4)],
            importance=0.3,
        )
        plans = memory.remember_many([f"hm {n}" for n in range(4)], category="plan", importance=0.3)
        pass_days(clock, 20)
        memory.reflect("forget")
        assert len(list(memory.records(include=[]))) == 8, "a plan has a floor of 45 days"
        pass_days(clock, 30)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in said}
        assert all(is_dormant(memory, each.id) for each in plans)


def test_the_capacity_of_v9_is_met_though_what_is_young_stays() -> None:
    sleep = spector.SleepConfig(capacity_active=4, capacity_trim=4, order="v9", blast_radius=1.0)
    with asleep(config=Config(sleep=sleep)) as (memory, clock):
        memory.remember_many([f"The harbour has {n} blue boats" for n in range(4)], importance=0.9)
        plans = memory.remember_many([f"hm {n}" for n in range(4)], category="plan", importance=0.3)
        pass_days(clock, 20)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in plans}

"""Statements that the design of sleep makes, at their values and beside them."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, SleepConfig
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days, set_strength, tell, themes_in
from tests.sleep.test_steps import changed

cases = Cases(__file__)


class Model:
    """A chat model that counts its calls; its answers may be nonsense."""

    model_id = "counting"

    def __init__(self, answer: str = '{"text": "they speak of a boat"}') -> None:
        self.answer = answer
        self.calls = 0

    def complete(
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = 512,
        temperature: float = 0.0,
        json: bool = False,
    ) -> str:
        self.calls += 1
        return self.answer


def modelled(**models: Any) -> tuple[Memory, ManualClock]:
    clock = ManualClock(BEGIN)
    return spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, **models), clock


def clusters(memory: Memory, count: int) -> None:
    """Groups of three to five memories, each of one matter and session."""
    for n in range(count):
        for m in range(3 + n % 3):
            tell(memory, f"Ship{n}", "carries", f"load{n}x{m}", session_id=f"s{n}")


@pytest.mark.parametrize(
    "answer",
    [
        *cases.rows("a_model_is_called_within_its_budget_whatever_it_answers"),
        '{"text": "in 1492 ' + "word " * 2000 + '"}',
    ],
)
def test_a_model_is_called_within_its_budget_whatever_it_answers(answer: str) -> None:
    model = Model(answer)
    memory, clock = modelled(llm=model)
    with memory:
        clusters(memory, 12)
        pass_days(clock, 1)
        report = memory.reflect("consolidate")
        assert model.calls == report.llm_calls == 5
        assert report.step("consolidate").fallback  # type: ignore[union-attr]
        themes = themes_in(memory)
        assert len(themes) == 12
        by_model = [r for r in themes if r.text == "they speak of a ship"]
        assert len(by_model) == (5 if "of a ship" in answer else 0)
        sizes = sorted(len(memory.graph.edges(r.id, kinds=["derived_from"])) for r in by_model)
        assert sizes in ([], [8, 10, 10, 10, 10]), "the largest come first, each with its facts"
        assert not [r for r in themes if "1492" in r.text or "99" in r.text]
        if not by_model:
            assert memory.stats()["cognition"]["llm"]["failures"] == 5
        assert memory.check().ok


def days_until(retention: float, stability: float) -> float:
    """Days after which the curve of sleep is at a retention."""
    return 9 * stability * (retention**-0.5 - 1)


@cases("confidence", "retention", "importance", "sleeps")
def test_a_doubtful_fact_is_forgotten_at_a_higher_retention(
    confidence: float, retention: float, importance: float, sleeps: bool
) -> None:
    with asleep() as (memory, clock):
        fact = memory.facts.add("Ada", "likes", "tea", confidence=confidence, importance=importance)
        stability = 200.0
        set_strength(memory, fact.id, stability_days=stability)
        pass_days(clock, max(14.1, days_until(retention, stability)))
        if days_until(retention, stability) < 14.1:
            assert sleeps  # as soon as its floor is passed
        memory.reflect("forget")
        assert is_dormant(memory, fact.id) is sleeps


def test_floors_hold_and_what_is_used_more_than_others_is_spared() -> None:
    with asleep(config=Config(sleep=SleepConfig(blast_radius=1.0))) as (memory, clock):
        young = memory.remember("hm young", importance=0.1)
        used = memory.remember("hm used", importance=0.1)
        dull = memory.remember_many([f"hm {n}" for n in range(9)], importance=0.1)
        for each in (young, used, *dull):
            set_strength(memory, each.id, utility=0.1, stability_days=0.01)
        for _ in range(2):
            memory.reinforce(used, False)
        set_strength(memory, used.id, utility=0.1, stability_days=0.01)
        pass_days(clock, 6)
        report = memory.reflect("forget")
        assert changed(report, "forget") == 0
        assert report.step("forget").skipped["floor of its category"] == 11  # type: ignore[union-attr]
        pass_days(clock, 1.1)
        report = memory.reflect("forget")
        assert report.step("forget").skipped["used more than others"] == 1  # type: ignore[union-attr]
        assert not is_dormant(memory, used.id)
        assert all(is_dormant(memory, each.id) for each in dull)


def test_a_plan_that_has_ended_is_found_as_of_its_time_and_conflicts_stay_for_a_year() -> None:
    with asleep() as (memory, clock):
        plan = memory.remember(
            "I will go hiking on Mount Ararat", valid_until=BEGIN + timedelta(days=3)
        )
        one = memory.remember("the shop opens at nine, Ada says")
        other = memory.remember("the shop opens at ten, the paper says")
        memory.graph.link(one, other, "contradicts")
        for _ in range(52):
            pass_days(clock, 7)
            memory.reflect()
        assert plan.id not in [h.id for h in memory.recall("hiking on Mount Ararat", k=50)]
        early = memory.recall("hiking on Mount Ararat", k=50, as_of=BEGIN + timedelta(days=1))
        assert plan.id in [h.id for h in early]
        assert not is_dormant(memory, plan.id)
        hits = {h.id: h for h in memory.recall("when does the shop open", k=50)}
        assert hits[one.id].conflicts == (other.id,)
        assert hits[other.id].conflicts == (one.id,)


def outcomes(memory: Memory, successes: list[bool], hours: list[float]) -> None:
    at = BEGIN
    for success, gap in zip(successes, hours, strict=True):
        at = at + timedelta(hours=gap)
        memory.layers["episodes"].store(
            f"grasped at {at.isoformat()}",
            event_time=at,
            episode={"objects": ["mug"], "tool": "grasp", "success": success},
        )


@cases("good", "of", "regular", "passes")
def test_what_may_be_chance_becomes_no_concept(
    good: int, of: int, regular: bool, passes: bool
) -> None:
    rng = random.Random(3)
    with asleep(config=Config(sleep=SleepConfig(promote_min_confidence=0.5))) as (memory, clock):
        successes = [n * good // of != (n + 1) * good // of for n in range(of)]
        successes[-1] = successes[-2] = True
        outcomes(memory, successes, [6.0 if regular else rng.expovariate(1 / 6) for _ in range(of)])
        pass_days(clock, 60)
        report = memory.reflect("extract")
        made = [c for c in memory.concepts.find() if c.name == "grasp mug → success"]
        assert bool(made) is passes
        if passes:
            edges = memory.graph.edges(made[0].id, direction="out", kinds=["derived_from"])
            assert len(edges) == of
        else:
            assert report.step("extract").skipped["random"] >= 1  # type: ignore[union-attr]

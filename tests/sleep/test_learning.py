"""What a night learns: rhythms, figures of concepts, facts, procedures; and its undoing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, Memory, SleepConfig
from spector.knowledge import KnowledgeReader
from tests.cases import Cases
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days
from tests.sleep.test_steps import changed

cases = Cases(__file__)


def did(memory: Memory, tool: str, success: bool | None = True, **more: Any) -> int:
    """An episode in which a tool was used."""
    fields = {
        name: more.pop(name)
        for name in ("goal", "objects", "decision", "run_id", "salience")
        if name in more
    }
    episode = {"tool": tool, "success": success, **fields}
    text = more.pop("text", f"{tool} {fields.get('goal', '')} {fields.get('decision', '')}")
    return int(memory.layers["episodes"].store(text, episode=episode, **more))


def rows(memory: Memory) -> dict[str, list[Any]]:
    """Every row of knowledge but those of sleep, for comparisons."""
    store = memory._parts.store
    with store.catalog.reading() as db:
        reader = KnowledgeReader(db, store.catalog.path)
        known = sorted(each.id for each in memory.records())
        return {
            "payloads": sorted(map(repr, reader.payload_fields(known).items())),
            "facts": [(r["id"], r["holds"], r["confidence"]) for r in reader.facts()],
            "links": sorted(map(repr, [sorted(r.items()) for r in reader.link_kinds(known)])),
            "edges": [(e.source, e.kind, e.target, e.weight) for e in reader.edges(known)],
            "items": sorted(map(repr, reader.items_of("association").items())),
            "texts": [(r.id, r.text, r.flags, r.summary) for r in memory.records()],
        }


def test_a_concept_that_is_used_at_one_hour_has_a_rhythm() -> None:
    config = Config(timezone="Europe/Istanbul")
    with asleep(config=config) as (memory, clock):
        for day in range(8):
            for hour, thing in ((17, "tea"), (3 * day % 24, "pen")):
                when = BEGIN.replace(hour=hour) - timedelta(days=10 - day)
                did(memory, f"use {thing}", objects=[thing], event_time=when, text=f"{thing} {day}")
        pass_days(clock, 1)
        report = memory.reflect("extract")
        tea, time = memory.concepts.of("tea"), memory.concepts.of("time of day")
        assert tea is not None
        assert time is not None
        edges = {e.source: e.note for e in memory.graph.edges(time.id, kinds=["phase_locked_to"])}
        assert edges[tea.id] == {"phase": 20.0, "coupling": 1.0}
        assert memory.concepts.of("pen").id not in edges  # type: ignore[union-attr]
        assert memory.reflect("rhythm").cycle == 0, "nothing is new"
        memory.reflect_undo(report.cycle)
        assert memory.concepts.of("time of day") is None
        assert memory.concepts.of("tea") is None


def test_rhythms_of_two_users_are_two_concepts() -> None:
    with asleep() as (memory, clock):
        for user in "ab":
            for day in range(8):
                did(
                    memory,
                    "take",
                    objects=["tea"],
                    user_id=user,
                    text=f"tea {day}",
                    event_time=BEGIN - timedelta(days=day),
                )
        pass_days(clock, 1)
        memory.reflect("extract")
        memory.reflect("rhythm")
        times = [r for r in memory.records(sorts="concept") if r.text == "time of day"]
        assert sorted(str(each.user_id) for each in times) == ["a", "b"]
        assert memory.check().ok


def test_a_night_grounds_concepts_and_relates_them(tmp_path: Path) -> None:
    with asleep(tmp_path / "mind") as (memory, clock):
        for n in range(10):
            objects = ["cup", "spoon"] if n < 6 else ["cup"]
            did(memory, "hold", n != 3, objects=objects, salience=n / 10, text=f"held {n}")
        told = {each.id for each in memory.records()}
        pass_days(clock, 1)
        before = rows(memory)
        report = memory.reflect("extract")
        cup, spoon = memory.concepts.of("cup"), memory.concepts.of("spoon")
        assert cup is not None
        assert spoon is not None
        texts = {each.text for each in memory.concepts.statistics(cup.id)}
        assert texts == {"cup salience: mean=0.45, std=0.30", "cup success rate: 0.9 (9/10)"}
        assert not memory.concepts.statistics(spoon.id), "6 episodes are too few"
        [tie] = [
            e
            for e in memory.graph.edges(cup.id, kinds=["related_to"])
            if spoon.id in (e.source, e.target)
        ]
        assert tie.weight == pytest.approx(0.6)
        assert memory.reflect("extract").cycle == 0, "once"
        did(memory, "hold", False, objects=["cup"], salience=1.0, text="held again")
        pass_days(clock, 1)
        settled = rows(memory)
        again = memory.reflect("extract")
        texts = {each.text for each in memory.concepts.statistics(cup.id)}
        assert texts == {"cup salience: mean=0.50, std=0.33", "cup success rate: 0.818 (9/11)"}
        undone = memory.reflect_undo(again.cycle)
        assert not undone.kept
        assert rows(memory) == settled, "words, counts and ties are those of before"
        assert memory.check().ok
        memory.reflect_undo(report.cycle)
        found = rows(memory)
        assert [each for each in found["texts"] if each[0] in told] == before["texts"]
        assert found["items"] == before["items"]
        assert memory.concepts.of("cup") is None
        assert memory.check().ok


def test_consolidating_a_layer_is_undone_with_its_figures() -> None:
    with asleep() as (memory, clock):
        for n in range(9):
            did(memory, "grasp", n != 2, objects=["mug"], text=f"grasp {n}")
        pass_days(clock, 1)
        before = rows(memory)
        assert memory.layers["concepts"].consolidate()["ground"] > 0
        memory.reflect_undo(1)
        assert rows(memory) == before
        assert not memory.concepts.find()


def test_weak_concepts_are_retired_after_a_month_and_come_back_when_they_are_met() -> None:
    with asleep() as (memory, clock):
        weak, sure, pinned = (
            memory.concepts.find_or_create(name)[0] for name in ("mug", "cup", "pen")
        )
        memory.pin(pinned.record)
        for n in range(3):
            memory.concepts.reinforce(sure.id, memory.remember(f"cup {n}"))
        pass_days(clock, 29.9)
        assert changed(memory.reflect("extract"), "extract") == 0
        pass_days(clock, 0.2)
        report = memory.reflect("extract")
        assert report.step("extract").ids == (weak.id,)  # type: ignore[union-attr]
        assert is_dormant(memory, weak.id)
        assert not is_dormant(memory, pinned.id)
        did(memory, "take", objects=["mug"])
        memory.reflect("extract")
        assert not is_dormant(memory, weak.id)
        assert memory.concepts.of("mug").reinforcement_count == 1  # type: ignore[union-attr]


def test_more_concepts_than_a_user_may_have_are_retired_the_weakest_first() -> None:
    config = Config(knowledge=spector.KnowledgeConfig(max_concepts=3))
    with asleep(config=config) as (memory, clock):
        names = [f"thing{n}" for n in range(5)]
        made = [memory.concepts.find_or_create(name)[0] for name in names[:3]]
        memory.concepts.reinforce(made[0].id, memory.remember("strong"))
        memory.concepts.find_or_create("other", user_id="b")
        pass_days(clock, 1)
        assert changed(memory.reflect("extract"), "extract") == 0
        for name in names[3:]:
            did(memory, "see", objects=[name])
        memory.reflect("extract")
        found = memory.concepts.find()
        assert len([each for each in found if each.record.user_id is None]) <= 3
        assert not is_dormant(memory, made[0].id)


def test_expired_tags_of_sessions_are_dropped_in_sleep() -> None:
    with asleep() as (memory, clock):
        session = memory.session("s")
        session.remember("a weak thing", importance=0.2)
        tags = memory._parts.sessions
        assert tags.stats()["tags"] == 1
        clock.advance(hours=3)
        memory.reflect("replay")
        assert tags.stats()["tags"] == 1
        clock.advance(hours=1.1)
        report = memory.reflect("replay", dry_run=True)
        assert tags.stats()["tags"] == 1
        report = memory.reflect("replay")
        assert report.step("replay").skipped == {"expired tags dropped": 1}  # type: ignore[union-attr]
        assert tags.stats()["tags"] == 0


def test_consolidated_episodes_become_facts_once() -> None:
    with asleep() as (memory, clock):
        said = [
            memory.remember("I live in Kars.", importance=0.6, user_id="u"),
            memory.remember(
                "My sister Ada works at Acme. I like green tea.", importance=0.9, user_id="u"
            ),
            memory.remember("Adım Deniz. Ankara'da yaşıyorum.", importance=0.9, user_id="v"),
            memory.remember("You live in Izmir.", importance=0.9, role="assistant", user_id="u"),
            memory.remember("I live in Bursa.", importance=0.1, user_id="u"),
        ]
        pass_days(clock, 1)
        assert changed(memory.reflect("extract"), "extract") == 0, "not consolidated yet"
        pass_days(clock, 2)
        before = rows(memory)
        report = memory.reflect(["compress", "extract"])
        facts = {
            (f.subject, f.predicate, f.object, f.record.user_id): f for f in memory.facts.query()
        }
        kars = facts["user", "lives_in", "Kars", "u"]
        assert kars.sources == (said[0].id,)
        assert kars.record.importance == pytest.approx(0.6)
        assert kars.record.write_source == "dream"
        assert ("user", "likes", "green tea", "u") in facts
        assert {each[3] for each in facts if each[2].startswith(("Deniz", "Ankara"))} == {"v"}
        assert not [each for each in facts if each[2] == "Bursa"], "it is of little importance"
        assert ("user", "lives_in", "Izmir", "u") not in facts, "the user said otherwise"
        [edge] = memory.graph.edges(kars.id, kinds=["derived_from"])
        assert (edge.target, edge.weight) == (said[0].id, pytest.approx(0.8))
        again = memory.reflect("extract")
        assert (again.cycle, changed(again, "extract")) == (0, 0), "once each"
        assert memory.check().ok
        memory.reflect_undo(report.cycle)
        assert rows(memory) == before
        memory.reflect(["compress", "extract"])
        assert {
            (f.subject, f.predicate, f.object, f.record.user_id) for f in memory.facts.query()
        } == set(facts)


def test_a_fact_that_is_drawn_in_sleep_supersedes_the_older_one_and_its_undoing_brings_it_back() -> (
    None
):
    with asleep() as (memory, clock):
        old = memory.facts.add("user", "lives_in", "Kars", source=memory.remember("I am in Kars"))
        pass_days(clock, 5)
        memory.remember("I live in Izmir now.", importance=0.9)
        pass_days(clock, 3)
        before = rows(memory)
        report = memory.reflect(["compress", "extract"])
        [now] = memory.facts.query(predicate="lives_in")
        assert now.object == "Izmir"
        assert memory.get(old.id).superseded
        memory.reflect_undo(report.cycle)
        [again] = memory.facts.query(predicate="lives_in")
        assert again.id == old.id
        assert rows(memory) == before


def test_observed_messages_are_read_when_they_come_and_not_again() -> None:
    with asleep() as (memory, clock):
        result = memory.observe("I live in Kars.", user_id="u")
        assert result.stored
        [fact] = memory.facts.query(predicate="lives_in")
        memory.facts.forget(fact)
        pass_days(clock, 3)
        memory.reflect()
        assert not memory.facts.query(predicate="lives_in"), "what the user forgot stays forgotten"


class Extractor:
    """Reads one fact in every text, and counts."""

    def __init__(self, *, broken: bool = False) -> None:
        self.calls = 0
        self.broken = broken

    def extract(self, text: str) -> list[Any]:
        self.calls += 1
        if self.broken:
            return [object(), None]
        return [spector.Fact("Ada", "said", text[:20])]


@pytest.mark.parametrize("broken", [False, True])
def test_a_fact_extractor_is_asked_within_the_budget(broken: bool) -> None:
    from tests.fakes import FakeEmbedder

    model = Extractor(broken=broken)
    clock = spector.ManualClock(BEGIN)
    with spector.open(
        ":memory:", embedder=FakeEmbedder(), clock=clock, fact_extractor=model
    ) as memory:
        for n in range(8):
            memory.remember(f"Ben{n} lives in Kars{n}.", importance=0.9)
        pass_days(clock, 3)
        report = memory.reflect(["compress", "extract"])
        assert (model.calls, report.llm_calls) == (5, 5)
        assert report.step("extract").fallback  # type: ignore[union-attr]
        by_model = len([f for f in memory.facts.query() if f.predicate == "said"])
        assert by_model == (0 if broken else 5)
        assert memory.facts.query(predicate="lives_in"), "rules read the rest"
        assert memory.check().ok


@cases("limits", "after")
def test_what_a_night_draws_is_limited_and_nothing_is_missed(
    limits: dict[str, Any], after: list[int]
) -> None:
    with asleep(config=Config(sleep=SleepConfig(**limits))) as (memory, clock):
        for n in range(10):
            memory.remember(f"Ben{n} lives in Kars{n}.", importance=0.9)
        pass_days(clock, 3)
        counts = []
        for _ in range(4):
            memory.reflect(["compress", "extract"])
            counts.append(len(memory.facts.query(predicate="lives_in")))
        assert counts == after


def in_runs(memory: Memory, run: str, *tools: tuple[str, bool], **how: Any) -> list[int]:
    return [
        did(memory, tool, success, run_id=run, text=f"{run} {tool} {n}", **how)
        for n, (tool, success) in enumerate(tools)
    ]


GOOD = (("find_order", True), ("check_stock", True), ("exchange_item", True))


def test_what_worked_twice_in_the_same_order_becomes_a_draft() -> None:
    with asleep() as (memory, clock):
        for user in "ab":
            in_runs(memory, f"{user}1", *GOOD, user_id=user, goal="exchange the kettle")
        pass_days(clock, 1)
        memory.reflect("extract")
        assert not memory.procedures.all(), "each user did it once"
        in_runs(
            memory,
            "a2",
            ("find_order", True),
            ("check_stock", False),
            *GOOD[1:],
            user_id="a",
            goal="exchange a lamp",
        )
        pass_days(clock, 1)
        before = rows(memory)
        report = memory.reflect("extract")
        [made] = memory.procedures.all()
        assert made.record.user_id == "a"
        assert [each.action["tool"] for each in made.steps] == [tool for tool, _ in GOOD]
        assert (made.name, made.status) == ("exchange a lamp", "draft")
        assert "exchange the kettle" in made.description
        assert (made.executions, made.success_rate) == (2, 1.0)
        assert made.record.write_source == "dream"
        assert {"kettle", "lamp", "exchange"} <= set(made.triggers)
        assert memory.procedures.for_situation(["kettle"], user_id="a") == [made]
        assert memory.reflect("extract").cycle == 0, "once"
        in_runs(memory, "a3", *GOOD[:2], ("exchange_item", False), user_id="a", goal="exchange it")
        in_runs(memory, "a4", *GOOD, user_id="a", goal="exchange a desk")
        settled = rows(memory)
        again = memory.reflect("extract")
        [found] = memory.procedures.all()
        assert (found.id, found.executions) == (made.id, 4)
        assert found.success_rate == pytest.approx(0.75)
        assert memory.check().ok
        memory.reflect_undo(again.cycle)
        assert rows(memory) == settled
        memory.reflect_undo(report.cycle)
        assert not memory.procedures.all()
        assert before["texts"] == [
            each for each in rows(memory)["texts"] if each[0] in {one[0] for one in before["texts"]}
        ]


def test_a_procedure_of_the_user_is_not_made_again_nor_counted() -> None:
    with asleep() as (memory, clock):
        own = memory.procedures.add(
            "my way",
            [
                spector.Step(tool, action_type="tool_call", action={"tool": tool})
                for tool, _ in GOOD
            ],
        )
        for run in "123":
            in_runs(memory, run, *GOOD, goal="exchange")
        pass_days(clock, 1)
        memory.reflect("extract")
        assert [(each.id, each.executions) for each in memory.procedures.all()] == [(own.id, 0)]


def test_runs_of_a_session_are_cut_where_the_goal_changes() -> None:
    with asleep() as (memory, clock):
        for session in "st":
            for goal, tools in (("iade et", GOOD), ("bak", (("look", True), ("say", True)))):
                for n, (tool, success) in enumerate(tools):
                    did(
                        memory,
                        tool,
                        success,
                        goal=goal,
                        session_id=session,
                        text=f"{session} {goal} {tool} {n}",
                    )
        pass_days(clock, 1)
        memory.reflect("extract")
        assert sorted(len(each.steps) for each in memory.procedures.all()) == [2, 3]


def test_a_failure_that_was_followed_by_success_is_a_warning() -> None:
    with asleep() as (memory, clock):
        in_runs(
            memory,
            "1",
            ("find_order", True),
            ("cancel_order", False),
            goal="return the desk",
            user_id="u",
        )
        pass_days(clock, 1)
        memory.reflect("extract")
        assert not memory.learnings.all(), "nothing has worked yet"
        in_runs(
            memory,
            "2",
            ("find_order", True),
            ("return_item", True),
            goal="return the desk",
            user_id="u",
        )
        in_runs(memory, "3", ("cancel_order", True), goal="return the desk", user_id="v")
        pass_days(clock, 1)
        report = memory.reflect("extract")
        [made] = memory.learnings.all()
        assert made.type is spector.LearningType.FAILURE_ANALYSIS
        assert (made.confidence, made.validated) == (0.5, False)
        assert made.insight == (
            "return the desk: find_order, cancel_order failed; find_order, return_item worked."
        )
        assert made.record.user_id == "u"
        assert memory.learnings.relevant(["desk"], user_id="u") == [made]
        assert not memory.learnings.relevant(["desk"], user_id="v")
        assert memory.reflect("extract").cycle == 0, "once"
        assert memory.check().ok
        memory.reflect_undo(report.cycle)
        assert not memory.learnings.all()


def test_an_attempt_that_failed_within_a_run_is_a_warning_too() -> None:
    with asleep() as (memory, clock):
        in_runs(memory, "1", ("pay_by_card", False), ("pay_by_voucher", True), goal="pay the bill")
        for run in "23":
            in_runs(memory, run, ("push", False), goal="open the door")
        pass_days(clock, 1)
        memory.reflect("extract")
        assert {each.insight for each in memory.learnings.all()} == {
            "pay the bill: pay_by_card failed; pay_by_voucher worked.",
            "open the door: failed 2 times, last with push.",
        }


def test_a_warning_goes_with_what_it_was_drawn_from() -> None:
    with asleep() as (memory, clock):
        ids = in_runs(memory, "1", ("card", False), ("voucher", True), goal="pay the bill")
        pass_days(clock, 1)
        memory.reflect("extract")
        [made] = memory.learnings.all()
        report = memory.forget(ids, purge=True, verify=True)
        assert made.id in report.derived
        assert not memory.learnings.all()


def test_what_a_night_has_no_room_for_is_learned_in_the_next() -> None:
    with asleep(config=Config(sleep=SleepConfig(new_memories=3))) as (memory, clock):
        for run in "12":
            in_runs(memory, run, *GOOD, goal="exchange the kettle")
        in_runs(memory, "3", ("pay_by_card", False), ("pay_by_voucher", True), goal="pay it")
        pass_days(clock, 1)
        memory.reflect("extract")
        assert not memory.procedures.all(), "concepts have taken the room"
        for _ in range(3):
            pass_days(clock, 1)
            memory.reflect("extract")
        assert len(memory.procedures.all()) == 1
        assert len(memory.learnings.all()) == 1

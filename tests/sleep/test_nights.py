"""What a night does to strengths: decay, rehearsal, promotion, demotion, forgetting."""

from __future__ import annotations

import contextlib
import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, SleepConfig
from spector.language.observing import only_likes
from tests.cases import Cases
from tests.sleep.nights import BEGIN, asleep, is_dormant, pass_days, set_strength, strength

cases = Cases(__file__)


def test_strengths_decay_by_category_and_tier() -> None:
    with asleep() as (memory, clock):
        other = memory.remember("a walk in the rain")
        fact = memory.remember("water boils at 100", category="fact")
        liked = memory.remember("I prefer tea", category="preference")
        lasting = memory.remember("the sky", tier="semantic")
        pinned = memory.remember("an anchor", pinned=True)
        faint = memory.remember("faint")
        set_strength(memory, faint.id, stability_days=0.097)
        pass_days(clock, 2)
        memory.reflect("decay")
        assert strength(memory, other.id) == pytest.approx(7 * math.exp(-0.05 * 3 * 2), rel=1e-6)
        assert strength(memory, other.id) == pytest.approx(5.186, abs=1e-3)
        assert strength(memory, lasting.id) == pytest.approx(7 * math.exp(-0.05 * 2), rel=1e-6)
        assert strength(memory, liked.id) == 7.0
        assert strength(memory, pinned.id) == 7.0
        assert strength(memory, faint.id) == pytest.approx(0.097)
        pass_days(clock, 28)
        memory.reflect("decay")
        assert strength(memory, fact.id) == pytest.approx(4.463, abs=1e-3)


def test_ten_cycles_in_ten_days_do_what_one_does_after_ten() -> None:
    seen = []
    for steps in (10, 1):
        with asleep() as (memory, clock):
            made = memory.remember("a walk in the rain")
            set_strength(memory, made.id, utility=0.9)
            for _ in range(steps):
                pass_days(clock, 10 / steps)
                memory.reflect("decay")
            found = memory.get(made.id)
            seen.append((found.stability_days, found.utility))
    assert seen[0] == pytest.approx(seen[1], rel=1e-6)
    assert seen[1][1] == pytest.approx(0.8619, abs=1e-4)


@pytest.mark.parametrize(("drift_up", "after"), [(False, (0.8619, 0.1)), (True, (0.86, 0.14))])
def test_utility_drifts_to_the_middle_from_above(
    drift_up: bool, after: tuple[float, float]
) -> None:
    sleep = spector.SleepConfig(utility_drift_up=drift_up)
    with asleep(config=Config(sleep=sleep)) as (memory, clock):
        ids = [memory.remember(f"note {n}").id for n in range(2)]
        for each, utility in zip(ids, (0.9, 0.1), strict=True):
            set_strength(memory, each, utility=utility)
        pass_days(clock, 10)
        memory.reflect("decay")
        assert [memory.get(each).utility for each in ids] == pytest.approx(after, abs=1e-4)


def test_the_most_valuable_of_the_endangered_are_rehearsed() -> None:
    with asleep() as (memory, clock):
        made = memory.remember_many(
            [
                {"text": f"note {n}", "category": "preference", "importance": 0.4 + n / 1000}
                for n in range(120)
            ]
        )
        trivial = memory.remember("trivial", category="preference", importance=0.39)
        pass_days(clock, 80)
        before = {each.id: memory.get(each.id) for each in made}
        report = memory.reflect("rehearse")
        step = report.step("rehearse")
        assert step is not None
        assert step.changed == 50
        assert step.skipped["limit of a day"] == 70
        assert set(step.ids) == {each.id for each in made[70:]}
        for each in made[70:]:
            now = memory.get(each.id)
            assert now.stability_days == pytest.approx(1.5 * before[each.id].stability_days)
            assert now.access_count == before[each.id].access_count
            assert now.last_access_s == before[each.id].last_access_s
        assert strength(memory, trivial.id) == pytest.approx(7 * 0.89, abs=1e-5)
        assert memory.reflect("rehearse").step("rehearse").changed == 0  # type: ignore[union-attr]
        pass_days(clock, 1)
        assert memory.reflect("rehearse").step("rehearse").changed == 50  # type: ignore[union-attr]


def test_an_episode_that_proves_useful_becomes_semantic_under_its_id(tmp_path: Path) -> None:
    with asleep(tmp_path / "mind") as (memory, clock):
        useful, failed, held, old = (
            memory.remember(text, pinned=text == "held") for text in ("a", "b", "held", "old")
        )
        friend = memory.remember("friend")
        memory.graph.link(useful, friend, "causes")
        for each, success in ((useful, True), (failed, False), (held, True)):
            for _ in range(3):
                memory.reinforce(each, success)
        set_strength(memory, old.id, utility=0.75)
        pass_days(clock, 6.9)
        memory.reflect("promote")
        assert [memory.get(each.id).tier for each in (useful, failed, held, old)] == [
            "semantic",
            "episodic",
            "episodic",
            "episodic",
        ]
        pass_days(clock, 0.1)
        memory.reflect("promote")
        assert memory.get(old.id).tier == "semantic"
        assert memory.get(useful.id).event_time == useful.event_time
        assert [each.id for each in memory.history(useful)] == [useful.id]
        assert [each.target for each in memory.graph.edges(useful.id)] == [friend.id]
        assert useful.id in [hit.id for hit in memory.recall("a", tiers="semantic")]
        assert useful.id not in [hit.id for hit in memory.recall("a", tiers="episodic")]
        assert memory.check().ok
    with asleep(tmp_path / "mind", clock=clock) as (memory, _):
        assert memory.get(useful.id).tier == "semantic"
        assert memory.check().ok


@pytest.mark.parametrize(
    ("days", "utility", "sleeps"), [(60, 0.19, True), (59, 0.19, False), (60, 0.20, False)]
)
def test_a_semantic_memory_without_use_becomes_dormant(
    days: int, utility: float, sleeps: bool
) -> None:
    with asleep() as (memory, clock):
        made = memory.remember("the capital of nowhere", tier="semantic")
        pinned = memory.remember("an anchor", tier="semantic", pinned=True)
        name, rule = memory.remember_many(
            [
                {"text": text, "tier": "semantic"}
                for text in ("My name is Kit.", "Never use emojis.")
            ]
        )
        for each in (made, pinned, name, rule):
            set_strength(memory, each.id, utility=utility)
        pass_days(clock, days)
        memory.reflect("demote")
        assert is_dormant(memory, made.id) is sleeps
        assert not any(is_dormant(memory, each.id) for each in (pinned, name, rule))


def test_dull_memories_fall_asleep_a_few_a_day() -> None:
    with asleep() as (memory, clock):
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(1000)])
        pass_days(clock, 400)
        changed = []
        for days in (0, 0, 1):
            pass_days(clock, days)
            report = memory.reflect("forget")
            changed.append(report.step("forget").changed)  # type: ignore[union-attr]
        assert changed == [20, 0, 19]
        slept = report.step("forget").ids  # type: ignore[union-attr]
        assert all(is_dormant(memory, each) for each in slept)
        undone = memory.reflect_undo(report.cycle)
        assert not undone.kept
        assert not any(is_dormant(memory, each) for each in slept)


def test_small_talk_of_two_years_falls_asleep_and_nothing_else() -> None:
    with asleep() as (memory, clock):
        chatter = memory.remember_many(
            [{"text": f"lol ok thanks {n}", "importance": 0.1} for n in range(61)]
        )
        kept = [
            memory.remember("lol ok", importance=0.1, **how)
            for how in (
                {"pinned": True},
                {"immutable": True},
                {"arousal": 0.9},
                {"category": "preference"},
                {"unresolved": True},
            )
        ]
        for _ in range(104):
            pass_days(clock, 7)
            memory.reflect()
        assert all(is_dormant(memory, each.id) for each in chatter)
        assert not any(is_dormant(memory, each.id) for each in kept)
        assert not {hit.id for hit in memory.recall("lol ok thanks", k=50)} & {
            each.id for each in chatter
        }
        assert memory.count() == 66, "nothing is deleted"
        assert memory.check().ok


def test_what_was_remembered_by_name_does_not_vanish() -> None:
    with asleep() as (memory, clock):
        made = memory.remember_many([f"note number {n} about {n * n}" for n in range(200)])
        for _ in range(20):
            pass_days(clock, 5)
            memory.reflect()
        assert not any(is_dormant(memory, each.id) for each in made)


def test_a_dry_run_proposes_what_the_run_then_does(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with asleep(path) as (memory, clock):
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(50)])
        for each in memory.remember_many([f"used {n}" for n in range(4)]):
            for _ in range(3):
                memory.reinforce(each)
        pass_days(clock, 300)
        memory.checkpoint()
        files = {
            each: each.read_bytes()
            for each in path.rglob("*")
            if each.is_file()
            and "lock" not in each.name
            and not each.name.endswith(("-shm", "-wal"))
        }
        wal = (path / "catalog.db-wal").read_bytes()
        plan = memory.reflect(dry_run=True)
        assert plan.finished
        assert {each: each.read_bytes() for each in files} == files
        assert (path / "catalog.db-wal").read_bytes() == wal
        report = memory.reflect()
        for step in report.steps:
            if step.name in ("seal", "upkeep"):
                continue
            proposed = [each for one in plan.proposals if one.step == step.name for each in one.ids]
            assert sorted(proposed) == sorted(step.ids), step.name
        assert {one.step for one in plan.proposals} >= {"decay", "promote", "forget"}


@pytest.mark.parametrize("batch", [1, 7, 500])
def test_any_size_of_unit_and_any_interruption_give_the_same_store(batch: int) -> None:
    seen = []
    for interrupted in (False, True):
        config = Config(sleep=spector.SleepConfig(batch_records=batch))
        with asleep(config=config) as (memory, clock):
            memory.remember_many(
                [{"text": f"hm {n}", "importance": 0.05 + n / 300} for n in range(60)]
            )
            for each in memory.remember_many([f"used {n}" for n in range(5)]):
                for _ in range(3):
                    memory.reinforce(each)
            pass_days(clock, 300)
            if interrupted:
                reports = [memory.reflect(max_seconds=1e-9)]
                while not reports[-1].finished:
                    pass_days(clock, 0.0001)
                    reports.append(memory.reflect(max_seconds=1e-9))
                assert len(reports) > 3
                assert all(each.resumed for each in reports[1:])
            else:
                assert memory.reflect().finished
            seen.append(
                [(r.text, r.tier, r.stability_days, r.utility, r.flags) for r in memory.records()]
            )
    assert seen[0] == seen[1]
    with asleep() as (memory, clock):
        memory.remember_many([{"text": f"hm {n}", "importance": 0.05 + n / 300} for n in range(60)])
        for each in memory.remember_many([f"used {n}" for n in range(5)]):
            for _ in range(3):
                memory.reinforce(each)
        pass_days(clock, 300)
        memory.reflect()
        assert seen[0] == [
            (r.text, r.tier, r.stability_days, r.utility, r.flags) for r in memory.records()
        ]


def test_undoing_a_night_gives_the_answers_of_before() -> None:
    with asleep() as (memory, clock):
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(80)])
        for each in memory.remember_many([f"used {n}" for n in range(3)]):
            for _ in range(3):
                memory.reinforce(each)
        pass_days(clock, 300)
        before = [record.to_dict() for record in memory.records()]
        hits = [(hit.id, hit.score) for hit in memory.recall("hm used 2", k=30)]
        first = memory.reflect()
        pass_days(clock, 1)
        second = memory.reflect()
        with pytest.raises(spector.InvalidInputError, match="later"):
            memory.reflect_undo(first.cycle)
        assert not memory.reflect_undo(second.cycle).kept
        assert not memory.reflect_undo(first.cycle).kept
        assert [record.to_dict() for record in memory.records()] == before
        pass_days(clock, -1)
        assert [(hit.id, hit.score) for hit in memory.recall("hm used 2", k=30)] == hits
        assert memory.check().ok
        with pytest.raises(spector.InvalidInputError, match="not on record"):
            memory.reflect_undo(first.cycle)


def test_undoing_skips_what_was_changed_since_and_lists_it() -> None:
    with asleep() as (memory, clock):
        made = memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(20)])
        pass_days(clock, 300)
        report = memory.reflect("decay")
        memory.reinforce(made[3])
        memory.forget(made[4])
        undone = memory.reflect_undo(report.cycle)
        assert undone.kept == (made[3].id,)
        assert undone.steps[0].skipped == {"changed since": 1, "forgotten since": 1}
        assert strength(memory, made[5].id) == made[5].stability_days


def test_undoing_leaves_at_rest_what_was_woken_and_retired_by_name_since() -> None:
    with asleep() as (memory, clock):
        made = memory.remember_many([{"text": f"şey {n}", "importance": 0.1} for n in range(6)])
        pass_days(clock, 300)
        report = memory.reflect("forget")
        clock.advance(seconds=300)
        memory.reactivate([made[0], made[1]])
        memory.retire(made[0])
        memory.update(made[2], importance=0.8)
        memory.forget(made[3])
        undone = memory.reflect_undo(report.cycle)
        assert undone.kept == (made[0].id,)
        assert undone.steps[0].skipped == {"changed since": 1}
        assert [is_dormant(memory, made[n].id) for n in (0, 1, 2, 4, 5)] == [True, *[False] * 4]
        assert memory.check().ok


def test_users_are_judged_apart() -> None:
    with asleep() as (memory, clock):
        memory.remember_many(
            [{"text": f"hm {n}", "importance": 0.1} for n in range(100)], user_id="a"
        )
        memory.remember_many(
            [{"text": f"hm {n}", "importance": 0.1} for n in range(1000)], user_id="b"
        )
        pass_days(clock, 300)
        report = memory.reflect("forget")
        users = [memory.get(each).user_id for each in report.step("forget").ids]  # type: ignore[union-attr]
        assert (users.count("a"), users.count("b")) == (10, 20)


def test_unknown_steps_are_refused_with_what_there_is() -> None:
    with asleep() as (memory, _):
        with pytest.raises(spector.InvalidInputError, match="decay"):
            memory.reflect("decays")
        with pytest.raises(spector.InvalidInputError, match="no step"):
            memory.reflect([])
        with pytest.raises(spector.InvalidInputError, match="cycle"):
            memory.reflect_undo(0)


def test_upkeep_alone_writes_nothing_of_sleep(tmp_path: Path) -> None:
    with asleep(tmp_path / "mind") as (memory, clock):
        memory.remember("plain")
        pass_days(clock, 100)
        memory.reflect("upkeep")
        assert memory._parts.store.catalog.head()
        with memory._parts.store.catalog.reading() as db:
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        assert "payload" not in names
        assert strength(memory, next(iter(memory)).id) == 7.0


def test_the_daemon_sleeps_only_where_a_cycle_ran_before(clock: ManualClock) -> None:
    config = Config(sleep=spector.SleepConfig(interval_s=0.01))
    with asleep(config=config, clock=clock) as (memory, _):
        memory.remember("plain")
        assert not memory._parts.sleeper.may_sleep()
        pass_days(clock, 3)
        memory.reflect()
        assert memory._parts.sleeper.may_sleep()
        memory.daemon.start()
        memory.daemon.wake_now()
        for _ in range(500):
            if memory.daemon.nights:
                break
            memory.daemon._wake.acquire()
            memory.daemon._wake.wait(0.02)
            memory.daemon._wake.release()
        assert memory.daemon.nights >= 1
        assert memory.daemon.stop()


def test_a_report_says_by_which_rule_memories_rest(clock: ManualClock) -> None:
    with asleep(clock=clock) as (memory, _):
        memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(30)])
        pass_days(clock, 300)
        step = memory.reflect("forget").step("forget")
        assert step is not None
        assert step.rules == {"faded": 10}
        assert "10 changed (10 faded); 20 limit of a day" in str(step)
        assert step.to_dict()["rules"] == {"faded": 10}


@pytest.mark.parametrize(("same", "rests"), [(None, 1), (1.0, 1), (0.5, 0), (math.nan, 1)])
def test_what_says_the_same_is_counted_without_its_twin_if_a_judge_confirms_it(
    clock: ManualClock, same: float | None, rests: int
) -> None:
    class Judge:
        def pairs(self, pairs: Any) -> Any:
            return [spector.PairVerdict(same=same, apart=1.0 - same) for _ in pairs]  # type: ignore[operator]

        def messages(self, messages: Any) -> Any:
            return []

    detectors = None if same is None else spector.Detectors(judge=Judge())
    with asleep(clock=clock, detectors=detectors) as (memory, _):
        for tag in ("x", "y"):
            memory.remember("The blue kayak lies in Urla", tags=[tag])
        pass_days(clock, 1)
        fails = same is not None and math.isnan(same)
        told = pytest.warns(UserWarning, match="the judge failed, and rules decide")
        with told if fails else contextlib.nullcontext():
            step = memory.reflect("deduplicate").step("deduplicate")
        assert step is not None
        assert step.rules == ({"says what another says": 1} if rests else {})


# What is worth keeping is told by what a memory says and what only it says.
#
# Damage without it: every longer message counts the same, and chance decides which half of a
# conversation a budget takes. Guard: messages in English and Turkish, in the order they are worth.


@pytest.mark.parametrize("role", ["assistant", "Assistant", "tool"])
def test_a_budget_takes_answers_first(role: str) -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, blast_radius=1.0))
    with asleep(config=config) as (memory, clock):
        memory.remember_many(
            [
                {"text": f"The harbour of Foça has {n} blue boats and {n + 40} nets", "role": role}
                for n in range(8)
            ]
        )
        said = memory.remember_many(
            [{"text": f"We saw boat {n}", "role": ("user", None, "Selin")[n % 3]} for n in range(8)]
        )
        pass_days(clock, 60)
        memory.reflect("forget")
        assert {each.id for each in memory.records(include=[])} == {each.id for each in said}


ASKED = {
    "en": (
        "What did you see on the ferry?",
        "The ferry had twelve dogs aboard.",
        "The harbour had twelve nets ashore.",
    ),
    "tr": ("Vapurda ne gördün?", "Vapurda on iki köpek vardı.", "Limanda on iki ağ vardı."),
}


@pytest.mark.parametrize("language", sorted(ASKED))
def test_what_someone_asked_for_outlasts_what_nobody_asked(language: str) -> None:
    question, reply, other = ASKED[language]
    config = Config(sleep=SleepConfig(keep_share=0.5, blast_radius=1.0))
    with asleep(config=config) as (memory, clock):
        memory.observe({"text": question, "role": "Selin"}, session_id="asked")
        asked, told = (
            memory.observe({"text": text, "role": "Deniz"}, session_id=session).units[0].record
            for text, session in ((reply, "asked"), (other, "told"))
        )
        rest = [each.id for each in memory.records() if each.id not in (asked.id, told.id)]
        memory.forget(rest)
        pass_days(clock, 60)
        memory.reflect("forget")
        assert [each.id for each in memory.records(include=[])] == [asked.id]


def test_a_reply_is_one_to_a_question_of_someone_else_in_the_session() -> None:
    with asleep() as (memory, _):
        talk = [
            ("Selin", "Where in the bay did you moor the green boat of Ayse last week?", "s"),
            ("Selin", "The harbour of Ayvalik was closed in March.", "s"),
            ("Deniz", "We moored the boat in Cunda beside the old mill.", "s"),
            ("Deniz", "The anchor weighs forty kilos and is painted green.", "s"),
            ("Deniz", "The lighthouse of Foca was built in 1887.", "t"),
        ]
        found = memory.observe_many(
            [{"text": text, "role": role, "session_id": session} for role, text, session in talk],
            scopes_from_message=True,
        )
        ids = [unit.record.id for result in found for unit in result.units if unit.record]
        with memory._parts.sleeper.survey.knowledge() as reader:
            known = reader.payloads(ids, "observed")
        replies = [memory.get(each).text for each in ids if known[each]["reply"]]
        assert replies == [talk[2][1]]


LIKED = [
    "I love how brave that was, it made the whole evening in Assos so warm",
]


@pytest.mark.parametrize("text", LIKED)
def test_who_only_reacts_states_no_preference(text: str) -> None:
    assert only_likes(text)


@cases("text")
def test_a_choice_or_a_statement_is_a_preference(text: str) -> None:
    assert not only_likes(text)


@pytest.mark.parametrize("named", [False, True], ids=["observed", "named"])
def test_a_budget_may_take_what_only_sounds_like_a_preference(named: bool) -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, blast_radius=1.0))
    texts = [LIKED[0], "I prefer window seats on trains."]
    with asleep(config=config) as (memory, clock):
        if named:
            liked, chosen = memory.remember_many(texts, category="preference")
        else:
            liked, chosen = (each.units[0].record for each in memory.observe_many(texts))
        assert {memory.get(each.id).category.name for each in (liked, chosen)} == {"PREFERENCE"}
        memory.remember_many(
            [f"The harbour of Foça has {n} blue boats and {n + 40} nets" for n in range(4)],
            importance=0.99,
        )
        pass_days(clock, 60)
        memory.reflect("forget")
        assert memory.get(liked.id).dormant is not named
        assert not memory.get(chosen.id).dormant


# -- What people told outlasts any number of nights: nothing of it sleeps, and all of it is found --
#
# Damage without it: a share that survives each night looks small, and is nothing after a hundred
# of them. Guard: messages of a hundred days, a night after each, and a curve of what is awake.


_NOUNS = "boat river lamp chair clock bread stone glass paper garden window bridge".split()
_PLACES = "Kars Foça Cunda Assos Bergen Lyon Oslo Quito".split()


def _message(n: int) -> str:
    return (
        f"{_NOUNS[n % 12].capitalize()} {n} of the {_NOUNS[n // 12 % 12]} market went to"
        f" {_PLACES[n // 144 % 8]} with crate {n * 7919 % 100_003}"
    )


def _curve(messages: int, days: int) -> list[tuple[int, int, int]]:
    """(day, stored, awake) every tenth of the time; at the end each is recalled by its words."""
    curve, each_day = [], messages // days
    with asleep() as (memory, clock):
        made = []
        for day in range(days):
            made += memory.remember_many(
                [_message(n) for n in range(day * each_day, (day + 1) * each_day)]
            )
            pass_days(clock, 1)
            memory.reflect()
            if day % max(1, days // 10) == 0 or day == days - 1:
                awake = {each.id for each in memory.records(include=[])}
                curve.append((day + 1, len(made), sum(each.id in awake for each in made)))
        for each in made:
            assert each.id in {hit.id for hit in memory.recall(each.text, k=3)}, each.text
        assert memory.check().ok
    return curve


def test_messages_of_two_days_all_survive() -> None:
    assert all(stored == awake for _, stored, awake in _curve(16, 2))


@pytest.mark.slow
def test_ten_thousand_messages_of_a_hundred_days_all_survive(
    capsys: pytest.CaptureFixture[str],
) -> None:
    curve = _curve(10_000, 100)
    with capsys.disabled():
        print("\nday, stored, awake:", *curve, sep="\n  ")
    assert curve[-1][:2] == (100, 10_000)
    assert [awake for _, _, awake in curve] == [stored for _, stored, _ in curve]


# -- What a user said and an observer kept does not fade because its session was about other
#    things
#
# Damage: "switched the flour supplier, ... now it's Granja" had an importance of 0.247, since the
# session had spoken of opening hours and it was like what was known; seven days later it slept.


SAID = "The flour now comes from Granja in Viseu"


def slept(memory: Memory, clock: ManualClock, source: str) -> bool:
    message = {"role": "assistant" if source == "assistant_message" else "user", "content": SAID}
    if source:
        kept = memory.observe({**message, "importance": 0.22}, user_id="ana").records[0]
    else:
        kept = memory.remember(message, importance=0.22, user_id="ana")
    clock.advance(days=120)
    memory.reflect()
    return {each.id: each.dormant for each in memory.records(include=["dormant"])}[kept.id]


@pytest.mark.parametrize(
    ("source", "sleeps"), [("user_message", False), ("assistant_message", True), ("", True)]
)
def test_what_a_user_said_does_not_fade_by_itself(source: str, sleeps: bool) -> None:
    clock = ManualClock("2026-09-07T08:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        assert slept(memory, clock, source) is sleeps


def test_it_fades_where_all_that_is_little_retained_does() -> None:
    clock = ManualClock("2026-09-07T08:00:00Z")
    config = Config(sleep=SleepConfig(forget_max_importance=1.0))
    with spector.open(":memory:", clock=clock, config=config) as memory:
        assert slept(memory, clock, "user_message")


# -- A memory that rests says since when, and by which rule, as long as it does --------------------
#
# Damage without it: after a week nobody can tell why a memory is out of recall. Guard: nights, a
# month later, waking, resting by name and undoing.


def test_what_rests_says_since_when_and_by_which_rule() -> None:
    config = Config(sleep=SleepConfig(keep_share=0.5, undo_days=7))
    with asleep(config=config) as (memory, clock):
        dull = memory.remember_many([f"hm {n}" for n in range(3)], importance=0.1)
        said = memory.remember_many(
            [f"The harbour of Foça has {n} blue boats and {n + 40} nets" for n in range(9)],
            importance=0.3,
        )
        named = memory.remember("The mill of Cunda has a red door", importance=0.9)
        memory.retire(named)
        pass_days(clock, 300)
        memory.reflect(["forget"])
        pass_days(clock, 30)
        memory.reflect(["decay", "forget"])
        told = {
            each.id: (each.dormant_since, each.dormant_rule)
            for each in memory.records(include=["dormant"])
            if each.dormant
        }
        since = BEGIN + timedelta(days=300)
        assert [told.pop(each.id) for each in dull] == [(since, "faded")] * 3
        assert told.pop(named.id) == (None, None)
        assert set(told.values()) == {(since, "beyond the budget")}
        assert set(told) < {each.id for each in said}
        assert memory.check().ok


def test_what_was_woken_and_retired_by_name_has_no_rule_any_more() -> None:
    with asleep() as (memory, clock):
        dull = memory.remember("hm", importance=0.1)
        pass_days(clock, 300)
        memory.reflect(["forget"])
        assert memory.get(dull.id).dormant_rule == "faded"
        memory.reactivate(dull.id)
        assert memory.get(dull.id).dormant_since is None
        memory.retire(dull.id)
        woken = memory.get(dull.id)
        assert (woken.dormant, woken.dormant_since, woken.dormant_rule) == (True, None, None)


def test_undoing_takes_the_rule_back() -> None:
    with asleep() as (memory, clock):
        dull = memory.remember("hm", importance=0.1)
        pass_days(clock, 300)
        cycle = memory.reflect(["forget"]).cycle
        memory.reflect_undo(cycle)
        assert not memory.get(dull.id).dormant
        with memory._parts.sleeper.survey.knowledge() as reader:
            assert not reader.payloads([dull.id], "rest")

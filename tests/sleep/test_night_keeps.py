"""What is worth keeping is told by what a memory says and what only it says.

Damage without it: every longer message counts the same, and chance decides which half of a
conversation a budget takes. Guard: messages in English and Turkish, in the order they are worth.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import spector
from spector import Config, ManualClock, Memory, SleepConfig
from spector.language.observing import only_likes
from tests.sleep.nights import BEGIN, asleep, pass_days


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
        with memory._parts.sleeper._survey.knowledge() as reader:
            known = reader.payloads(ids, "observed")
        replies = [memory.get(each).text for each in ids if known[each]["reply"]]
        assert replies == [talk[2][1]]


LIKED = [
    "I love how brave that was, it made the whole evening in Assos so warm",
    "Bu fotoğrafa bayıldım, Assos'taki o akşam ne güzelmiş",
]
CHOSEN = [
    "I love jazz",
    "I avoid crowds",
    "I have a strong aversion to horror films",
    "I'd rather walk",
    "I don't really enjoy loud places",
    "Caz dinlemeyi seviyorum",
    "Çayı şekersiz tercih ederim",
    "Gürültülü yerlerden kaçınırım",
]


@pytest.mark.parametrize("text", LIKED)
def test_who_only_reacts_states_no_preference(text: str) -> None:
    assert only_likes(text)


@pytest.mark.parametrize("text", CHOSEN)
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
        with memory._parts.sleeper._survey.knowledge() as reader:
            assert not reader.payloads([dull.id], "rest")

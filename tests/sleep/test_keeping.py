"""What is worth keeping is told by what a memory says and what only it says.

Damage without it: every longer message counts the same, and chance decides which half of a
conversation a budget takes. Guard: messages in English and Turkish, in the order they are worth.
"""

from __future__ import annotations

import pytest

from spector import Config, SleepConfig
from spector.language.observing import only_likes
from tests.sleep.nights import asleep, pass_days


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

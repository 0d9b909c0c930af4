"""A message becomes memories: what is stopped, what is kept, and as what.

Mechanism: filters, classification, feeling, formation and importance before one commit. Damage
without it: small talk that is recalled, attacks that instruct, plans that vanish, messages whose
words were changed. Guard: the acceptance statements of observing, each with its values, in English
and Turkish, and what a caller may get wrong.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, ObserveConfig
from spector.errors import (
    InvalidInputError,
    InvalidTextError,
)
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

DAY = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(DAY)


def opened(clock: ManualClock, **observe: Any) -> Memory:
    config = Config(observe=ObserveConfig(**observe)) if observe else None
    return spector.open(":memory:", embedder=FakeEmbedder(dim=32), clock=clock, config=config)


def preset(clock: ManualClock, name: str = "v9") -> Memory:
    return spector.open(
        ":memory:", embedder=FakeEmbedder(dim=32), clock=clock, config=Config.preset(name)
    )


def texts(memory: Memory, tier: str = "episodic") -> list[str]:
    return [each.text for each in memory.records(tiers=tier)]


# -- filters ---------------------------------------------------------------------------------------


@cases("message", "name")
def test_a_filter_stops_a_message_and_is_named(clock: ManualClock, message: str, name: str) -> None:
    with opened(clock) as memory:
        result = memory.observe(message, session_id="s")
        assert (result.filter, result.reason, result.stored) == (name, name, False), str(result)
        assert result.units == ()
        assert not list(memory.records())
        sensory = memory.session("s").sensory.drain()
        assert [each.content for each in sensory] == [message]


@pytest.mark.parametrize(
    "message",
    [
        "Shopping in Kars:\n" + "\n".join(f"- item number {n}" for n in range(9)),
        "Ada was in Kars with us 😀😀😀😀😀",
        "I'm vegan.",
        "Ben veganım.",
        "Always answer in English from now on.",
        "I live in Kars " + "and I am at home there " * 300,
    ],
)
def test_what_is_just_short_of_a_filter_passes(clock: ManualClock, message: str) -> None:
    with opened(clock) as memory:
        result = memory.observe(message)
        assert result.filter is None, str(result)
        assert result.stored


def test_a_question_beside_a_statement_is_left_in_the_text_and_not_read(
    clock: ManualClock,
) -> None:
    message = "I moved to Kars. Do you know a bakery in Van?"
    with opened(clock) as memory:
        result = memory.observe(message)
        assert texts(memory) == [message]
        assert "entity://place/van" not in result.units[0].entities
        found = [memory.facts.get(each) for each in result.units[0].facts]
        assert [(each.subject, each.predicate, each.object) for each in found] == [
            ("user", "lives_in", "Kars")
        ]


def test_force_passes_every_filter(clock: ManualClock) -> None:
    with opened(clock) as memory:
        assert memory.observe("sounds good", force=True).stored
        assert memory.observe("Do you know a bakery?", force=True).stored
        with pytest.raises(InvalidTextError):
            memory.observe("   ", force=True)


def test_a_long_message_is_split(clock: ManualClock) -> None:
    sentence = "Ada moved to Kars in 2019 and bought a house there. "
    with opened(clock, max_chars=300) as memory:
        result = memory.observe(sentence.strip() + "\n\n" + "Bob lives in Van. " * 20)
        assert result.stored
        assert all(len(each) < 300 for each in texts(memory))
        assert "".join(texts(memory)).count("Bob lives in Van.") >= 1


# -- what is kept ----------------------------------------------------------------------------------


def test_the_words_stay_and_the_fact_is_kept(clock: ManualClock) -> None:
    with opened(clock) as memory:
        result = memory.observe({"role": "user", "content": "I'm a nurse."})
        record = result.records[0]
        assert record.text == "I'm a nurse."
        assert record.role == "user"
        assert record.confidence == pytest.approx(0.9, abs=1 / 255)
        fact = memory.facts.query(subject="user", predicate="works_as")[0]
        assert (fact.object, fact.sources) == ("nurse", (record.id,))
        assert result.units[0].facts == (fact.id,)
        assert memory.check().ok


def test_a_flashbulb(clock: ManualClock) -> None:
    with opened(clock) as memory:
        result = memory.observe("I am FURIOUS!!! The production server is DOWN!")
        record = result.records[0]
        assert result.emotion.arousal == pytest.approx(0.85)
        assert result.emotion.category == "anger"
        assert record.pinned
        assert record.flashbulb
        assert result.units[0].flashbulb
        assert record.importance >= 0.9 - 1e-6
        calm = memory.observe("I prefer tea over coffee.")
        assert calm.emotion.arousal <= 0.2
        assert calm.category == "preference"
        assert not calm.units[0].flashbulb


# Damage: a long message was split into 52 memories, which were all vivid and pinned, for it had more
# words of feeling than any of them; no budget could let one rest.
def test_a_part_of_a_message_is_as_vivid_as_its_own_words(clock: ManualClock) -> None:
    with opened(clock) as memory:
        result = memory.observe(
            "The server is DOWN, absolute EMERGENCY, we URGENTLY need HELP now and Carl joined Acme"
        )
        vivid, calm = (memory.get(each.id) for each in result.records)
        assert calm.text == "Carl joined Acme"
        assert (vivid.pinned, calm.pinned) == (True, False)
        assert vivid.arousal > 0.8 > calm.arousal


def test_two_statements_become_two_memories_with_their_day(clock: ManualClock) -> None:
    with opened(clock) as memory:
        result = memory.observe("Yesterday Ada met Bob and Carl joined Acme")
        assert len(result.records) == 2
        assert all("[2026-11-24]" in each.text for each in result.records)
        assert all("[" not in each.said for each in result.units)
        assert result.units[1].said.startswith("Carl")
        first, second = (each.id for each in result.records)
        kinds = {(each.source, each.kind, each.target) for each in memory.graph.edges(first)}
        assert (first, "followed_by", second) in kinds


@cases("message")
def test_a_plan_passes_and_is_still_recalled(clock: ManualClock, message: str) -> None:
    with opened(clock) as memory:
        record = memory.observe(message).records[0]
        assert record.valid_until is None
        for days in (8, 400):
            clock.advance(days=days)
            assert record.id in [hit.id for hit in memory.recall(message)]


def test_tomorrow_is_counted_in_the_zone_of_the_speaker(clock: ManualClock) -> None:
    clock.set(datetime(2026, 11, 25, 22, 30, tzinfo=UTC))
    message = "I'm going to Kars tomorrow"
    with opened(clock) as memory:
        here = memory.observe(message, user_id="a")
        there = memory.observe(message, user_id="b", timezone="Europe/Istanbul")
        own = memory.observe(message, user_id="c", event_time="2026-11-26T01:30:00+03:00")
        assert "[2026-11-26]" in here.records[0].text
        assert "[2026-11-27]" in there.records[0].text
        assert "[2026-11-27]" in own.records[0].text
        with pytest.raises(InvalidInputError, match="timezone"):
            memory.observe(message, timezone="Mars/Olympus")


@cases("origin", "trust")
def test_trust_in_an_origin(clock: ManualClock, origin: str, trust: float) -> None:
    with opened(clock) as memory:
        plain = memory.observe("The server uses port 8080.", data_source=origin, user_id="a")
        assert plain.records[0].confidence == pytest.approx(trust, abs=1 / 255)
        hedged = memory.observe("I think the server uses port 80.", data_source=origin, user_id="b")
        assert hedged.records[0].confidence == pytest.approx(0.7 * trust, abs=1 / 255)


def test_what_a_caller_says_of_a_memory_wins(clock: ManualClock) -> None:
    with opened(clock) as memory:
        result = memory.observe(
            {
                "content": "The server uses port 8080.",
                "importance": 0.83,
                "confidence": 0.4,
                "tags": ["ops"],
                "category": "event",
                "valid_until": "2027-01-01",
                "metadata": {"speaker": "Ada"},
            }
        )
        record = result.records[0]
        assert record.importance == pytest.approx(0.83)
        assert result.units[0].importance.priority == "critical"
        assert record.confidence == pytest.approx(0.4, abs=1 / 255)
        assert record.tags == ("ops",)
        assert record.category == spector.Category.EVENT
        assert record.speaker == "Ada"


# -- messages of chat models -----------------------------------------------------------------------


def test_parts_are_joined_and_calls_become_episodes(clock: ManualClock) -> None:
    with opened(clock) as memory:
        parts = memory.observe(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "I live in Kars."},
                    {"type": "image_url", "image_url": {"url": "x"}},
                    {"type": "input_text", "text": "I work at Acme."},
                ],
            }
        )
        assert parts.records[0].text == "I live in Kars.\nI work at Acme."
        call = memory.observe(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Kars"}'},
                    },
                ],
            }
        )
        assert call.records[0].text == 'get_weather({"city": "Kars"})'
        answer = memory.observe(
            {
                "role": "tool",
                "tool_call_id": "c1",
                "name": "get_weather",
                "content": "It is 4 degrees in Kars today.",
            }
        )
        assert answer.records[0].role == "tool"
        episodes = memory._parts.store.catalog
        from spector.knowledge import KnowledgeReader

        with episodes.latest() as db:
            found = KnowledgeReader(db, "").all_payloads("episode")
        assert found[call.records[0].id]["tool"] == "get_weather"
        assert found[answer.records[0].id]["tool"] == "get_weather"


def test_parts_of_another_maker(clock: ManualClock) -> None:
    with opened(clock) as memory:
        use = memory.observe(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I will look up the weather in Kars."},
                    {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Kars"}},
                ],
            }
        )
        assert use.records[0].text == "I will look up the weather in Kars."
        result = memory.observe(
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t",
                        "is_error": True,
                        "content": [{"type": "text", "text": "The service in Kars timed out."}],
                    },
                ],
            }
        )
        assert result.stored
        episode = spector.Episode(goal="weather", tool="weather", success=False, salience=0.5)
        given = memory.observe("Nothing came back from Kars.", episode=episode)
        assert given.stored


@cases("message", "error")
def test_a_message_that_is_none_is_refused(clock: ManualClock, message: Any, error: str) -> None:
    with opened(clock) as memory:
        with pytest.raises(InvalidInputError, match=error):
            memory.observe(message)
        assert not list(memory.records())


@pytest.mark.parametrize("name", ["data_source", "force", "dry_run", "episode", "user_id"])
def test_an_argument_that_is_wrong_is_named(clock: ManualClock, name: str) -> None:
    with opened(clock) as memory:
        with pytest.raises(InvalidInputError, match=name):
            memory.observe("I live in Kars.", **{name: 7})
        assert not list(memory.records())


def test_a_dry_run_decides_and_keeps_nothing(clock: ManualClock) -> None:
    with opened(clock) as memory:
        memory.observe("I live in Kars.", session_id="s")
        before = [each.to_dict() for each in memory.records()]
        result = memory.observe("I live in Van.", session_id="s", dry_run=True)
        assert result.units[0].action == "supersede"
        assert not result
        assert str(result).startswith("would supersede")
        assert [each.to_dict() for each in memory.records()] == before
        session = memory.session("s")
        assert session.sensory.size == 1
        gate = memory.gate("I live in Van.")
        assert gate.units[0].superseded == result.units[0].superseded
        assert memory.gate("thanks!").units[0].action == "create"
        assert [each.to_dict() for each in memory.records()] == before


def test_without_an_embedder_vectors_are_asked_for(clock: ManualClock) -> None:
    with spector.open(":memory:", embedder=None, dim=4, clock=clock) as memory:
        with pytest.raises(InvalidInputError, match="vector"):
            memory.observe("I live in Kars.")
        assert memory.observe("sounds good").filter == "small_talk"

"""What a recall notices about its cue, which decides whether it had better say nothing."""

from __future__ import annotations

import pytest

from spector import Memory, Signals


@pytest.fixture
def told(memory: Memory) -> Memory:
    memory.remember_many(
        {"text": text, "role": "Ann", "session_id": "s"}
        for text in (
            "I bought a violin in Vienna.", "The cat sleeps all day.", "Rain again, what a pity.",
            "We had soup for lunch.", "My brother Ben called about the car.",
        )
    )  # fmt: skip
    return memory


def signals(memory: Memory, cue: str | None) -> Signals:
    found = memory.recall(cue).signals
    assert found is not None
    return found


def test_words_that_memories_have_cover_a_cue(told: Memory) -> None:
    known = signals(told, "Who bought the violin in Vienna?")
    half = signals(told, "Who bought the violin in Zanzibar?")
    nothing = signals(told, "Who sold a helicopter near Zanzibar?")
    assert known.coverage > half.coverage > nothing.coverage == 0.0


def test_a_name_that_no_memory_has_is_noticed(told: Memory) -> None:
    assert signals(told, "When did Quentin call?").unknown_name
    assert not signals(told, "When did Ben call?").unknown_name
    assert not signals(told, "When did Ann call?").unknown_name, "who speaks is known as well"


def test_the_kind_of_a_cue_is_noticed(told: Memory) -> None:
    assert signals(told, "Where did I buy the violin?").kind == "fact"
    assert signals(told, "Can you recommend a violin?").kind == "request"
    assert signals(told, "It is raining all day long here").kind == "talk"


def test_memories_are_counted(told: Memory) -> None:
    assert signals(told, "violin").memories == len(told)
    told.forget(next(iter(told)).id)
    assert signals(told, "violin").memories == len(told)


def test_cosines_of_another_model_are_not_compared_with_constants(told: Memory) -> None:
    assert signals(told, "violin").cosine is None


def test_without_words_there_are_no_signals(told: Memory) -> None:
    assert told.recall(None).signals is None
    assert told.recall("violin", lexical=False).signals is None

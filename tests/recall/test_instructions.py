"""Instructions that hold: which texts are one, and what they are about.

Mechanism: the wording of a text decides whether it leaves the hits and stands beside them, and for
which cues. Damage: a rule of the user is never heeded, or heeded always; a story that begins with
"never" is no hit any more; the fact in "I moved to Ankara. From now on answer in Turkish" is lost.
Guard: tables in two languages, and texts that look alike and are none.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector.language.statements.instructions import Instruction, find_instruction, is_prohibition
from spector.language.words.folding import plain
from tests.cases import Cases

cases = Cases(__file__)


@cases("text", "condition")
def test_an_instruction_says_what_it_is_about(text: str, condition: str | None) -> None:
    assert find_instruction(text) == Instruction(True, condition)
    assert find_instruction(text.upper().replace("İ", "I")) is not None


@cases("text", "condition")
def test_a_rule_that_may_be_one_of_life_stays_a_memory(text: str, condition: str | None) -> None:
    assert find_instruction(text) == Instruction(False, condition)


@pytest.mark.parametrize(
    "text", ["Call me Jo.", "Please call me Captain", "just call me Zoë", "You can call me Jo"]
)
def test_a_name_to_be_called_by_has_a_capital(text: str) -> None:
    assert find_instruction(text) == Instruction(True, None)
    told = find_instruction(text.lower())
    assert told is None or not told.whole


@cases("text")
def test_leave_tells_nothing_and_is_a_memory(text: str) -> None:
    assert find_instruction(text) == Instruction(False, None, lifts=True)


@cases("text", "no")
def test_what_forbids_is_told_from_what_orders(text: str, no: bool) -> None:
    assert is_prohibition(plain(text)) == no


@cases("text")
def test_a_fact_and_a_task_are_no_instruction(text: str) -> None:
    assert find_instruction(text) is None


@cases("text")
def test_a_story_and_a_question_are_no_instruction(text: str) -> None:
    assert find_instruction(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    told = find_instruction(text)
    assert told is None or told.condition is None or 0 < len(told.condition) <= 200


@pytest.mark.sampled
@cases("unit")
def test_a_long_text_takes_a_moment(unit: str) -> None:
    text = f"Always {unit * 100_000} when I ask about tea"
    start = time.process_time()
    find_instruction(text)
    assert time.process_time() - start < 3


# -- Mechanism: of two orders about one matter the newer stands, or ends the older -----------------
#
# Damage: a prompt with two orders that no answer can follow, or with one that was taken back.
# Guard: pairs whose words no rule was written for; what is compatible stays beside each other.


START = datetime(2026, 3, 2, 9, tzinfo=UTC)
#: an older order and a newer one that takes its place
REPLACED = tuple(cases.rows("REPLACED"))
#: an older order and words that end it
ENDED = tuple(cases.rows("ENDED"))
#: two orders that one answer can follow
COMPATIBLE = tuple(cases.rows("COMPATIBLE"))


def standing(*said: str) -> list[str]:
    with spector.open(":memory:") as memory:
        for day, text in enumerate(said):
            at = START + timedelta(days=day)
            memory.observe({"role": "user", "content": text, "timestamp": at}, user_id="u")
        return [hit.text for hit in memory.context("Where is the harbour?", user_id="u").standing]


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_the_newer_of_two_contrary_orders_stands(old: str, new: str) -> None:
    assert standing(old, new) == [new]


@pytest.mark.parametrize(("old", "new"), ENDED)
def test_an_order_that_was_taken_back_does_not_stand(old: str, new: str) -> None:
    assert old not in standing(old, new)


@pytest.mark.parametrize(("old", "new"), COMPATIBLE)
def test_orders_that_one_answer_can_follow_both_stand(old: str, new: str) -> None:
    assert sorted(standing(old, new)) == sorted((old, new))


def test_conditions_of_their_own_are_two_matters() -> None:
    with spector.open(":memory:") as memory:
        for thing, kind in (("wine", "a red"), ("tea", "oolong")):
            text = f"When I ask about {thing}, suggest {kind}."
            memory.observe({"role": "user", "content": text}, user_id="u")
        (found,) = memory.recall("Which wine goes with fish?", user_id="u").standing
        assert "red" in found.text

"""Mechanism: of two orders about one matter the newer stands, or ends the older.

Damage: a prompt with two orders that no answer can follow, or with one that was taken back. Guard:
pairs whose words no rule was written for; what is compatible stays beside each other.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import spector

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
#: an older order and a newer one that takes its place
REPLACED = (
    ("Please answer in Polish.", "I want you to write to me in Italian from now on."),
    ("Call me Captain.", "Please call me Bea again."),
    ("Keep your replies under 50 words.", "From now on write longer replies."),
    ("Always give distances in miles.", "Give distances in kilometres from now on."),
    ("Write in American English.", "Going forward use British English."),
    ("Don't use headings.", "Always use headings from now on."),
    ("Always recommend vegetarian dishes.", "From now on recommend vegan dishes."),
)
#: an older order and words that end it
ENDED = (
    ("Always give me three options.", "You don't have to give me three options any longer."),
    ("Never recommend podcasts.", "Feel free to recommend podcasts again."),
    ("Always close with a proverb.", "Enough with the proverbs."),
    ("Make sure to ask how I slept.", "Stop asking how I slept."),
    ("Never use exclamation marks.", "Exclamation marks are okay again."),
    ("Always use bullet points.", "No more bullet points."),
)
#: two orders that one answer can follow
COMPATIBLE = (
    ("Always cite your sources.", "Call me Bea."),
    ("Never use passive voice.", "Keep answers short."),
    ("Always show prices in pounds.", "Never use slang."),
    ("Never use semicolons.", "Never use exclamation marks."),
    ("Always sign off with my initials.", "Use metric units."),
)


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

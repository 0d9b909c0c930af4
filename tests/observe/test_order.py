"""A word of change and a shared thing put the newer statement first, and hide nothing.

Mechanism: ``changes_perhaps`` looks for a cue of change, or for another value in one place.
Damage: an outdated statement is read first; or one that is still so, behind a look-alike.
Guard: edges of changes and of their look-alikes; nothing here is superseded.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

import spector
from spector import ManualClock
from spector.config import ObserveConfig
from spector.records import ObserveResult
from tests.cases import Cases
from tests.observe.test_gate_decisions import old, verdict
from tests.sleep.nights import themes_in

cases = Cases(__file__)


def _observed(old: str, new: str) -> tuple[ObserveResult, ObserveResult]:
    config = spector.Config(observe=ObserveConfig(order_by="cues"))
    with spector.open(":memory:", config=config) as memory:
        first = memory.observe(old, user_id="ann")
        return first, memory.observe(new, user_id="ann")


def _ties(old: str, new: str) -> list[str]:
    first, second = _observed(old, new)
    assert not any(each.superseded for each in second.units)
    ids = {each.id for each in first.records}
    return [each.kind for unit in second.units for each in unit.edges if each.target in ids]


@cases("old", "new")
def test_a_change_comes_before_what_it_may_have_changed(old: str, new: str) -> None:
    assert "may_change" in _ties(old, new)


@cases("old", "new")
def test_what_adds_or_is_about_another_changes_no_order(old: str, new: str) -> None:
    assert "may_change" not in _ties(old, new)


# -- What a user wants to be reminded of is a plan -------------------------------------------------
#
# Mechanism: patterns of each language tell "remind me to call" from "remind me what he is called".
# Damage: the one thing that a user asked to be kept in mind was dropped as an order to the model.


NOW = datetime(2026, 11, 25, 9, tzinfo=UTC)  # a Wednesday


@cases("text")
def test_a_reminder_is_a_plan(text: str) -> None:
    with spector.open(":memory:", clock=ManualClock(NOW)) as memory:
        result = memory.observe(text)
    assert result.kind == "plan"
    assert [each.category for each in result.records] == [spector.Category.PLAN]


@cases("text")
def test_who_asks_again_asks_for_no_reminder(text: str) -> None:
    with spector.open(":memory:") as memory:
        kept = memory.observe(text).records
        assert spector.Category.PLAN not in [each.category for each in kept]


# -- What a night made takes no part in what a new message changes ---------------------------------
#
# Damage: the theme of a night quoted the old dose, so that the new one found two statements of it
# and replaced neither; and a theme that quoted a car handed its contradiction to the daughter
# beside it.


SAID = tuple(cases.rows("SAID"))


@pytest.mark.parametrize("nights", [0, 2])
def test_a_correction_is_one_after_a_night_too(nights: int) -> None:
    clock = ManualClock("2026-03-02T09:00:00Z")
    with spector.open(":memory:", clock=clock) as memory:
        with memory.session("a", user_id="h") as chat:
            for each in SAID:
                chat.observe(each)
        for _ in range(nights):
            clock.advance(hours=14)
            memory.reflect()
        assert bool(themes_in(memory)) is bool(nights)
        result = memory.observe("My GP changed the ramipril to 10 mg.", user_id="h")
        assert [each.verdict for each in result.units] == ["may change"]
        assert not any(memory.recall("my piano lessons", user_id="h")[0].conflicts)


# -- What people type in a chat, in lower case: nothing true is hidden, and news comes first -------
#
# Damage: an agent forgets the brother's town when the sister moves, or goes on with the old hour.
# Guard: what stays true beside each other, in both orders, and words of change.


STAY: Final = tuple(cases.rows("STAY"))


@cases("before", "now")
def test_a_word_of_change_sets_the_order_and_hides_nothing(before: str, now: str) -> None:
    found = verdict(old(before), now, days=9)
    assert (found.verdict, found.may_change) == ("may change", (1,))
    assert found.superseded == ()


@pytest.mark.sampled
@pytest.mark.parametrize(("one", "other"), STAY)
def test_what_stays_true_is_superseded_in_neither_order(one: str, other: str) -> None:
    assert verdict(old(one), other, days=9).superseded == ()
    assert verdict(old(other), one, days=9).superseded == ()

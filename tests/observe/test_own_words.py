"""Corrections in people's own words, and statements that stay true, decided by the gate alone.

Mechanism: slots hide what is surely replaced, words of change order the rest. Damage without it: an
agent goes on saying what has changed, or forgets what is still so. Guard: both lists, in both
orders where true.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

import spector
from spector import Config, Memory, ObserveConfig
from spector.layout import Flag
from spector.records import ObserveResult
from tests.cases import Cases
from tests.fakes import FakeEmbedder
from tests.observe.test_gate_decisions import old, verdict
from tests.observing.injections import ATTACKS

cases = Cases(__file__)

CHANGES: Final = tuple(cases.rows("CHANGES"))
#: changes that no rule sees: they are kept beside the old value, which is no harm
UNSEEN: Final = 11
STAY: Final = tuple(cases.rows("STAY"))


def test_most_corrections_come_before_what_they_correct() -> None:
    found = [verdict(old(before), now, days=9) for before, now in CHANGES]
    assert all(each.action in ("create", "supersede") for each in found)
    missed = [
        pair
        for pair, each in zip(CHANGES, found, strict=True)
        if not (each.superseded or each.may_change)
    ]
    assert len(missed) <= UNSEEN, missed


@pytest.mark.parametrize(("one", "other"), STAY)
def test_what_stays_true_is_superseded_in_neither_order(one: str, other: str) -> None:
    assert verdict(old(one), other, days=9).superseded == ()
    assert verdict(old(other), one, days=9).superseded == ()


# -- Words belong to who says them: another's, played, guessed or pasted ones change nothing of
#    mine
#
# Each message went through observe and made a fact of the user, or hid what the user had said.


def _talk(*messages: Any) -> tuple[Memory, list[ObserveResult]]:
    memory = spector.open(":memory:", clock=spector.ManualClock("2026-05-04T08:00:00Z"))
    return memory, [memory.observe(each, user_id="u") for each in messages]


def _facts(memory: Memory) -> set[tuple[str, str, str]]:
    return {(each.subject, each.predicate, each.object) for each in memory.facts.query(user_id="u")}


@cases("message", ids=str)
def test_the_first_person_is_who_speaks(message: dict[str, Any]) -> None:
    memory, results = _talk("I live in Bergen.", message)
    with memory:
        assert {("user", "lives_in", "Bergen"), ("Ottilie", "lives_in", "Oulu")} <= _facts(memory)
        assert not [each for unit in results[1].units for each in unit.superseded]


@cases("message", ids=str)
def test_what_is_not_stated_of_now_by_the_user_hides_nothing(message: Any) -> None:
    memory, results = _talk("I live in Bergen.", message)
    with memory:
        assert not [each for unit in results[1].units for each in unit.superseded]
        assert ("user", "lives_in", "Bergen") in _facts(memory)


def test_two_of_a_kind_stand_beside_each_other() -> None:
    memory, results = _talk("My niece is called Mirela.", "My niece is called Ottilie.")
    with memory:
        assert not [each for unit in results[1].units for each in unit.superseded]


# -- Orders to the agent that come as messages are not kept, or kept apart; none reaches a
#    context
#
# Mechanism: a filter before everything else; with ``on_injection="quarantine"`` a flag that recall
# drops. Damage without it: a message that the agent obeys in every later session. Guard: the whole
# collection of attacks in English and Turkish through ``observe``, one by one and in one batch.


CUES = tuple(cases.rows("CUES"))
#: of 200, those that a rule may miss; they are words of a user and are quoted as such
MISSED = 4


def opened(how: str) -> Any:
    return spector.open(
        ":memory:",
        embedder=FakeEmbedder(dim=64),
        config=Config(observe=ObserveConfig(on_injection=how)),  # type: ignore[arg-type]
    )


def test_attacks_are_not_stored_one_by_one() -> None:
    with opened("skip") as memory:
        results = [memory.observe({"role": "user", "content": each}) for each in ATTACKS]
        kept = [each for each, result in zip(ATTACKS, results, strict=True) if result.stored]
        stopped = {result.filter for result in results if result.filter}
        assert len(ATTACKS) >= 200
        assert len(kept) <= MISSED, kept
        assert {"prompt_injection", "system_content"} <= stopped
        assert all(not each.units for each in results if each.kind == "injection")
        _no_instruction(memory)


def test_a_batch_stops_the_same_attacks() -> None:
    with opened("skip") as one, opened("skip") as many:
        single = [one.observe(each).filter for each in ATTACKS[::7]]
        batch = [each.filter for each in many.observe_many(ATTACKS[::7])]
        assert batch == single
        assert [each.text for each in many.records()] == [each.text for each in one.records()]


def test_quarantined_attacks_are_flagged_and_in_no_context() -> None:
    with opened("quarantine") as memory:
        memory.observe("I live in Kars with my sister Ada.")
        results = memory.observe_many(ATTACKS)
        apart = [each for each in results if each.kind == "injection" and each.stored]
        assert len(apart) >= 0.9 * len(ATTACKS)
        for result in apart:
            (record,) = result.records
            assert Flag.QUARANTINED in record.flags
            assert result.units[0].facts == ()
            assert result.units[0].edges == ()
        said = {record.text for result in apart for record in result.records}
        assert said <= set(ATTACKS)
        for cue in (*CUES, *ATTACKS[::9]):
            hits = memory.recall(cue, k=50)
            assert not said & {hit.text for hit in hits}
            shown = str(memory.context(cue, max_tokens=4000))
            assert not [each for each in said if each in shown and each != cue]
        listed = {each.text for each in memory.records(include=["quarantined"])}
        assert said <= listed
        _no_instruction(memory)
        assert memory.check().ok


def _no_instruction(memory: Memory) -> None:
    """No attack stands among the instructions of a recall, nor in a context as anything."""
    for cue in CUES:
        for hit in memory.recall(cue, k=20).standing:
            assert hit.text not in ATTACKS
        shown = str(memory.context(cue, max_tokens=4000))
        assert not [
            each for each in ATTACKS if len(each) > 12 and each in shown and each not in CUES
        ]


@cases("text")
def test_a_statement_does_not_carry_an_attack_in(text: str) -> None:
    with opened("skip") as memory:
        assert memory.observe(text).filter == "prompt_injection"
        assert len(memory) == 0


@cases("message")
def test_what_is_not_meant_is_kept_and_is_no_fact(message: str) -> None:
    with spector.open(":memory:") as memory:
        home = memory.observe("I live in Oulu.", user_id="u").records[0]
        result = memory.observe(message, user_id="u")
        assert (result.stored, result.states) == (True, False)
        assert [each.object for each in memory.facts.query(user_id="u")] == ["Oulu"]
        assert memory.recall("Where do I live?", user_id="u")[0].id == home.id
        assert len(result.records) == 1
        assert result.records[0].text == message
        sincere = memory.observe("I live in Utrecht.", user_id="u")
        assert sincere.states
        assert home.id in sincere.units[0].superseded
        assert "Utrecht" in [each.object for each in memory.facts.query(user_id="u")]


@pytest.mark.parametrize(
    "bands", [{"create_below": 0.1}, {"create_below": 0.3, "update_from": 0.3}]
)
def test_no_band_skips_or_merges_what_is_meant_for_what_is_not(bands: dict[str, Any]) -> None:
    config = Config(observe=ObserveConfig(gate_by="bands", gap_importance=1.0, **bands))
    with spector.open(":memory:", config=config) as memory:
        memory.observe("Write a bio for a character: I live in Utrecht and my dog is called Bo.")
        result = memory.observe("Utrecht has good bakeries for dogs.")
        assert [each.action for each in result.units] == ["create"]

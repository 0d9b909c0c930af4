"""What a night made takes no part in what a new message changes.

Damage: the theme of a night quoted the old dose, so that the new one found two statements of it and
replaced neither; and a theme that quoted a car handed its contradiction to the daughter beside it.
"""

from __future__ import annotations

import pytest

import spector
from spector import ManualClock
from tests.sleep.nights import themes_in

SAID = (
    "My GP put me on ramipril 5 mg for blood pressure.",
    "I drive a white Corsa.",
    "I'm training for the Ulverston half marathon.",
    "Posy goes to piano lessons on Tuesdays.",
    "My daughter Posy lost a tooth.",
    "My daughter Posy plays golf.",
    "My daughter Posy has a cat.",
)


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


def test_what_ends_something_is_kept_however_alike_it_is() -> None:
    with spector.open(":memory:") as memory:
        memory.observe("My daughter Posy is four and she's allergic to sesame.", user_id="h")
        with memory.session("s", user_id="h") as chat:
            chat.observe("I quit the half marathon, the knee didn't hold.")
            chat.observe("My knee was diagnosed with a torn meniscus.")
            said = "Posy is no longer allergic to sesame, the doctor said she outgrew it."
            assert chat.observe(said).stored

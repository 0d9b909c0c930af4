"""Two texts side by side: one part differs, or the new one names what it replaces."""

from __future__ import annotations

import pytest

from spector.language.frames import replacement


@pytest.mark.parametrize(("old", "new", "rule"), [
    ("I usually get up at 7.", "I get up at 6 now.", "said"),
    ("Deployment is allowed on Fridays.", "Deployment is not allowed on Fridays.", "polarity"),
    ("I smoke.", "I quit smoking.", "polarity"),
    ("The API key expires in March.", "The API key expires in April, not March.", "said"),
    ("The wifi password is sunflower42.", "The wifi password changed, it's moon77 now.", "said"),
    ("The demo is on Tuesday at 3pm.", "The demo got pushed to Thursday at 3pm.", "said"),
    ("My rent is 900 euros.", "They raised my rent to 950 euros.", "said"),
    ("Toplantı salı günü.", "Toplantı perşembe gününe alındı.", "said"),
    ("The highest peak of Tirol is Wildspitze.", "The highest peak of Tirol is Ortler.", "value"),
    ("Vesna was composed by Ilic.", "Vesna was composed by Maric.", "value"),
    ("Ilic plays the position of libero.", "Ilic plays the position of sweeper.", "value"),
])
def test_a_replaced_value_is_seen(old: str, new: str, rule: str) -> None:
    found = replacement(old, new)
    assert found is not None
    assert found.rule == rule
    assert old[slice(*found.span)].strip() == old


@pytest.mark.parametrize(("old", "new"), [
    ("I usually get up at 7.", "My sister gets up at 6 now."),
    ("The gate was closed.", "The gate was not closed."),
    ("Vesna was praised by Ilic.", "Vesna was praised by Maric."),
    ("I visited the city of Rome.", "I visited the city of Milan."),
    ("The project budget is 2000 euros.", "We raised the marketing budget to 3000 euros."),
    ("The demo is on Tuesday.", "Did the demo move to Thursday?"),
    ("The demo is on Tuesday.", "The demo might move to Thursday."),
    ("The mayor of Ostrava is Ilic.", "The mayor of Ostrava is tired."),
    ("", "x"), ("x", ""), ("...", "..."), ("a " * 5000, "b " * 5000), ("\x00", "\x07"),
])
def test_all_else_replaces_nothing(old: str, new: str) -> None:
    assert replacement(old, new) is None


def test_many_values_need_more_than_a_word_of_change() -> None:
    pair = ("I drink black tea daily.", "I drink green juice daily now.")
    assert replacement(*pair) is not None
    assert replacement(*pair, many=True) is None


def test_a_moved_amount_is_of_one_memory_only() -> None:
    found = replacement("My rent is 900 euros.", "They raised my rent to 950 euros.")
    assert found is not None
    assert found.single

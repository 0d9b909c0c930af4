"""What contradicts what, and what does not: slots, values, polarity and words of change.

Mechanism: a statement is compared with the living ones of its subject. Damage without it: the old
port is recalled beside the new one; or a sister's colour, a second dog, a guess retires what holds.
"""

from __future__ import annotations

import pytest

from spector.language.frames import Statement, Verdict, compare, extract
from tests.cases import Cases

cases = Cases(__file__)


def verdict(old: str, new: str, **more: object) -> Verdict:
    before = extract(old)
    found = [compare(before, each, new, **more) for each in extract(new)]  # type: ignore[arg-type]
    return max(found, key=lambda each: each.confidence, default=Verdict("none"))


@cases("old", "new", "rule")
def test_a_new_statement_replaces_the_old_one(old: str, new: str, rule: str) -> None:
    found = verdict(old, new)
    assert (found.kind, found.old_index) == ("replaces", 0)
    assert found.rule == rule or (found.rule == "said" and rule == "value")


@cases("old", "new")
def test_both_statements_stay(old: str, new: str) -> None:
    assert verdict(old, new) == Verdict("none")


def test_the_one_that_is_meant_among_several_is_found() -> None:
    old = [*extract("I like tea."), *extract("I live in Paris."), *extract("I use Vim.")]
    (new,) = extract("I live in Berlin.")
    assert compare(old, new).old_index == 1
    (new,) = extract("I switched from Vim to Helix.")
    assert compare(old, new).old_index == 2


def test_words_of_change_need_one_slot_to_change() -> None:
    (new,) = extract("From now on I prefer coffee.")
    two = [*extract("I prefer tea."), *extract("I prefer cocoa.")]
    assert compare(two, new, "From now on I prefer coffee.") == Verdict("none")


def test_two_values_of_an_unknown_role_in_other_words_are_both_kept() -> None:
    (old,) = extract("My dentist is Dr Ruiz.")
    (new,) = extract("Dr Wu is my dentist.")
    assert compare([old], new).kind == "contradicts"
    assert compare([old], extract("My dentist is Dr Wu.")[0]).kind == "replaces"


def test_there_and_back_again() -> None:
    cities = ("Paris", "Berlin", "Paris")
    paris, berlin, again = (extract(f"I live in {city}.")[0] for city in cities)
    assert compare([paris], berlin).kind == "replaces"
    assert compare([berlin], again).kind == "replaces"
    assert compare([paris], again) == Verdict("none")


def test_relative_dates_are_compared_as_days() -> None:
    now = 1_764_115_200_000
    day = 86_400_000
    (old,) = extract("The report is due on 2025-11-27.")
    (same,) = extract("The report is due tomorrow.", reference_time=now)
    (later,) = extract("The report is due tomorrow.", reference_time=now + day)
    assert same.value == "2025-11-27"
    assert compare([old], same) == Verdict("none")
    assert compare([old], later).rule == "value"


def test_names_are_folded() -> None:
    old, new = (
        Statement("Éva", "lives_in", "Pécs", single=True),
        Statement("eva", "lives_in", "Győr", single=True),
    )
    assert compare([old], new).rule == "value"
    assert compare([old], Statement("EVA", "lives_in", "pecs", single=True)) == Verdict("none")


@cases("old", "new")
def test_what_holds_at_times_that_come_back_leaves_other_times_alone(old: str, new: str) -> None:
    for before, after in ((old, new), (new, old)):
        assert extract(before)
        assert extract(after)
        assert verdict(before, after).kind == "none"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I work at Nokia on Mondays.", "I work at Ericsson on Mondays."),
        ("I weigh 80 kg.", "I weigh 78 kg."),
        ("The depot closes at 17:00.", "The depot closes at 18:00."),
        ("Yazın Roma'da yaşıyorum.", "Yazın Oslo'da yaşıyorum."),
        ("My brother Tom lives in Rome.", "My brother Tom lives in Oslo."),
    ],
)
def test_another_value_at_the_same_time_replaces(old: str, new: str) -> None:
    assert verdict(old, new).kind == "replaces"

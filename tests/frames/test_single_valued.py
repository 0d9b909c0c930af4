"""A predicate is many-valued unless the table, the caller or the form says otherwise."""

from __future__ import annotations

import pytest

from spector.language.frames import ONE_VALUED, extract, is_single_valued

TABLE = """lives_in works_as works_at is_named age version port email phone deadline status
married_to born_in located_in price""".split()


@pytest.mark.parametrize("predicate", [*TABLE, "favourite_colour", "favourite_band"])
def test_one_by_the_table(predicate: str) -> None:
    assert is_single_valued(predicate)
    assert predicate in ONE_VALUED or predicate.startswith("favourite_")


@pytest.mark.parametrize("predicate", "likes visited speaks bought eats took uses has".split())
def test_many_without_a_table_or_form(predicate: str) -> None:
    assert not is_single_valued(predicate)
    assert is_single_valued(predicate, (predicate,))


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("My dentist is Dr Ruiz.", True),
        ("Anna is my wife.", True),
        ("The mayor of Ghent is Mathias Berg.", True),
        ("The gateway's password is hunter2.", True),
        ("My sister is Anna.", False),
        ("Anna is my friend.", False),
        ("Max is my dog.", False),
        ("The project uses SQLite as its database.", True),
        ("I like tea.", False),
        ("Kerem benim eşim.", True),
        ("Projenin veritabanı SQLite.", True),
        ("Kahveyi severim.", False),
    ],
)
def test_by_the_form_of_the_sentence(text: str, single: bool) -> None:
    found = extract(text)
    assert found
    assert found[0].single is single

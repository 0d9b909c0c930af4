"""The bench of statements scores as CaRB's lenient match does, and pairs facts by their wording."""

from __future__ import annotations

import pytest

from bench.cognition.statements import changed_pairs, match, score


def cut(relation: str, subject: str, rest: str) -> tuple[list[str], list[str], list[str]]:
    return relation.split(), subject.split(), rest.split()


def test_words_of_a_tuple_are_counted_once_each() -> None:
    gold = cut("was born in", "Ada", "London in 1815")
    assert match(gold, gold) == (1.0, 1.0)
    assert match(gold, cut("was born in", "Ada", "London")) == (1.0, pytest.approx(5 / 7))
    found = match(gold, cut("born", "Ada Ada", "Paris"))
    assert found == (pytest.approx(2 / 4), pytest.approx(2 / 7))


def test_without_a_word_of_the_relation_nothing_matches() -> None:
    assert match(cut("lives in", "Ada", "London"), cut("likes", "Ada", "London")) == (0.0, 0.0)
    assert match(cut("is", "Ada", "a poet"), cut("be", "Ada", "a poet")) == (1.0, 1.0)


def test_each_tuple_is_matched_with_one_of_the_gold() -> None:
    one, other = cut("likes", "Ada", "tea"), cut("likes", "Ada", "rum")
    assert score([one, other], [one, other]) == (2.0, 2.0)
    precision, recall = score([one], [one, other])
    assert (precision, recall) == (1.0, 1.0)
    assert score([one], []) == (0.0, 0.0)


def test_facts_of_one_wording_with_two_values_are_a_pair() -> None:
    lines = [
        "Here is a list:",
        "0. The mayor of Ghent is Ann.",
        "1. Ann was born in Bruges.",
        "2. The mayor of Ghent is Bob.",
        "3. The mayor of Ghent is Bob.",
    ]
    assert list(changed_pairs(lines)) == [
        ("The mayor of Ghent is Ann", "The mayor of Ghent is Bob"),
        ("The mayor of Ghent is Ann", "The mayor of Ghent is Bob"),
    ]

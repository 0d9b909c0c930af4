"""Pronouns get their names where that is likely enough, and else show who they may be.

Mechanism: features of each person named before, weighed as fitted to two public sets. Damage
without it: a wrong name beside words that never had it. Guard: sentences of our own, the weights
against their features, and the sets themselves where they are at hand.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cognition.rows import ROWS
from bench.cognition.score import data
from spector.language.formation import Referents, rewritten
from spector.language.formation.persons import FEATURES, WEIGHTS, gender_of, people_in
from tests.cases import Cases

cases = Cases(__file__)


def chosen(text: str, *before: str, **how: object) -> list[str | None]:
    referents = Referents()
    for each in before:
        referents = referents.after(each)
    found = referents.references(text, turkish=False, **how)  # type: ignore[arg-type]
    return [each.chosen for each in found]


@cases("text", "names")
def test_a_pronoun_is_named_only_when_it_is_likely(text: str, names: list[str | None]) -> None:
    assert chosen(text) == names


def test_scores_of_one_word_are_probabilities() -> None:
    (one,) = Referents().references("Omar met Carl and David. He left.", turkish=False)
    scores = [score for _, score in one.candidates]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert sum(scores) <= 1.01


def test_a_lower_precision_names_more() -> None:
    text = "Karen and Linda argued. She was furious."
    assert chosen(text, least=0.0) != [None]
    assert chosen(text, least=1.01) == [None]


def test_a_person_of_an_earlier_turn_is_remembered_for_eight_turns() -> None:
    turns = ["Omar wrote to me today.", *["It rains."] * 7]
    (near,) = _references("He is late.", turns)
    assert [name for name, _ in near.candidates] == ["Omar"]
    (far,) = _references("He is late.", [*turns, "It rains."])
    assert far.candidates == ()


def _references(text: str, before: list[str]) -> tuple[object, ...]:
    referents = Referents()
    for each in before:
        referents = referents.after(each)
    return referents.references(text, turkish=False)


def test_referents_are_never_changed() -> None:
    empty = Referents()
    empty.after("Omar wrote.")
    assert empty.turns == ()


def test_things_are_candidates_and_never_chosen() -> None:
    (one,) = Referents().references("We use Redis. It is fast.", turkish=False)
    assert [name for name, _ in one.candidates] == ["Redis"]
    assert one.chosen is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ada aradı. O Kars'ta.", ["Ada"]),
        ("Zeynep bana yazdı. Onun kedisi hasta.", ["Zeynep"]),
        ("Kardeşim Can taşındı. O artık Kars'ta.", ["Can"]),
        ("Ada ve Zeynep geldi. Onu gördüm.", [None]),
        ("Ada aradı. O zaman evdeydim.", []),
        ("O adam geldi.", []),
        ("Onu gördüm.", [None]),
    ],
)
def test_turkish_pronouns(text: str, names: list[str | None]) -> None:
    found = Referents().references(text, turkish=True)
    assert [each.chosen for each in found] == names


@pytest.mark.parametrize(
    ("name", "gender"),
    [
        ("Ada", "f"),
        ("Ayşe Yılmaz", "f"),
        ("Omar", "m"),
        ("Mr. Smith", "m"),
        ("Ms. Lee", "f"),
        ("Robin-Xyz", ""),
        ("Deniz", "m"),
        ("", ""),
    ],
)
def test_what_a_name_says_of_a_person(name: str, gender: str) -> None:
    assert gender_of(name) == gender


def test_people_are_found_where_they_stand() -> None:
    text = "Yesterday Mary Smith met Dr. Lee in Paris. Smith said hello to şoför Ali."
    for each in people_in(text):
        assert text[each.start : each.end] == each.name
    assert [each.name for each in people_in(text)] == ["Mary Smith", "Lee", "Smith", "Ali"]


def test_each_feature_has_its_weight() -> None:
    assert {*WEIGHTS} == {*FEATURES, "bias"}
    assert all(map(math.isfinite, WEIGHTS.values()))


@pytest.mark.slow
@pytest.mark.skipif(not (data() / "cognition").is_dir(), reason="needs SPECTOR_DATA")
def test_what_is_annotated_in_public_sets_is_right_three_times_in_four() -> None:
    annotated = [
        each.found for row in (6, 7) for each in ROWS[row]() if "is annotated" in each.what
    ]
    assert len(annotated) == 2
    assert all(float(each.split()[0]) >= 0.75 for each in annotated)


@pytest.mark.skipif(not (data() / "cognition").is_dir(), reason="needs SPECTOR_DATA")
def test_dates_of_public_sets_reach_their_goals() -> None:
    for row in (8, 9):
        scores = ROWS[row]()
        assert sum(not each.reached for each in scores) <= 1  # precision is a point below


@pytest.mark.parametrize(
    ("text", "word", "names"),
    [
        ("Tom and Mia are engaged. They live in Rome.", "They", {"Tom", "Mia"}),
        ("I work at Siemens. They pay well.", "They", {"Siemens"}),
        ("Mia ve Tom nişanlı. Onlar Roma'da yaşıyor.", "Onlar", {"Tom", "Mia"}),
        ("They moved to Rome.", "They", set()),
        ("Mia aradı. Bunu Roma'da aldı.", "Bunu", set()),
    ],
)
def test_several_and_things_have_candidates_and_no_note(
    text: str, word: str, names: set[str]
) -> None:
    """ "They" may be a firm or people, "bunu" is a thing: no set measures which."""
    turkish = not text.isascii() or word in ("Onlar", "Bunu")
    (found,) = Referents().references(text, turkish=turkish)
    assert (found.word, found.chosen) == (word, None)
    assert {name for name, _ in found.candidates} == names


# -- First person becomes third where the rules are sure, and else stays as it was said ------------


@cases("text", "name", "turned")
def test_the_first_person_becomes_a_name(text: str, name: str, turned: str) -> None:
    assert rewritten(text, name) == turned


@pytest.mark.parametrize(
    "text",
    [
        "Do I like tea?",
        'She said "I like tea"',
        "`I = 3`",
        "We moved to Kars",
        "I'd like tea",
        "Ada likes tea",
        "If I were rich, I would travel",
        "Annem beni aradı",
        "Çayı tercih ediyorum",
        "",
    ],
)
def test_what_is_not_sure_stays_as_it_was_said(text: str) -> None:
    assert rewritten(text, "User") == text


def test_it_ends_at_a_word_after_500_characters() -> None:
    made = rewritten("I like " + "tea and " * 100 + "milk", "User")
    assert len(made) <= 500
    assert made.startswith("User likes tea")
    assert made.endswith(("tea", "and"))
    assert len(rewritten("x" * 900, "User")) == 500


@given(st.text(max_size=200))
def test_any_text_is_rewritten_without_an_error(text: str) -> None:
    assert len(rewritten(text, "User")) <= 500

"""Statistics of series and outcomes are those of the textbook.

Mechanism: closed formulas over NumPy. Damage without it: chance is promoted to knowledge, or a
pattern is thrown away. Guard: values computed by hand, NumPy's own, and series that are known to be
random or not.
"""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.knowledge import statistics
from spector.language.words import concept_key, entity_uri, fact_key, folded, normalize_tokens, slug
from tests.cases import Cases

cases = Cases(__file__)


def test_mean_spread_and_trend() -> None:
    values = [0.9, 0.7, 0.8, 0.6, 0.5, 0.6, 0.4, 0.3]
    found = statistics.assess(values, days=range(8))
    slope, _ = np.polyfit(range(8), values, 1)
    assert found.n == 8
    assert found.enough
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert found.std == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert (found.min, found.max) == (0.3, 0.9)
    assert found.slope_per_day == pytest.approx(slope, abs=1e-12)
    assert found.r2 == pytest.approx(np.corrcoef(range(8), values)[0, 1] ** 2, abs=1e-12)


def test_a_constant_and_a_trend_are_no_chance_and_a_shuffle_is() -> None:
    assert not statistics.assess([0.5] * 20).is_random
    assert not statistics.assess([float(each) for each in range(20)]).is_random
    chooser = random.Random(7)
    random_ones = sum(
        statistics.assess([chooser.random() for _ in range(40)]).is_random for _ in range(200)
    )
    assert 180 <= random_ones <= 199  # 5 % of pure chance looks like order


@cases("good", "of", "random_")
def test_successes_against_a_coin(good: int, of: int, random_: bool) -> None:
    assert statistics.outcomes_are_random([True] * good + [False] * (of - good)) is random_


def test_exponential_times_are_chance_and_regular_ones_are_not() -> None:
    chooser = random.Random(3)
    times, now = [], 0.0
    for _ in range(30):
        now += chooser.expovariate(1.0)
        times.append(now)
    outcomes = [True] * 17 + [False] * 13
    assert statistics.intervals_are_random(times)
    assert statistics.is_noise(outcomes, times)
    assert not statistics.is_noise(outcomes, [float(each) for each in range(30)])
    assert not statistics.is_noise([True] * 27 + [False] * 3, times)
    assert not statistics.is_noise([True, False, True], [0.0, 1.0, 3.0])


def test_uses_at_one_hour_have_a_rhythm() -> None:
    phase, coupling = statistics.rhythm([20.1, 20.9, 20.5] * 3) or (0.0, 0.0)
    assert phase == pytest.approx(20.0, abs=1e-9)
    assert coupling == pytest.approx(1.0)
    late = statistics.rhythm([23, 0, 1, 23, 0, 1, 0, 0])
    assert min(late[0], 24 - late[0]) < 1e-9
    assert statistics.rhythm(list(range(24))) is None
    assert statistics.rhythm([20.0] * 7) is None


def test_sets_rates_and_certainty() -> None:
    assert statistics.jaccard(range(8), range(2, 10)) == pytest.approx(0.6)
    assert statistics.jaccard([], []) == 0.0
    strength = 0.0
    for _ in range(5):
        strength = statistics.associated(strength, True)
    assert strength == pytest.approx(0.83193, abs=1e-9)
    rate = 0.0
    for n, success in enumerate((True, False, True), 1):
        rate = statistics.running_rate(rate, n, success)
    assert rate == pytest.approx(2 / 3)
    assert [statistics.certainty(each) for each in (0, 9, 25)] == pytest.approx([0.5, 0.8, 0.99])


# -- Keys of knowledge are equal for what is the same, and differ for what is not ------------------
#
# Mechanism: Unicode forms, case, white space, separators, camel case, escapes. Damage without it:
# one fact twice, two facts as one. Guard: the published key of a known triple, and injectivity.


def test_the_key_of_a_known_triple() -> None:
    assert fact_key("Ada", "works_at", "Acme") == "cc3dceedfd9a0601cc54780e07826869"


@pytest.mark.parametrize(
    "other",
    [("ADA", "Works_At", "acme"), (" Ada ", "works_at", "Acme\n"), ("Ada", "works_at", "ACME")],
)
def test_case_and_space_change_no_key(other: tuple[str, str, str]) -> None:
    assert fact_key(*other) == fact_key("Ada", "works_at", "Acme")


def test_composed_and_decomposed_letters_have_one_key() -> None:
    name = "Zoë Gökçe"
    apart = unicodedata.normalize("NFD", name)
    assert apart != name
    assert fact_key(apart, "lives_in", "Kars") == fact_key(name, "lives_in", "Kars")


TRIPLES = st.tuples(*[st.text("ab|\\ ", max_size=4)] * 3)


@given(TRIPLES, TRIPLES)
def test_two_triples_share_a_key_only_when_their_parts_are_equal(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    def clean(parts: tuple[str, str, str]) -> tuple[str, ...]:
        return tuple(" ".join(each.split()) for each in parts)

    assert (fact_key(*one) == fact_key(*other)) == (clean(one) == clean(other))


@cases("text", "words")
def test_identifiers_fall_into_words(text: str, words: list[str]) -> None:
    assert normalize_tokens(text) == words


def test_spellings_of_one_concept_have_one_key() -> None:
    spellings = ("coffee_mug", "Coffee mug", "CoffeeMug", "coffee-mug")
    assert len({concept_key(each) for each in spellings}) == 1
    assert concept_key("coffee mug") != concept_key("coffee cup")


def test_names_and_addresses_are_folded() -> None:
    assert folded("  Ada   LOVELACE ") == "ada lovelace"
    assert folded("İstanbul") == folded("istanbul")
    assert slug("Zoë's Café & Bar") == "zoe-s-cafe-bar"
    assert entity_uri("Redis", "tech") == "entity://tech/redis"

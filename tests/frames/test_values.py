"""Two spellings of one value are equal, and two values are not."""

from __future__ import annotations

import pytest

from spector.language.frames import (
    ONE_VALUED,
    extract,
    forms_differ,
    is_single_valued,
    normal_value,
)
from spector.language.frames.turkish import (
    Case,
    has_harmony,
    strip_case,
    verb_forms,
)
from spector.language.words import plain
from tests.cases import Cases

cases = Cases(__file__)

NOW = 1_764_115_200_000  # 2025-11-26


def values_differ(one: str, other: str, *, reference_time: int | None = None) -> bool:
    first, second = (normal_value(each, reference_time=reference_time) for each in (one, other))
    return forms_differ(first, second)


@cases("one", "other")
def test_spellings_of_one_value(one: str, other: str) -> None:
    assert not values_differ(one, other)
    assert not values_differ(other, one)


@cases("one", "other")
def test_two_values(one: str, other: str) -> None:
    assert values_differ(one, other)
    assert values_differ(other, one)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("Berlin", "Berlin, Germany"),
        ("red", "dark red"),
        ("Anna", "Anna Berg"),
        ("Postgres", "Postgres on Linux"),
        ("", "Berlin"),
    ],
)
def test_a_value_with_more_words_is_no_other(short: str, long: str) -> None:
    assert not values_differ(short, long)


def test_relative_dates_need_a_reference_time() -> None:
    assert normal_value("tomorrow") == "tomorrow"
    assert normal_value("tomorrow", reference_time=NOW) == "2025-11-27"
    assert not values_differ("tomorrow", "2025-11-27", reference_time=NOW)
    assert values_differ("tomorrow", "2025-11-28", reference_time=NOW)


@pytest.mark.parametrize("text", ["", " ", "...", "\u0301", "9" * 400, "0x", "1,2,3,4", "-", "$"])
def test_any_text_has_a_normal_form(text: str) -> None:
    assert isinstance(normal_value(text), str)


# -- A predicate is many-valued unless the table, the caller or the form says otherwise ------------


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


@cases("text", "single")
def test_by_the_form_of_the_sentence(text: str, single: bool) -> None:
    found = extract(text)
    assert found
    assert found[0].single is single


# -- Vowel harmony, and the forms of Turkish nouns and verbs that the frames are compared with -----


@cases("stem", "suffix", "fits")
def test_a_suffix_follows_the_last_vowel(stem: str, suffix: str, fits: bool) -> None:
    assert has_harmony(stem, suffix) is fits


@cases("raw", "suffix", "case", "stem")
def test_a_case_comes_off_and_leaves_the_noun(
    raw: str, suffix: str, case: Case, stem: str | None
) -> None:
    assert strip_case(raw, suffix, case) == stem


@cases("stem", "aorist", "form", "person", "polarity", "tense", "modality")
def test_forms_of_a_verb(
    stem: str, aorist: str, form: str, person: int, polarity: bool, tense: str, modality: str
) -> None:
    found = dict(verb_forms(stem, aorist))[plain(form)]
    assert (found.person, found.polarity, found.tense, found.modality) == (
        person,
        polarity,
        tense,
        modality,
    )

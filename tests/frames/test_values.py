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
    possessed,
    strip_case,
    strip_copula,
    verb_forms,
)
from spector.language.words import plain

NOW = 1_764_115_200_000  # 2025-11-26


def values_differ(one: str, other: str, *, reference_time: int | None = None) -> bool:
    first, second = (normal_value(each, reference_time=reference_time) for each in (one, other))
    return forms_differ(first, second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("8,443", "8443"),
        ("8.443", "8443"),
        ("1,234,567", "1234567"),
        ("1.250,50", "1250.50"),
        ("two thousand five hundred", "2500"),
        ("thirty-four", "34"),
        ("otuz dört", "34"),
        ("yüz yirmi", "120"),
        ("2k", "2000"),
        ("$40", "40 dollars"),
        ("€40", "40 euros"),
        ("40 lira", "40 TL"),
        ("5 GB", "5 gigabytes"),
        ("10 km", "10 kilometres"),
        ("March 17", "17 March"),
        ("17 Mart", "March 17"),
        ("on March 17", "March 17"),
        ("2026-04-02", "April 2, 2026"),
        ("10:30", "10:30"),
        ("v2.4", "2.4"),
        ("New York", "new york"),
        ("Éva", "Eva"),
        ("İzmir", "izmir"),
        ("the red car", "red car"),
        ("grey", "gray"),
        ("colour", "color"),
        ("555-0134", "555 0134"),
        ("+90 555 123 45 67", "+905551234567"),
        ("noon", "12:00"),
        ("PostgreSQL", "Postgre SQL"),
        ("ADA@x.org.", "mailto:ada@x.org"),
    ],
)
def test_spellings_of_one_value(one: str, other: str) -> None:
    assert not values_differ(one, other)
    assert not values_differ(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("8080", "8443"),
        ("2.4", "2.5"),
        ("v2.4", "v2.4.1"),
        ("40 euros", "42 euros"),
        ("40 euros", "40 dollars"),
        ("March 17", "March 18"),
        ("March 17", "April 17"),
        ("34", "35"),
        ("Paris", "Berlin"),
        ("vegan", "vegetarian"),
        ("red", "blue"),
        ("Anna", "Hanna"),
        ("10:30", "11:30"),
        ("5 GB", "5 MB"),
        ("17 Mart", "18 Mart"),
        ("555-0134", "555-0135"),
        ("MySQL", "SQLite"),
        ("a@x.org", "b@x.org"),
        ("ada@x.org", "ada.k@x.org"),
        ("http://a.org/x", "http://a.org"),
    ],
)
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
        ("Projenin veritabanı SQLite.", True),
    ],
)
def test_by_the_form_of_the_sentence(text: str, single: bool) -> None:
    found = extract(text)
    assert found
    assert found[0].single is single


# -- Vowel harmony, and the forms of Turkish nouns and verbs that the frames are compared with -----


@pytest.mark.parametrize(
    ("stem", "suffix", "fits"),
    [
        ("ev", "de", True),
        ("ev", "da", False),
        ("okul", "da", True),
        ("köy", "da", False),
        ("köy", "de", True),
        ("yol", "da", True),
        ("ev", "im", True),
        ("ev", "um", False),
        ("yol", "um", True),
        ("yol", "im", False),
        ("saat", "e", True),
        ("gol", "e", True),
        ("8080", "de", True),
        ("TV", "de", True),
    ],
)
def test_a_suffix_follows_the_last_vowel(stem: str, suffix: str, fits: bool) -> None:
    assert has_harmony(stem, suffix) is fits


@pytest.mark.parametrize(
    ("raw", "suffix", "case", "stem"),
    [
        ("Ankara", "da", "loc", "Ankara"),
        ("evde", "", "loc", "ev"),
        ("okulda", "", "loc", "okul"),
        ("köyda", "", "loc", None),
        ("kahveyi", "", "acc", "kahve"),
        ("çayı", "", "acc", "çay"),
        ("çocuğu", "", "acc", "çocuk"),
        ("mavi", "", "acc", None),
        ("projenin", "", "gen", "proje"),
        ("ürünün", "", "gen", "ürün"),
        ("Ayşe", "nin", "gen", "Ayşe"),
        ("Ayşe", "de", "gen", None),
        ("kedilerden", "", "abl", "kediler"),
        ("fıstığa", "", "dat", "fıstık"),
        ("veritabanını", "", "acc", "veritabanı"),
        ("ev", "", "loc", None),
        ("", "", "loc", None),
    ],
)
def test_a_case_comes_off_and_leaves_the_noun(
    raw: str, suffix: str, case: Case, stem: str | None
) -> None:
    assert strip_case(raw, suffix, case) == stem


@pytest.mark.parametrize(
    ("noun", "mine", "his"),
    [
        ("ev", "evim", "evi"),
        ("renk", "rengim", "rengi"),
        ("çocuk", "çocuğum", "çocuğu"),
        ("araba", "arabam", "arabası"),
        ("isim/ism", "ismim", "ismi"),
        ("kitap", "kitabım", "kitabı"),
        ("köpek", "köpeğim", "köpeği"),
        ("yüz", "yüzüm", "yüzü"),
    ],
)
def test_possessives_of_a_noun(noun: str, mine: str, his: str) -> None:
    forms = set(possessed(noun))
    assert (1, plain(mine)) in forms
    assert (3, plain(his)) in forms


@pytest.mark.parametrize(
    ("stem", "aorist", "form", "person", "polarity", "tense", "modality"),
    [
        ("yaşa", "yaşar", "yaşıyorum", 1, True, "present", "asserted"),
        ("yaşa", "yaşar", "yaşamıyorum", 1, False, "present", "asserted"),
        ("oyna", "oynar", "oynuyor", 3, True, "present", "asserted"),
        ("sev", "sever", "severim", 1, True, "present", "asserted"),
        ("sev", "sever", "sevmem", 1, False, "present", "asserted"),
        ("sev", "sever", "sevmez", 3, False, "present", "asserted"),
        ("git", "gider", "gidiyorum", 1, True, "present", "asserted"),
        ("git", "gider", "gittim", 1, True, "past", "asserted"),
        ("git", "gider", "gideceğim", 1, True, "future", "planned"),
        ("ye", "yer", "yiyorum", 1, True, "present", "asserted"),
        ("taşın", "taşınır", "taşınmış", 3, True, "past", "reported"),
        ("geç", "geçer", "geçtik", 1, True, "past", "asserted"),
        ("kullan", "kullanır", "kullanmayacağım", 1, False, "future", "planned"),
    ],
)
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


def test_to_be_is_a_suffix() -> None:
    assert strip_copula("renktir", "") == "renk"
    assert strip_copula("mavidir", "") == "mavi"
    assert strip_copula("Bodur", "") == "Bodur"
    assert strip_copula("kadir", "") == "kadir"

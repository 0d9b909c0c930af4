"""Two spellings of one value are equal, and two values are not."""

from __future__ import annotations

import pytest

from spector.language.frames import forms_differ, normal_value

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

"""A name that is also a month or a day is no date, and minutes and hours are noted to the minute.

Damage without it: a sister who is called June gets a date written behind her name; "in 20 minutes"
is told an hour later as if it lay ahead. Guard: names by what stands around them, moments, and days
of which no clause tells the year.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from spector.language.dates import dates_in, moments_in

DAY = date(2026, 6, 15)
NOW = datetime(2026, 6, 15, 23, 50, tzinfo=UTC)


def noted(text: str) -> list[str]:
    return [each.iso for each in dates_in(text, DAY) if not each.vague]


@pytest.mark.parametrize(
    "text",
    [
        "My niece April plays chess.",
        "We gave the keys to June.",
        "He read it on saturday.io.",
        "She edits the Friday Gazette.",
        "Our boat is called Tomorrow.",
        "I saw August dance.",
        "Her favourite song is called Sunday.",
        "The Monday Club has moved.",
        "Yeğenim Nisan satranç oynuyor.",
    ],
)
def test_a_name_is_no_date(text: str) -> None:
    assert noted(text) == []


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("In April she played chess.", "2026-04"),
        ("Tomorrow Olga arrives.", "2026-06-16"),
        ("On Friday Olga arrives.", "2026-06-19"),
        ("I met August in August.", "2025-08"),
        ("The match is on Sunday.", "2026-06-21"),
        ("We fly next May.", "2027-05"),
    ],
)
def test_a_day_beside_a_name_is_a_date(text: str, iso: str) -> None:
    assert noted(text) == [iso]


@pytest.mark.parametrize("text", ["3 May: Riga.", "Riga, 3 May", "end of July"])
def test_where_nothing_tells_the_year_none_is_noted(text: str) -> None:
    assert noted(text) == []


def test_what_was_moved_from_a_day_to_another_is_no_span() -> None:
    found = noted("The match was moved from Wednesday to Saturday.")
    assert found == ["2026-06-17", "2026-06-20"]
    assert noted("We stay from Wednesday to Saturday.") == ["2026-06-17/2026-06-20"]


@pytest.mark.parametrize(
    ("text", "turkish", "iso"),
    [
        ("Wake me in 20 minutes.", False, "2026-06-16 00:10"),
        ("The bus left half an hour ago.", False, "2026-06-15 23:20"),
        ("We land in two hours.", False, "2026-06-16 01:50"),
        ("Yirmi dakika önce geldi.", True, "2026-06-15 23:30"),
        ("Yarım saat sonra çıkıyoruz.", True, "2026-06-16 00:20"),
        ("I ran it in 20 minutes.", False, None),
        ("A few minutes ago it rang.", False, None),
        ("It takes 20 minutes.", False, None),
    ],
)
def test_minutes_and_hours_are_moments(text: str, turkish: bool, iso: str | None) -> None:
    assert [each.iso for each in moments_in(text, NOW, turkish=turkish)] == ([iso] if iso else [])

"""Dates are read where they stand and resolved to days.

Mechanism: one grammar a language over closed words. Damage without it: "next Friday" of a message
is another day when the memory is read. Guard: sentences of our own, in both languages, and
properties over any text.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.language.dates import DateExpression, dates_in, iso_of, moments_in
from tests.cases import Cases

cases = Cases(__file__)

#: a Wednesday
TODAY = date(2026, 11, 25)


def found(text: str, today: date = TODAY) -> list[str]:
    return [iso_of(each.period, each.grain) for each in dates_in(text, today)]


@cases("text", "day")
def test_a_day_is_read(text: str, day: str) -> None:
    assert found(text)[:1] == [day]


@cases("text", "range_")
def test_a_range_is_read(text: str, range_: str) -> None:
    assert found(text)[:1] == [range_]


@cases("text")
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_both_readings_are_kept_and_the_tense_decides() -> None:
    (past,) = dates_in("we met on Monday", TODAY)
    (ahead,) = dates_in("we will meet on Monday", TODAY)
    assert past.periods == ahead.periods
    assert [str(each.first) for each in past.periods] == ["2026-11-23", "2026-11-30"]
    assert past.period == past.periods[0]
    assert ahead.period == ahead.periods[-1]


def test_a_step_holds_for_both_weekdays() -> None:
    assert found("next Tuesday and Wednesday I am off") == ["2026-12-01", "2026-12-02"]


@cases("text", "named")
def test_what_is_named_is_as_exact_as_the_words(text: str, named: str) -> None:
    assert [each.iso for each in dates_in(text, TODAY)] == [named]


def test_a_noun_is_no_verb() -> None:
    assert found("Toplantı 15 Aralık'ta") == ["2026-12-15"]
    assert found("Toplantı 15 Aralık'ta bitti") == ["2025-12-15"]


def test_the_29th_of_february_is_in_a_leap_year() -> None:
    (one,) = dates_in("on February 29", date(2027, 3, 1))
    assert [str(each.first) for each in one.periods] == ["2024-02-29", "2028-02-29"]


def test_vague_times_say_so() -> None:
    (one,) = dates_in("a few days ago I called", TODAY)
    assert one.vague
    (other,) = dates_in("birkaç gün önce aradım", TODAY)
    assert other.vague


def test_marks_that_stand_apart_are_read_as_letters() -> None:
    text = unicodedata.normalize("NFD", "geçen pazartesi dün yağmur")
    spans = [text[each.start : each.end] for each in dates_in(text, TODAY)]
    assert [unicodedata.normalize("NFC", each) for each in spans] == ["geçen pazartesi", "dün"]


@pytest.mark.parametrize("today", [date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)])
def test_the_ends_of_the_calendar_are_no_error(today: date) -> None:
    for text in tuple(
        (
            "yesterday | tomorrow | last year | next century | 900 decades ago | "
            "in 9999 years | next Friday | Feb 29 | dün | gelecek yıl | 9999 yıl sonra | "
            "the last 9999 months | Christmas | two weeks before Christmas | "
            "summer of 2999 | last winter | bu kış"
        ).split(" | ")
    ):
        for each in dates_in(text, today):
            iso_of(each.period, each.grain)


WORDS = st.sampled_from(
    """the first last next 3 May 8th 2023 , - / . to from between and of in on at Friday week
    weeks ago before after day end early Christmas two twenty a few q 2 geçen hafta Mayıs ' ın 3
    üçü sonra önce kadar arası ile bu ay yıl 31 12 2024-05-08 5/8 now later or until by
    half""".split()
)


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=60), st.booleans())
def test_any_text_gives_spans_in_order(text: str, turkish: bool) -> None:
    found: list[DateExpression] = dates_in(text, TODAY, turkish=turkish)
    done = 0
    for each in found:
        assert done <= each.start < each.end <= len(text)
        done = each.end
        assert each.period in each.periods
        for period in each.periods:
            if period.first and period.end:
                assert period.first < period.end or period.first.year in (1, 9999)


def test_a_long_text_is_read_in_bounded_steps() -> None:
    text = "the first day of the last week of " * 2_000 + "May 2023"
    assert len(dates_in(text, TODAY)) < 100


# -- What something was moved to lies ahead, and a name that is also a month or a day is no date ----
#
# Damage without it: a wedding that was moved to October is noted for the last one, a weekly
# appointment gets a day, a sister who is called June a date; "in 20 minutes" is told an hour later
# as if it lay ahead.


DAY = date(2026, 6, 15)
NOW = datetime(2026, 6, 15, 23, 50, tzinfo=UTC)


def noted(text: str) -> list[str]:
    return [each.iso for each in dates_in(text, DAY) if not each.vague]


@cases("text", "iso")
def test_what_was_moved_or_booked_lies_ahead(text: str, iso: str) -> None:
    assert [each.iso for each in dates_in(text, DAY)] == [iso]


@cases("text", "isos")
def test_a_name_is_no_date(text: str, isos: list[str]) -> None:
    assert noted(text) == isos


@cases("text", "turkish", "iso")
def test_minutes_and_hours_are_moments(text: str, turkish: bool, iso: str | None) -> None:
    assert [each.iso for each in moments_in(text, NOW, turkish=turkish)] == ([iso] if iso else [])

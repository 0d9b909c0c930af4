"""A day that something was moved to lies ahead, and a day that comes every week is no date.

Damage without it: a wedding that was moved to October is noted for the last one; a weekly
appointment gets a day. Guard: both, and what was so in the past, in two languages.
"""

from __future__ import annotations

from datetime import date

import pytest

from spector.language.dates import dates_in
from tests.cases import Cases

cases = Cases(__file__)

DAY = date(2026, 6, 15)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Lena moved the wedding to October.", "2026-10"),
        ("The launch was postponed to September.", "2026-09"),
        ("my sister is getting married in september", "2026-09"),
        ("We moved here in October.", "2025-10"),
        ("The launch slipped to 3 September.", "2026-09-03"),
        ("Toplantı 3 Eylül'e alındı.", "2026-09-03"),
        ("Elif düğünü ekime aldı.", "2026-10"),
        ("Sınav eylüle ertelendi.", "2026-09"),
    ],
)
def test_a_month_that_something_was_moved_to_is_ahead(text: str, iso: str) -> None:
    assert [each.iso for each in dates_in(text, DAY)] == [iso]


@cases("text", "iso")
def test_what_is_booked_lies_ahead_though_the_booking_is_past(text: str, iso: str) -> None:
    assert [each.iso for each in dates_in(text, DAY)] == [iso]


@pytest.mark.parametrize(
    "text",
    [
        "iki haftada bir salı görüşüyoruz",
        "her gün toplantımız var, cumalar hariç",
        "pazartesileri yüzmeye gidiyorum",
        "Salı günleri yogaya gidiyorum.",
        "ayda bir cuma buluşuyoruz",
    ],
)
def test_a_day_of_every_week_is_no_date(text: str) -> None:
    assert not dates_in(text, DAY, turkish=True)

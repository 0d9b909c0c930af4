"""A day that something was moved to lies ahead, and a day that comes every week is no date.

Damage without it: a wedding that was moved to October is noted for the last one; a weekly
appointment gets a day. Guard: both, and what was so in the past, in two languages.
"""

from __future__ import annotations

from datetime import date

import pytest

import spector
from spector.language.dates import dates_in
from tests.fakes import FakeEmbedder

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


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("I booked the surgery for 12 April.", "2027-04-12"),
        ("We reserved a table for the evening of 12 April.", "2027-04-12"),
        ("I made an appointment for 9 am on 12 April.", "2027-04-12"),
        ("We booked the hotel from 12 April to 15 April.", "2027-04-12/2027-04-15"),
        ("The exam is scheduled on 12 April.", "2027-04-12"),
        ("I postponed the trip until 12 April.", "2027-04-12"),
        ("12 Nisan için otel ayırttık.", "2027-04-12"),
        ("12 Nisan için masa rezerve ettik.", "2027-04-12"),
        ("12 Nisan'a doktordan randevu aldım.", "2027-04-12"),
        ("We married on 12 April.", "2026-04-12"),
        ("I had tickets for 12 April but fell ill.", "2026-04-12"),
        ("I booked a massage for my sister on 12 April.", "2027-04-12"),
        ("I signed my son up for the regatta on 12 April.", "2027-04-12"),
        ("We were invited to a christening on 12 April.", "2027-04-12"),
        ("The deadline was 12 April.", "2026-04-12"),
        ("My appointment on 12 April went well.", "2026-04-12"),
        ("He quit on 12 April.", "2026-04-12"),
        ("12 Nisan'da evlendik.", "2026-04-12"),
        ("12 Nisan için çok ağladım.", "2026-04-12"),
    ],
)
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


def test_an_aside_at_the_end_of_a_statement_is_no_order() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
        kept = memory.observe("İzmir'e taşınmayı düşünüyoruz belki yazın", dry_run=True)
        assert kept.filter is None

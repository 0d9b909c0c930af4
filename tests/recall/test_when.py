"""The time that a cue speaks of.

Mechanism: expressions of time are read from the words of a cue and counted from a given now.
Damage without it: "last week" favours the wrong week, a date meant loosely shuts out the memory
that tells of it, a month that is a verb ("may") moves an answer. Guard: tables of cues with the
days they mean, and changes of a cue or of now that must not, or must, change those days.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector import ManualClock, Memory
from spector.clock import MAX_MS, MIN_MS, MS_PER_DAY, from_ms, to_ms
from spector.kernel.contract.profile import get_profile
from spector.language.cues.intent import Kind
from spector.language.dates import TimeRange, time_range_in
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

#: a Sunday
NOW = to_ms("2026-11-22T11:00:00Z")


def spans_of(time: TimeRange | None) -> list[tuple[str, str]]:
    """First and last day of each span."""
    if time is None:
        return []
    return [(_iso(a), _iso(b - 1)) for a, b in time.spans]


def _iso(ms: int) -> str:
    return from_ms(ms).date().isoformat()


@cases("cue", "first", "last")
def test_a_cue_means_these_days(cue: str, first: str, last: str) -> None:
    assert spans_of(time_range_in(cue, NOW)) == [(first, last)]


@cases("cue")
def test_words_that_only_look_like_time_mean_none(cue: str) -> None:
    assert time_range_in(cue, NOW) is None


def test_a_date_without_a_year_means_every_year_of_the_store() -> None:
    found = spans_of(time_range_in("What did Ann paint in October?", NOW, years=(2022, 2023)))
    assert found == [("2022-10-01", "2022-10-31"), ("2023-10-01", "2023-10-31")]


def test_a_date_without_a_year_is_the_last_one_where_the_store_says_nothing() -> None:
    assert spans_of(time_range_in("on 24 December", NOW)) == [("2025-12-24", "2025-12-24")]


def test_a_number_is_a_year_when_the_store_has_that_year() -> None:
    assert time_range_in("Project 2048", NOW, years=(2023,)) is None
    found = time_range_in("Project 2048", NOW, years=(2048,))
    assert spans_of(found) == [("2048-01-01", "2048-12-31")]


def test_a_day_and_a_month_in_either_order_are_two_alternatives() -> None:
    found = spans_of(time_range_in("8/5/2023", NOW))
    assert found == [("2023-05-08", "2023-05-08"), ("2023-08-05", "2023-08-05")]


@pytest.mark.parametrize("kind", [Kind.TALK, Kind.REQUEST])
def test_plans_in_talk_and_requests_are_no_times_of_memories(kind: Kind) -> None:
    assert time_range_in("What should I wear tomorrow?", NOW, kind=kind) is None
    assert time_range_in("What should I do next month?", NOW, kind=kind) is None
    assert time_range_in("What do you suggest after the move?", NOW, kind=kind) is None
    assert spans_of(time_range_in("I was born on 8 May 1990.", NOW, kind=kind)) == [
        ("1990-05-08", "1990-05-08")
    ]


@pytest.mark.parametrize("kind", [*Kind])
@pytest.mark.parametrize("cue", ["my messages from last month", "geçen ayki notlarım"])
def test_times_that_are_over_count_in_every_kind_of_cue(cue: str, kind: Kind) -> None:
    assert spans_of(time_range_in(cue, NOW, kind=kind)) == [("2026-10-01", "2026-10-31")]


# -- what must and must not change the answer -----------------------------------------------------

RELATIVE = (
    "last week | yesterday | two weeks ago | the past ten days | last weekend | "
    "on Monday | geçen hafta | üç gün önce | this week"
).split(" | ")


@given(st.sampled_from(RELATIVE), st.integers(-500, 500))
def test_a_later_now_moves_relative_times_by_as_much(cue: str, weeks: int) -> None:
    base, moved = time_range_in(cue, NOW), time_range_in(cue, NOW + weeks * 7 * MS_PER_DAY)
    step = weeks * 7 * MS_PER_DAY
    assert [(a + step, b + step) for a, b in base.spans] == list(moved.spans)


@given(
    st.sampled_from([*RELATIVE, "8 May 2023", "Mayıs 2023", "since May 2022", "we said last week"]),
    st.sampled_from(
        [
            str.upper,
            str.lower,
            str.title,
            lambda cue: f"  {cue} ",
            lambda cue: f"“{cue}”",
            lambda cue: cue.replace("ç", "c").replace("ü", "u").replace("ö", "o"),
        ]
    ),
)
def test_case_marks_and_quotes_do_not_matter(cue: str, change: object) -> None:
    assert callable(change)
    plain, changed = time_range_in(cue, NOW), time_range_in(change(cue), NOW)
    assert plain.spans == changed.spans


@given(st.dates(date(1901, 1, 1), date(2199, 12, 31)))
def test_every_way_to_write_a_date_means_the_same_day(day: date) -> None:
    month = f"{day:%B}"
    ways = [
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"the {day.day}th of {month} {day.year}",
        f"{day.day}.{day.month}.{day.year}",
    ]
    start = to_ms(datetime(day.year, day.month, day.day, tzinfo=UTC))
    for way in ways:
        time = time_range_in(f"What happened on {way}?", NOW)
        assert time is not None, way
        assert time.spans == ((start, start + MS_PER_DAY),), way


FAR = [*cases.rows("FAR"), *RELATIVE]


@given(st.integers(MIN_MS, MAX_MS), st.sampled_from(FAR))
def test_no_now_makes_a_date_overflow(now_ms: int, cue: str) -> None:
    time = time_range_in(cue, now_ms)
    for start, end in time.spans if time else ():
        assert MIN_MS <= start < end <= MAX_MS + 1


@given(st.text())
def test_any_text_has_a_time_or_none(cue: str) -> None:
    time = time_range_in(cue, NOW, years=(2022, 2023))
    assert time is None or time.spans


def test_the_time_of_day_does_not_move_a_day() -> None:
    begin = to_ms("2026-11-22")
    for hours in (0, 12, 23):
        later = begin + int(timedelta(hours=hours) / timedelta(milliseconds=1))
        assert spans_of(time_range_in("yesterday", later)) == [("2026-11-21", "2026-11-21")]


def test_who_asks_for_a_time_sees_what_has_ended_since() -> None:
    clock = spector.ManualClock(NOW)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock) as memory:
        old = memory.remember("the tent was rented", valid_until="2026-11-01", user_id="u")
        plan = memory.remember("a hike with a tent", valid_until="2026-11-28", user_id="u")
        before = memory.remember("Lena lends the tent", user_id="u")
        holds = memory.remember("Omar lends the tent", supersedes=before, user_id="u").id
        memory.remember("the tent of another user", valid_until="2026-11-28", user_id="v")
        clock.advance(days=30)

        def seen(cue: str, **more: Any) -> set[int]:
            return {hit.id for hit in memory.recall(cue, user_id="u", **more)}

        for cue in (
            "When did I hike with the tent?",
            "What day was the hike?",
            "Çadırla ne zaman yürüdüm?",
            "Yürüyüşe hangi gün gittik?",
        ):
            assert seen(cue) == {old.id, plan.id, holds}, cue
        for cue in ("the tent on 28 November 2026", "28 Kasım 2026 günü çadır"):
            assert seen(cue) == {plan.id, holds}, cue
        for cue in ("Who lends the tent?", "When is the hike?", "Yürüyüş ne zaman?", "tent"):
            assert seen(cue) == {holds}, cue
        assert seen("When did I hike?", as_of="2026-12-20") == {holds}


# -- The time that a cue names, in a recall --------------------------------------------------------
#
# Mechanism: an explicit date or a plain relative one ("last week") is a window: what lies outside
# of it is no answer, and where nothing lies in it the answer is empty and says so. Damage without
# it: memories of the right days are lost among those that share a word with the cue. Guard: the
# same memories and cue, the switch on and off.


DIM = 16
FLAT = np.ones(DIM)
DAYS = {
    "the wedding of Ann was lovely": "2023-05-10T12:00:00Z",
    "we drank cocoa by the lake": "2023-05-20T12:00:00Z",
    "we drank lemonade by the lake": "2023-01-20T12:00:00Z",
    "we drank tea by the lake": "2023-11-14T12:00:00Z",
    "we drank milk by the lake": "2023-11-21T12:00:00Z",
}
#: a Wednesday
TODAY = "2023-11-22T12:00:00Z"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=None, dim=DIM, clock=ManualClock(to_ms(TODAY))) as it:
        it.remember_many(
            [{"text": text, "vector": FLAT, "event_time": at} for text, at in DAYS.items()]
        )
        yield it


def asked(memory: Memory, cue: str, k: int = 5, **ranking: object) -> list[str]:
    usual = get_profile("balanced")
    profile = replace(usual, name="test", ranking=replace(usual.ranking, **ranking))  # type: ignore[arg-type]
    return [hit.text for hit in memory.recall(cue, vector=FLAT, k=k, profile=profile)]


@cases("cue")
def test_a_cue_that_names_a_time_restricts_to_it(memory: Memory, cue: str) -> None:
    assert asked(memory, cue) == ["we drank tea by the lake"]
    assert set(asked(memory, cue, by_time=False)) == set(DAYS)


@pytest.fixture
def talk() -> Iterator[Memory]:
    """Many turns in May, one a day in June; now it is Saturday, 20 June."""
    clock = ManualClock(to_ms("2026-05-04T09:00:00Z"))
    with spector.open(":memory:", embedder=None, dim=DIM, clock=clock) as it:
        it.remember_many(
            [{"text": f"mended fence {n}", "vector": FLAT, "role": "user"} for n in range(150)]
        )
        for day in range(1, 20):
            clock.set(to_ms(f"2026-06-{day:02}T09:00:00Z"))
            it.remember(f"walked dog {day}", vector=-FLAT, role="user")
        clock.set(to_ms("2026-06-20T12:00:00Z"))
        yield it


def walked(*days: int) -> set[str]:
    return {f"walked dog {day}" for day in days}


@cases("cue")
def test_what_was_told_or_done_then_is_found_however_far_it_ranks(talk: Memory, cue: str) -> None:
    assert set(asked(talk, cue, 20)) == walked(*range(8, 15))
    assert asked(talk, cue, 3) == asked(talk, cue, 20)[:3]


def test_a_list_of_messages_is_of_those_recorded_then(memory: Memory) -> None:
    """All were remembered today, whenever they happened."""
    assert asked(memory, "my messages from last week") == []
    assert set(asked(memory, "Could I see my notes from today?")) == set(DAYS)


def test_what_is_told_later_follows_where_a_date_is_given(talk: Memory) -> None:
    """Only what is asked of days counted from now is told on them; and a list has all there is."""
    hits = asked(talk, "Who walked with me on 3 June 2026?", 40)
    assert hits[0] == "walked dog 3"
    assert len(hits) == 40
    assert asked(talk, "What happened on 3 June 2026?", 40) == ["walked dog 3"]
    assert len(asked(talk, "Which fence did I mend a few days ago?", 40)) == 40
    assert len(asked(talk, "Which fence did I mend over the past few days?", 40)) == 40


@cases("cue")
def test_a_time_on_the_way_orders_and_leaves_nothing_out(talk: Memory, cue: str) -> None:
    hits = asked(talk, cue, 50)
    assert hits[0] in walked(*range(1, 20))
    assert len(hits) == 50


def test_a_cue_about_the_telling_asks_when_it_was_told(memory: Memory) -> None:
    """All were remembered today, whenever they happened."""
    assert asked(memory, "Last week, what did we say about the lake?") == []
    assert set(asked(memory, "What did I tell you today?")) == set(DAYS)


def test_the_best_of_all_is_no_answer_outside_of_the_time(memory: Memory) -> None:
    cue = "Which wedding was it in November 2023?"
    best = asked(memory, cue, by_time=False)[0]
    assert best == "the wedding of Ann was lovely"
    inside = [f"November, day {n}" for n in range(9)]
    memory.remember_many(
        [{"text": text, "vector": FLAT, "event_time": "2023-11-15"} for text in inside]
    )
    hits = asked(memory, cue)
    assert len(hits) == 5
    assert set(hits) <= {*inside, "we drank tea by the lake", "we drank milk by the lake"}


def test_a_memory_of_the_time_is_found_wherever_it_ranks(memory: Memory) -> None:
    memory.remember_many(
        [
            {
                "text": f"we drank tea by the lake, as on {n} others",
                "vector": FLAT,
                "event_time": "2022-03-01",
            }
            for n in range(60)
        ]
    )
    away = memory.remember("cocoa", vector=-FLAT, event_time="2021-07-04").text
    assert asked(memory, "What did we drink by the lake on 4 July 2021?")[0] == away


@pytest.mark.parametrize("cue", ["What did we drink on 3 May 2020?", "Where are we next week?"])
def test_a_time_that_no_memory_is_from_is_answered_with_that(memory: Memory, cue: str) -> None:
    hits = memory.recall(cue, vector=FLAT)
    assert (list(hits), hits.abstained) == ([], True)
    assert hits.reason.startswith("nothing lies in the time that is asked for, 202")


def test_what_should_be_tomorrow_asks_for_no_time(memory: Memory) -> None:
    cue = "What should we drink tomorrow?"
    assert asked(memory, cue) == asked(memory, cue, by_time=False)


def test_a_given_range_of_times_holds_whatever_the_cue_says(memory: Memory) -> None:
    hits = memory.recall(
        "What did we drink last week?", vector=FLAT, time_range=("2023-05-01", "2023-06-01")
    )
    assert {hit.text for hit in hits} == {
        "the wedding of Ann was lovely",
        "we drank cocoa by the lake",
    }

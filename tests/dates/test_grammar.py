"""Rows of a table are read as the grammar says, and a table that names what there is not is refused.

Damage without it: a row with a misspelt class raises in the middle of a message, or never reads
anything. Guard: a small grammar for each mark of an item, and the tables that ship.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.clock import MAX_MS, MIN_MS, to_ms
from spector.language.dates import dates_in, moments_in, time_range_in
from spector.language.dates.grammar import Grammar, Reader, grammar_of
from spector.language.tables import TableError, grammar_table
from spector.language.words.folding import plain
from tests.cases import Cases

cases = Cases(__file__)

DAY = date(2026, 6, 15)


def grammar(*rows: str, **rules: list[str]) -> Grammar:
    table: dict[str, Any] = {
        "day_first": False,
        "classes": {"fruit": {"apple": 1, "pear": 2, "star fruit": 3}},
        "lists": {"core": "", "colour": "red green"},
        "endings": {"own": "^s$"},
        "patterns": {},
        "rules": {"top": list(rows), **rules},
        "tails": {},
        "cue": {"top": ["<d:fruit> please"]},
    }
    return Grammar(table)


def read(row: str, text: str, at: int = 0) -> tuple[Any, int] | None:
    return Reader(text, DAY, grammar(row)).rule("top", at)


@cases("row", "text", "at", "end")
def test_an_item_is_read_by_its_mark(row: str, text: str, at: int, end: int) -> None:
    found = read(row, text, at)
    assert found[1] == end


@cases("row", "text", "at")
def test_a_row_that_does_not_stand_there_reads_nothing(row: str, text: str, at: int) -> None:
    assert read(row, text, at) is None


def test_the_longest_row_of_a_rule_counts_and_tells_its_value() -> None:
    rule = grammar("<d:fruit>", "<d:pair>", pair=["<fruit> and <d:fruit>"])
    assert Reader("apple and pear", DAY, rule).rule("top", 0) == (2, 3)


def test_a_rule_that_begins_with_itself_ends() -> None:
    rule = grammar("<d:top> pie", "<d:fruit>")
    assert Reader("pear pie", DAY, rule).rule("top", 0) == (2, 1)


@pytest.mark.parametrize("row", ["<m:vegetable>", "<d:fruit> => no_such_meaning"])
def test_a_table_with_an_unknown_name_is_refused(row: str) -> None:
    with pytest.raises(TableError, match=r"vegetable|no_such_meaning"):
        grammar(row)


@pytest.mark.parametrize("language", ["en", "tr"])
def test_the_tables_that_ship_are_folded_and_known(language: str) -> None:
    for cue in (False, True):
        assert grammar_of(language, cue=cue).cue is cue
    table = grammar_table(language, "dates")
    words = [word for of in table["classes"].values() for word in of]
    words += [word for of in table["lists"].values() for word in of.split()]
    assert [word for word in words if plain(word) != word] == []


def words_of(language: str) -> list[str]:
    table = grammar_table(language, "dates")
    words = [word for of in table["classes"].values() for word in of]
    words += [word.replace("_", " ") for of in table["lists"].values() for word in of.split()]
    return words + "1 3 12 31 90 1990 2023 9999 - / . , ' of in the ago from ' in ' dan".split()


HEAPS = st.sampled_from(["en", "tr"]).flatmap(
    lambda language: st.tuples(
        st.just(language),
        st.lists(st.sampled_from(words_of(language)), min_size=1, max_size=8).map(" ".join),
    )
)
DAYS = st.sampled_from([DAY, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29)])


@given(HEAPS, DAYS)
def test_any_heap_of_words_of_a_table_is_read(heap: tuple[str, str], day: date) -> None:
    language, text = heap
    now = datetime(day.year, day.month, day.day, tzinfo=UTC)
    for each in dates_in(text, day, turkish=language == "tr"):
        assert each.period in each.periods
        assert 0 <= each.start < each.end <= len(text)
    for moment in moments_in(text, now, turkish=language == "tr"):
        assert 0 <= moment.start < moment.end <= len(text)
    time = time_range_in(text, to_ms(now), years=(2022, 2023))
    for start, end in time.spans if time else ():
        assert MIN_MS <= start < end <= MAX_MS + 1


def test_a_month_of_a_year_ahead_is_read() -> None:
    (found,) = dates_in("gelecek yılın nisan ayında taşınıyorum", DAY)
    assert found.iso == "2027-04"

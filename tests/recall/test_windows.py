"""A cue that names a time is answered with what lies in it, or with nothing and the reason.

Mechanism: hits are those of the time, by when they happened or by a day that they name. Damage
without it: "what did I do yesterday?" is answered with ten memories of last year.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import spector
from spector import ManualClock, Memory
from tests.fakes import FakeEmbedder


@pytest.fixture
def memory() -> Iterator[Memory]:
    clock = ManualClock(datetime(2026, 6, 1, 9, tzinfo=UTC))  # a Monday
    with spector.open(":memory:", embedder=FakeEmbedder(dim=32), clock=clock) as made:
        made.observe("I had dumplings with Irma.")
        clock.advance(days=3)
        made.observe("I went to the planetarium yesterday.")
        made.observe("My ferry to Hvar is on 20 July.")
        clock.advance(days=6)
        made.observe("The vet is next Tuesday.")
        clock.advance(days=1)
        yield made


@pytest.mark.parametrize(
    ("cue", "words"),
    [
        ("What did I do on 1 June?", ["dumplings"]),
        ("Where did I go eight days ago?", ["planetarium"]),
        ("What happens in July?", ["ferry"]),
        ("Who did I eat with last Monday?", ["dumplings"]),
        ("What is on Tuesday?", ["vet"]),
        ("What did I tell you yesterday?", ["vet"]),
        ("What did I do last week?", ["dumplings", "planetarium", "ferry"]),
    ],
)
def test_what_lies_in_the_time_of_the_cue_is_returned(
    memory: Memory, cue: str, words: list[str]
) -> None:
    texts = [hit.text for hit in memory.recall(cue)]
    assert len(texts) == len(words)
    assert all(any(word in text for text in texts) for word in words)


@pytest.mark.parametrize(
    ("cue", "time"),
    [
        ("What did I do in April?", "2026-04-01 to 2026-04-30"),
        ("What did I do three days ago?", "2026-06-08"),
        ("What is on tomorrow?", "2026-06-12"),
    ],
)
def test_where_nothing_lies_in_it_the_answer_is_empty_and_says_so(
    memory: Memory, cue: str, time: str
) -> None:
    hits = memory.recall(cue)
    assert (list(hits), hits.abstained) == ([], True)
    assert time in hits.reason
    assert time in memory.context(cue).reason


@pytest.mark.parametrize("cue", ["Who came along on 3 June 2026?", "Who moved on 20 July 2026?"])
def test_what_names_the_day_comes_before_what_may_be_of_it(memory: Memory, cue: str) -> None:
    said = [hit.record.said for hit in memory.recall(cue)]
    assert said[0].endswith("planetarium yesterday." if "June" in cue else "20 July.")
    assert len(said) == 4

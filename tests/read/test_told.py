"""Memories that tell of another day than the one they were told on.

Mechanism: for a cue with a time, the texts of the best candidates are read for times as well.
Damage without it: "last month we went to a fair", said in April, loses every question about March.
Guard: texts with the days they tell of, and a recall with the term on and off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector import ManualClock, Memory
from spector.clock import MAX_MS, MIN_MS, from_ms, to_ms
from spector.kernel.profile import get_profile
from spector.read.spans import Span
from spector.read.told import nearness, spans_told

TOLD = to_ms("2023-04-12T10:00:00Z")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Last month we went to a fair.", "2023-03-01", "2023-03-31"),
        ("I saw Ann yesterday", "2023-04-11", "2023-04-11"),
        ("We married on 3 May 2019.", None, None),
        ("We marry on 3 May 2023.", "2023-05-03", "2023-05-03"),
        ("this week was wild", "2023-04-10", "2023-04-16"),
        ("We met two days ago", "2023-04-10", "2023-04-10"),
        ("Geçen ay fuara gittik", "2023-03-01", "2023-03-31"),
        ("That was ages ago", None, None),
        ("A few years ago I lived there", None, None),
        ("after the wedding we left", None, None),
        ("", None, None),
    ],
)
def test_what_a_text_tells_of(text: str, first: str | None, last: str | None) -> None:
    found = [
        (from_ms(a).date().isoformat(), from_ms(b - 1).date().isoformat())
        for a, b in spans_told(text, TOLD)
    ]
    if "2019" in text:
        assert found == [("2019-05-03", "2019-05-03")]
    else:
        assert found == ([] if first is None else [(first, last)])


@given(st.text(), st.integers(MIN_MS, MAX_MS))
def test_any_text_told_at_any_time_tells_of_short_stretches(text: str, told_ms: int) -> None:
    for start, end in spans_told(f"last week {text}", told_ms):
        assert 0 < end - start <= 400 * 86_400_000


def test_nearness_counts_the_days_between_the_nearest() -> None:
    day = 86_400_000
    asked = (Span(0, day), Span(100 * day, 101 * day))
    assert nearness((Span(100 * day, 102 * day),), asked, 7.0) == 1.0
    assert nearness((Span(108 * day, 109 * day),), asked, 7.0) == pytest.approx(np.exp(-1))
    assert nearness((Span(92 * day, 93 * day),), asked, 7.0) == pytest.approx(np.exp(-1))
    assert nearness((), asked, 7.0) == nearness(asked, (), 7.0) == 0.0


DIM = 16
FLAT = np.ones(DIM)


@pytest.fixture
def memory() -> Iterator[Memory]:
    clock = ManualClock(to_ms("2023-09-01T12:00:00Z"))
    with spector.open(":memory:", embedder=None, dim=DIM, clock=clock) as it:
        it.remember_many([
            {"text": text, "vector": FLAT, "event_time": at}
            for text, at in (
                ("last month we went to a fair", "2023-04-28"),
                ("some time we went to a fair", "2023-04-28"),
                ("next year we went to a fair", "2023-07-28"),
            )
        ])  # fmt: skip
        yield it


def _told(memory: Memory, cue: str, weight: float) -> dict[str, float]:
    usual = get_profile("balanced")
    profile = replace(usual, name="test", ranking=replace(usual.ranking, told=weight))
    hits = memory.recall(cue, vector=FLAT, k=3, profile=profile)
    for hit in hits:
        assert hit.explain().score == pytest.approx(hit.score)
    return {hit.text.split()[0]: hit.explain().evidence.get("told", 0.0) for hit in hits}


def test_a_memory_is_favoured_for_the_days_it_tells_of(memory: Memory) -> None:
    on = _told(memory, "What fair was there in March 2023?", 1.5)
    assert next(iter(on)) == "last"
    assert on["last"] > 0
    assert on["some"] == 0
    twice = _told(memory, "What fair was there in March 2023?", 3.0)
    assert twice["last"] == pytest.approx(2 * on["last"])


def test_without_weight_or_time_nothing_is_read(memory: Memory) -> None:
    assert set(_told(memory, "What fair was there in March 2023?", 0.0).values()) == {0.0}
    assert set(_told(memory, "What fair was there?", 1.5).values()) == {0.0}


def test_a_forgotten_text_leaves_nothing_behind(memory: Memory) -> None:
    cue = "What fair was there in March 2023?"
    first = memory.recall(cue, vector=FLAT, k=1)[0]
    memory.forget(first.id)
    assert "last" not in _told(memory, cue, 1.5)
    memory.remember("we went to a fair", vector=FLAT, event_time="2023-04-28")
    assert _told(memory, cue, 1.5)["we"] == 0.0


@pytest.mark.parametrize(
    ("cue", "rank_all"),
    [
        ("What fair was there in March 2023?", 10_000), ("What fair was there in March 2023?", 50),
        ("Last week, what did we say about fairs?", 10_000),
        ("Last week, what did we say about fairs?", 50),
        # (of a large store only candidates by score and words are looked at beside a long range)
        ("What was there after the opening?", 10_000),
    ],
)  # fmt: skip
def test_more_hits_never_change_the_order_of_fewer(cue: str, rank_all: int) -> None:
    rng = np.random.default_rng(3)
    clock = ManualClock(to_ms("2023-09-01T12:00:00Z"))
    config = spector.Config(rank_all_records=rank_all)
    with spector.open(":memory:", embedder=None, dim=DIM, clock=clock, config=config) as memory:
        memory.remember_many([
            {"text": f"{when} there was a fair, number {n}, at the opening", "role": "Ann",
             "vector": FLAT + rng.normal(size=DIM),
             "event_time": from_ms(to_ms("2023-02-01") + n * 86_400_000 // 2)}
            for n, when in enumerate(["last month", "once", "yesterday", "on 3 March 2023"] * 90)
        ])  # fmt: skip
        few, more, all_of = (
            [hit.id for hit in memory.recall(cue, vector=FLAT, k=k)] for k in (3, 20, 100)
        )
        again = [hit.id for hit in memory.recall(cue, vector=FLAT, k=20)]
    assert few == more[:3]
    assert more == all_of[:20] == again

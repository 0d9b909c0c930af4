"""Recall of compound cues, part by part.

Mechanism: the parts of a cue are recalled by themselves and their answers merged. Damage without
it: of two people asked about, one takes all the hits. Guard: a store in which one of two topics has
many memories that are like the whole cue.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.errors import InvalidInputError
from spector.recall.merging import merge_answers
from spector.records import Hit, HitList
from tests.fakes import FakeEmbedder

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CUE = "Where does the marmot sleep, and what does the walrus eat?"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=ManualClock(NOW)) as it:
        for n in range(12):
            it.remember(f"the marmot sleeps in burrow number {n}", role="Ann")
        it.remember("a walrus takes clams", role="Bob")
        yield it


def answer(memory: Memory, scores: dict[str, float]) -> HitList:
    """An answer with these scores."""
    found = {hit.text: hit for hit in memory.recall(k=50)}
    return HitList(
        [
            Hit(record=found[text].record, score=score, explainer=found[text].explain)
            for text, score in scores.items()
        ]
    )


def test_each_part_of_a_compound_cue_has_its_say(memory: Memory) -> None:
    marmots = {f"the marmot sleeps in burrow number {n}": 2.0 - 0.1 * n for n in range(12)}
    walrus = "a walrus takes clams"
    whole = answer(memory, {**marmots, walrus: 0.5})
    one, two = answer(memory, marmots), answer(memory, {walrus: 9.0, **dict.fromkeys(marmots, 6.0)})
    assert walrus not in [hit.text for hit in merge_answers([whole], 5)]
    assert walrus in [hit.text for hit in merge_answers([whole, one, two], 5)]
    # only what stands out counts, not how high all scores of a part are
    flat = answer(memory, dict.fromkeys(reversed(marmots), 100.0))
    alone = [hit.id for hit in merge_answers([whole], 5)]
    assert [hit.id for hit in merge_answers([whole, flat], 5)] == alone


def test_a_cue_without_a_seam_is_answered_as_ever(memory: Memory) -> None:
    cue = "Where does the marmot sleep?"
    one, two = (memory.recall(cue, k=5, compound=on) for on in (False, True))
    assert [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in two]


def test_a_merged_score_is_explained_to_the_end(memory: Memory) -> None:
    hits = memory.recall(CUE, k=5, compound=True)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        why = hit.explain()
        assert "parts" in why.evidence
        assert why.score == pytest.approx(hit.score)
        assert hit.record.text == hit.text


def test_people_known_to_the_store_are_asked_about_one_by_one(memory: Memory) -> None:
    hits = memory.recall("What do Ann and Bob say?", k=3, compound=True)
    assert any("parts" in hit.explain().evidence for hit in hits)


def test_compound_is_a_switch(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="compound"):
        memory.recall(CUE, compound="yes")  # type: ignore[arg-type]

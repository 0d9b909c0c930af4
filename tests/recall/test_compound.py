"""Recall of compound cues, part by part.

Mechanism: the parts of a cue are recalled by themselves and their answers merged. Damage without
it: of two people asked about, one takes all the hits. Guard: a store in which one of two topics has
many memories that are like the whole cue.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from bench.recall import sets
from spector import Memory
from spector.clock import ManualClock
from spector.language.cues.intent import MOST_PARTS, split_cue
from spector.recall.recaller import merge_answers
from spector.records import Hit, HitList
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

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


# -- Compound cues taken apart ---------------------------------------------------------------------
#
# Mechanism: a cue with a clear seam is recalled part by part. Damage without it: of two things
# asked for, the one with more words takes all the hits; of one thing asked for, half a question is
# looked up. Guard: a table of seams, and cues without one that must stay whole.


PEOPLE = ["Ann", "Bob", "Cem", "Ayşe", "user", "assistant"]


@cases("cue", "parts")
def test_a_compound_cue_is_taken_apart_at_its_seams(cue: str, parts: list[str]) -> None:
    assert split_cue(cue, PEOPLE) == parts


@cases("cue")
def test_a_cue_without_a_seam_stays_whole(cue: str) -> None:
    assert split_cue(cue, PEOPLE) == [cue]


def test_only_people_of_the_store_make_a_list() -> None:
    assert len(split_cue("What do Trinidad and Tobago grow?", PEOPLE)) == 1
    assert len(split_cue("What do Ann and Bob grow?", PEOPLE)) == 2
    assert len(split_cue("What do Ann and Bob grow?")) == 1


def test_a_pronoun_of_two_people_stays() -> None:
    parts = split_cue("Did Ann meet Bob? What did she tell him?", PEOPLE)
    assert parts == ["Did Ann meet Bob?", "What did she tell him?"]


def test_no_more_than_four_parts_and_no_word_is_lost() -> None:
    cue = " ".join(f"Where is the place{n}?" for n in range(9))
    parts = split_cue(cue)
    assert len(parts) == MOST_PARTS
    assert " ".join(parts) == cue


@given(st.text(), st.lists(st.sampled_from(PEOPLE), max_size=3))
def test_any_text_has_one_to_four_parts(cue: str, people: list[str]) -> None:
    parts = split_cue(cue, people)
    assert 1 <= len(parts) <= MOST_PARTS
    assert len(parts) == len(set(parts))


@given(
    st.lists(
        st.sampled_from(
            "what where Ann Bob and , ? she her his did is also ve nerede both the x y".split()
        ),
        max_size=25,
    ).map(" ".join)
)
def test_parts_of_any_heap_of_words_say_something(cue: str) -> None:
    parts = split_cue(cue, PEOPLE)
    assert parts == [cue] or all(part.strip() for part in parts)


@pytest.mark.needs_data
def test_situations_are_never_taken_apart() -> None:
    try:
        questions = sets.load("madial").questions
    except sets.NoDataError as error:
        pytest.skip(str(error))
    assert all(split_cue(question.cue) == [question.cue] for question in questions)

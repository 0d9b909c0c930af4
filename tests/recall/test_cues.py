"""A cue beyond the limit is read by its first sentence and its end.

Mechanism: such a cue was refused. Damage: a user who pasted a log behind a question, or a question
behind a log, got an error in place of a memory. Guard: what is asked stands first or last, so both
are read, within the limit, and the answer says so.
"""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector import Config, Memory
from spector.language.cues.need import shorten_cue
from spector.language.statements.quoting import cue_words, excerpt
from spector.recall.recaller import hypotheses
from spector.search.probes import Limits
from tests.fakes import FakeEmbedder

FILLER = "line of the log with nothing in it "
QUESTION = "Where is the spare key of the shed?"


@pytest.fixture
def shed() -> Memory:
    memory = spector.open(
        ":memory:", embedder=FakeEmbedder(dim=64), config=Config(max_cue_bytes=400)
    )
    memory.remember_many([f"note {n} about something else" for n in range(20)])
    memory.remember("The spare key of the shed hangs behind the clock.")
    return memory


@pytest.mark.parametrize("cue", [f"{QUESTION} {FILLER * 90}", f"{FILLER * 90}. {QUESTION}"])
def test_a_question_before_or_behind_a_long_text_is_answered(shed: Memory, cue: str) -> None:
    with shed as memory:
        hits = memory.recall(cue, k=3)
        assert "behind the clock" in hits[0].text
        (note,) = hits.notes
        assert str(len(cue)) in note
        assert "400" in note
        context = memory.context(cue)
        assert "behind the clock" in context.text
        assert context.notes == (note,)
        assert context.to_dict()["notes"] == [note]
        assert memory.recall(QUESTION).notes == ()


def test_what_is_read_is_whole_words_of_both_ends() -> None:
    text = "First of all. " + "".join(f"word{n} " for n in range(2_000)) + "Who did it?"
    read = shorten_cue(text, 300)
    assert read.startswith("First of all. \u2026 word")
    assert read.endswith("word1999 Who did it?")
    assert set(read.split()) - {"\u2026"} <= set(text.split())
    assert 200 < len(read.encode()) <= 300


@given(st.text(min_size=1), st.integers(1, 200))
def test_it_is_never_longer_than_the_limit_and_never_empty(text: str, limit: int) -> None:
    text = text.encode(errors="ignore").decode()
    read = shorten_cue(text, limit)
    assert len(read.encode()) <= max(limit, 4)
    assert shorten_cue(read, limit) == read


def test_it_takes_time_in_proportion_to_the_text() -> None:
    start = time.perf_counter()
    for piece in ("word ", "x", "?", "\n", "\u732b", ". "):
        shorten_cue(piece * 2_000_000, 16_384)
    assert time.perf_counter() - start < 5.0


# -- Excerpts: the part of a long memory that a cue is about ---------------------------------------
#
# Damage guarded against: the sentence that answers is the one that was cut away; an excerpt that
# is larger than its room; words that the memory does not have.


PADDING = "It rained again. Nobody came by. The day was long. "


@pytest.mark.parametrize("before", [0, 1, 30])
@pytest.mark.parametrize("after", [0, 1, 30])
def test_the_sentence_that_the_cue_is_about_stays(before: int, after: int) -> None:
    text = PADDING * before + "Her violins were sold in May. " + PADDING * after
    found = excerpt(text, cue_words("who sold the violin?"), 60, len)
    assert "violins were sold" in found
    assert found.startswith("…") == bool(before)
    assert found.endswith("…") == bool(after)


def test_a_long_sentence_is_cut_around_the_word() -> None:
    text = "and then " * 500 + "the violin " + "and so on " * 500
    found = excerpt(text, cue_words("violin"), 40, len)
    assert "violin" in found
    assert len(found) <= 40


def test_more_room_shows_more() -> None:
    text = PADDING * 5 + "The violin was sold. " + PADDING * 5
    sizes = [len(excerpt(text, cue_words("violin"), room, len)) for room in range(30, 500, 20)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 400


def test_a_cue_without_words_gets_the_beginning() -> None:
    assert excerpt("First this. " + PADDING * 9, cue_words("?!"), 30, len).startswith("First this.")


def test_where_nothing_fits_there_is_nothing() -> None:
    assert excerpt(PADDING, cue_words("day"), 2, len) == ""
    assert excerpt(PADDING, cue_words("day"), 0, lambda text: 1) == ""


@given(st.text(max_size=400), st.text(max_size=30), st.integers(0, 200), st.sampled_from((1, 4)))
def test_an_excerpt_fits_and_is_of_the_text(text: str, cue: str, room: int, per: int) -> None:
    def cost(part: str) -> int:
        return math.ceil(len(part) / per)

    found = excerpt(text, cue_words(cue), room, cost)
    assert not found or cost(found) <= room
    assert found.strip("…").strip() in text


# -- What requests share, "can you recommend", is no evidence for a memory -------------------------


ASKED = "My sister asked me to recommend and suggest something, so I gave her some ideas."
KNOWN = "Films with a lot of violence put me off."
CUE = "Can you recommend a film for tonight?"


def test_what_was_asked_for_before_is_less_near_than_what_is_known() -> None:
    with spector.open(":memory:") as memory:
        memory.remember_many([ASKED, KNOWN])
        request, statement = (
            {hit.text: hit.score for hit in memory.recall(CUE, kind=kind)}
            for kind in ("request", "talk")
        )
        assert request[KNOWN] - request[ASKED] > statement[KNOWN] - statement[ASKED] + 0.05


def test_a_model_whose_vectors_are_not_shipped_is_asked_for_none() -> None:
    assert Limits(FakeEmbedder()).asking() is None
    assert Limits(None).asking() is None


# -- Hypothetical answers from templates -----------------------------------------------------------
#
# Mechanism: the vector that is looked for is the mean of a cue's and of sentences like answers.
# Damage without it: an option that is accepted and ignored. Guard: tables of topics, and a recall
# in which only a sentence like an answer leads to the memory.


@pytest.mark.parametrize("cue", ["", "  ", "?", "a\nb", "x" * 500])
def test_what_has_no_topic_has_no_hypotheses(cue: str) -> None:
    assert hypotheses(cue) == []


def test_a_recall_looks_for_what_an_answer_would_be_like() -> None:
    with spector.open(":memory:", embedder=FakeEmbedder()) as memory:
        memory.remember_many([f"note {n}" for n in range(20)])
        memory.remember("We talked about glaciers")
        cue, profile = "tell me about glaciers", "similarity"
        plain, hyde = (
            {hit.text: hit.score for hit in memory.recall(cue, k=21, profile=profile, hyde=on)}
            for on in (False, True)
        )
    assert hyde["We talked about glaciers"] > plain["We talked about glaciers"]


def test_hyde_without_an_embedder_or_a_topic_changes_nothing() -> None:
    clock = spector.ManualClock("2026-03-02T09:00:00Z")
    with spector.open(":memory:", embedder=None, dim=2, clock=clock) as memory:
        memory.remember("x", vector=[1, 0])
        scores = [memory.recall("why x", vector=[1, 0], hyde=on)[0].score for on in (False, True)]
    assert scores[0] == scores[1]

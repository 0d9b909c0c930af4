"""A cue beyond the limit is read by its first sentence and its end.

Mechanism: such a cue was refused. Damage: a user who pasted a log behind a question, or a question
behind a log, got an error in place of a memory. Guard: what is asked stands first or last, so both
are read, within the limit, and the answer says so.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector import Config, Memory
from spector.language.cues.long_cue import shorten_cue
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

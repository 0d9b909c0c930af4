"""Hypothetical answers from templates.

Mechanism: the vector that is looked for is the mean of a cue's and of sentences like answers.
Damage without it: an option that is accepted and ignored. Guard: tables of topics, and a recall in
which only a sentence like an answer leads to the memory.
"""

from __future__ import annotations

import pytest

import spector
from spector.recall.hypothetical import Shape, hypotheses, shape_of
from tests.fakes import FakeEmbedder


@pytest.mark.parametrize(
    ("cue", "shape"),
    [
        ("What is entropy?", Shape.DEFINITION),
        ("What does osmosis mean?", Shape.DEFINITION),
        ("How do I bake bread?", Shape.HOWTO),
        ("Why did Ann leave?", Shape.REASONING),
        ("Where does Ann live?", Shape.LOOKUP),
        ("How many cats has she?", Shape.LOOKUP),
        ("Which error did the build have?", Shape.TECHNICAL),
        ("What music does Ann like?", Shape.PREFERENCE),
        ("rain again", Shape.GENERAL),
        ("Ekmek nasıl yapılır?", Shape.HOWTO),
        ("Ayşe neden gitti?", Shape.REASONING),
        ("Entropi nedir?", Shape.DEFINITION),
        ("Ayşe nerede?", Shape.LOOKUP),
    ],
)
def test_the_shape_of_an_answer(cue: str, shape: Shape) -> None:
    assert shape_of(cue) is shape
    assert shape_of(cue.upper().replace("İ", "I")) is shape


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
    with spector.open(":memory:", embedder=None, dim=2) as memory:
        memory.remember("x", vector=[1, 0])
        scores = [memory.recall("why x", vector=[1, 0], hyde=on)[0].score for on in (False, True)]
    assert scores[0] == scores[1]

"""Answers in other words than the question's are not withheld.

Mechanism: whether to say nothing was decided by how many of the cue's words a memory has, so a cue
that shares none with its answer met with silence, two times out of three. Damage: the one memory
that answers is there, ranked first, and withheld. Guard: one store of the paraphrases of
bench/recall with the model that ships, where words alone would withhold most.
"""

from __future__ import annotations

import pytest

from bench.recall.paraphrases import paraphrases
from bench.recall.product import Mind, Product
from bench.recall.shape import Question
from spector.config import Config
from spector.providers import MiniLMEmbedder
from spector.recall.abstention import judge
from spector.records import HitList, Signals


@pytest.fixture(scope="module")
def answers() -> list[tuple[Question, HitList]]:
    """The questions put to the first store: its own, then those of the others."""
    data, model = paraphrases(), MiniLMEmbedder(threads=1)
    store = data.stores[0]
    vectors = model.embed([item.text for item in store.items])
    cues = model.embed([question.cue for question in data.questions])
    found = []
    with Product().told(store, vectors, model) as mind:
        for question, cue in zip(data.questions, cues, strict=True):
            found.append((question, _recalled(mind, question, cue)))
    return found


def _recalled(mind: Mind, question: Question, cue: object) -> HitList:
    hits = mind._memory.recall(question.cue, vector=cue, k=10)  # type: ignore[arg-type]
    assert hits.signals is not None
    return hits


def _silent(signals: Signals | None) -> bool:
    return judge(signals, Config().abstain_below).silent


@pytest.mark.slow
def test_answers_in_other_words_are_not_withheld(
    answers: list[tuple[Question, HitList]],
) -> None:
    own = [hits for question, hits in answers if question.store == "Ann"]
    assert len(own) == 18
    uncovered = [hits for hits in own if hits.signals and hits.signals.coverage < 0.1]
    assert len(uncovered) >= 12, "words alone would withhold these"
    assert sum(_silent(hits.signals) for hits in own) <= 3

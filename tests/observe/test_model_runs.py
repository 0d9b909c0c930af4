"""The model sees each text of a message once: names and the vector are of the same run.

A head that read a message without its questions and notes had it run a second time, which took a
quarter of what the model takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.language.entities import Whole, entities_of, load_head
from spector.language.entities.extraction import WordVectors
from spector.providers.minilm import MiniLMEmbedder, _LoadedModel

QUESTION = "Yesterday we met Ada Lovelace in Kars. Do you know that town? It was cold."


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens of each window that the model sees."""
    seen: list[int] = []
    hidden = _LoadedModel._hidden

    def noted(self: _LoadedModel, batch: list[Any]) -> NDArray[np.float32]:
        seen.extend(len(ids) for _, ids in batch)
        return hidden(self, batch)

    monkeypatch.setattr(_LoadedModel, "_hidden", noted)
    return seen


def test_a_message_with_a_question_and_a_note_is_run_once(tmp_path: Path, runs: list[int]) -> None:
    with spector.open(tmp_path / "store") as memory:
        result = memory.observe(QUESTION, force=True)
        assert [each.text for each in result.units] != [each.said for each in result.units]
        assert any("lovelace" in each for each in result.entities)
        facts = sum(len(each.facts) for each in result.units)
        assert len(runs) == len(result.units) + facts


class Recorded:
    """Notes which words it is asked about."""

    def __init__(self, inner: WordVectors) -> None:
        self._inner = inner
        self.asked: list[Sequence[str]] = []

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(words))
        return self._inner.word_vectors(words)


def test_names_are_looked_for_in_the_text_alone() -> None:
    """The embedder reads the whole text; what the text does not have names no one."""
    whole = "Tomorrow [2026-11-27] wendover plays. Is Grimsby any good?"
    text = "Tomorrow wendover plays.                       "
    vectors = Recorded(MiniLMEmbedder())
    head = load_head()
    [found] = entities_of(
        [(text, [])], head=head, vectors=vectors, wholes=[Whole(whole, ((8, 21),))]
    )
    assert "Grimsby" in vectors.asked[0]
    assert all(text[each.start : each.end] == each.name for each in found)
    assert not any("Grimsby" in each.name for each in found)

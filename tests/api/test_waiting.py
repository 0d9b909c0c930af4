"""What must not keep others waiting, and what must not be left open.

Mechanism: update embedded its text under the store's lock; a memory that was dropped without close
kept the lock; a cue had no limit. Damage: one slow embedding server stopped all writers; re-running
a notebook cell could not open the store; a pasted log took a minute. Guard: these tests.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import spector
from spector.errors import ImmutableRecordError, InvalidInputError
from tests.fakes import FakeEmbedder


class _Held(FakeEmbedder):
    """Embeds "slow" texts only when it is let."""

    def __init__(self) -> None:
        super().__init__(dim=32)
        self.begun, self.go = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("slow" in text for text in texts):
            self.begun.set()
            assert self.go.wait(200)
        return super().embed(texts)


def test_an_update_that_is_being_embedded_holds_up_no_other_writer(store_path: Path) -> None:
    embedder = _Held()
    with spector.open(store_path, embedder=embedder) as memory:
        first = memory.remember("first")
        thread = threading.Thread(target=lambda: memory.update(first.id, text="slow words"))
        thread.start()
        assert embedder.begun.wait(100)
        done: list[int] = []
        other = threading.Thread(target=lambda: done.append(memory.remember("second").id))
        other.start()
        other.join(100)
        held_up = not done
        embedder.go.set()
        thread.join(100)
        other.join(100)
        assert not held_up
        assert memory.get(first.id).text == "slow words"
        assert memory.recall("slow words", k=1)[0].id == first.id


def test_an_immutable_memory_is_refused_before_anything_is_embedded(store_path: Path) -> None:
    embedder = _Held()
    with spector.open(store_path, embedder=embedder) as memory:
        fixed = memory.remember("fixed", immutable=True)
        with pytest.raises(ImmutableRecordError):
            memory.update(fixed.id, text="slow words")
        assert not embedder.begun.is_set()


def test_a_memory_that_is_dropped_without_close_gives_its_lock_back(store_path: Path) -> None:
    def forgetful() -> None:
        spector.open(store_path, embedder=FakeEmbedder(dim=32)).remember("kept")

    with pytest.warns(ResourceWarning, match="was not closed"):
        forgetful()
    with spector.open(store_path, embedder=FakeEmbedder(dim=32)) as again:
        assert [record.text for record in again] == ["kept"]


def test_of_a_cue_of_many_pages_few_are_embedded(store_path: Path) -> None:
    embedder = FakeEmbedder(dim=32)
    with spector.open(store_path, embedder=embedder) as memory:
        assert "max_cue_bytes" in memory.recall("word " * 10_000).notes[0]
        assert memory.recall("word " * 1_000).notes == ()
        (long,), (short,) = embedder.calls
        assert len(long.encode()) <= spector.Config().max_cue_bytes
        assert short == "word " * 1_000


@pytest.mark.parametrize("name", ["exact", "lexical", "learn"])
def test_a_switch_takes_only_true_and_false(store_path: Path, name: str) -> None:
    with (
        spector.open(store_path, embedder=FakeEmbedder(dim=32)) as memory,
        pytest.raises(InvalidInputError, match=name),
    ):
        memory.recall("x", **{name: "banana"})  # type: ignore[arg-type]

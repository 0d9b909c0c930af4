"""An open memory, and what hangs on it, is neither copied nor pickled.

Mechanism: ``copy`` and ``pickle`` ask an object how to make another one of it. Damage without it: a
copy shares files and lock with its original, and when the copy is dropped it closes both. Guard:
every way of making a second one raises, says what to do instead, and the original goes on. A
shallow copy makes none: it is the memory itself.
"""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import NotCopyableError
from tests.api.helpers import own_vectors, texts, vector
from tests.fakes import FakeEmbedder

COPIES: dict[str, Callable[[Any], object]] = {
    "deepcopy": copy.deepcopy,
    "deepcopy within a dictionary": lambda thing: copy.deepcopy({"agent": [thing]}),
    **{
        f"pickle {n}": lambda thing, n=n: pickle.dumps(thing, protocol=n)  # type: ignore[misc]
        for n in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "reduce": lambda thing: thing.__reduce_ex__(2),
}


@pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)
def test_no_copy_is_made_and_the_original_goes_on(
    store_path: Path, way: Callable[[Any], object]
) -> None:
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("before")
        with pytest.raises(NotCopyableError) as caught:
            way(memory)
        assert isinstance(caught.value, TypeError), "as where a file or a lock is pickled"
        assert "spector.open" in caught.value.hint
        assert "backup" in caught.value.hint
        memory.remember("after")
        assert sorted(texts(memory.recall("after"))) == ["after", "before"]


def test_a_shallow_copy_of_a_memory_is_that_memory(store_path: Path) -> None:
    """What copies its configuration, and holds a memory in it, goes on with the same one."""
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("before")
        again = copy.copy(memory)
        assert again is memory
        del again
        memory.remember("after")
        assert memory.check().ok


def test_another_process_is_told_to_open_the_path(store_path: Path) -> None:
    with own_vectors(store_path) as memory:
        memory.remember("before", vector=vector())
        process = multiprocessing.get_context("spawn").Process(target=len, args=(memory,))
        with pytest.raises(NotCopyableError):
            process.start()
        assert len(memory) == 1


def test_what_a_memory_returns_is_copied_as_ever(store_path: Path) -> None:
    with own_vectors(store_path) as memory:
        record = memory.remember("a lamp", vector=vector(), tags=["t"], metadata={"n": 1})
        hits = memory.recall("a lamp", vector=vector())
        assert copy.deepcopy(record) == record
        assert pickle.loads(pickle.dumps(record)) == record
        again = copy.deepcopy(hits)
        assert [hit.id for hit in again] == [hit.id for hit in hits]
        assert np.isclose(again[0].score, hits[0].score)
    assert again[0].text == "a lamp"
    assert again[0].explain() == hits[0].explain()

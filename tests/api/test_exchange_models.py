"""Vectors that travel by export and import: numbers of one model never enter a store of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spector
from spector import ImportFormatError, ManualClock, Memory, ModelMismatchError
from tests.api.helpers import own_vectors, texts, vectors
from tests.fakes import FakeEmbedder

TEXTS = ["river stone", "violin concerto", "copper kettle"]


@pytest.fixture
def exported(memory: Memory, tmp_path: Path) -> Path:
    """Three memories with the vectors of FakeEmbedder(32)."""
    memory.remember_many(TEXTS)
    memory.export(tmp_path / "out.jsonl", vectors=True)
    return tmp_path / "out.jsonl"


def similarity(memory: Memory, text: str) -> float:
    return memory.recall(text, k=1, lexical=False)[0].explain().values["similarity"]


@pytest.mark.parametrize("dim", [32, 16])
def test_vectors_of_another_model_are_made_again(exported: Path, dim: int) -> None:
    with spector.open(":memory:", embedder=FakeEmbedder(dim, seed=1)) as other:
        assert len(other.import_(exported)) == 3
        for text in TEXTS:
            assert similarity(other, text) > 0.95


class Refusing(FakeEmbedder):
    """Same fingerprint, but any use of it fails the test."""

    def embed(self, texts: object) -> object:  # type: ignore[override]
        raise AssertionError("the vectors in the file were of this model")


def test_vectors_of_the_same_model_are_taken_as_they_are(exported: Path) -> None:
    with spector.open(":memory:", embedder=Refusing()) as other:
        assert len(other.import_(exported)) == 3


def test_without_an_embedder_foreign_vectors_are_a_typed_error(exported: Path) -> None:
    with own_vectors() as other:
        with pytest.raises(ModelMismatchError, match="line 1") as caught:
            other.import_(exported)
        assert "embedder" in caught.value.hint
        assert len(other) == 0


def test_a_store_that_knows_its_model_takes_its_vectors_without_an_embedder(
    exported: Path, store_path: Path, memory: Memory
) -> None:
    memory.close()
    with spector.open(store_path, embedder=None) as again:
        assert len(again.import_(exported)) == 3


def test_vectors_of_one_s_own_need_the_same_length(tmp_path: Path, clock: ManualClock) -> None:
    with own_vectors(clock=clock) as memory:
        memory.remember("x", vector=vectors(1)[0])
        memory.export(tmp_path / "out.jsonl")
    with own_vectors(dim=16) as other, pytest.raises(ImportFormatError, match="32") as caught:
        other.import_(tmp_path / "out.jsonl")
    assert "dim=32" in caught.value.hint
    with spector.open(":memory:", embedder=FakeEmbedder()) as other:
        other.import_(tmp_path / "out.jsonl")
        assert similarity(other, "x") > 0.95


def test_a_byte_order_mark_is_no_part_of_the_first_line(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n')
    assert texts(memory.import_(tmp_path / "in.jsonl")) == ["a", "b"]


def test_parents_that_are_not_in_the_file_are_dropped(memory: Memory, tmp_path: Path) -> None:
    lines = [{"text": "a", "id": 7, "parents": [3]}, {"text": "b", "parents": [7, 9]}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = memory.import_(tmp_path / "in.jsonl")
    assert (first.parents, second.parents) == ((), (first.id,))

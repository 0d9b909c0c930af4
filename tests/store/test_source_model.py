"""A repair whose catalog does not say which model made the vectors finds out, and says so.

Mechanism: the description of a store is one small table. Damage: without it the new store names no
model; every recall by words is refused, and nobody says why. Guard: a model that is named, or the
default one if it has the dimension, is tried on texts whose vectors are whole.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import spector
from spector.errors import EmbeddingError
from tests.fakes import FakeEmbedder

DIM = 384


class _Default(FakeEmbedder):
    """Stands for the default model, which would take a second to load."""


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    made = FakeEmbedder(dim=DIM, seed=5)

    def resolve(name: object, **_: object) -> object:
        return made if name == "default" else name

    monkeypatch.setattr("spector.write.source_models.resolve", resolve)
    return made


def _made(path: Path, embedder: FakeEmbedder | None, dim: int = DIM) -> None:
    with spector.open(path, embedder=embedder, dim=dim) as memory:
        for n in range(20):
            vector = None if embedder else [1.0, n, *[0.0] * (dim - 2)]
            memory.remember(f"sentence number {n}", vector=vector)


def _without_description(path: Path) -> None:
    db = sqlite3.connect(path / "catalog.db")
    with db:
        db.execute("DELETE FROM meta WHERE key IN ('model_id', 'fingerprint')")
    db.close()


def _said(report: spector.RepairReport) -> str:
    return " | ".join(str(note) for note in report.notes)


def test_the_default_model_is_proved_on_texts(tmp_path: Path, default: FakeEmbedder) -> None:
    _made(tmp_path / "mind", default)
    _without_description(tmp_path / "mind")
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert f"taken to be {default.model_id}: it makes the same of 8 texts" in _said(report)
    with spector.open(tmp_path / "saved", embedder=default) as memory:
        assert memory.recall("sentence number 3", k=1)[0].text == "sentence number 3"


def test_a_model_that_makes_others_is_not_taken(tmp_path: Path, default: FakeEmbedder) -> None:
    other = FakeEmbedder(dim=DIM, seed=6)
    _made(tmp_path / "mind", other)
    _without_description(tmp_path / "mind")
    report = spector.repair(tmp_path / "mind", tmp_path / "unnamed")
    assert "makes others of 8 texts" in _said(report)
    with pytest.raises(spector.ModelMismatchError):
        spector.open(tmp_path / "unnamed", embedder=default)
    report = spector.repair(tmp_path / "mind", tmp_path / "saved", embedder=other)
    assert f"taken to be {other.model_id}" in _said(report)
    spector.open(tmp_path / "saved", embedder=other).close()


def test_another_dimension_names_no_model(tmp_path: Path, default: FakeEmbedder) -> None:
    _made(tmp_path / "mind", None, dim=7)
    _without_description(tmp_path / "mind")
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert "nothing says which model made the vectors of 7 dimensions" in _said(report)
    with spector.open(tmp_path / "saved", embedder=None) as memory:
        assert len(list(memory)) == 20


def test_without_a_text_the_dimension_decides_and_is_named(
    tmp_path: Path, default: FakeEmbedder
) -> None:
    _made(tmp_path / "mind", default)
    (tmp_path / "mind" / "catalog.db").unlink()
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert f"taken to be {default.model_id}: it has their {DIM} dimensions" in _said(report)
    spector.open(tmp_path / "saved", embedder=default).close()
    report = spector.repair(tmp_path / "mind", tmp_path / "named", embedder=default)
    assert "you named it" in _said(report)


def test_a_known_default_model_embeds_words_without_being_named(
    tmp_path: Path, default: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mind"
    _made(path, default)
    for part in path.rglob("*.mem"):
        part.unlink()
    report = spector.repair(path, tmp_path / "saved")
    assert (report.kept, report.mended, report.complete) == (20, 20, True)

    def fail(texts: object) -> object:
        raise EmbeddingError("no weights here")

    monkeypatch.setattr(default, "embed", fail)
    report = spector.repair(path, tmp_path / "bare")
    assert (report.kept, len(report.lost)) == (0, 20)
    assert all(loss.text for loss in report.lost)
    with pytest.raises(EmbeddingError):
        spector.repair(path, tmp_path / "named", embedder=default)


def test_a_model_that_is_not_the_store_s_is_named(tmp_path: Path, default: FakeEmbedder) -> None:
    _made(tmp_path / "mind", default)
    report = spector.repair(
        tmp_path / "mind", tmp_path / "saved", embedder=FakeEmbedder(dim=DIM, seed=9)
    )
    assert "is not used: the vectors are of" in _said(report)
    assert report.complete


def test_a_model_is_tried_on_the_words_without_their_speaker(
    tmp_path: Path, default: FakeEmbedder
) -> None:
    with spector.open(tmp_path / "mind", embedder=default) as memory:
        for n in range(20):
            memory.remember(f"user: {n} times", tier="semantic")
    _without_description(tmp_path / "mind")
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert f"taken to be {default.model_id}: it makes the same of 8 texts" in _said(report)

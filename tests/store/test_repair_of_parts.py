"""A repair takes attachments one by one, so a store with more of them than memory is mended.

Mechanism: they go through a file without a name. Damage without it: the repair of a store with many
large attachments needs as much memory as they are large, and ends where there is less. Guard: the
memory that a repair takes with large ones and with small ones, and one under a limit.
"""

from __future__ import annotations

import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

import spector
from spector import ManualClock
from spector.errors import EmbeddingError
from spector.store.files import bad_sectors
from tests.api.helpers import vector
from tests.conftest import NOW
from tests.fakes import FakeEmbedder
from tests.store.spoil import flip, sql

_MIB = 1 << 20


def content(n: int, size: int) -> bytes:
    return hashlib.blake2b(bytes([n % 256, n // 256])).digest() * (size // 64)


def filled(path: Path, count: int, size: int) -> None:
    with spector.open(path, embedder=None, dim=32, clock=ManualClock(NOW)) as memory:
        for first in range(0, count, 8):
            memory.remember_many(
                [
                    {
                        "text": f"note {n}",
                        "vector": vector(n),
                        "key": f"k{n}",
                        "attachment": content(n, size),
                    }
                    for n in range(first, min(first + 8, count))
                ]
            )


def assert_all_there(path: Path, count: int, size: int) -> None:
    with spector.open(path, embedder=None, dim=32, mode="r") as memory:
        assert len(memory) == count
        for n in range(count):
            assert memory.get(key=f"k{n}").attachment() == content(n, size), n
        assert memory.check().ok


def peak_of_repair(source: Path, dest: Path) -> int:
    tracemalloc.start()
    try:
        report = spector.repair(source, dest)
        assert report.complete
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_repair_holds_no_more_than_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bad_sectors, "_BLOCK_BYTES", 1 << 14)
    count, size = 8, _MIB // 4
    peaks = {}
    for each in (64, size):
        filled(tmp_path / f"mind {each}", count, each)
        peaks[each] = peak_of_repair(tmp_path / f"mind {each}", tmp_path / f"mended {each}")
    assert peaks[size] - peaks[64] < 3 * size, peaks
    assert_all_there(tmp_path / f"mended {size}", count, size)
    assert not list((tmp_path / f"mended {size}").rglob("attachments*"))


def test_those_on_pages_without_a_tree_come_too(tmp_path: Path) -> None:
    filled(tmp_path / "mind", 6, 9 * 1024)
    catalog = tmp_path / "mind" / "catalog.db"
    raw = bytearray(catalog.read_bytes())
    raw[100:4096] = bytes(3996)  # the schema
    catalog.write_bytes(raw)
    before = len(os.listdir("/proc/self/fd"))
    report = spector.repair(tmp_path / "mind", tmp_path / "mended")
    assert len(os.listdir("/proc/self/fd")) == before
    assert report.kept == 6
    with spector.open(tmp_path / "mended", embedder=None, dim=32) as memory:
        assert [each.attachment() for each in memory.records()] == [
            content(n, 9 * 1024) for n in range(6)
        ]
        assert memory.check().ok


def test_a_damaged_one_is_listed_and_the_others_are_kept(tmp_path: Path) -> None:
    filled(tmp_path / "mind", 6, 9 * 1024)
    catalog = tmp_path / "mind" / "catalog.db"
    flip(catalog, catalog.read_bytes().index(content(3, 64)) + 5)
    report = spector.repair(tmp_path / "mind", tmp_path / "mended")
    [lost] = report.lost
    assert "attachment" in lost.reason
    with spector.open(tmp_path / "mended", embedder=None, dim=32) as memory:
        found = [each.attachment() for each in memory.records()]
        assert memory.get(key="k3").id == lost.id
        assert found == [None if n == 3 else content(n, 9 * 1024) for n in range(6)]
        assert memory.check().ok


# -- A repair whose catalog does not say which model made the vectors finds out, and says so -------
#
# Mechanism: the description of a store is one small table. Damage: without it the new store names
# no model; every recall by words is refused, and nobody says why. Guard: a model that is named, or
# the default one if it has the dimension, is tried on texts whose vectors are whole.


DIM = 384


class _Default(FakeEmbedder):
    """Stands for the default model, which would take a second to load."""


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    made = FakeEmbedder(dim=DIM, seed=5)

    def resolve(name: object, **_: object) -> object:
        return made if name == "default" else name

    monkeypatch.setattr("spector.write.reembed.resolve", resolve)
    return made


def _made(path: Path, embedder: FakeEmbedder | None, dim: int = DIM) -> None:
    with spector.open(path, embedder=embedder, dim=dim) as memory:
        for n in range(20):
            vector = None if embedder else [1.0, n, *[0.0] * (dim - 2)]
            memory.remember(f"sentence number {n}", vector=vector)


def _without_description(path: Path) -> None:
    sql(path, "DELETE FROM meta WHERE key IN ('model_id', 'fingerprint')")


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

"""Vectors that travel by export and import: numbers of one model never enter a store of another."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import ImportFormatError, ManualClock, Memory, ModelMismatchError
from spector.errors import InvalidInputError
from tests.api.helpers import own_vectors, texts, vectors
from tests.exchange.travels import lines_of
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


# -- An export goes nowhere but to a file outside of its store -------------------------------------


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(8).astype(np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Memory]:
    with spector.open(tmp_path / "store", embedder=None, dim=8) as memory:
        for n in range(5):
            memory.remember(f"memory number {n}", vector=vector(n))
        yield memory


def is_whole(path: Path) -> bool:
    with spector.open(path, mode="r", embedder=None) as memory:
        return memory.check().ok and len(memory) == 5


def files_in(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


@pytest.mark.parametrize("name", ["catalog.db", "LOCK", "new.jsonl", "no/such/folder", "./x/../y"])
@pytest.mark.parametrize("way", ["as it is", "through a link"])
def test_an_export_into_its_own_store_is_refused(
    store: Memory, tmp_path: Path, name: str, way: str
) -> None:
    (tmp_path / "link").symlink_to("store")
    before = files_in(tmp_path / "store")
    target = tmp_path / ("store" if way == "as it is" else "link") / name
    with pytest.raises(InvalidInputError, match="in the store itself"):
        store.export(target)
    store.remember("afterwards", vector=vector(9))
    store.forget(max(record.id for record in store.records()))
    store.close()
    assert files_in(tmp_path / "store") >= before
    assert is_whole(tmp_path / "store")


def test_a_reader_cannot_export_over_a_partition(store: Memory, tmp_path: Path) -> None:
    store.close()
    partition = next((tmp_path / "store").rglob("*.mem"))
    reader = spector.open(tmp_path / "store", mode="r", embedder=None)
    with reader, pytest.raises(InvalidInputError, match="in the store itself"):
        reader.export(partition)
    assert is_whole(tmp_path / "store")


def test_force_on_the_command_line_does_not_change_that(store: Memory, tmp_path: Path) -> None:
    store.close()
    target = tmp_path / "store" / "catalog.db"
    done = subprocess.run(
        [sys.executable, "-m", "spector", "export", str(target.parent), str(target), "--force"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "in the store itself" in done.stderr
    assert is_whole(tmp_path / "store")


def test_what_is_no_file_stays(store: Memory, tmp_path: Path) -> None:
    pipe, folder, device = tmp_path / "pipe", tmp_path / "folder", tmp_path / "device"
    os.mkfifo(pipe)
    folder.mkdir()
    device.symlink_to("/dev/null")
    for place in (pipe, folder, device, f"{folder}/"):
        with pytest.raises(InvalidInputError, match="is not a file"):
            store.export(place)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert device.is_symlink()
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("target", [None, "", "a\0b", 7])
def test_a_name_that_no_file_can_have(store: Memory, target: object) -> None:
    with pytest.raises(InvalidInputError, match="target is"):
        store.export(target)  # type: ignore[arg-type]


def test_a_link_to_a_file_is_replaced_and_not_followed(store: Memory, tmp_path: Path) -> None:
    other, link = tmp_path / "other.txt", tmp_path / "out.jsonl"
    other.write_text("somebody else's")
    link.symlink_to(other)
    assert store.export(link, overwrite=True) == 5
    assert not link.is_symlink()
    assert other.read_text() == "somebody else's"


@pytest.mark.parametrize("source", [None, "", "a\0b", 7])
def test_a_name_that_no_file_to_import_can_have(store: Memory, source: object) -> None:
    with pytest.raises(InvalidInputError, match="source is"):
        store.import_(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["catalog.db", "catalog.db-wal", "LOCK", "semantic/semantic-000.mem"]
)
def test_an_export_takes_the_place_of_no_file_of_another_store(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    """Mechanism: only the store itself was looked at, so another one's catalog was replaced."""
    other = tmp_path / "other"
    with spector.open(other, embedder=None, dim=4) as theirs:
        theirs.remember("theirs", vector=[1, 0, 0, 0], tier="semantic")
    with pytest.raises(InvalidInputError, match="a file of the store at"):
        memory.export(other / name)
    with spector.open(other, embedder=None) as theirs:
        assert len(theirs) == 1
        assert theirs.check().ok
    assert memory.export(other / "export.jsonl") == len(memory), "as any directory"
    assert memory.export(tmp_path / "LOCK") == len(memory), "no store is there"


# An export while others write: no line of a fact without its fact, no tie into nowhere.
#
# Mechanism: memories are walked in batches, and what is known of a batch is read in one moment.
# Damage without it: a fact that is forgotten between the two reads leaves a line without a payload,
# and its import makes a plain text of it. Guard: exports while another thread states and forgets.


def _churn(memory: Memory, stop: threading.Event, errors: list[BaseException]) -> None:
    made: list[int] = []
    n = 0
    try:
        while not stop.is_set():
            n += 1
            source = memory.remember(f"source {n}", user_id="u")
            fact = memory.facts.add(f"subject {n}", "likes", "tea", source=source)
            memory.graph.link(source, fact.id, "causes")
            made += [source.id]
            if len(made) > 20:
                memory.forget(made.pop(0), purge=n % 5 == 0)
    except BaseException as error:
        errors.append(error)
        raise


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_export_shows_memory_and_payload_together(tmp_path: Path) -> None:
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        for n in range(300):  # more than one batch
            memory.remember(f"old {n}", user_id="u")
        stop, errors = threading.Event(), list[BaseException]()
        writer = threading.Thread(target=_churn, args=(memory, stop, errors))
        writer.start()
        try:
            for round_ in range(12):
                file = tmp_path / f"{round_}.jsonl"
                memory.export(file)
                lines = lines_of(file)
                facts = [line for line in lines if line.get("category") == "fact"]
                assert all("fact" in line.get("payload", {}) for line in facts)
                with spector.open(":memory:", embedder=FakeEmbedder()) as other:
                    other.import_(file)
                    report = other.check()
                    assert report.ok, (report, json.dumps(lines)[:2000])
        finally:
            stop.set()
            writer.join()
        assert errors == []


def test_two_imports_at_once_make_each_fact_once(tmp_path: Path) -> None:
    """Both have looked before either has stored: the second look decides."""
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder()) as memory:
        for n in range(40):
            source = memory.remember(f"source {n}", user_id="u")
            memory.facts.add(f"subject {n}", "likes", "tea", source=source)
            memory.concepts.find_or_create(f"concept {n}", user_id="u")
        memory.export(tmp_path / "a.jsonl")
    with spector.open(
        tmp_path / "other", embedder=FakeEmbedder(), config=spector.Config(batch_records=7)
    ) as other:
        errors: list[BaseException] = []

        def load() -> None:
            try:
                other.import_(tmp_path / "a.jsonl")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=load) for _ in range(3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert errors == []
        facts = other.facts.query()
        assert len(facts) == 40
        assert {len(each.sources) for each in facts} == {3}
        assert len(other.concepts.find()) == 40
        assert other.check().ok

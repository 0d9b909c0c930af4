"""Changing the model of a store: never by accident, wholly when asked."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import spector
from spector import (
    EmbeddingError,
    InvalidInputError,
    ManualClock,
    ModelMismatchError,
    StoreLockedError,
    StoreNotFoundError,
)
from tests.api.helpers import fingerprint, ids, own_vectors, texts, vector
from tests.conftest import NOW
from tests.fakes import FailingEmbedder, FakeEmbedder

TEXTS = [f"{word} number {n}" for n, word in enumerate(["river", "stone", "violin", "copper"] * 5)]


@pytest.fixture
def stored(store_path: Path, clock: ManualClock) -> list[dict[str, object]]:
    """What a store of 32 dimensions holds: two tiers, changes, tombstones, a late event."""
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        made = memory.remember_many(TEXTS, user_id="ada", tags=["t"], metadata={"a": 1})
        memory.remember("a rule", tier="procedural", pinned=True)
        memory.remember("an old event", event_time="1999-01-01")
        memory.update(made[3].id, text="copper number three")
        memory.reinforce(made[4].id)
        memory.forget(made[5].id)
        return [record.to_dict() for record in memory]


@pytest.mark.parametrize(
    "other",
    [FakeEmbedder(32, seed=1), FakeEmbedder(16), FakeEmbedder(64)],
    ids=["model", "16", "64"],
)
@pytest.mark.parametrize("mode", ["rw", "r"])
def test_another_model_is_refused_and_told_how_to_convert(
    store_path: Path, stored: object, other: FakeEmbedder, mode: str
) -> None:
    with pytest.raises(ModelMismatchError, match="spector reembed") as caught:
        spector.open(store_path, embedder=other, mode=mode)  # type: ignore[arg-type]
    assert str(store_path) in caught.value.hint
    with pytest.raises(ValueError, match="reembed"):
        spector.open(store_path, embedder=other)
    spector.open(store_path, embedder=FakeEmbedder()).close()


def test_another_dimension_without_an_embedder_is_refused(store_path: Path, stored: object) -> None:
    with pytest.raises(ModelMismatchError):
        own_vectors(store_path, dim=33)


@pytest.mark.parametrize("dim", [16, 32, 65])
def test_after_reembed_the_store_is_of_the_new_model_and_nothing_else_has_changed(
    store_path: Path, clock: ManualClock, stored: list[dict[str, object]], dim: int
) -> None:
    new = FakeEmbedder(dim, seed=2)
    seen: list[tuple[int, int]] = []
    count = spector.reembed(store_path, new, progress=lambda *at: seen.append(at))
    assert count == len(stored)
    assert seen[-1] == (count, count)
    with pytest.raises(ModelMismatchError):
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock)
    with spector.open(store_path, embedder=new, clock=clock) as memory:
        assert [record.to_dict() for record in memory] == stored
        assert memory.check().ok
        assert memory.stats()["dim"] == dim
        assert memory.recall("violin number 2", k=1, lexical=False)[0].text == "violin number 2"
        assert memory.recall("copper number three", k=1)[0].explain().values[
            "similarity"
        ] == pytest.approx(1, abs=0.02)
        assert len(memory.recall(user_id="ada", tags=["t"], where={"a": 1}, k=50)) == 19
        record = memory.remember("after the change")
        assert ids(memory.recall("after the change", k=1)) == [record.id]
        memory.compact()
        assert memory.check().ok


def test_a_store_of_own_vectors_can_be_given_a_model(store_path: Path, clock: ManualClock) -> None:
    with own_vectors(store_path, clock=clock) as memory:
        memory.remember("river stone", vector=vector(1))
    with pytest.raises(ModelMismatchError, match="spector reembed"):
        spector.open(store_path, embedder=FakeEmbedder())
    assert spector.reembed(store_path, FakeEmbedder()) == 1
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert memory.recall("river stone", profile="similarity")[0].score > 0.95


@pytest.mark.parametrize("fail_from", [0, 1])
def test_a_model_that_fails_midway_leaves_the_store_as_it_was(
    store_path: Path, clock: ManualClock, stored: list[dict[str, object]], fail_from: int
) -> None:
    with pytest.raises(EmbeddingError):
        spector.reembed(store_path, FailingEmbedder(48, fail_from=fail_from))
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        assert [record.to_dict() for record in memory] == stored
        assert memory.check().ok
    assert spector.reembed(store_path, FakeEmbedder(48)) == len(stored)


def test_reembed_of_an_empty_store_converts_it(store_path: Path, clock: ManualClock) -> None:
    spector.open(store_path, embedder=FakeEmbedder(), clock=clock).close()
    assert spector.reembed(store_path, FakeEmbedder(48)) == 0
    with spector.open(store_path, embedder=FakeEmbedder(48), clock=clock) as memory:
        memory.remember("x")
        assert texts(memory.recall("x")) == ["x"]


def test_reembed_needs_a_store_a_model_and_the_lock(
    tmp_path: Path, store_path: Path, clock: ManualClock
) -> None:
    with pytest.raises(StoreNotFoundError):
        spector.reembed(tmp_path / "nowhere", FakeEmbedder())
    assert not (tmp_path / "nowhere").exists()
    with (
        spector.open(store_path, embedder=FakeEmbedder(), clock=clock),
        pytest.raises(StoreLockedError),
    ):
        spector.reembed(store_path, FakeEmbedder(48))
    before = fingerprint(store_path)
    with pytest.raises(InvalidInputError):
        spector.reembed(store_path, None)  # type: ignore[arg-type]
    assert fingerprint(store_path) == before


def test_more_partitions_than_descriptors_can_be_converted(
    store_path: Path, clock: ManualClock
) -> None:
    """Before: each new partition kept its file open until all were switched (and its bytes)."""
    days = 200
    with spector.open(store_path, embedder=FakeEmbedder(), clock=clock) as memory:
        memory.remember_many(
            {"text": f"day {n}", "event_time": NOW - timedelta(days=n)} for n in range(days)
        )
        assert memory.stats()["tiers"]["episodic"]["partitions"] == days
    script = (
        "import resource, sys, spector\n"
        "from tests.fakes import FakeEmbedder\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))\n"
        "print(spector.reembed(sys.argv[1], FakeEmbedder(48)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(store_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, str(days)), done.stderr
    with spector.open(store_path, embedder=FakeEmbedder(48), clock=clock) as memory:
        assert len(memory) == days
        assert memory.check().ok

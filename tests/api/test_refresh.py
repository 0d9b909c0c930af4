"""Each use of a memory with ``refresh`` begins its time anew, and few of them are written.

Mechanism: a new end counts at once where it was made, and goes along with the next commit. Damage
without it: a commit for every recall, or a memory that ends although it was used. Guard: ends to
the millisecond through many recalls, counted commits, what other processes, kills and changes of
the memory make of a note.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory, StoreLockedError, UnknownRecordError
from tests.conftest import NOW
from tests.fakes import FakeEmbedder

CUE = "a quetzal in the tree"


def opened(path: Path | str, clock: ManualClock, **more: Any) -> Memory:
    return spector.open(path, embedder=FakeEmbedder(), clock=clock, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mind"


@pytest.fixture
def memory(path: Path, clock: ManualClock) -> Iterator[Memory]:
    with opened(path, clock) as made:
        made.remember(CUE, key="k", tags=["bird"], user_id="u", expires_in=60, refresh=True)
        yield made
        assert made.check().ok


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def commits(memory: Memory) -> int:
    return memory._parts.store.head.change_seq


def end_in(path: Path, clock: ManualClock) -> datetime | None:
    """The end that another process sees."""
    with opened(path, clock, mode="r") as reader:
        found = list(reader.records())
        return found[0].expires_at if found else None


def test_every_recall_moves_it_and_one_in_eight_of_its_time_is_written(
    memory: Memory, clock: ManualClock, proof: Any
) -> None:
    written = {commits(memory)}
    for second in range(2, 62, 2):
        clock.advance(seconds=2)
        assert memory.recall(CUE, user_id="u")
        assert memory.get(key="k", user_id="u").expires_at == at(second + 60)
        written.add(commits(memory))
    assert 5 <= len(written) - 1 <= 8, "eight in the time that a use gives"
    clock.advance(seconds=59.999)
    assert memory.count(tags=["bird"]) == memory.count(user_id="u") == len(memory) == 1
    assert len(list(memory.records(key_prefix="k", user_id="u"))) == 1
    clock.advance(seconds=0.001)
    assert memory.count(tags=["bird"]) == memory.count(user_id="u") == len(memory) == 0
    with pytest.raises(UnknownRecordError):
        memory.get(key="k", user_id="u")
    proof("expiry", uses=30, writes=len(written) - 1)


def test_a_use_that_is_learned_from_is_one_commit(memory: Memory, clock: ManualClock) -> None:
    for step in (1, 30):
        clock.advance(seconds=step)
        before = commits(memory)
        memory.recall(CUE, user_id="u", learn=True)
        assert commits(memory) == before + 1
    assert memory.get(key="k", user_id="u").access_count == 2
    assert memory.get(key="k", user_id="u").expires_at == at(91)


def test_closing_writes_what_is_noted(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as memory:
        memory.remember(CUE, expires_in=60, refresh=True)
        clock.advance(seconds=5)
        memory.recall(CUE)
        assert end_in(path, clock) == at(60)
    assert end_in(path, clock) == at(65)
    with opened(path, clock, mode="r") as reader:
        clock.advance(seconds=5)
        reader.recall(CUE)
        assert next(reader.records()).expires_at == at(65)
    assert end_in(path, clock) == at(65)


def test_a_kill_loses_the_note_and_nothing_else(
    memory: Memory, clock: ManualClock, path: Path, tmp_path: Path
) -> None:
    clock.advance(seconds=20)
    memory.recall(CUE, user_id="u")
    clock.advance(seconds=5)
    memory.recall(CUE, user_id="u")
    shutil.copytree(path, tmp_path / "killed")
    with opened(tmp_path / "killed", clock) as other:
        assert other.get(key="k", user_id="u").expires_at == at(80)
        assert other.check().ok


def test_what_has_ended_is_not_brought_back(memory: Memory, clock: ManualClock) -> None:
    hits = memory.recall(CUE, user_id="u")
    clock.advance(seconds=60)
    memory._parts.recaller.refresh([hit.id for hit in hits])
    assert memory._parts.store.catalog.ends.noted == {}
    assert list(memory.records()) == []


def test_a_note_of_what_was_forgotten_is_dropped(
    memory: Memory, clock: ManualClock, path: Path
) -> None:
    clock.advance(seconds=5)
    [hit] = memory.recall(CUE, user_id="u")
    memory.forget(hit.id, purge=True)
    memory.remember("a sparrow", key="k", user_id="u", expires_in=10)
    assert memory._parts.store.catalog.ends.noted == {}
    assert end_in(path, clock) == at(15)


def test_no_recall_fails_because_a_note_cannot_be_written(
    memory: Memory, clock: ManualClock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.advance(seconds=30)

    def locked(*_: Any) -> None:
        raise StoreLockedError("another process writes", hint="wait")

    with monkeypatch.context() as patch:
        patch.setattr(memory._parts.store, "transaction", locked)
        assert memory.recall(CUE, user_id="u")
    assert end_in(path, clock) == at(60)
    assert memory.recall(CUE, user_id="u")
    memory.remember("a sparrow")
    assert end_in(path, clock) == at(90)

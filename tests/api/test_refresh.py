"""Each use of a memory with ``refresh`` begins its time anew, and few of them are written.

Mechanism: a new end counts at once where it was made, and goes along with the next commit. Damage
without it: a commit for every recall, or a memory that ends although it was used. Guard: ends to
the millisecond through many recalls, counted commits, what other processes, kills and changes of
the memory make of a note.
"""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import ManualClock, Memory, StoreLockedError, UnknownRecordError
from spector.cli.main import main
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


def test_a_note_goes_along_with_the_next_commit_whatever_it_is_for(
    memory: Memory, clock: ManualClock, path: Path
) -> None:
    clock.advance(seconds=5)
    before = commits(memory)
    memory.context(CUE, user_id="u", always=True)
    assert commits(memory) == before
    assert end_in(path, clock) == at(60)
    memory.remember("a sparrow")
    assert commits(memory) == before + 1
    assert end_in(path, clock) == at(65)


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


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_one_that_is_dropped_writes_it_too(path: Path, clock: ManualClock) -> None:
    memory = opened(path, clock)
    memory.remember(CUE, expires_in=60, refresh=True)
    clock.advance(seconds=5)
    memory.recall(CUE)
    del memory
    gc.collect()
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


def test_a_note_that_comes_after_the_written_end_counts_by_the_use(
    memory: Memory, clock: ManualClock, path: Path
) -> None:
    """Here it never ended; other processes have it back once they can know of the use."""
    clock.advance(seconds=5)
    memory.recall(CUE, user_id="u")
    clock.advance(seconds=57)
    assert memory.get(key="k", user_id="u").expires_at == at(65)
    assert end_in(path, clock) is None, "a reader goes by what is written"
    assert memory.compact().receipt is None, "it has not expired"
    assert end_in(path, clock) == at(65)
    clock.advance(seconds=3)
    assert memory.recall(CUE, user_id="u") == []
    assert memory.compact().receipt is not None
    assert len(memory) == 0


def test_what_has_ended_is_not_brought_back(memory: Memory, clock: ManualClock) -> None:
    hits = memory.recall(CUE, user_id="u")
    clock.advance(seconds=60)
    memory._parts.recaller._refresh([hit.id for hit in hits])
    assert memory._parts.store.catalog.ends.noted == {}
    assert list(memory.records()) == []


@pytest.mark.parametrize(
    ("change", "end"),
    [
        (lambda m, i: m.update(i, expires_in=None), None),
        (lambda m, i: m.update(i, expires_in=7), 12),
        (lambda m, i: m.update(i, importance=0.5), 65),
        (lambda m, i: m.remember("new words", key="k", user_id="u", expires_in=3), 8),
        (lambda m, i: m.remember("new words", key="k", user_id="u"), None),
        (lambda m, i: m.update(i, move_to={"user_id": "v"}), 65),
    ],
)
def test_changes_of_a_memory_win_over_a_note(
    memory: Memory, clock: ManualClock, path: Path, change: Any, end: int | None
) -> None:
    clock.advance(seconds=5)
    [hit] = memory.recall(CUE, user_id="u")
    change(memory, hit.id)
    wanted = None if end is None else at(end)
    assert memory.get(hit.id).expires_at == wanted
    assert end_in(path, clock) == wanted
    assert memory._parts.store.catalog.ends.noted == {}


def test_a_note_of_what_was_forgotten_is_dropped(
    memory: Memory, clock: ManualClock, path: Path
) -> None:
    clock.advance(seconds=5)
    [hit] = memory.recall(CUE, user_id="u")
    memory.forget(hit.id, purge=True)
    memory.remember("a sparrow", key="k", user_id="u", expires_in=10)
    assert memory._parts.store.catalog.ends.noted == {}
    assert end_in(path, clock) == at(15)


def test_a_note_of_an_older_revision_changes_nothing(path: Path, clock: ManualClock) -> None:
    with opened(path, clock, shared=True) as one, opened(path, clock, shared=True) as two:
        one.remember(CUE, key="k", expires_in=60, refresh=True)
        clock.advance(seconds=5)
        one.recall(CUE)
        two.remember(CUE, key="k", expires_in=10, refresh=True)
        assert one.get(key="k").expires_at == two.get(key="k").expires_at == at(15)
        one.remember("a sparrow")
        assert two.get(key="k").expires_at == at(15)
        clock.advance(seconds=10)
        for each in (one, two):
            assert [record.text for record in each.records()] == ["a sparrow"]


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


def test_a_damaged_row_keeps_no_other_change_waiting(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as memory:
        memory.remember(CUE, expires_in=60, refresh=True)
        clock.advance(seconds=5)
        memory.recall(CUE)
        with memory._parts.store.catalog.writing() as db:
            db.execute("UPDATE entry SET seal = seal + 1")
        assert memory.remember("a sparrow").text == "a sparrow"
        assert memory._parts.store.catalog.ends.noted == {}


def test_many_notes_are_written_together(path: Path, clock: ManualClock) -> None:
    with opened(path, clock) as memory:
        memory.remember_many(
            [f"quetzal number {n}" for n in range(70)], expires_in=600, refresh=True
        )
        clock.advance(seconds=1)
        before = commits(memory)
        memory.recall("quetzal", k=60)
        assert commits(memory) == before
        memory.recall("quetzal", k=70)
        assert commits(memory) == before + 1
        assert memory._parts.store.catalog.ends.noted == {}


def test_in_memory_and_beside_an_interrupt(clock: ManualClock) -> None:
    with opened(":memory:", clock) as memory:
        memory.remember(CUE, expires_in=60, refresh=True)
        clock.advance(seconds=5)
        memory.recall(CUE)
        with pytest.raises(KeyboardInterrupt), memory._parts.store.transaction():
            raise KeyboardInterrupt
        assert len(memory._parts.store.catalog.ends.noted) == 1, "it waits for the next commit"
        clock.advance(seconds=57)
        memory.remember("a sparrow")
        assert memory._parts.store.catalog.ends.noted == {}
        assert sorted(each.text for each in memory.records()) == [CUE, "a sparrow"]


@pytest.mark.slow
def test_the_command_line_keeps_one_alive_that_is_used(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw").write_bytes(b"raw")
    given = ["remember", str(path), "", "--attach", str(tmp_path / "raw"), "--key", "k"]
    for more, said in (
        (["--refresh"], "--refresh was given without --expires-in"),
        (["--refresh", "--expires-at", "2099-01-01"], "--refresh was given without --expires-in"),
        (
            ["--expires-in", "5", "--expires-at", "2099-01-01"],
            "--expires-in and --expires-at were given",
        ),
    ):
        assert main([*given, *more]) == 2
        assert said in capsys.readouterr().err
    assert main([*given, "--refresh", "--expires-in", "60"]) == 0
    capsys.readouterr()
    assert main(["get", str(path), "--key", "k", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refresh_s"] == 60

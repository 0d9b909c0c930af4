"""Sleep, writers and recalls work beside each other.

Damage without it: a night that reads what is known on the writer's own connection; a commit of
another thread then meets a running statement, and the whole store has failed. Guard: nights full of
knowledge while two threads write and recall.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, Memory, SleepConfig
from spector.lexical.index import WordIndex
from spector.sleep.sleeper import reflect_once
from tests.sleep.nights import asleep, pass_days


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["file", ":memory:"])
def test_writers_and_recalls_go_on_while_it_sleeps(tmp_path: Path, where: str) -> None:
    config = Config(sleep=spector.SleepConfig(batch_records=10, keep_share=0.6, blast_radius=0.1))
    with asleep(tmp_path / "mind" if where == "file" else where, config=config) as (memory, clock):
        memory.observe_many([f"I live in Kars {n} and work with Ada {n}." for n in range(20)])
        memory.remember_many([f"hm {n}" for n in range(60)])
        errors, done, written = _beside(memory)
        for _ in range(2):
            pass_days(clock, 10)
            memory.reflect()
        done.set()
        for each in written:
            each.join()
        assert not errors, errors[0]
        assert memory.check().ok


def test_a_plan_reads_beside_the_writer(tmp_path: Path) -> None:
    with asleep(tmp_path / "mind") as (memory, _):
        memory.remember("a note")
        writing = memory._parts.store.catalog.main
        with memory._parts.sleeper.survey.knowledge() as reader:
            assert reader._db is not writing


def test_who_writes_goes_between_two_partitions_of_an_erasure(tmp_path: Path) -> None:
    """A lock that is taken again at once is never another one's: writers waited for seconds."""
    with asleep(tmp_path / "mind") as (memory, clock):
        old = []
        for day in range(5):
            old += memory.remember_many([f"note {n} of day {day}" for n in range(3)])
            pass_days(clock, 1)
        memory.forget(old[::3])
        pass_days(clock, 3)
        written: list[int] = []

        def write() -> None:
            written.append(memory.remember(f"beside {len(written)}").id)

        def between() -> None:
            writer = threading.Thread(target=write)
            writer.start()
            writer.join(30)
            assert not writer.is_alive(), "the lock was held"

        report = reflect_once(
            memory._parts.router, now_ms=clock.now_ms(), config=Config(), between=between
        )
        receipt = report.compaction.receipt
        assert receipt is not None
        assert set(receipt.ids) == {each.id for each in old[::3]}
        assert report.compaction.partitions_compacted == 5
        assert len(written) >= 2 * report.compaction.partitions_compacted
        assert memory.check().ok
        assert {each.id for each in memory.records()} >= set(written)


@pytest.mark.parametrize("steps", ["upkeep", None])
def test_upkeep_ends_after_a_partition_when_the_time_is_over_and_goes_on(
    tmp_path: Path, steps: str | None
) -> None:
    """``max_seconds`` bounded the steps of a night, and upkeep not at all."""
    with asleep(tmp_path / "mind") as (memory, clock):
        old = []
        for day in range(5):
            old += memory.remember_many([f"şişe {n} of day {day}" for n in range(6)])
            pass_days(clock, 1)
        memory.forget(old[::3])
        pass_days(clock, 3)
        if steps is None:
            memory.reflect(["decay", "rehearse"])
        done, calls = [], 0
        while True:
            report = memory.reflect(steps, max_seconds=1e-9)
            calls += 1
            done.append(report.compaction.partitions_compacted)
            assert done[-1] <= 1
            if report.compaction.partitions_left:
                assert not report.finished
                assert not report.compaction.erased
                assert report.compaction.receipt is None
            if report.finished:
                break
            assert calls < 99
        assert sum(done) == 5
        receipt = report.compaction.receipt
        assert receipt is not None
        assert receipt.complete
        assert set(receipt.ids) == {each.id for each in old[::3]}
        assert memory.check().ok


def test_words_of_rewritten_partitions_are_read_without_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving the index of words read all that upkeep had rewritten, under the store's lock."""
    with asleep(tmp_path / "mind") as (memory, clock):
        old = []
        for day in range(4):
            old += memory.remember_many([f"note {n} of day {day}" for n in range(90)])
            pass_days(clock, 1)
        memory.recall("note 3")
        memory.forget(old[::3])
        pass_days(clock, 3)
        lock, held = memory._parts.store.lock, []
        compare = WordIndex._compare

        def noted(self: WordIndex, *args: Any) -> None:
            held.append(lock._is_owned())  # type: ignore[attr-defined]
            compare(self, *args)

        monkeypatch.setattr(WordIndex, "_compare", noted)
        assert memory.reflect("upkeep").compaction.partitions_compacted == 4
        assert held
        assert not any(held)
        assert "note 3 of day 1" not in [hit.text for hit in memory.recall("note 3 of day 1", k=9)]
        assert memory.check().ok


def _beside(
    memory: Memory,
) -> tuple[list[BaseException], threading.Event, list[threading.Thread]]:
    """Threads that write and recall until the event; what went wrong in them."""
    errors: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        n = 0
        while not done.is_set():
            n += 1
            done.wait(0.002)
            memory.facts.add("Ada", "likes", f"thing {n}", source=memory.remember(f"beside {n}"))

    def recall() -> None:
        while not done.is_set():
            done.wait(0.002)
            memory.recall("Ada in Kars")

    def kept(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=kept, args=(each,)) for each in (write, recall)]
    for each in threads:
        each.start()
    return errors, done, threads


# -- A night makes room for recalls and writers, and is the same night -----------------------------
#
# Damage without it: recalls beside a night take two and a half times as long, and a writer waits
# half a second. Guard: time is an argument, so pauses are counted, never measured.


class Machine:
    """The machine's time, which passes only by work and pauses."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds


@pytest.fixture
def machine() -> Machine:
    return Machine()


def _told(memory: Memory) -> None:
    memory.observe_many(
        [f"Deniz bought lamp number {n} in Urla, and Selin repaired it." for n in range(40)],
        session_id="one",
    )
    memory.remember_many([{"text": f"hm {n}", "importance": 0.1} for n in range(30)])


def _paced(memory: Memory, machine: Machine) -> None:
    pace: Any = memory._parts.sleeper._pace
    pace._sleep = machine.sleep

    def now() -> float:  # each look at the time is a hundredth of a second of work
        machine.seconds += 0.01
        return machine.seconds

    pace._now = pace._worked = now


def _state(memory: Memory) -> list[tuple[Any, ...]]:
    return [
        (each.id, each.tier, each.text, each.dormant, each.stability_days)
        for each in memory.records()
    ]


@pytest.mark.slow
def test_a_night_beside_recalls_pauses_and_does_the_same(tmp_path: Any) -> None:
    states: list[list[tuple[Any, ...]]] = []
    pauses: list[int] = []
    for beside in (False, True):
        machine = Machine()
        config = Config(sleep=SleepConfig(share_beside=0.25, batch_records=10))
        with asleep(tmp_path / str(beside), config=config) as (memory, clock):
            _told(memory)
            pass_days(clock, 200)
            _paced(memory, machine)

            def recall(*_: object, memory: Memory = memory) -> None:
                memory.recall("lamp", k=1)

            progress: Callable[..., None] | None = recall if beside else None
            report = memory.reflect(progress=progress)
            assert report.finished
            states.append(_state(memory))
            pauses.append(len(machine.pauses))
            assert memory.check().ok
    assert states[0] == states[1]
    assert pauses[0] == 0
    assert pauses[1] >= 10


def test_nothing_pauses_while_writers_of_a_store_in_memory_wait() -> None:
    machine = Machine()
    with asleep() as (memory, clock):
        _told(memory)
        pass_days(clock, 3)
        sleeper = memory._parts.sleeper
        held: list[int] = []
        sleeper._pace._sleep = lambda seconds: held.append(sleeper.survey.locking)
        sleeper._pace._now = sleeper._pace._worked = lambda: machine.seconds
        begin = sleeper._pace.begin

        def busy() -> None:
            begin()
            sleeper._pace._until = float("inf")

        sleeper._pace.begin = busy  # type: ignore[method-assign]

        def tick(*_: object) -> None:
            machine.seconds += 1.0

        memory.reflect(progress=tick)
        assert held
        assert set(held) == {0}

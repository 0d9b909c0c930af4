"""The background sleeper: when it wakes, when it rests, what it does with errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, ReflectDaemon, ReflectReport, SleepConfig
from tests.conftest import NOW
from tests.fakes import FakeEmbedder


def wait_for(condition: Callable[[], object], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.002)


@contextmanager
def mind(path: Path | str, clock: ManualClock, **config: Any) -> Iterator[Memory]:
    """A memory whose daemon would not wake within a test by its interval alone."""
    given = Config(**{"reflect_interval_s": 3600, **config})
    with spector.open(path, embedder=FakeEmbedder(), clock=clock, config=given) as memory:
        yield memory
    assert not memory.daemon.running


@pytest.fixture
def memory(store_path: Path, clock: ManualClock) -> Iterator[Memory]:
    with mind(store_path, clock) as opened:
        yield opened


def test_it_does_not_run_before_it_is_started_and_not_after_the_store_is_closed(
    memory: Memory,
) -> None:
    assert not memory.daemon.running
    memory.daemon.start()
    memory.daemon.start()  # idempotent
    assert memory.daemon.running
    assert sum(t.name == "spector-reflect" for t in threading.enumerate()) == 1
    memory.close()
    assert not memory.daemon.running
    assert not any(t.name == "spector-reflect" for t in threading.enumerate())


def test_stop_is_idempotent_and_start_works_again(memory: Memory) -> None:
    assert memory.daemon.stop()
    memory.daemon.start()
    assert memory.daemon.stop()
    assert memory.daemon.stop()
    assert not memory.daemon.running
    memory.daemon.start()
    assert memory.daemon.running


def test_enough_writes_wake_it_and_one_fewer_do_not(clock: ManualClock) -> None:
    with mind(":memory:", clock, reflect_after_writes=5) as memory:
        memory.daemon.start()
        memory.remember_many(["a", "b", "c"])
        memory.remember("d")
        time.sleep(0.1)
        assert memory.daemon.cycles == 0
        memory.remember("e")
        wait_for(lambda: memory.daemon.cycles == 1)
        memory.remember_many([f"n {n}" for n in range(4)])
        time.sleep(0.1)
        assert memory.daemon.cycles == 1  # counted anew


def test_tombstones_wake_it_and_are_compacted_away(memory: Memory) -> None:
    made = memory.remember_many([f"n {n}" for n in range(10)])
    memory.daemon.start()
    memory.forget([record.id for record in made[:4]])
    wait_for(lambda: memory.daemon.cycles == 1)
    assert memory.daemon.last_report is not None
    assert memory.daemon.last_report.compaction.records_reclaimed == 4
    assert memory.check().ok


def test_a_paused_daemon_rests_whatever_happens_and_catches_up_when_resumed(
    clock: ManualClock,
) -> None:
    with mind(":memory:", clock, reflect_after_writes=1, reflect_interval_s=0.01) as memory:
        memory.daemon.pause()
        memory.daemon.start()
        assert memory.daemon.paused
        memory.remember_many([f"n {n}" for n in range(10)])
        time.sleep(0.1)
        assert memory.daemon.cycles == 0
        memory.daemon.resume()
        assert not memory.daemon.paused
        wait_for(lambda: memory.daemon.cycles >= 1)
        memory.daemon.pause()
        assert memory.daemon.stop()  # a paused one can be stopped


def test_a_paused_daemon_uses_no_processor(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mind(":memory:", clock, reflect_interval_s=0.01) as memory:
        waits: list[float | None] = []
        wait = memory.daemon._wake.wait

        def noted(timeout: float | None = None) -> bool:
            waits.append(timeout)
            return wait(timeout)

        monkeypatch.setattr(memory.daemon._wake, "wait", noted)
        memory.daemon.pause()
        memory.daemon.start()
        wait_for(lambda: waits)
        time.sleep(0.1)  # ten intervals
        assert waits == [None], "it waits until it is told, and does not ask again and again"


@pytest.mark.parametrize("error", [spector.StoreError("the disk hiccuped"), ValueError("a bug")])
def test_an_error_is_kept_and_the_next_cycle_tries_again(
    memory: Memory, clock: ManualClock, error: Exception
) -> None:
    failing = True

    def cycle() -> ReflectReport:
        if failing:
            raise error
        return memory.reflect()

    daemon = ReflectDaemon(cycle, memory._parts.router, Config(), interval_s=0.01)
    daemon.start()
    wait_for(lambda: daemon.last_error is error)
    assert daemon.running
    assert daemon.cycles == 0
    failing = False
    wait_for(lambda: daemon.cycles >= 1)
    assert daemon.last_error is None
    assert daemon.stop()


def test_it_ends_by_itself_when_the_store_was_closed_under_it(clock: ManualClock) -> None:
    with mind(":memory:", clock) as memory:
        other = ReflectDaemon(memory.reflect, memory._parts.router, Config(), interval_s=0.05)
        other.start()
        memory.close()
        wait_for(lambda: not other.running)
        assert isinstance(other.last_error, spector.StoreClosedError)


def test_a_reader_s_daemon_ends_with_the_reason(store_path: Path, clock: ManualClock) -> None:
    with mind(store_path, clock):
        pass
    config = Config(reflect_interval_s=0.01)
    with spector.open(
        store_path, mode="r", embedder=FakeEmbedder(), clock=clock, config=config
    ) as reader:
        reader.daemon.start()
        wait_for(lambda: not reader.daemon.running)
        assert isinstance(reader.daemon.last_error, spector.StoreReadOnlyError)


def test_closing_waits_for_a_cycle_that_is_running(store_path: Path, clock: ManualClock) -> None:
    with mind(store_path, clock, reflect_interval_s=0.01) as memory:
        memory.remember_many([f"n {n}" for n in range(200)])
        memory.daemon.start()
        wait_for(lambda: memory.daemon.cycles >= 1)
    with mind(store_path, clock) as memory:
        assert memory.check().ok
        assert len(memory) == 200


# -- Nothing sleeps by itself in a store that never slept, until a message is observed -------------
#
# Mechanism: stores that only remembered, with the daemon on and intervals of milliseconds. Damage
# without it: the first night after an upgrade rewrites strengths that nobody asked to fade.


EAGER = Config(
    reflect_interval_s=0.01,
    sleep=SleepConfig(interval_s=0.01, testing_interval_s=0.01),
)


def test_where_messages_were_observed_the_daemon_sleeps(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    with spector.open(tmp_path / "m", embedder=FakeEmbedder(), clock=clock, config=EAGER) as memory:
        memory.remember("plain")
        memory.daemon.start()
        wait_for(lambda: memory.daemon.cycles >= 3)
        assert memory.daemon.nights == 0
        assert memory.observe("I live in Kars.").stored
        clock.advance(days=3)
        wait_for(lambda: memory.daemon.nights >= 1)
        assert memory.daemon.stop()


@pytest.mark.parametrize(("auto", "nights"), [(True, True), (False, False)])
def test_the_config_decides_whether_nights_run_by_themselves(auto: bool, nights: bool) -> None:
    config = replace(EAGER, sleep=replace(EAGER.sleep, auto=auto))
    clock = ManualClock(NOW)
    with spector.open(":memory:", embedder=FakeEmbedder(), clock=clock, config=config) as memory:
        memory.observe("I live in Kars.")
        clock.advance(days=3)
        memory.daemon.start()
        memory.daemon.wake_now()
        wait_for(lambda: memory.daemon.cycles >= 3)
        if nights:
            wait_for(lambda: memory.daemon.nights >= 1)
        assert memory.daemon.stop()
        assert bool(memory.daemon.nights) is nights

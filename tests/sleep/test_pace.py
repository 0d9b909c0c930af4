"""A night makes room for recalls and writers, and is the same night.

Damage without it: recalls beside a night take two and a half times as long, and a writer waits half
a second. Guard: time is an argument, so pauses are counted, never measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spector import Config, Memory, SleepConfig
from tests.sleep.nights import asleep, pass_days


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
        sleeper._pace._sleep = lambda seconds: held.append(sleeper._survey.locking)
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

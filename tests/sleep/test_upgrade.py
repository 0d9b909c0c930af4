"""An upgrade alone changes no store: nothing sleeps by itself in a store that never slept.

Mechanism: stores that older code wrote, with the daemon on and intervals of milliseconds. Damage
without it: the first night after an upgrade rewrites strengths that nobody asked to fade. Guard:
catalog, strengths and format are what they were, until a message is observed or sleep is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, Memory, SleepConfig
from tests.backup.test_formats import unpack
from tests.fixtures.make import LATER
from tests.sleep.test_daemon import wait_for

EAGER = Config(
    reflect_interval_s=0.01,
    sleep=SleepConfig(interval_s=0.01, testing_interval_s=0.01),
)


def facts_of(memory: Memory) -> tuple[Any, ...]:
    """What a night would change: strengths, flags, tiers; whether there are tables of knowledge."""
    with memory._parts.store.catalog.reading() as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        minor = db.execute("SELECT value FROM meta WHERE key = 'format_minor'").fetchone()
    return (
        [
            (r.id, r.text, r.tier, r.stability_days, r.utility, r.access_count, int(r.flags))
            for r in memory.records()
        ],
        "payload" in tables,
        "sleep_state" in tables,
        minor,
    )


def eager(path: Path, clock: ManualClock) -> Memory:
    return spector.open(path, embedder=None, clock=clock, config=EAGER)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["closed", "killed"])
def test_the_daemon_leaves_a_store_of_older_code_as_it_was(
    tmp_path: Path, version: int, name: str
) -> None:
    path, clock = unpack(version, name, tmp_path), ManualClock(LATER)
    with spector.open(path, embedder=None, clock=clock) as memory:
        before = facts_of(memory)
    clock.advance(days=400)
    with eager(path, clock) as memory:
        memory.daemon.start()
        wait_for(lambda: memory.daemon.cycles >= 5)
        memory.daemon.wake_now()  # as the end of a session does
        cycles = memory.daemon.cycles
        wait_for(lambda: memory.daemon.cycles >= cycles + 3)
        assert memory.daemon.stop()
        assert (memory.daemon.nights, memory.daemon.rehearsals) == (0, 0)
        memory.reflect("upkeep")
        assert facts_of(memory) == before
    with eager(path, clock) as memory:
        assert facts_of(memory) == before
        memory.reflect()
        assert facts_of(memory) != before, "by hand it sleeps"
        assert memory._parts.sleeper.may_sleep()
        assert memory.check().ok


def test_where_messages_were_observed_the_daemon_sleeps(tmp_path: Path) -> None:
    from tests.fakes import FakeEmbedder

    clock = ManualClock(LATER)
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
    from dataclasses import replace

    from tests.fakes import FakeEmbedder

    config = replace(EAGER, sleep=replace(EAGER.sleep, auto=auto))
    clock = ManualClock(LATER)
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

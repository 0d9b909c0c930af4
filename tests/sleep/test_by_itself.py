"""Nothing sleeps by itself in a store that never slept, until a message is observed.

Mechanism: stores that only remembered, with the daemon on and intervals of milliseconds. Damage
without it: the first night after an upgrade rewrites strengths that nobody asked to fade.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spector
from spector import Config, ManualClock, SleepConfig
from tests.conftest import NOW
from tests.fakes import FakeEmbedder
from tests.sleep.test_daemon import wait_for

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

"""Of processes that share a store one sleeps at a time, and ends when another one waits."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from spector import StoreLockedError
from spector.process import CycleTurn
from tests.sharing.workers import opened


def test_one_cycle_at_a_time_which_sees_that_another_waits(tmp_path: Path) -> None:
    (tmp_path / "LOCK").write_bytes(b"")
    one, two = CycleTurn(str(tmp_path / "LOCK"), 60.0), CycleTurn(str(tmp_path / "LOCK"), 0.05)
    before = len(os.listdir("/proc/self/fd"))
    with one:
        assert two.is_elsewhere
        assert not one.is_elsewhere
        assert not one.is_wanted
        with pytest.raises(StoreLockedError, match="cycle of sleep"), two:
            pass
        assert not one.is_wanted
        three, came = CycleTurn(str(tmp_path / "LOCK"), 60.0), threading.Event()

        def wait() -> None:
            with three:
                came.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        while not one.is_wanted:
            time.sleep(0.001)
        assert not came.is_set()
    waiting.join()
    assert came.is_set()
    assert not two.is_elsewhere
    assert len(os.listdir("/proc/self/fd")) == before
    with two:
        assert one.is_elsewhere
    with CycleTurn(None, 0.0) as alone:
        assert alone is None


def test_two_that_reflect_at_once_finish_one_cycle_after_the_other(tmp_path: Path) -> None:
    with opened(tmp_path / "mind") as one, opened(tmp_path / "mind") as two:
        one.remember_many([f"heron {n} at pond {n % 3}" for n in range(12)], user_id="ada")
        reports: list[object] = []

        def sleep(memory: object) -> None:
            reports.append(memory.reflect("decay"))  # type: ignore[attr-defined]

        threads = [threading.Thread(target=sleep, args=(each,)) for each in (one, two)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(reports) == 2
        while not one.reflect("decay").finished:
            pass
        assert one.check().ok
        assert len(two) == 12

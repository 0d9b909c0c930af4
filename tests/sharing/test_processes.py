"""Shared writers in several processes: all is stored, seen at once, and survives a kill."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import spector
from spector import StoreLockedError
from spector.process import CycleTurn
from tests.cases import slow
from tests.sharing import workers
from tests.sharing.workers import begun, lines_of, opened
from tests.threads import at_once


@pytest.mark.parametrize(("processes", "count"), [(3, 3), slow(4, 50, timeout_s=900)])
def test_processes_store_all_and_see_all(tmp_path: Path, processes: int, count: int) -> None:
    mind, log = tmp_path / "mind", tmp_path / "log"
    running = [
        begun(workers.write_and_look, mind, log, f"writer {n}", count, workers.WAIT_S)
        for n in range(processes)
    ]
    for each in running:
        each.join(600)
    assert [each.exitcode for each in running] == [0] * processes
    assert lines_of(log, "missing") == lines_of(log, "fewer") == []
    assert len(set(lines_of(log, "ack"))) == processes * count
    with spector.open(mind, mode="r", embedder=None) as memory:
        assert len(memory) == processes * count
    assert spector.check(mind).ok
    assert max(map(float, lines_of(log, "worst"))) < 60


def test_processes_that_compare_and_swap_lose_no_update(tmp_path: Path) -> None:
    mind, log, count = tmp_path / "mind", tmp_path / "log", 25
    running = [begun(workers.count_up, mind, log, count) for _ in range(4)]
    for each in running:
        each.join(300)
    assert [each.exitcode for each in running] == [0] * 4
    with spector.open(mind, mode="r", embedder=None) as memory:
        found = memory.get(key="n")
    assert (found.text, found.revision) == (str(4 * count), 4 * count)
    assert sum(map(int, lines_of(log, "lost"))) > 0, "no two of them ever met"


def test_a_holder_that_is_stopped_is_named_and_hides_nothing(tmp_path: Path) -> None:
    """Its process may be stopped for ever, as by a debugger: others are told, and go on reading."""
    mind, log = tmp_path / "mind", tmp_path / "log"
    with opened(mind, wait=0.05) as memory:
        memory.remember("before")
        holder = begun(workers.hold, mind, log)
        try:
            while not lines_of(log, "held"):
                time.sleep(0.001)
            assert holder.pid is not None
            os.kill(holder.pid, signal.SIGSTOP)
            with pytest.raises(StoreLockedError, match=f"process {holder.pid}, after 0.05 s"):
                memory.remember("refused")
            assert {each.text for each in memory.records()} == {"before", "of the holder"}
            assert memory.recall("holder", k=1)[0].text == "of the holder"
            assert memory.check().ok
            assert memory.backup(tmp_path / "copy").records == 2
        finally:
            holder.kill()
            holder.join(60)
        memory.remember("after")
        assert len(memory) == 3
    assert spector.check(mind).ok


@pytest.mark.parametrize(("kills", "seed"), [(3, 1), slow(50, 7, timeout_s=1800)])
def test_killed_writers_lose_nothing_acknowledged(tmp_path: Path, kills: int, seed: int) -> None:
    """Writers are killed at random moments, beside one that lives."""
    rng, mind, log = random.Random(seed), tmp_path / "mind", tmp_path / "log"
    with opened(mind) as memory:
        kept: dict[int, str] = {}
        for n in range(kills):
            victim = begun(workers.write_for_ever, mind, log, seed * 1000 + n)
            more = rng.randrange(1, 12) + len(lines_of(log, "ack"))
            while len(lines_of(log, "ack")) < more and victim.is_alive():
                time.sleep(0.001)
            time.sleep(rng.random() * 0.01)
            victim.kill()
            victim.join(60)
            assert victim.exitcode == -9
            made = memory.remember(f"survivor {n}")
            kept[made.id] = made.text
            parts = [line.split(" ", 1) for line in lines_of(log, "ack")]
            acknowledged = {int(each): text for each, text in parts}
            gone, doubtful = (
                set(map(int, lines_of(log, kind))) for kind in ("forgotten", "forgetting")
            )
            found = {each.id: each.text for each in memory.records()}
            started = set(lines_of(log, "start")) | set(kept.values())
            for each, text in (acknowledged | kept).items():
                if each not in doubtful:
                    assert found.get(each) == text, (each, text)
            assert not gone & found.keys()
            assert set(found.values()) <= started
            assert memory.check().ok, memory.check().problems
    report = spector.check(mind)
    assert report.ok, report.problems


@pytest.mark.parametrize(
    ("processes", "count", "seed"),
    [(2, 30, 11), *(slow(4, 3125, 100 * n, timeout_s=3600) for n in range(8))],
)
def test_random_operations_of_processes_agree_with_models(
    tmp_path: Path, processes: int, count: int, seed: int
) -> None:
    """A hundred thousand in all, in parts that can run side by side."""
    mind, log = tmp_path / "mind", tmp_path / "log"
    running = [
        begun(workers.operate, mind, log, f"user {n}", count, seed + n) for n in range(processes)
    ]
    for each in running:
        each.join(3000)
    assert [each.exitcode for each in running] == [0] * processes
    assert lines_of(log, "differs") == []
    assert len(lines_of(log, "done")) == processes
    report = spector.check(mind)
    assert report.ok, report.problems


# -- Of processes that share a store one sleeps at a time, and ends when another one waits ---------


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

        at_once(sleep, (one, two))
        assert len(reports) == 2
        while not one.reflect("decay").finished:
            pass
        assert one.check().ok
        assert len(two) == 12


# -- Several shells store memories by the command at once: each waits its turn, and nothing is
#    lost
#
# Mechanism: an opening waits in turn for the writer before it. Damage without it: most of the
# commands of hooks that run at the same moment fail. Guard: shells that call the command as a
# user's hooks do, with the embedder that is used offline.


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_six_shells_that_write_twenty_memories_each_store_all_of_them(tmp_path: Path) -> None:
    shells, count = 6, 20
    mind = tmp_path / "mind"
    command = f"{shlex.quote(sys.executable)} -m spector remember {shlex.quote(str(mind))}"
    running = [
        subprocess.Popen(
            [
                "sh",
                "-c",
                f'for n in $(seq {count}); do {command} "shell {shell} says $n" --wait 600'
                " || exit 1; done",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path.cwd(),
        )
        for shell in range(shells)
    ]
    for each in running:
        _, said = each.communicate(timeout=1500)
        assert each.returncode == 0, said
    wanted = {f"shell {shell} says {n}" for shell in range(shells) for n in range(1, count + 1)}
    with spector.open(mind, mode="r") as memory:
        assert sorted(record.text for record in memory.records()) == sorted(wanted)
        assert memory.recall("what does shell 1 say?", k=1)
    assert spector.check(mind).ok

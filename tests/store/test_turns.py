"""Writers that wait take turns, in the order in which they came, and one that gives up leaves.

Mechanism: a ``flock`` on the directory in front of the writer's lock; a thread waits for it.
Damage without it: of six hooks that write at the same moment most fail, or one waits for seconds
while others pass it. Guard: processes that write at once, the order of turns, waits that end by
time, by interrupt and by death.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import InvalidInputError, StoreLockedError
from spector.process import Turn
from tests.crash.workload import TINY

DIM = 8
_WRITER = """
import sys, time, numpy, spector
path, name, count, wait = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
vector, worst = numpy.ones(8, numpy.float32), 0.0
sys.stdin.readline()
for n in range(count):
    begun = time.monotonic()
    with spector.open(path, embedder=None, dim=8, wait=wait) as memory:
        memory.remember(f"{name} {n}", vector=vector)
    worst = max(worst, time.monotonic() - begun)
print(worst)
"""


def opened(path: Path, **more: Any) -> spector.Memory:
    return spector.open(path, embedder=None, dim=DIM, config=TINY, **more)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def waits_until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


def test_one_that_waits_goes_on_when_the_writer_closes(tmp_path: Path) -> None:
    first = opened(tmp_path / "mind")
    first.remember("one", vector=np.ones(DIM))
    closing = threading.Timer(0.3, first.close)
    closing.start()
    begun = time.monotonic()
    with opened(tmp_path / "mind", wait=60) as second:
        assert time.monotonic() - begun > 0.2
        assert [each.text for each in second.records()] == ["one"]
    closing.join()


def test_one_that_does_not_wait_is_refused_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "mind"):
        begun = time.monotonic()
        with pytest.raises(StoreLockedError):
            opened(tmp_path / "mind")
        with pytest.raises(StoreLockedError, match=f"pid {os.getpid()}"):
            opened(tmp_path / "mind", wait=0.2)
        assert time.monotonic() - begun < 10
        opened(tmp_path / "mind", mode="r", wait=60).close()
    spector.open(":memory:", embedder=None, dim=DIM, wait=5).close()


def test_a_wait_that_ends_names_the_writer_and_leaves_nothing(tmp_path: Path) -> None:
    opened(tmp_path / "mind").close()
    code = (
        "import sys, spector; m = spector.open(sys.argv[1], embedder=None, dim=8);"
        " print('open', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "mind"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "open\n"
        before = descriptors()
        with pytest.raises(StoreLockedError, match=rf"process {holder.pid}, after 0\.3 s"):
            opened(tmp_path / "mind", wait=0.3)
        assert descriptors() == before
        holder.stdin.write("\n")
    opened(tmp_path / "mind", wait=5).close()
    assert set(os.listdir(tmp_path / "mind")) <= {"LOCK", "catalog.db", "lexical"}
    assert spector.check(tmp_path / "mind").ok


@pytest.mark.parametrize("wait", [-1, math.nan, math.inf, "5", True, 1e9])
def test_what_is_no_wait_is_refused(tmp_path: Path, wait: Any) -> None:
    with pytest.raises(InvalidInputError, match="wait"):
        opened(tmp_path / "mind", wait=wait)
    assert not (tmp_path / "mind").exists()


# -- turns -----------------------------------------------------------------------------------------


def _stands_behind(path: Path, waiting: int) -> None:
    """Return when so many wait for the lock of `path`, as the kernel lists them."""
    locks, inode = Path("/proc/locks"), f":{path.stat().st_ino} "
    if not locks.exists():
        pytest.skip("no list of locks")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        lines = locks.read_text().splitlines()
        if sum("->" in line and inode in line for line in lines) >= waiting:
            return
        time.sleep(0.01)
    pytest.fail(f"{waiting} threads never stood in the queue")


def test_turns_come_in_their_order(tmp_path: Path) -> None:
    first = Turn(str(tmp_path))
    assert first.come(0.0)
    came: list[int] = []

    def wait(n: int) -> None:
        turn = Turn(str(tmp_path))
        assert turn.come(60)
        came.append(n)
        turn.end()

    threads = []
    for n in range(6):
        threads.append(threading.Thread(target=wait, args=(n,)))
        threads[-1].start()
        _stands_behind(tmp_path, n + 1)
    first.end()
    for each in threads:
        each.join()
    assert came == list(range(6))


def test_one_that_gives_up_lets_the_next_one_pass(tmp_path: Path) -> None:
    before = descriptors()
    first, second, third = (Turn(str(tmp_path)) for _ in range(3))
    assert first.come(0.0)
    assert not second.come(0.05)
    second.end()
    second.end()
    passed = threading.Thread(target=lambda: third.come(60))
    passed.start()
    first.end()
    passed.join(20)
    assert not passed.is_alive()
    third.end()
    assert waits_until(lambda: descriptors() == before)


def test_an_interrupt_ends_a_wait(tmp_path: Path) -> None:
    before = descriptors()
    with opened(tmp_path / "mind"):
        held = descriptors()
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path / "mind", wait=60)
        timer.join()
        assert waits_until(lambda: descriptors() == held)
    assert descriptors() == before
    opened(tmp_path / "mind").close()


def test_a_turn_ends_with_its_process_whatever_that_has_forked(tmp_path: Path) -> None:
    """A child has the descriptor; its parent's end must not leave the queue locked by it."""
    code = (
        "import os, sys, time; from spector.process import Turn\n"
        "turn = Turn(sys.argv[1]); turn.come(5)\n"
        "pid = os.fork()\n"
        "if pid == 0: os.close(1); os.close(2); time.sleep(60); os._exit(0)\n"
        "turn.end(); print(pid, flush=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    turn = Turn(str(tmp_path))
    assert turn.come(0.0)
    turn.end()
    os.kill(int(done.stdout), signal.SIGKILL)


# -- many writers ----------------------------------------------------------------------------------


def _write_at_once(path: Path, writers: int, count: int, kill: int = 0) -> tuple[int, float, int]:
    """How many memories are there, the longest wait, and how many writers ended well."""
    opened(path).close()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, path, f"writer {n}", str(count), "120"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(writers)
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in running[:kill]:
        time.sleep(0.2)
        each.kill()
    worst, well = 0.0, 0
    for each in running:
        out, _ = each.communicate(timeout=400)
        well += each.returncode == 0
        worst = max(worst, float(out)) if each.returncode == 0 else worst
    with opened(path, mode="r") as memory:
        stored = len(memory)
    assert spector.check(path).ok
    return stored, worst, well


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("writers", "count"), [(3, 3), pytest.param(6, 20, marks=pytest.mark.slow)]
)
def test_processes_that_write_at_once_all_write(tmp_path: Path, writers: int, count: int) -> None:
    stored, worst, well = _write_at_once(tmp_path / "mind", writers, count)
    assert (stored, well) == (writers * count, writers)
    assert worst < 60, worst


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_writers_hold_up_no_other(tmp_path: Path) -> None:
    stored, _, well = _write_at_once(tmp_path / "mind", 6, 20, kill=3)
    assert well >= 3
    assert stored >= 60

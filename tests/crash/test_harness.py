"""A scenario that fails says where, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from tests.crash.harness import die, in_fork, in_fresh_process


def _broken() -> None:
    raise ValueError("the reason")


def with_a_broken_child() -> None:
    in_fork(_broken)


def with_a_child_that_stays() -> int:
    pid = os.fork()
    if pid == 0:
        os.close(1)
        os.close(2)
        signal.pause()
    print("a word of the child's", file=sys.stderr)
    return pid


def test_traceback_of_a_child_is_the_message() -> None:
    with pytest.raises(AssertionError, match=r"in _broken(.|\n)*ValueError: the reason"):
        in_fork(_broken)
    assert in_fork(lambda: None) == 0
    assert in_fork(die) == -signal.SIGKILL


def test_traceback_of_a_scenarios_child_is_the_message() -> None:
    with pytest.raises(AssertionError, match=r"in _broken(.|\n)*ValueError: the reason"):
        in_fresh_process("tests.crash.test_harness:with_a_broken_child")


def test_process_that_a_scenario_forgot_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    pid = in_fresh_process("tests.crash.test_harness:with_a_child_that_stays")
    assert "a word of the child's" in capsys.readouterr().err
    while _runs(pid):  # the signal is on its way
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False

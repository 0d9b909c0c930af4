"""Standard streams that are closed, full or cannot be read.

Mechanism: a closed stream is None in Python, and the next file that is opened gets its number.
Damage without it: a traceback that calls it a bug; a library's remark to "stderr" inside a
partition. Guard: the command run as a shell would run it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import spector

SPECTOR = f"{shlex.quote(sys.executable)} -m spector"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "mind"
    with spector.open(path, embedder=None, dim=4) as memory:
        memory.remember("Maya likes tea", vector=[1, 0, 0, 0])
    return path


def shell(command: str, path: Path, fed: str | None = None) -> subprocess.CompletedProcess[str]:
    command = command.replace("SPECTOR", SPECTOR).replace("STORE", shlex.quote(str(path)))
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, input=fed, check=False
    )


def test_help_that_goes_nowhere_is_told(store: Path) -> None:
    done = shell("SPECTOR --help >&-", store)
    assert (done.returncode, done.stderr) == (74, "")


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["stats STORE", "check STORE", "export STORE"])
@pytest.mark.parametrize("closed", [">&-", ">/dev/full"])
def test_output_that_goes_nowhere_is_told(store: Path, command: str, closed: str) -> None:
    done = shell(f"SPECTOR {command} {closed}", store)
    assert done.returncode == 74, done.stderr
    assert "Traceback" not in done.stderr
    assert "the output cannot be written: " in done.stderr


def test_a_command_does_its_work_although_nobody_listens(store: Path) -> None:
    with spector.open(store, embedder=None) as memory:
        memory.forget(memory.remember("Jonas likes rum", vector=[0, 1, 0, 0]).id)
    before = {path.name for path in store.rglob("*.mem")}
    assert shell("SPECTOR compact STORE <&- >&- 2>&-", store).returncode == 74
    assert before.isdisjoint(path.name for path in store.rglob("*.mem"))
    with spector.open(store, embedder=None, mode="r") as memory:
        assert memory.check().ok


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["<&-", "0>x"])
def test_input_that_cannot_be_read_is_no_output_that_cannot_be_written(
    store: Path, where: str, tmp_path: Path
) -> None:
    where = where.replace("0>x", f"0>{shlex.quote(str(tmp_path / 'x'))}")
    for command in ("import STORE -", "remember STORE - --embedder none", "recall STORE -"):
        done = shell(f"SPECTOR {command} {where}", store)
        assert done.returncode == 2, done.stderr
        assert "error: standard input cannot be read: " in done.stderr
        assert "Traceback" not in done.stderr

"""What the command and the library cost before they do anything: processor time of a process.

The time of an interpreter that does nothing is taken off. Modules are compiled before; a first run
after an installation compiles them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from bench.machine import REPO, one_thread_environment
from bench.measure import Row, at_most

#: runs of each line; their median counts
_RUNS: Final = 9
#: bound in milliseconds, and the arguments of Python; MIND is a small store
LINES: Final = {
    "--help": (60, "-m spector --help"),
    "count --help": (80, "-m spector count --help"),
    "recall --help": (80, "-m spector recall --help"),
    "import --help": (80, "-m spector import --help"),
    "count": (250, "-m spector count MIND"),
    "get": (250, "-m spector get MIND --key a --user ada"),
    "users": (250, "-m spector users MIND"),
    "list": (300, "-m spector list MIND"),
    "recall, before the model": (350, "-m spector recall MIND tea --embedder none"),
    "import spector": (20, "-c import~spector"),
    'open(":memory:")': (230, "-c import~spector;spector.open(':memory:')"),
}


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("start") / "mind"
    for text, key in (("Ada prefers tea.", "a"), ("The server listens on 8080.", "b")):
        command = [sys.executable, "-m", "spector", "remember", str(path), text, "--key", key]
        subprocess.run([*command, "--user", "ada"], cwd=REPO, env=_environment(), check=True)
    return path


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **one_thread_environment()}


def cpu_ms(*arguments: str) -> float:
    """Processor milliseconds of one interpreter."""
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    command = [sys.executable, *arguments]
    child = os.posix_spawn(sys.executable, command, _environment(), file_actions=[nowhere])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, arguments
    return 1000 * (usage.ru_utime + usage.ru_stime)


@pytest.mark.parametrize("line", LINES)
def test_start(row: Row, mind: Path, line: str) -> None:
    bound, written = LINES[line]
    arguments = [each.replace("~", " ").replace("MIND", str(mind)) for each in written.split()]
    cpu_ms(*arguments)
    # in turns, so that both meet the same neighbours
    pairs = [(cpu_ms(*arguments), cpu_ms("-c", "pass")) for _ in range(_RUNS)]
    python = statistics.median(alone for _, alone in pairs)
    times = [max(0.0, each - python) for each, _ in pairs]
    row.values(
        times,
        id=f"start/start.{line}",
        title=line,
        params={},
        target=at_most(bound),
        extra={"python_ms": python},
    )
    assert statistics.median(times) <= bound

"""Mechanism: threads of one process scan partitions and indexes that another one changes.

Damage: a torn count, a hit of one recall in the answer of another. Guard: a C program does to the
kernel what Python's threads do, under the thread sanitizer.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.proof import Proof

HERE = Path(__file__).parent
NATIVE = HERE.parent.parent / "native"
SUPPRESSIONS = HERE / "races" / "suppressions.txt"
#: exit code of a program in which the sanitizer found something
_FOUND = 66


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the harness here."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is not installed")
    made = tmp_path_factory.mktemp("races") / "check_races"
    sources = [HERE / "races" / "check_races.c", HERE / "worlds.c", *NATIVE.glob("*.c")]
    flags = ["-std=c11", "-O1", "-g1", "-ffp-contract=off", "-fsanitize=thread", "-pthread"]
    done = subprocess.run(
        [compiler, *flags, f"-I{NATIVE}", *map(str, sources), "-lm", "-o", str(made)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and re.search(r"cannot find|unsupported|unrecognized", done.stderr):
        pytest.skip(f"{compiler} has no thread sanitizer: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    # more random bits in addresses than its shadow memory has room for end a program at once
    personality = shutil.which("setarch")
    for prefix in ([], [personality, platform.machine(), "-R"] if personality else []):
        command = [*prefix, str(made)]
        tried = subprocess.run([*command, "0", "copies"], capture_output=True, check=False)
        if tried.returncode == 0:
            return command
    pytest.skip(f"the thread sanitizer does not run here: {tried.stderr.decode()[:200]}")


def _run(program: list[str], rounds: int, mode: str, options: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [*program, str(rounds), mode],
        env={**os.environ, "TSAN_OPTIONS": options},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _number(name: str, text: str) -> int:
    return int(re.search(rf"{name} (\d+)", text)[1])  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [8, 600])
def test_no_races_between_scans_and_a_writer(program: list[str], rounds: int, proof: Proof) -> None:
    code, said = _run(program, 20, "canary")
    assert code == _FOUND, f"two threads in one row of output are not noticed: {said}"
    assert "data race" in said
    forgiven = [line for line in SUPPRESSIONS.read_text().splitlines() if line.startswith("race:")]
    # a long memory: without the stack of the older access nothing can be forgiven by its function
    told = f"history_size=7 suppressions={SUPPRESSIONS}"
    scans = changes = 0
    for mode, options in (("copies", ""), ("in-place", told)):
        code, said = _run(program, rounds, mode, options)
        races = said.count("WARNING: ThreadSanitizer")
        if code or races:
            proof("T28", races=max(1, races), mode=mode)
        assert code == 0, f"{mode}: {said[-6000:]}"
        scans += _number("scans", said)
        changes += _number("rounds", said)
    proof(
        "T28",
        races=0,
        scans=scans,
        changes=changes,
        threads=4,
        suppressions=", ".join(line.removeprefix("race:").strip("^$") for line in forgiven),
    )
    assert scans > changes // 20, "the scanners hardly scanned"

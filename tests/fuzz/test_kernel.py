"""Mechanism: the kernel trusts lengths that Python has checked, and not one byte behind them.

Damage without it: a file that was damaged, or made to harm, ends the process of the agent that
opens it, or worse. Guard: a C program changes bytes of records, scan indexes and queries and calls
every entry that reads them, under every instruction set, with ASan and UBSan, at page ends.
"""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.native.test_isa import CFLAGS, ROOT, SANITIZE, tool
from tests.proof import seed

HERE = Path(__file__).parent
#: first numbers of cases that once found something, or reach what few others do
CORPUS = [
    int(line.split()[0])
    for line in (HERE / "corpus/kernel.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
_CASES_AT_ONCE = 50_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fuzz") / "fuzz_kernel"
    native = ROOT / "tests/native"
    sources = [
        HERE / "native/fuzz_kernel.c",
        native / "worlds.c",
        native / "stores.c",
        *(ROOT / "native").glob("*.c"),
    ]
    command = [tool("gcc"), *CFLAGS, *SANITIZE, f"-I{ROOT / 'native'}", *map(str, sources)]
    made = subprocess.run(
        [*command, "-lm", "-o", str(out)], capture_output=True, text=True, timeout=600, check=False
    )
    if made.returncode and "cannot find" in made.stderr:
        pytest.skip(f"gcc lacks a library: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    return out


def _run(program: Path, first: int, count: int, *limit: str) -> tuple[int, int]:
    """(cases that were run, those that took a second of the processor, or another limit)."""
    done = subprocess.run(
        [str(program), str(first), str(count), *limit],
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-6000:]}"
    _, executions, _, hangs = done.stdout.split()
    return int(executions), int(hangs)


def _prove(proof: Any, counts: list[tuple[int, int]], **more: str) -> None:
    done, hangs = (sum(column) for column in zip(*counts, strict=True))
    proof("T11", kernel_cases=done, crashes=0, hangs=hangs, **more)
    proof("T27", hostile_cases_under_sanitizers=done, reports=0, how="ASan and UBSan")
    assert not hangs, f"{hangs} cases took more than a second of the processor"


@pytest.mark.slow
def test_cases_that_once_found_something(program: Path, proof: Any) -> None:
    _prove(proof, [_run(program, first, 3) for first in CORPUS])


@pytest.mark.slow
def test_cases_that_take_too_long_are_counted(program: Path) -> None:
    assert _run(program, 0, 200, "0") == (200, 200)
    assert _run(program, 0, 200, "3600000") == (200, 0)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    "count",
    [pytest.param(12_000, id="some"), pytest.param(5_000_000, id="all", marks=pytest.mark.slow)],
)
def test_hostile_bytes_never_crash_the_kernel(program: Path, count: int, proof: Any) -> None:
    start = seed(1) * 100_000_000
    firsts = range(start, start + count, _CASES_AT_ONCE)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        done = list(
            pool.map(lambda first: _run(program, first, min(_CASES_AT_ONCE, count)), firsts)
        )
    _prove(proof, done, seeds=f"{start}..{start + count}")

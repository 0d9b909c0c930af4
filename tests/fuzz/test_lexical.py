"""Mechanism: what `spector_lexical_check` lets pass, the lexical calls trust in.

Damage without it: a file of words that was made to harm ends the process that opens it, or worse.
Guard: a C program changes bytes of blocks in memory of exactly their size, and asks those that pass
everything, with ASan and UBSan.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.native.test_isa import CFLAGS, ROOT, SANITIZE, tool
from tests.proof import Proof, seed

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fuzz") / "fuzz_lexical"
    sources = [HERE / "native/fuzz_lexical.c", ROOT / "native/lexical.c"]
    made = subprocess.run(
        [
            tool("gcc"),
            *CFLAGS,
            *SANITIZE,
            f"-I{ROOT / 'native'}",
            *map(str, sources),
            "-lm",
            "-o",
            str(out),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if made.returncode and "cannot find" in made.stderr:
        pytest.skip(f"gcc lacks a library: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    return out


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("count", [3_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_changed_blocks_are_refused_or_harmless(program: Path, count: int, proof: Proof) -> None:
    done = subprocess.run(
        [str(program), str(seed(1)), str(count)],
        capture_output=True,
        text=True,
        timeout=2900,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed(1)}: {done.stdout[-500:]}{done.stderr[-6000:]}"
    _, executions, _, passed, _, hangs = done.stdout.split()
    proof("T11", lexical_cases=int(executions), crashes=0, hangs=int(hangs))
    proof("T27", lexical_cases_under_sanitizers=int(executions), reports=0, how="ASan and UBSan")
    assert count // 2 < int(passed) < 2 * count  # many are sound, and many are not
    assert hangs == "0", f"more than a second of the processor: {done.stderr[-2000:]}"


def test_blocks_that_take_too_long_are_counted(program: Path) -> None:
    done = subprocess.run(
        [str(program), "1", "50", "0"], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.endswith("hangs 50\n")

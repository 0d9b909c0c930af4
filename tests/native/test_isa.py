"""Mechanism: one operation, written once for each instruction set.

Damage: a set that few developers own ranks differently, reads behind a buffer, or has never run.
Guard: a C program compares every set with portable C, byte for byte, on buffers that end at an
unreadable page, and scans over an index with straight ones; as shipped, under sanitizers, under
valgrind, and for aarch64 in an emulator.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kernel.blocks import kernels
from tests.proof import Proof

ROOT = Path(__file__).parent.parent.parent
CFLAGS = ["-std=c11", "-O1", "-g1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
SHIPPED = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
AVX512, NEON, DOTPROD = 1 << 2, 1 << 4, 1 << 5


def tool(*names: str) -> str:
    """The first of these programs that is installed."""
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        pytest.skip(f"{' or '.join(names)} is not installed")
    return found[0]


def build(folder: Path, compiler: str, *flags: str) -> Path:
    sources = sorted((ROOT / "tests/native").glob("*.c"))
    return build_from(sources, folder / "check_isa", compiler, *flags)


def build_from(
    sources: list[Path], program: Path, compiler: str, *flags: str, kernel: Iterable[Path] = ()
) -> Path:
    """Compile a harness together with the kernel, or with object files of it; skips where that
    is impossible."""
    sources = [*sources, *(kernel or (ROOT / "native").glob("*.c"))]
    command = [tool(compiler), *CFLAGS, *flags, f"-I{ROOT / 'native'}", *map(str, sources)]
    made = run([*command, "-lm", "-o", str(program)])
    if made.returncode and "cannot find" in made.stderr:
        pytest.skip(f"{compiler} lacks a library: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    return program


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@dataclass(frozen=True)
class Alike:
    """The instruction sets of a run, and how many results it compared with portable C's."""

    caps: int
    compared: int

    @property
    def sets(self) -> int:
        """Combinations that were forced: none, each alone, all together."""
        return self.caps.bit_count() + 2


def all_alike(command: list[str]) -> Alike:
    """Run the program, which must find no difference."""
    done = run(command)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    said = re.fullmatch(r"caps (\w+), (\d+) results and (\d+) of indexes, all alike\n", done.stdout)
    assert said, done.stdout
    return Alike(int(said[1], 16), int(said[2]) + int(said[3]))


@pytest.mark.slow
def test_every_set_equals_portable_c(tmp_path: Path, proof: Proof) -> None:
    found = all_alike([str(build(tmp_path, "cc", *SHIPPED))])
    proof("T25", results_compared=found.compared, sets_forced=found.sets, mismatches=0)
    proof("T27", results_at_page_ends=found.compared, reports=0, how="unreadable page behind")
    if "native" in [kernel.name for kernel in kernels()]:
        from spector.kernel.native import set_caps

        assert found.caps == set_caps()


@pytest.mark.slow
def test_sanitizers_find_nothing(tmp_path: Path, proof: Proof) -> None:
    found = all_alike([str(build(tmp_path, "cc", *SANITIZE)), "quick"])
    proof("T27", results_under_sanitizers=found.compared, reports=0, how="ASan and UBSan")


@pytest.mark.slow
def test_valgrind_finds_nothing(tmp_path: Path, proof: Proof) -> None:
    valgrind = [tool("valgrind"), "--quiet", "--error-exitcode=9"]
    found = all_alike([*valgrind, str(build(tmp_path, "cc")), "quick"])
    proof("T27", results_under_valgrind=found.compared, reports=0, how="valgrind")
    assert not found.caps & AVX512, "valgrind cannot run AVX-512, so the probe must not offer it"


@pytest.mark.slow
def test_neon_equals_portable_c(tmp_path: Path, proof: Proof) -> None:
    emulator = tool("qemu-aarch64", "qemu-aarch64-static")
    program = str(build(tmp_path, "aarch64-linux-gnu-gcc", "-static"))
    newest = all_alike([emulator, "-cpu", "max", program, "quick"])
    oldest = all_alike([emulator, "-cpu", "cortex-a57", program, "quick"])
    proof(
        "T25",
        results_compared=newest.compared + oldest.compared,
        sets_forced=newest.sets + oldest.sets,
        mismatches=0,
    )
    assert newest.caps == NEON | DOTPROD
    assert oldest.caps == NEON

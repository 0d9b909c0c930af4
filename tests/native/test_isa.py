"""Mechanism: one operation, written once for each instruction set.

Damage: a set that few developers own ranks differently, reads behind a buffer, or has never run.
Guard: a C program compares every set with portable C, byte for byte, on buffers that end at an
unreadable page, and scans over an index with straight ones; as shipped, under sanitizers, under
valgrind, and for aarch64 in an emulator.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernel.blocks import kernels

ROOT = Path(__file__).parent.parent.parent
CFLAGS = ["-std=c11", "-O1", "-g", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"]
SHIPPED = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
AVX512, NEON, DOTPROD = 1 << 2, 1 << 4, 1 << 5


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def build(folder: Path, compiler: str, *flags: str) -> Path:
    program = folder / "check_isa"
    sources = [*(ROOT / "tests/native").glob("*.c"), *(ROOT / "native").glob("*.c")]
    command = [tool(compiler), *CFLAGS, *flags, f"-I{ROOT / 'native'}", *map(str, sources)]
    made = run([*command, "-lm", "-o", str(program)])
    if made.returncode and "cannot find" in made.stderr:
        pytest.skip(f"{compiler} lacks a library: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr
    return program


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def caps_alike(command: list[str]) -> int:
    """Run the program; returns the sets it has compared."""
    done = run(command)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    word, caps, verdict = done.stdout.split(maxsplit=2)
    assert (word, verdict.strip()) == ("caps", "all alike")
    return int(caps.rstrip(","), 16)


def test_every_set_equals_portable_c(tmp_path: Path) -> None:
    caps = caps_alike([str(build(tmp_path, "cc", *SHIPPED))])
    if "native" in [kernel.name for kernel in kernels()]:
        from spector.kernel.native import set_caps

        assert caps == set_caps()


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    caps_alike([str(build(tmp_path, "cc", *SANITIZE)), "quick"])


@pytest.mark.slow
def test_valgrind_finds_nothing(tmp_path: Path) -> None:
    valgrind = [tool("valgrind"), "--quiet", "--error-exitcode=9"]
    caps = caps_alike([*valgrind, str(build(tmp_path, "cc")), "quick"])
    assert not caps & AVX512, "valgrind cannot run AVX-512, so the probe must not offer it"


def test_neon_equals_portable_c(tmp_path: Path) -> None:
    emulator = tool("qemu-aarch64")
    program = str(build(tmp_path, "aarch64-linux-gnu-gcc", "-static"))
    assert caps_alike([emulator, "-cpu", "max", program, "quick"]) == NEON | DOTPROD
    assert caps_alike([emulator, "-cpu", "cortex-a57", program, "quick"]) == NEON

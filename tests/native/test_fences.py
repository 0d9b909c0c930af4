"""Mechanism: the kernel writes into buffers that its caller made, as long as the caller says.

Damage: where memory is short a caller has little or no room, and one hit too many lands in somebody
else's memory. Guard: the kernel asks for no memory itself, so it cannot fail to get any; every
entry is given every room from none at all on, between unreadable pages, with read-only arguments.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.native.test_isa import CFLAGS, ROOT, SANITIZE, build_from, run, tool
from tests.proof import Proof

HERE = Path(__file__).parent
SOURCES = [HERE / "fences/check_fences.c", HERE / "stores.c", HERE / "worlds.c"]
#: whatever gives or takes memory
ALLOCATORS = re.compile(
    r"\b(\w*alloc\w*|\w*memalign|strn?dup|free|mmap|mremap|s?brk|new|delete|_Zn\w+)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The harness; the object files of the kernel lie beside it."""
    folder = tmp_path_factory.mktemp("fences")
    sources = sorted((ROOT / "native").glob("*.c"))
    _objects(folder, sources)
    objects = sorted(folder.glob("*.o"))
    assert len(objects) == len(sources)
    return build_from(SOURCES, folder / "check_fences", "cc", kernel=objects)


def _objects(folder: Path, sources: list[Path]) -> None:
    """Compile, and leave no call out that a source makes, as -O1 does with memory nobody reads."""
    made = subprocess.run(
        [tool("cc"), *CFLAGS, "-fno-builtin", "-c", f"-I{ROOT / 'native'}", *map(str, sources)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


def _steps(command: list[str]) -> tuple[int, int]:
    done = run(command)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    steps, sets = re.findall(r"\d+", done.stdout)
    return int(steps), int(sets)


@pytest.mark.parametrize("most", [20, pytest.param(128, marks=pytest.mark.slow)])
def test_every_room_from_none_on_is_kept_to(program: Path, most: int, proof: Proof) -> None:
    steps, sets = _steps([str(program), str(most)])
    proof("T8", buffers_between_fences=steps, sets_forced=sets, crashes=0)
    proof("T27", buffers_between_fences=steps, reports=0, how="unreadable pages at both sides")


def test_a_hit_more_than_there_is_room_for_hits_the_fence(program: Path, proof: Proof) -> None:
    """The canary."""
    done = subprocess.run([str(program), "canary"], capture_output=True, text=True, check=False)
    caught = done.returncode == -signal.SIGSEGV
    proof("T8", canaries=1, canaries_caught=int(caught))
    assert caught, done.stdout


@pytest.mark.slow
def test_sanitizers_find_nothing_between_fences(tmp_path: Path, proof: Proof) -> None:
    program = build_from(SOURCES, tmp_path / "check_fences", "cc", *SANITIZE)
    steps, _ = _steps([str(program), "70"])
    proof("T27", results_under_sanitizers=steps, reports=0, how="ASan and UBSan")


def test_the_kernel_asks_nobody_for_memory(program: Path, tmp_path: Path, proof: Proof) -> None:
    """Of what its object files import, nothing allocates."""
    nm = tool("nm")
    source = tmp_path / "asks.c"  # the canary: compilers leave out what it asks for if they may
    source.write_text(
        "#include <stdlib.h>\nvoid asks(void);\n"
        "void asks(void) { free(malloc(1)); free(aligned_alloc(16, 16)); }\n"
    )
    _objects(tmp_path, [source])
    seen = run([nm, "-u", str(tmp_path / "asks.o")]).stdout
    assert sorted(ALLOCATORS.findall(seen)) == ["aligned_alloc", "free", "malloc"]
    objects = sorted(map(str, program.parent.glob("*.o")))
    wanted = subprocess.run([nm, "-u", *objects], capture_output=True, text=True, check=False)
    assert wanted.returncode == 0, wanted.stderr
    proof("T8", object_files=len(objects), calls_of_allocators=0)
    assert "memcpy" in wanted.stdout
    assert not ALLOCATORS.findall(wanted.stdout)
    assert ALLOCATORS.findall("x.o:\nmemcpy\nmalloc\n") == ["malloc"]


# -- Mechanism: threads of one process scan partitions and indexes that another one changes --------
#
# Damage: a torn count, a hit of one recall in the answer of another. Guard: a C program does to
# the kernel what Python's threads do, under the thread sanitizer.


NATIVE = HERE.parent.parent / "native"
SUPPRESSIONS = HERE / "races" / "suppressions.txt"
#: exit code of a program in which the sanitizer found something
_FOUND = 66


@pytest.fixture(scope="module")
def racing(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
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


def _run(racing: list[str], rounds: int, mode: str, options: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [*racing, str(rounds), mode],
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
def test_no_races_between_scans_and_a_writer(racing: list[str], rounds: int, proof: Proof) -> None:
    code, said = _run(racing, 20, "canary")
    assert code == _FOUND, f"two threads in one row of output are not noticed: {said}"
    assert "data race" in said
    forgiven = [line for line in SUPPRESSIONS.read_text().splitlines() if line.startswith("race:")]
    # a long memory: without the stack of the older access nothing can be forgiven by its function
    told = f"history_size=7 suppressions={SUPPRESSIONS}"
    scans = changes = 0
    for mode, options in (("copies", ""), ("in-place", told)):
        code, said = _run(racing, rounds, mode, options)
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

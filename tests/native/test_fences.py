"""Mechanism: the kernel writes into buffers that its caller made, as long as the caller says.

Damage: where memory is short a caller has little or no room, and one hit too many lands in somebody
else's memory. Guard: the kernel asks for no memory itself, so it cannot fail to get any; every
entry is given every room from none at all on, between unreadable pages, with read-only arguments.
"""

from __future__ import annotations

import re
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

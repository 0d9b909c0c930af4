"""With little memory left a call raises, and the process lives.

Mechanism: OpenBLAS calls exit(1) when it cannot map its buffer, also in a forked child that needs a
new one; a library that cannot be loaded, or a thread without a stack, is an ImportError or a
RuntimeError. Damage: the host process ends, or hears that its store or its installation is broken.
Guard: no product of floats goes to BLAS in a way that needs a buffer; shortage is said as such; the
store is whole afterwards.
"""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.store.files.protocol import typed_os_error
from tests.test_layers import REPO
from tests.trees import nodes_of, tree_of

_CHILD = """
import os, resource, sys
import numpy as np
import spector

how, extra, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]

def limit():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    most = used + int(extra * (1 << 20))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

def warm():
    # what is imported on first use takes no memory from the calls that count
    cue = np.ones(64, np.float32)
    with spector.open(":memory:", embedder=None, dim=64) as memory:
        memory.remember("words", vector=cue)
        memory.recall("words of some kind", vector=cue), memory.context("which?", vector=cue)
        memory.reflect(), memory.check()

def work():
    warm()
    if how != "use":
        limit()
    try:
        memory = spector.open(path, embedder=None, dim=64, threads=2)
    except (MemoryError, spector.SpectorError) as error:
        assert not isinstance(error, spector.CatalogCorruptError), error
        return
    if how == "use":
        limit()
    cue = np.ones(64, np.float32)
    for call in (
        lambda: memory.recall("words of some kind", vector=cue), lambda: memory.recall(vector=cue),
        lambda: memory.context("which words?", vector=cue), memory.reflect,
        lambda: memory.remember("more words", vector=cue), memory.check, memory.close,
    ):
        try:
            call()
        except (MemoryError, spector.SpectorError) as error:
            damage = (spector.CatalogCorruptError, spector.PartitionCorruptError)
            assert not isinstance(error, damage), error

if how == "fork":
    np.ones((64, 64)) @ np.ones((64, 64))  # the parent has a buffer, and a child would need one
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
else:
    work()
print("alive")
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("little") / "mind"
    rng = np.random.default_rng(7)
    with spector.open(path, embedder=None, dim=64) as memory:
        memory.remember_many(
            {"text": f"words of kind {n % 30}, number {n}", "vector": rng.standard_normal(64)}
            for n in range(2500)
        )
        memory.recall("words", vector=rng.standard_normal(64))
    return path


@pytest.mark.sampled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS is enforced on Linux")
@pytest.mark.parametrize("how", ["use", "open", "fork"])
@pytest.mark.parametrize("extra", [1.0, 7.0, 19.0, 33.0])
def test_the_process_lives_and_nothing_is_called_damaged(
    path: Path, how: str, extra: float
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, how, str(extra), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr[-2000:]
    assert spector.check(path).ok


_BLAS = {"dot", "matmul", "inner", "vdot", "tensordot", "linalg", "kron"}
#: products of integers, for which NumPy has no BLAS
_INTEGERS = {"spector/store/sqlite/wal_frames.py"}


def _products(tree: ast.AST) -> list[int]:
    found = []
    for node in nodes_of(tree):
        is_product = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(
            node.op, ast.MatMult
        )
        of_numpy = (
            isinstance(node, ast.Attribute)
            and node.attr in _BLAS
            and (node.attr == "dot" or (isinstance(node.value, ast.Name) and node.value.id == "np"))
        )
        if is_product or of_numpy:
            found.append(node.lineno)
    return found


def test_no_product_of_floats_goes_to_blas() -> None:
    every = {
        each.relative_to(REPO).as_posix(): _products(tree_of(each))
        for each in (REPO / "spector").rglob("*.py")
    }
    assert {name for name, lines in every.items() if lines} == _INTEGERS
    for source in ("a @ b", "a @= b", "np.dot(a, b)", "a.dot(b)", "np.linalg.norm(a)"):
        assert _products(ast.parse(source)), "a search that finds nothing proves nothing"


def test_a_map_that_finds_no_room_sends_nobody_to_check_the_store() -> None:
    error = typed_os_error(OSError(errno.ENOMEM, "Cannot allocate memory"), "map", "/a/b.mem")
    assert "memory" in error.hint
    assert "check" not in error.hint

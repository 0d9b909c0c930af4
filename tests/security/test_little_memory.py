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
from typing import Any

import numpy as np
import pytest

import spector
from spector.kernel import dispatch as choose
from spector.kernel.contract import products
from spector.kernel.dispatch import load_kernel
from spector.process.shortage import is_short_of_memory, said_as_memory_error
from spector.providers.minilm import MiniLMEmbedder
from spector.store.files.os_errors import typed_os_error
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

def work():
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


@pytest.mark.parametrize("dim", [1, 3, 384, 9000, 20_000])
def test_products_are_those_of_blas(dim: int) -> None:
    rng = np.random.default_rng(dim)
    rows = rng.standard_normal((40, dim)).astype(np.float32)
    others = rng.standard_normal((7, dim)).astype(np.float32)
    near: dict[str, Any] = {"rtol": 2e-4, "atol": 2e-4 * dim**0.5}
    np.testing.assert_allclose(products.cosine_table(rows, others), rows @ others.T, **near)
    np.testing.assert_allclose(products.dots(rows, others[0]), rows @ others[0], **near)
    np.testing.assert_allclose(products.lengths(rows), np.linalg.norm(rows, axis=1), rtol=1e-4)
    np.testing.assert_allclose(products.norm(rows[0]), np.linalg.norm(rows[0]), rtol=1e-4)
    weights = rng.standard_normal(40)
    wide = rows.astype(np.float64)
    np.testing.assert_allclose(products.weighted_sum(weights, wide), weights @ wide, atol=1e-9)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "no"),
        RuntimeError("can't start new thread"),
        ImportError("x.so: failed to map segment from shared object"),
        ImportError("x.so: cannot allocate memory in static TLS block"),
        Exception("std::bad_alloc"),
    ],
)
def test_shortage_is_told_from_other_troubles(error: Exception) -> None:
    assert is_short_of_memory(error)
    assert not is_short_of_memory(type(error)("something else")) or type(error) is MemoryError


def test_a_library_that_finds_no_room_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(MemoryError, match="too little"), said_as_memory_error():
        raise ImportError("x.so: failed to map segment from shared object")
    with pytest.raises(ImportError), said_as_memory_error():
        raise ImportError("No module named x")

    def loader() -> Any:
        raise ImportError("x.so: failed to map segment from shared object")

    load_kernel.cache_clear()
    monkeypatch.setitem(choose._LOADERS, "native", loader)
    with pytest.raises(MemoryError):
        load_kernel("native")
    load_kernel.cache_clear()


def test_a_map_that_finds_no_room_sends_nobody_to_check_the_store() -> None:
    error = typed_os_error(OSError(errno.ENOMEM, "Cannot allocate memory"), "map", "/a/b.mem")
    assert "memory" in error.hint
    assert "check" not in error.hint


def test_an_embedder_that_gets_no_thread_embeds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {n} " + "word " * (n % 9) for n in range(60)]
    wanted = MiniLMEmbedder(threads=1).embed(texts)
    embedder = MiniLMEmbedder(threads=3)

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    np.testing.assert_array_equal(embedder.embed(texts), wanted)
    np.testing.assert_array_equal(embedder.embed(texts), wanted)


def test_a_shortage_that_the_interpreter_loses_is_a_memory_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever in a call it comes; any other error of the interpreter stays what it is."""
    with spector.open(":memory:", embedder=None, dim=4) as memory:
        for said, kind in (
            ("error return without exception set", MemoryError),
            ("bad argument to internal function", SystemError),
        ):

            def fail(*args: object, said: str = said, **more: object) -> None:
                raise SystemError(said)

            monkeypatch.setattr(memory._parts.recaller, "recall", fail)
            with pytest.raises(kind):
                memory.recall(vector=[1.0, 0.0, 0.0, 0.0])

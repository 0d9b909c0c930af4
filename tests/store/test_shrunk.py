"""Mechanism: partitions are read through maps, which end where the file ended when it was mapped.

Damage without a look at the size: another program cuts a file, and the next page that is touched
behind its end kills the host with SIGBUS, which no Python code can catch. Guard: what the store
itself does never shrinks a file; a cut between openings is a typed error. A cut under a live map is
not survivable by any program that reads through maps, and a child shows what happens.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spector
from spector.errors import PartitionCorruptError, SpectorError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.store.files.disk import DiskFiles
from tests.crash.workload import DIM, open_tiny, vector_of

PAGE = 4096


def test_a_file_cut_between_openings_is_a_typed_error(store_path: Path, proof: Any) -> None:
    with open_tiny(str(store_path)) as memory:
        for n in range(3):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic")
    (part,) = store_path.rglob("*.mem")
    size = PARTITION_HEADER_BYTES + 3 * stride_of(DIM)
    cuts = 0
    for keep in range(0, size, 37):
        os.truncate(part, keep)
        for mode in ("rw", "r"):
            with pytest.raises(PartitionCorruptError), open_tiny(str(store_path), mode=mode) as m:
                list(m)
        assert not spector.check(store_path).ok
        cuts += 1
    proof("T12", cuts_between_openings=cuts, typed_errors=cuts)


def test_a_cut_under_a_live_map_ends_the_process_as_documented(
    store_path: Path, proof: Any
) -> None:
    config = spector.Config(semantic_capacity=400, min_extent_bytes=64 * 1024)
    with spector.open(store_path, embedder=None, dim=DIM, config=config) as memory:
        memory.remember_many(
            {"text": f"w{n}", "vector": vector_of(str(n)), "tier": "semantic"} for n in range(400)
        )
    (part,) = store_path.rglob("*.mem")
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child
        faulthandler.disable()  # what is about to happen is meant to
        code = 9
        try:
            with spector.open(store_path, embedder=None, dim=DIM, mode="r") as memory:
                memory.recall(vector=vector_of("1"), k=3, exact=True)
                os.truncate(part, PAGE)
                memory.recall(vector=vector_of("1"), k=400, exact=True)
            code = 1
        except SpectorError:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS
    assert killed or os.waitstatus_to_exitcode(status) == 0
    proof("T12", cuts_under_an_open_store=1, processes_ended=int(killed))


@pytest.mark.parametrize("power", [31, 32, 40])
def test_records_behind_gigabytes_and_terabytes_are_where_they_belong(
    tmp_path: Path, power: int, proof: Any
) -> None:
    """Sparse files, so that offsets cost no disk: written, mapped and read on both sides."""
    files = DiskFiles(str(tmp_path))
    file = files.open("big.mem", create=True)
    stride = 448
    edge = (1 << power) // stride
    try:
        for slot in (edge - 1, edge, edge + 1):
            file.write_at(slot * stride, bytes([slot % 251 + 1]) * stride)
        mapped = file.map((edge + 2) * stride)
        rows = mapped.reshape(-1, stride)
        for slot in (edge - 1, edge, edge + 1):
            assert (rows[slot] == slot % 251 + 1).all()
            assert file.read_at(slot * stride, stride) == rows[slot].tobytes()
        assert not rows[edge - 2].any()
        del rows, mapped
    finally:
        file.close()
    proof("T23", offsets=3, wrong=0)


_DTYPES = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")
_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda v: v,
    "list": lambda v: v.tolist(),
    "read-only": lambda v: np.frombuffer(v.tobytes(), v.dtype),
    "reversed": lambda v: v[::-1].copy()[::-1],
    "broadcast": lambda v: np.broadcast_to(v, (2, len(v)))[1],
    "broadcast, reversed": lambda v: np.broadcast_to(v[::-1].copy(), (3, len(v)))[2, ::-1],
    "Fortran row": lambda v: np.asfortranarray(np.stack([v + 1, v, v - 1]))[1],
    "column": lambda v: np.stack([v + 1, v], axis=1)[:, 1],
    "diagonal": lambda v: np.diag(v).diagonal(),
    "misaligned": lambda v: _misaligned(v),
}


def _misaligned(vector: Any) -> Any:
    room = np.zeros(vector.nbytes + 1, np.uint8)
    room[1:] = np.frombuffer(vector.tobytes(), np.uint8)
    return room[1:].view(vector.dtype)


def _strided(vector: Any, step: int, gap: int) -> Any:
    """Every ``step``-th element, backwards when negative, with ``gap`` others on both sides."""
    wide = np.full(len(vector) * abs(step) + 2 * gap, 7, vector.dtype)
    view = wide[gap : gap + len(vector) * abs(step)][::step]
    view[:] = vector
    return view


def _overlapping(seed: int, step: int) -> Any:
    """Rows of one buffer that begin ``step`` elements after each other."""
    buffer = np.random.default_rng(seed).standard_normal(DIM + 2 * step).astype(np.float32)
    return np.lib.stride_tricks.sliding_window_view(buffer, DIM)[:: max(1, step)]


_VECTORS = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from(_DTYPES),
    st.sampled_from(sorted(_LAYOUTS)),
    st.sampled_from([-5, -3, -2, -1, 1, 2, 3, 5]),
    st.integers(0, 3),
)


def test_vectors_in_any_layout_are_the_same_vectors(proof: Any) -> None:
    """The very bits: a copy in C order gets the same ids in the same order with the same scores."""
    seen, wrong = 0, 0

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(_VECTORS)
    def agrees(drawn: tuple[int, str, str, int, int]) -> None:
        nonlocal seen, wrong
        number, dtype, layout, step, gap = drawn
        rows = _overlapping(number, gap)
        plain = np.ascontiguousarray(rows[0]).astype(dtype)
        layouts = (_LAYOUTS[layout](plain), _strided(plain, step, gap))
        expected = _answers(memory, plain)
        for laid in layouts:
            seen, wrong = seen + 1, wrong + (_answers(memory, laid) != expected)
        for row in rows:  # overlaps its neighbours
            seen += 1
            wrong += _answers(memory, row) != _answers(memory, row.copy())
        made = [memory.remember("x", vector=each, tier="semantic").id for each in (plain, *layouts)]
        scores = {score for found, score in _answers(memory, plain) if found in made}
        memory.forget(made)
        seen, wrong = seen + len(made), wrong + (len(scores) != 1)
        assert not wrong, drawn

    with open_tiny(":memory:") as memory:
        for n in range(6):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic")
        try:
            agrees()
        finally:
            proof("T22", vectors=seen, wrong=wrong)


def _answers(memory: spector.Memory, cue: Any) -> list[tuple[int, float]]:
    hits = memory.recall(vector=cue, k=9, profile="similarity", lexical=False)
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_what_is_written_into_a_mapped_scan_index_ends_no_process(
    store_path: Path, mode: str
) -> None:
    """Mechanism: sizes of sections were read anew from the map, which follows the file."""
    config = spector.Config(semantic_capacity=200, index_min_rows=1)
    with spector.open(store_path, embedder=None, dim=DIM, config=config) as memory:
        memory.remember_many(
            {"text": f"w{n}", "vector": vector_of(str(n)), "tier": "semantic"} for n in range(400)
        )
    program = f"""
import sys
import spector
from spector.kernel.contract.index import INDEX_HEADER_BYTES
from pathlib import Path
from tests.crash.workload import vector_of
config = spector.Config(semantic_capacity=200, index_min_rows=1)
with spector.open({str(store_path)!r}, embedder=None, config=config, mode={mode!r}) as memory:
    before = [hit.id for hit in memory.recall(vector=vector_of("7"), k=10)]
    found = list(Path({str(store_path)!r}).rglob("*.idx"))
    assert found
    for path in found:
        with path.open("r+b") as file:
            file.write(b"\\xff" * INDEX_HEADER_BYTES)
    assert [hit.id for hit in memory.recall(vector=vector_of("7"), k=10)] == before
with spector.open({str(store_path)!r}, embedder=None, config=config, mode={mode!r}) as memory:
    assert [hit.id for hit in memory.recall(vector=vector_of("7"), k=10)] == before
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr

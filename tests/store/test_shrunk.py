"""Mechanism: partitions are read through maps, which end where the file ended when it was mapped.

Damage without a look at the size: another program cuts a file, and the next page that is touched
behind its end kills the host with SIGBUS, which no Python code can catch. Guard: what the store
itself does never shrinks a file; a cut between openings is a typed error. A cut under a live map is
not survivable by any program that reads through maps, and a child shows what happens.
"""

from __future__ import annotations

import os
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
from spector.errors import PartitionCorruptError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from tests.crash.workload import DIM, open_tiny, vector_of

PAGE = 4096


def test_a_file_cut_between_openings_is_a_typed_error(store_path: Path) -> None:
    with open_tiny(str(store_path)) as memory:
        for n in range(3):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic")
    (part,) = store_path.rglob("*.mem")
    size = PARTITION_HEADER_BYTES + 3 * stride_of(DIM)
    for keep in range(0, size, 37):
        os.truncate(part, keep)
        for mode in ("rw", "r"):
            with pytest.raises(PartitionCorruptError), open_tiny(str(store_path), mode=mode) as m:
                list(m)
        assert not spector.check(store_path).ok


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


def test_vectors_in_any_layout_are_the_same_vectors() -> None:
    """The very bits: a copy in C order gets the same ids in the same order with the same scores."""

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(_VECTORS)
    def agrees(drawn: tuple[int, str, str, int, int]) -> None:
        number, dtype, layout, step, gap = drawn
        rows = _overlapping(number, gap)
        plain = np.ascontiguousarray(rows[0]).astype(dtype)
        layouts = (_LAYOUTS[layout](plain), _strided(plain, step, gap))
        expected = _answers(memory, plain)
        for laid in layouts:
            assert _answers(memory, laid) == expected
        for row in rows:  # overlaps its neighbours
            assert _answers(memory, row) == _answers(memory, row.copy())
        made = [memory.remember("x", vector=each, tier="semantic").id for each in (plain, *layouts)]
        scores = {score for found, score in _answers(memory, plain) if found in made}
        memory.forget(made)
        assert len(scores) == 1

    with open_tiny(":memory:") as memory:
        for n in range(6):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"), tier="semantic")
        agrees()


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

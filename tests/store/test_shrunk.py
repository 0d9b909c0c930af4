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
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import PartitionCorruptError, SpectorError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.store.files import DiskFiles
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
    proof("T12", cuts_under_a_map=1, sigbus=int(killed))


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


@pytest.mark.parametrize("make", [
    lambda v: v.astype(">f4"), lambda v: v.astype(">f8"), lambda v: v.astype(np.float16),
    lambda v: np.repeat(v, 2)[::2], lambda v: v[::-1].copy()[::-1], lambda v: v.tolist(),
    lambda v: np.frombuffer(v.astype(np.float32).tobytes(), np.float32),
    lambda v: np.broadcast_to(v, (2, len(v)))[1],
], ids=["big-endian", "big-endian 64", "half", "strided", "reversed", "list", "read-only", "row"])
def test_a_vector_in_any_layout_is_the_same_vector(make: Any, proof: Any) -> None:
    plain = vector_of("w")
    with open_tiny(":memory:") as memory:
        given = make(plain)
        a = memory.remember("a", vector=given, tier="semantic")
        for cue in (plain, given):
            hit = memory.recall(vector=cue, k=1, profile="similarity", lexical=False)[0]
            assert hit.id == a.id
            assert hit.score == pytest.approx(1.0, abs=0.01)
    proof("T22", layouts=1, wrong=0)

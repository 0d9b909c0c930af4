"""A process that opens a store, recalls and closes again, over and over, does not grow.

Mechanism: the process's own memory (RssAnon), read after each closing, with the cycle collector
off. Damage without it: a service that opens a store for each request grew by four megabytes with
every one of them. Guard: what the last openings leave is what the first have left. Each round is
in a fresh process, in which nothing else allocates.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from tests.crash.harness import in_fresh_process
from tests.proof import Proof

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")

_DIM = 64
_BATCH = 20_000


def own_mib() -> float:
    """Memory of this process that no file is behind, MiB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def reopen(path: str, memories: int, openings: int) -> dict[str, Any]:
    """Own memory after the fifth closing and after the last, of reading and writing in turn."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((min(memories, _BATCH), _DIM)).astype(np.float32)
    with spector.open(path, embedder=None, dim=_DIM, durability="relaxed") as memory:
        for first in range(0, memories, _BATCH):
            memory.remember_many(
                [
                    {"text": f"memory {n} about w{n % 5000}", "vector": vectors[n % _BATCH]}
                    for n in range(first, min(first + _BATCH, memories))
                ]
            )
        memory.recall("about w77", vector=vectors[3])
    del memory
    gc.collect()
    gc.disable()
    seen = []
    for n in range(openings):
        with spector.open(
            path, embedder=None, dim=_DIM, durability="relaxed", mode="r" if n % 2 else "rw"
        ) as memory:
            hits = memory.recall(f"w{n} w5", vector=vectors[n])
            assert len(hits) == 10
            if n % 4 == 0:
                memory.remember(f"another {n}", vector=vectors[n])
        seen.append(own_mib())
    maps = sum(f"{path}/" in line for line in Path("/proc/self/maps").read_text().splitlines())
    return {"fifth_mib": seen[4], "last_mib": seen[-1], "most_mib": max(seen[4:]), "maps": maps}


def test_a_small_store_that_is_opened_again_and_again_leaves_nothing(store_path: Path) -> None:
    found = in_fresh_process(
        "tests.api.test_reopening:reopen", path=str(store_path), memories=4000, openings=25
    )
    # one index of words and vectors of this store is about 3 MiB
    assert found["last_mib"] < found["fifth_mib"] + 3, found
    assert found["maps"] == 0


@pytest.mark.slow
def test_a_hundred_openings_of_a_hundred_thousand_memories_leave_nothing(
    store_path: Path, proof: Proof
) -> None:
    found = in_fresh_process(
        "tests.api.test_reopening:reopen",
        path=str(store_path),
        memories=100_000,
        openings=100,
        timeout_s=1200,
    )
    grown = found["last_mib"] - found["fifth_mib"]
    proof("T31", reopenings=100, mib_grown_by_reopening=f"{grown:.1f}")
    assert grown < 10, found
    assert found["maps"] == 0

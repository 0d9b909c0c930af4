"""What a recall by vector costs, in counts that depend on no load.

Mechanism: of a small store the scan is a tenth of a recall; the rest is calls of Python and
statements of SQL. Damage: each feature adds a few, and within two days a recall was a quarter
slower, which no test of answers shows. Guard: the statements are counted exactly, the calls with
little room. What saves a statement is kept with the snapshot, so it must follow each commit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from spector import Memory
from tests.api.helpers import own_vectors, vector, vectors

#: BEGIN, the counters, the rows of the hits, COMMIT
STATEMENTS = 4
#: calls of Python of a recall of ten hits, and a little room
CALLS = 330


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Forty memories on disk, recalled often enough that nothing is made for the first time."""
    with own_vectors(tmp_path / "mind") as opened:
        made = vectors(40, seed=5)
        opened.remember_many([{"text": f"note {n}", "vector": made[n]} for n in range(40)])
        opened.checkpoint()
        for _ in range(3):
            opened.recall(vector=vector(1), k=10)
        yield opened


def statements(memory: Memory, seed: int = 1) -> list[str]:
    """What a recall asks of SQLite, by the connections that lie ready for it."""
    out: list[str] = []
    pool = memory._parts.store.catalog._pool
    assert pool, "a recall leaves its connection behind"
    for connection in pool:
        connection.set_trace_callback(out.append)
    assert len(memory.recall(vector=vector(seed), k=10)) == 10
    for connection in pool:
        connection.set_trace_callback(None)
    return out


def test_a_recall_by_vector_asks_four_statements(memory: Memory) -> None:
    assert len(statements(memory)) == STATEMENTS, statements(memory)
    memory.remember("one more", vector=vector(7))
    statements(memory)  # what a commit may have changed is asked once
    assert len(statements(memory)) == STATEMENTS


def test_a_recall_by_vector_makes_few_calls(memory: Memory) -> None:
    calls: dict[str, int] = {}

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            calls[frame.f_code.co_qualname] = calls.get(frame.f_code.co_qualname, 0) + 1

    sys.setprofile(seen)
    try:
        memory.recall(vector=vector(2), k=10)
    finally:
        sys.setprofile(None)
    most = sorted(calls.items(), key=lambda each: -each[1])[:12]
    assert sum(calls.values()) <= CALLS, (sum(calls.values()), most)

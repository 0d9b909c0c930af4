"""Stores of many sizes open, answer and take more; one larger than the memory allowed answers."""

from __future__ import annotations

import sys

import pytest

from tests.crash.harness import in_fresh_process
from tests.proof import Proof


@pytest.mark.skipif(sys.platform != "linux", reason="limits and caches are those of Linux")
@pytest.mark.parametrize(
    "size",
    [2_000, *(pytest.param(n, marks=pytest.mark.slow) for n in (10_000, 100_000, 1_000_000))],
)
@pytest.mark.timeout(1800)
def test_a_store_of_so_many_records_opens_answers_and_takes_more(size: int, proof: Proof) -> None:
    found = in_fresh_process(
        "tests.soak.load:load", records=size, dim=128 if size > 100_000 else 384, timeout_s=1790
    )
    records, limited = found.pop("records"), found.pop("limited_recalls", 0)
    row = "; ".join(f"{name} {value}" for name, value in found.items() if name != "mapped_bytes")
    proof("T32", records=records, recalls_beyond_memory=limited, figures=f"{records:,}: {row}")
    assert records == size
    assert found["open_ms"] > 0

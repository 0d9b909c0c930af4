"""Fixtures of the benchmarks. ``SPECTOR_BENCH_MODE=full`` asks for the large sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bench.data import Corpus, load_corpus
from bench.machine import one_core, scratch_root
from bench.measure import Row
from bench.stores import Stores

FULL = os.environ.get("SPECTOR_BENCH_MODE", "quick") == "full"
#: records in a store
STORE_SIZES = (10_000, 100_000, 1_000_000) if FULL else (10_000,)
#: records in a bare scan
SCAN_SIZES = (100_000, 1_000_000) if FULL else (100_000,)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_size" in metafunc.fixturenames:
        metafunc.parametrize("store_size", STORE_SIZES, scope="session")
    if "scan_size" in metafunc.fixturenames:
        metafunc.parametrize("scan_size", SCAN_SIZES, scope="session")


@pytest.fixture(scope="session")
def full() -> bool:
    return FULL


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return load_corpus()


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    with TemporaryDirectory(prefix="spector-bench-", dir=scratch_root()) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def stores(scratch: Path, corpus: Corpus) -> Stores:
    return Stores(scratch, corpus)


@pytest.fixture
def row(benchmark: Any) -> Row:
    return Row(benchmark)


@pytest.fixture
def pinned() -> Iterator[int]:
    """One core for the benchmark, and for threads and processes that it starts."""
    with one_core() as core:
        yield core

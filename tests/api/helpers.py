"""What the tests of the public face share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Memory, SpectorError
from spector.clock import ManualClock
from tests.fakes import FakeEmbedder

DIM = 32


def vector(seed: int = 0, dim: int = DIM) -> list[float]:
    """A unit vector that only the seed decides."""
    found = np.random.default_rng(seed).standard_normal(dim)
    return [float(x) for x in found / np.linalg.norm(found)]


def vectors(count: int, seed: int = 0, dim: int = DIM) -> Any:
    """(count, dim) f32 unit vectors."""
    found = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def texts(found: Any) -> list[str]:
    return [item.text for item in found]


def ids(found: Any) -> list[int]:
    return [item.id for item in found]


def fingerprint(path: Path) -> dict[str, str]:
    """Name -> digest of every file of a store."""
    return {
        file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.endswith("-shm")  # SQLite's scratch: read marks
    }


def files_with(path: Path, needle: str | bytes) -> list[str]:
    """Every file of a store that holds these bytes (UTF-8, and as JSON would escape them)."""
    raw = needle.encode() if isinstance(needle, str) else needle
    return [
        file.relative_to(path).as_posix()
        for file in sorted(path.rglob("*"))
        if file.is_file() and raw.lower() in file.read_bytes().lower()
    ]


@contextmanager
def refused(memory: Memory, kind: type[SpectorError], *, hint: bool = True) -> Iterator[None]:
    """The block raises exactly this typed error, with a next step, and stores nothing."""
    before = [record.to_dict() for record in memory]
    with pytest.raises(SpectorError) as caught:
        yield
    assert isinstance(caught.value, kind), repr(caught.value)
    if hint:
        assert caught.value.hint, f"no hint: {caught.value}"
    assert [record.to_dict() for record in memory] == before, "something was stored or changed"


def own_vectors(path: Any = ":memory:", **options: Any) -> Memory:
    """A store without an embedder, in which no time passes: scores depend on the age."""
    options.setdefault("clock", ManualClock(datetime(2026, 6, 1, tzinfo=UTC)))
    return spector.open(path, embedder=None, dim=options.pop("dim", DIM), **options)


@pytest.fixture(name="memory")
def sound_memory(tmp_path: Path, clock: ManualClock) -> Iterator[Memory]:
    """A store at ``mind`` in which no time passes, and which a test leaves sound."""
    with spector.open(tmp_path / "mind", embedder=FakeEmbedder(), clock=clock) as opened:
        yield opened
        assert opened.check().ok, opened.check()

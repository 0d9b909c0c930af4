"""Reading all records: verified by the batch, yet each as it is at the moment it is handed out."""

from __future__ import annotations

from typing import Any

import pytest

from spector import Memory
from spector.errors import StoreClosedError
from spector.store.partitions import images
from tests.api.helpers import ids

COUNT = 600


@pytest.fixture
def made(memory: Memory) -> list[int]:
    return ids(memory.remember_many([f"n {n}" for n in range(COUNT)]))


def test_checksums_are_verified_by_the_batch(
    memory: Memory, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = images.crc32c_rows

    def counting(rows: Any, *rest: Any) -> Any:
        sizes.append(len(rows))
        return real(rows, *rest)

    monkeypatch.setattr(images, "crc32c_rows", counting)
    monkeypatch.setattr("spector.store.core.records.crc32c_rows", counting)
    assert ids(memory) == made
    assert sum(sizes) == COUNT
    assert len(sizes) == 3


def test_what_is_walked_is_what_get_returns(memory: Memory, made: list[int]) -> None:
    memory.remember("a rule", tier="procedural", metadata={"a": [1]}, tags=["t"])
    memory.remember("a thought", tier="working")
    assert list(memory) == [memory.get(record_id) for record_id in ids(memory)]


def test_a_walk_ends_with_its_store(memory: Memory, made: list[int]) -> None:
    """Also within a batch, the rest of which it has in hand."""
    walked = iter(memory)
    assert next(walked).id == made[0]
    memory.close()
    with pytest.raises(StoreClosedError):
        next(walked)

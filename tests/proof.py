"""What a reliability test counted, as properties of its report; and the seed that repeats it.

A test asks for the fixture ``proof`` and says what it did, under the label that its promise has in
docs/reliability.md::

    proof("T1", kill_points=3120, lost_acknowledged=0, seeds="0..12")

``make test-slow`` writes the properties to build/test-slow.xml.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

__all__ = ["Proof", "proof", "seed"]

Proof = Callable[..., None]


def seed(default: int) -> int:
    """SPECTOR_SEED where it is set: how a failure is repeated, or a nightly run varied."""
    return int(os.environ.get("SPECTOR_SEED", default))


@pytest.fixture
def proof(record_property: Callable[[str, object], None]) -> Proof:
    """Call it with the label of a promise and the counts."""

    def record(label: str, **counts: float | str) -> None:
        for name, count in counts.items():
            record_property(f"{label}: {name}", count)

    return record

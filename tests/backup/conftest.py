"""A killed or failed copy loses no page cache, so these tests need no real disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.harness import scratch


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory in memory where there is room for one."""
    with scratch() as root:
        yield Path(root)

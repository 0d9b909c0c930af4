from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def nothing_of_other_tests() -> None:
    """What another test left open must not go while this one counts descriptors."""
    gc.collect()

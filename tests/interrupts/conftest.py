from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def nothing_of_other_tests() -> None:
    """What another test left open must not go while this one counts descriptors.

    What is still in use afterwards is not looked through again by the next test.
    """
    gc.collect()
    gc.freeze()

"""A shared write that is cut off at any place leaves the store free, and loses nothing."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory, StoreFailedError
from tests.interrupts.sweep import cut_at
from tests.sharing.workers import opened

_JOBS: dict[str, Callable[[Memory], object]] = {
    "remember": lambda memory: memory.remember("cut", key="cut"),
    "update": lambda memory: memory.update(key="kept", text="changed"),
    "forget": lambda memory: memory.forget(key="doomed"),
    "compact": lambda memory: memory.compact(),
    "close": lambda memory: memory.close(),
}


def _descriptors(most: int) -> int:
    """Without those of garbage, where there are too many."""
    if len(os.listdir("/proc/self/fd")) > most:
        gc.collect()
    return len(os.listdir("/proc/self/fd"))


def _swept(root: Path, job: Callable[[Memory], object], first: int, step: int) -> int:
    """Cut off at every ``step``-th place; how many places were tried."""
    with opened(root / "model", wait=5) as memory:
        memory.remember("kept", key="kept")
        memory.remember("doomed", key="doomed")
        memory.forget(memory.remember("dead").id)
    tried, nth = 0, first
    while True:
        mind = root / f"mind {nth}"
        shutil.copytree(root / "model", mind)
        before = _descriptors(1 << 20)
        cut, other = opened(mind, wait=5), opened(mind, wait=5)
        other.remember("of another")
        came, where, _ = cut_at(nth, lambda memory=cut: job(memory))
        other.remember("after", key="after")
        texts = {each.text for each in other.records()}
        assert {"of another", "after"} <= texts, where
        assert texts & {"kept", "changed"}, where
        assert other.check().ok, (where, other.check().problems)
        try:
            cut.remember("goes on")
            assert "goes on" in {each.text for each in other.records()}, where
        except (StoreFailedError, spector.StoreClosedError):
            pass
        cut.close()
        other.close()
        with opened(mind, shared=False, wait=0) as plain:
            assert plain.check().ok, where
        assert _descriptors(before) <= before, where
        shutil.rmtree(mind)
        if not came:
            return tried
        tried, nth = tried + 1, nth + step


@pytest.mark.parametrize("name", ["remember", "close"])
def test_a_shared_write_cut_off_at_some_places_costs_nothing(
    tmp_path: Path, name: str, proof: Any
) -> None:
    tried = _swept(tmp_path, _JOBS[name], 3, 53)
    assert tried
    proof("sharing", places_cut=tried, harmed=0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(_JOBS))
def test_a_shared_write_cut_off_at_every_place_costs_nothing(
    tmp_path: Path, name: str, proof: Any
) -> None:
    tried = _swept(tmp_path, _JOBS[name], 1, 1)
    assert tried > 2
    proof("sharing", places_cut=tried, harmed=0)

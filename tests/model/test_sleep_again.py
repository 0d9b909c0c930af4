"""Sleep that is run twice, or killed and run again, ends where one clean sleep ends.

Mechanism: a store with everything that sleep has to do; reflect and compact die before each thing
they do to the disk, and are run again; or run twice; or from two threads at once. Damage: memories
twice, partitions of two generations side by side, a half-done order that is never finished.
Guard: each step of sleep is one commit, and what is due is found in the store, not remembered.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from spector.errors import StoreLockedError, StoreReadOnlyError
from tests.cases import slow
from tests.crash.harness import scratch
from tests.crash.workload import DIM, START, TINY, vector_of
from tests.model.faults import Photographer, install
from tests.model.life import copy_as_killed
from tests.proof import Proof

LATER = START + timedelta(days=3)
SLEEPS: dict[str, Callable[[spector.Memory], Any]] = {
    "reflect": lambda memory: memory.reflect(),
    "compact": lambda memory: memory.compact(),
    "checkpoint": lambda memory: memory.checkpoint(),
    "reflect, compact": lambda memory: (memory.reflect(), memory.compact()),
}
_CONFIG = replace(TINY, checkpoint_bytes=1 << 20, reflect_interval_s=3600.0)


def _open(path: str | Path, mode: Any = "rw") -> spector.Memory:
    return spector.open(
        path, embedder=None, dim=DIM, config=_CONFIG, clock=ManualClock(LATER), mode=mode, threads=1
    )


def _tired(path: str) -> None:
    """Full partitions and half full ones, forgotten, moved and late memories, a full journal."""
    clock = ManualClock(START)
    with spector.open(path, embedder=None, dim=DIM, config=_CONFIG, clock=clock) as memory:
        ids = [
            memory.remember(
                f"text{n} version 0",
                vector=vector_of(f"{n}"),
                tags=[f"t{n % 3}"],
                importance=(n * 7 % 10) / 10,
                event_time=START - timedelta(hours=9 * (n % 4)),
                tier=("episodic", "episodic", "semantic", "procedural")[n % 4],
            ).id
            for n in range(26)
        ]
        for n in (1, 2, 5, 9, 14, 22):
            memory.forget(ids[n])
        for n in (3, 6, 11):
            memory.update(ids[n], text=f"text{n} version 1", vector=vector_of(f"{n}b"))
        memory.pin(ids[0])


def _state(memory: spector.Memory) -> dict[str, Any]:
    """All that sleep may change and that anybody could notice."""
    store = memory._parts.store
    partitions = []
    for segment in store.segments.values():
        row, headers = segment.row, segment.partition().headers()
        dead = headers["flags"] & 1
        partitions.append(
            (
                row.tier,
                row.day,
                row.state,
                row.live,
                row.dead,
                headers["id"].tolist(),
                dead.tolist(),
                headers["centroid"].tolist(),
            )
        )
    return {
        "records": [record.to_dict() for record in memory],
        "partitions": sorted(partitions),
        "problems": [str(p) for p in memory.check().problems],
        "ranking": [(h.id, h.score) for h in memory.recall(vector=vector_of("3"), k=40)],
    }


def _last_words(memory: spector.Memory) -> None:
    """Something that is in the journal only."""
    memory.update(next(iter(memory)).id, text="text0 version 2", vector=vector_of("0c"))


def _clean(base: str, path: str, sleep: Callable[[spector.Memory], Any]) -> dict[str, Any]:
    shutil.copytree(base, path)
    with _open(path) as memory:
        _last_words(memory)
        sleep(memory)
        return _state(memory)


def _killed_and_rerun(name: str, stride: int, first: int) -> tuple[int, list[str]]:
    """Die before every ``stride``-th thing that a sleep does to its disk, then sleep it out."""
    sleep, wrong, kills = SLEEPS[name], [], 0
    with scratch() as root:
        base, at = f"{root}/base", first
        _tired(base)
        expected = _clean(base, f"{root}/clean", sleep)
        if expected["problems"]:
            wrong.append(str(expected["problems"]))
        while True:
            path, photo = f"{root}/life", f"{root}/photo"
            shutil.copytree(base, path)
            camera = Photographer()
            restore = install(camera)
            try:
                with _open(path) as memory:
                    _last_words(memory)
                    camera.wait(at, lambda: copy_as_killed(f"{root}/life", f"{root}/photo"))
                    sleep(memory)
                    camera.armed = False
            finally:
                restore()
            shutil.rmtree(path)
            if not camera.fired:
                return kills, wrong
            kills += 1
            with _open(photo) as memory:
                sleep(memory)
                found = _state(memory)
            shutil.rmtree(photo)
            wrong += [
                f"killed at {at}, {camera.fired}: {key} is {found[key]}, not {expected[key]}"
                for key in expected
                if found[key] != expected[key]
            ]
            at += stride


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "stride", "first"),
    [
        ("checkpoint", 2, 1),
        *(slow(name, 1, 0, timeout_s=2000) for name in SLEEPS if ", " not in name),
        # the first of two is killed by its own name at each step, and so is the second
        slow("reflect, compact", 9, 0, timeout_s=2000),
    ],
)
def test_killed_at_each_step_and_run_again_equals_one_clean_run(
    name: str, stride: int, first: int, proof: Proof
) -> None:
    kills, wrong = _killed_and_rerun(name, stride, first)
    proof("T34", kills=kills, end_states_that_differ=len(wrong))
    assert not wrong, "\n".join(wrong[:5])
    assert kills


@pytest.mark.parametrize("name", SLEEPS)
def test_run_twice_equals_run_once(name: str, proof: Proof) -> None:
    with scratch() as root:
        _tired(f"{root}/base")
        once = _clean(f"{root}/base", f"{root}/once", SLEEPS[name])
        with _open(f"{root}/once") as memory:
            assert _state(memory) == once, "reopening changed something"
            SLEEPS[name](memory)
            assert _state(memory) == once
            again = memory.reflect(), memory.compact(), _state(memory), memory.compact()
            assert again[3].partitions_compacted == 0
            assert _state(memory) == again[2]
    ids = [record["id"] for record in once["records"]]
    proof("T34", runs_twice=1, duplicates=len(ids) - len(set(ids)))
    assert len(ids) == len(set(ids)) == 20


def test_a_second_sleeper_in_another_process_is_refused() -> None:
    """It cannot open the store to write; as a reader it may not sleep."""
    with scratch() as root:
        _tired(f"{root}/mind")
        with _open(f"{root}/mind") as memory:
            with pytest.raises(StoreLockedError):
                _open(f"{root}/mind")
            with _open(f"{root}/mind", "r") as reader:
                for verb in (reader.reflect, reader.compact, reader.checkpoint):
                    with pytest.raises(StoreReadOnlyError):
                        verb()
            memory.reflect()
            assert not memory.check().problems

"""An exception between two steps of a shared writer costs nothing, while another one writes.

Mechanism: as in `test_sweep`, with a second writer that commits before and after the interrupt.
Damage: a writer that was cut off while it took over what the other one had written did not number
its partitions after the other's: its next write failed with "UNIQUE constraint failed: segment.id",
which was told as damage, until it was opened again. Guard: both go on writing, and check.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import spector
from tests.crash.harness import scratch
from tests.interrupts.sweep import cut_at
from tests.interrupts.verbs import WRITING, Scene, copied, faults_of, prepared

#: places between two that the quick sample tries
STRIDE = 23


@pytest.fixture(scope="module")
def model() -> Iterator[Scene]:
    with scratch() as folder:
        yield prepared(Path(folder) / "model")


def write(scene: Scene, memory: spector.Memory, month: int) -> None:
    """Fill a day of its own: a partition more."""
    record = memory.remember("a swan", event_time=f"2026-{month:02}-11T08:00:00Z", key=f"{month}")
    scene.kept[record.id] = record.text


def swept(model: Scene, name: str, first: int, stride: int) -> tuple[int, list[str]]:
    """How many places were tried, and what went wrong at which."""
    faults: list[str] = []
    tried, nth = 0, first
    while True:
        scene = copied(model, model.folder.parent / "scene")
        memory, other = (scene.opened(shared=True) for _ in range(2))
        scene.memory, scene.made = memory, [other]
        write(scene, memory, 5)
        write(scene, other, 6)
        reached, where, _ = cut_at(nth, lambda scene=scene: WRITING[name](scene))
        told = faults_of_writers(scene, memory, other)
        told += faults_of(scene)
        faults += [f"{name} at {nth}, {where}: {each}" for each in told]
        shutil.rmtree(scene.folder)
        if not reached:
            return tried, faults
        tried, nth = tried + 1, nth + stride


def faults_of_writers(scene: Scene, memory: spector.Memory, other: spector.Memory) -> list[str]:
    out = []
    for month, each in enumerate((memory, other, memory, other), 7):
        try:
            write(scene, each, month)
        except (spector.StoreFailedError, spector.StoreClosedError) as error:
            if each is other:
                out.append(f"then the other one: {error}")
        except BaseException as error:
            out.append(f"then in {month}: {type(error).__name__}: {error}")
    return out


def test_a_writer_that_is_cut_off_before_it_numbers_goes_on(
    model: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = copied(model, model.folder.parent / "scene")
    memory, other = (scene.opened(shared=True) for _ in range(2))
    scene.memory, scene.made = memory, [other]
    write(scene, memory, 5)
    write(scene, other, 6)
    with monkeypatch.context() as patched:
        partitions = type(memory._parts.store.partitions)
        patched.setattr(partitions, "resume_ids", lambda self: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            memory.remember("a coot")
    assert faults_of_writers(scene, memory, other) + faults_of(scene) == []
    shutil.rmtree(scene.folder)


@pytest.mark.parametrize("name", ["remember", "remember by key", "import"])
def test_a_shared_writer_that_is_cut_off_goes_on_beside_another(model: Scene, name: str) -> None:
    tried, faults = swept(model, name, 1 + len(name) % STRIDE, STRIDE)
    assert tried > 2
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["remember", "remember by key", "import", "supersede", "erase a user"]
)
def test_a_shared_writer_that_is_cut_off_anywhere_goes_on(model: Scene, name: str) -> None:
    _, faults = swept(model, name, 1, 1)
    assert faults == []

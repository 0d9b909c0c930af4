"""An exception between two steps of a verb costs nothing: Ctrl-C, a soft time limit, SIGTERM.

Mechanism: an exception is raised at the return of each call into SQLite and the system, one after
the other, in every verb, in opening and in closing. Damage: a commit was taken for none, and the
file that it named was removed; locks and descriptors stayed; an interrupted object claimed that its
files were damaged. Guard: afterwards the object works or says that it has to be opened again, the
store opens, everything acknowledged is in it, check finds nothing, and no descriptor is left.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from tests.cases import slow
from tests.crash.harness import scratch
from tests.interrupts.sweep import cut_at
from tests.interrupts.verbs import ENTRIES, READING, WRITING, Scene, copied, faults_of, prepared
from tests.proof import Proof

JOBS = {**WRITING, **READING, **ENTRIES}
#: places between two that the quick sample tries; where it begins depends on the verb
STRIDE = 179


@pytest.fixture(scope="module")
def model() -> Iterator[Scene]:
    with scratch() as folder:
        yield prepared(Path(folder) / "model")


def swept(
    model: Scene, name: str, first: int, stride: int, *, beside: bool = False
) -> tuple[int, list[str]]:
    """How many places were tried, and what went wrong at which; perhaps beside another writer."""
    faults: list[str] = []
    tried, nth = 0, first
    while True:
        scene = copied(model, model.folder.parent / "scene")
        if beside:
            _two_writers(scene)
        elif name not in ENTRIES:
            scene.memory = scene.opened()
        reached, where, _ = cut_at(nth, lambda scene=scene: JOBS[name](scene))
        told = (faults_of_writers(scene) if beside else []) + faults_of(scene)
        faults += [f"{name} at {nth}, {where}: {fault}" for fault in told]
        shutil.rmtree(scene.folder)
        if not reached:
            return tried, faults
        tried, nth = tried + 1, nth + stride


#: verbs with so many commits that even a sample takes a minute
LONG = frozenset({"night", "take a night back"})
#: of a whole night there are thousands of places, each of which costs another night
EVERY_OF_LONG = 7


@pytest.mark.sampled
@pytest.mark.parametrize("name", [slow(each) if each in LONG else each for each in JOBS])
def test_a_verb_that_is_cut_off_at_some_places_costs_nothing(
    name: str, model: Scene, proof: Proof
) -> None:
    first = 1 + sum(map(ord, name)) % STRIDE
    tried, faults = swept(model, name, first, STRIDE)
    assert faults == []
    proof("T36", places_cut=tried, harmed=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_a_verb_that_is_cut_off_at_every_place_costs_nothing(
    name: str, model: Scene, proof: Proof
) -> None:
    tried, faults = swept(model, name, 1, EVERY_OF_LONG if name in LONG else 1)
    assert tried > 2
    assert faults == []
    proof("T36", places_cut=tried, verbs_swept=1, harmed=0)


def test_every_public_verb_is_swept(model: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each does something: a filter that matches nothing would never come to a commit."""
    names = {name for name in vars(Memory) if not name.startswith("_")} - {"path", "daemon"}
    called: set[str] = set()
    for name in names:
        member = getattr(Memory, name)

        def noting(
            self: Memory, *args: Any, name: str = name, member: Any = member, **more: Any
        ) -> Any:
            called.add(name)
            return member(self, *args, **more)

        monkeypatch.setattr(Memory, name, noting)
    for name, job in {**WRITING, **READING}.items():
        scene = copied(model, model.folder.parent / "scene")
        scene.memory = scene.opened()
        before = scene.memory._parts.store.head.change_seq
        job(scene)
        store = scene.memory._parts.store
        assert (
            name not in WRITING
            or not store.is_open
            or store.head.change_seq > before
            or (name == "checkpoint")
        ), f"{name} changes nothing"
        scene.memory.close()
        shutil.rmtree(scene.folder)
    assert names - called == set()


@pytest.mark.slow
def test_the_sweep_notices_a_verb_that_forgets_to_roll_back(
    model: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A canary: what this sweep is for must be seen by it."""
    monkeypatch.setattr("spector.store.catalog.catalog.Catalog.roll_back", lambda self: None)
    monkeypatch.setattr(
        "spector.store.core.transaction.Transaction.release", lambda self, remove: None
    )
    _, faults = swept(model, "remember another day", 1, 1)
    assert faults


# -- An exception between two steps of a shared writer costs nothing, while another one writes -----
#
# Mechanism: as in `test_sweep`, with a second writer that commits before and after the interrupt.
# Damage: a writer that was cut off while it took over what the other one had written did not
# number its partitions after the other's: its next write failed with "UNIQUE constraint failed:
# segment.id", which was told as damage, until it was opened again. Guard: both go on writing, and
# check.


#: places between two that the quick sample tries
SHARED_STRIDE = 23


def write(scene: Scene, memory: spector.Memory, month: int) -> None:
    """Fill a day of its own: a partition more."""
    record = memory.remember("a swan", event_time=f"2026-{month:02}-11T08:00:00Z", key=f"{month}")
    scene.kept[record.id] = record.text


def _two_writers(scene: Scene) -> None:
    scene.memory, other = (scene.opened(shared=True) for _ in range(2))
    scene.made = [other]
    write(scene, scene.memory, 5)
    write(scene, other, 6)


def faults_of_writers(scene: Scene) -> list[str]:
    memory, [other] = scene.memory, scene.made
    assert memory is not None
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
    _two_writers(scene)
    memory = scene.memory
    assert memory is not None
    with monkeypatch.context() as patched:
        partitions = type(memory._parts.store.partitions)
        patched.setattr(partitions, "resume_ids", lambda self: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            memory.remember("a coot")
    assert faults_of_writers(scene) + faults_of(scene) == []
    shutil.rmtree(scene.folder)


SHARED = ("remember", "remember by key", "import")
EVERYWHERE = [slow(name, 1) for name in (*SHARED, "supersede", "erase a user")]


@pytest.mark.parametrize(("name", "stride"), [*((n, SHARED_STRIDE) for n in SHARED), *EVERYWHERE])
def test_a_shared_writer_that_is_cut_off_goes_on_beside_another(
    model: Scene, name: str, stride: int
) -> None:
    tried, faults = swept(model, name, 1 + len(name) % stride, stride, beside=True)
    assert tried > 2
    assert faults == []

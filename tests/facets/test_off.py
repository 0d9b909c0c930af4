"""Off means off: looking at what a store knows changes nothing of one that knows nothing.

Mechanism: facets, sessions, dry runs and reports are loaded at first use. Damage without it: a
store that only remembers and recalls gets tables, other bytes, scores or reports because somebody
looked. Guard: two stores under the same random operations, one of them looked at between.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Memory
from spector.clock import ManualClock
from spector.store.payloads import PAYLOAD_TABLES
from tests.fakes import FakeEmbedder
from tests.proof import seed

_BEGUN_MS = 1_760_000_000_000
_WORDS = "pump hall valve reads bar tea Ankara İzmir kettle red boat at six".split()

#: what looks at knowledge, and keeps nothing of it
LOOKS: tuple[Callable[[Memory], Any], ...] = (
    lambda memory: memory.facts.query(),
    lambda memory: memory.entities.find("Ankara"),
    lambda memory: memory.graph.kinds(),
    lambda memory: memory.procedures.for_situation("make tea"),
    lambda memory: memory.learnings.all(),
    lambda memory: memory.concepts.find(name="kettle"),
    lambda memory: memory.reflect(dry_run=True),
    lambda memory: memory.stats(),
    lambda memory: memory.gate("I moved to Ankara."),
    lambda memory: memory.check(),
    lambda memory: memory.context("pump"),
)


class Pair:
    """The same operations on two stores; what they answer must be equal."""

    def __init__(self, folder: Path, random_seed: int) -> None:
        self.random = random.Random(random_seed)
        self.clocks = [ManualClock(_BEGUN_MS), ManualClock(_BEGUN_MS)]
        self.folders = [folder / "plain", folder / "seen"]
        with spector.open(
            self.folders[0], embedder=FakeEmbedder(dim=16), clock=ManualClock(_BEGUN_MS)
        ):
            pass
        shutil.copytree(*self.folders)  # the two are one store, down to its random id
        self.memories = [
            spector.open(path, embedder=FakeEmbedder(dim=16), clock=clock)
            for path, clock in zip(self.folders, self.clocks, strict=True)
        ]
        self.ids: list[int] = []

    def both(self, work: Callable[[Memory], Any]) -> Any:
        """Do a work on both; what it gives is the same."""
        plain, seen = (work(memory) for memory in self.memories)
        assert plain == seen
        return plain

    def step(self) -> None:
        for clock in self.clocks:
            clock.advance(seconds=60)
        text = " ".join(self.random.choices(_WORDS, k=5))
        kind = self.random.random()
        if kind < 0.5 or len(self.ids) < 5:
            user = self.random.choice([None, "u"])
            self.ids.append(self.both(lambda memory: memory.remember(text, user_id=user).id))
        elif kind < 0.8:
            learn = self.random.random() < 0.5
            self.both(
                lambda memory: [
                    (each.record.id, each.score) for each in memory.recall(text, learn=learn)
                ]
            )
        elif kind < 0.9:
            chosen = self.random.choice(self.ids)
            self.both(lambda memory: memory.update(chosen, tags=[text[:4]]).to_dict())
        elif kind < 0.97:
            chosen = self.ids.pop(self.random.randrange(len(self.ids)))
            self.both(lambda memory: memory.forget(chosen) and None)
        else:
            self.both(lambda memory: timeless(asdict(memory.reflect("upkeep"))))

    def close(self) -> None:
        for memory in self.memories:
            memory.close()


def timeless(value: Any) -> Any:
    """What a report says, but for how long the work took."""
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if "elapsed" not in name}
    return [timeless(each) for each in value] if isinstance(value, (list, tuple)) else value


def _unnumbered(row: str) -> str:
    """A row without the number of a change, which begins anywhere each time a store is opened."""
    if row.startswith(('INSERT INTO "head"', 'INSERT INTO "session"')):
        return ""
    return re.sub(r",\d+\);$", "", row) if row.startswith('INSERT INTO "segment"') else row


def contents(folder: Path) -> dict[str, bytes]:
    """Name -> bytes of every file of a closed store; of the catalog, what it says."""
    out: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "catalog.db":
            with sqlite3.connect(path) as db:
                out[path.name] = "\n".join(map(_unnumbered, db.iterdump())).encode()
            db.close()
        elif path.is_file() and path.name != "LOCK":
            out[str(path.relative_to(folder))] = path.read_bytes()
    return out


@pytest.mark.parametrize(
    "steps", [pytest.param(25, id="some"), pytest.param(2000, id="all", marks=pytest.mark.slow)]
)
def test_a_store_that_is_looked_at_stays_as_it_is(tmp_path: Path, steps: int) -> None:
    pair = Pair(tmp_path, seed(198))
    looks = random.Random(seed(198))
    for _ in range(steps):
        pair.step()
        if looks.random() < 0.3:
            looks.choice(LOOKS)(pair.memories[1])
    for look in LOOKS:
        look(pair.memories[1])
    pair.both(lambda memory: len(memory))
    pair.close()
    plain, seen = map(contents, pair.folders)
    assert plain.keys() == seen.keys()
    assert plain["catalog.db"].splitlines() == seen["catalog.db"].splitlines()
    assert [name for name in plain if plain[name] != seen[name]] == []
    with sqlite3.connect(pair.folders[1] / "catalog.db") as db:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    assert not names & {each.name for each in PAYLOAD_TABLES if each.name != "key_mark"}

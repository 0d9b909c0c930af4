"""A writer that changes knowledge and a reader of another process beside it, as one scenario."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

import numpy as np

import spector
from spector import Memory, UnknownRecordError
from spector.store.payloads import has_tables, tables_in
from tests.crash.harness import run_and_exit, scratch
from tests.crash.workload import TINY
from tests.knowing import Vectors

#: memories of the writer at any time
_MOST = 40


def run(seconds: float, looks: int, seed: int) -> dict[str, Any]:
    """Look for so long, and at least so often; what was wrong, and how much was done."""
    with scratch() as root:
        path = os.path.join(root, "mind")
        with spector.open(path, embedder=Vectors(), config=TINY) as memory:
            memory.facts.add("Ada", "lives_in", "Paris", user_id="u")
        pid = os.fork()
        if pid == 0:
            run_and_exit(lambda: _write(path, seed))
        try:
            found = _read(path, seconds, looks)
        finally:
            os.kill(pid, signal.SIGTERM)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != -signal.SIGTERM:
            found["wrong"].append(f"the writer ended with {code}")
        with spector.open(path, embedder=Vectors(), config=TINY) as memory:
            found["wrong"] += [str(each) for each in memory.check().problems]
        return found


def _write(path: str, seed: int) -> None:
    """Change knowledge until the process is ended."""
    chance = np.random.default_rng(seed)
    memory = spector.open(path, embedder=Vectors(), config=TINY)
    alive: list[int] = []
    n = 0
    while True:
        n += 1
        dice = int(chance.integers(10))
        if len(alive) > _MOST or (dice == 0 and alive):
            memory.forget(alive.pop(int(chance.integers(len(alive)))))
        elif dice < 4:
            alive.append(
                memory.layers["episodes"].store(
                    f"episode {n}",
                    user_id="u",
                    episode={"objects": [f"thing{n % 5}"], "tool": "lift", "success": bool(n % 3)},
                )
            )
        elif dice < 6 and alive:
            source = alive[int(chance.integers(len(alive)))]
            memory.facts.add(f"thing{n % 7}", "is_in", f"room {n}", source=source)
        elif dice < 8 and len(alive) > 1:
            a, b = chance.choice(alive, 2, replace=False).tolist()
            memory.graph.link(a, b, "related_to", note={"n": n})
        elif dice == 8:
            memory.concepts.extract(alive)
        else:
            memory.compact()


def _read(path: str, seconds: float, looks: int) -> dict[str, Any]:
    wrong: list[str] = []
    done, moments, start = 0, set(), time.monotonic()
    with spector.open(path, embedder=Vectors(), config=TINY, mode="r") as memory:
        while time.monotonic() - start < seconds or done < looks:
            moments.add(_look_at_rows(memory, wrong))
            _look_at_facets(memory, wrong)
            done += 1
            if len(wrong) > 5 or time.monotonic() - start > seconds + 120:
                break
    return {"wrong": wrong[:5], "looks": done, "moments": len(moments)}


def _look_at_rows(memory: Memory, wrong: list[str]) -> int:
    """In one moment: every row has its ends, every memory that has a payload has it."""
    store = memory._parts.store
    store.view()
    with store.catalog.snapshot() as db:
        if not has_tables(db):
            return 0
        known = {each for (each,) in db.execute("SELECT id FROM record")}
        texts = dict(db.execute("SELECT id, text FROM content"))
        items = {each for (each,) in db.execute("SELECT item_id FROM item")}
        owned: dict[str, set[int]] = {}
        for table in tables_in(db):
            for column in table.owners:
                found = {each for (each,) in db.execute(f"SELECT {column} FROM {table.name}")}
                owned.setdefault(table.name, set()).update(found)
                lost = found - known - items - {None}
                if lost:
                    wrong.append(f"{table.name}.{column} names {sorted(lost)[:3]}")
        for each, text in texts.items():
            sort = text.split()[0]
            if sort == "episode" and each not in owned["payload"]:
                wrong.append(f"{text!r} has no payload")
            if " is in room " in text and each not in owned["fact"]:
                wrong.append(f"{text!r} is no fact")
        (seen,) = db.execute("SELECT change_seq FROM head").fetchone()
        return int(seen)


def _look_at_facets(memory: Memory, wrong: list[str]) -> None:
    """What the facets answer belongs together, though each answer is of another moment."""
    wrong += [
        f"{fact}"
        for fact in memory.facts.query(user_id="u")
        if fact.object not in fact.text or (fact.predicate == "is_in" and not fact.sources)
    ]
    for hit in memory.recall("episode thing", k=10, user_id="u"):
        with contextlib.suppress(UnknownRecordError):  # it was forgotten since
            is_episode = hit.text.startswith("episode ")
            if is_episode and memory.layers["episodes"].episode(hit.id) is None:
                wrong.append(f"{hit.text!r} has no details")
    for concept in memory.concepts.find(limit=50):
        if not concept.memory_refs:
            wrong.append(f"concept {concept.name} refers to nothing")
        with contextlib.suppress(UnknownRecordError):
            memory.graph.neighbours(concept.id)

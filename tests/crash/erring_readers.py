"""Openings to read on a disk that fails, of a store that was closed or whose writer was killed.

A reader that an error gets in the way of tells it, typed, or shows exactly what is there: never
less. Once the disk works again, a reader that had been opened shows all of it, and so does the next
one. Nothing that was read has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import spector
from spector.errors import SpectorError
from tests.crash.harness import in_fork, scratch
from tests.crash.prepared import dirty, prepared, store_in
from tests.crash.shim import Shim
from tests.crash.sweep import open_left, state_of
from tests.crash.workload import vector_of, warm_up

__all__ = ["readers"]

_PREPARED: dict[str, Callable[[str], None]] = {"closed": prepared, "killed": dirty}


def readers(
    error: int,
    classes: int,
    times: int = 1,
    start: int = 1,
    step: int = 1,
    most: int | None = None,
) -> dict[str, Any]:
    """Fail call ``start``, ``start + step``, ... of a reader; all of them, or ``most``."""
    warm_up()
    wrong: dict[str, list[str]] = {}
    outcomes: Counter[str] = Counter()
    for name, prepare in _PREPARED.items():
        with scratch() as root:
            prepare(root)
            expected = _in_child(partial(_undisturbed, root))
            before = _digests(root)
            for at in islice(count(start, step), most):
                report = _in_child(partial(_read, root, expected, error, classes, at, times))
                found = report["wrong"] + _changed(before, _digests(root))
                if found:
                    wrong[f"{name} {at}"] = found
                if report["hits"] < at and report["outcome"] != "crash":
                    break
                outcomes[report["outcome"]] += 1
    return {"cases": sum(outcomes.values()), "outcomes": outcomes, "wrong": wrong}


def _in_child(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``work`` returned, in a child that ends without any clean-up."""
    with scratch() as beside:
        notes = Path(beside, "notes")
        code = in_fork(lambda: notes.write_text(json.dumps(work()), encoding="utf-8"))
        if code:
            return {"outcome": "crash", "hits": 0, "wrong": [f"the process ended with {code}"]}
        found: dict[str, Any] = json.loads(notes.read_text(encoding="utf-8"))
        return found


def _undisturbed(root: str) -> dict[str, Any]:
    with open_left(root, "r") as memory:
        return _shown(memory)


def _shown(memory: spector.Memory) -> dict[str, Any]:
    """What a reader tells of a store, in ways that read different files."""
    state = state_of(memory) or {}
    text = state[min(state)]["text"]
    found = {
        "state": state,
        "len": len(memory),
        "by vector": [hit.id for hit in memory.recall(vector=vector_of(text), k=5)],
        "by word": [hit.id for hit in memory.recall("version 0", k=20)],
        "problems": [str(problem) for problem in memory.check().problems],
    }
    seen: dict[str, Any] = json.loads(json.dumps(found))
    return seen


def _read(
    root: str, expected: dict[str, Any], error: int, classes: int, at: int, times: int
) -> dict[str, Any]:
    shim, memory, wrong, outcome = Shim(), None, list[str](), "no error"
    shim.arm(root)
    shim.fail(error, classes, at=at, times=times)
    try:
        memory = open_left(root, "r")
        shown = _shown(memory)
        if shown["problems"] and shim.hits() >= at:  # that is to tell, too
            outcome, shown["problems"] = "a check that tells", expected["problems"]
        wrong += _unlike(expected, shown, "on the failing disk")
    except SpectorError as problem:
        outcome = type(problem).__name__ + ", opened" * (memory is not None)
        if not (problem.message and problem.hint):
            wrong.append(f"no message or no hint: {problem!r}")
    except Exception as problem:
        outcome = "untyped"
        wrong.append(f"untyped: {problem!r}")
    hits = shim.hits()
    shim.heal()
    try:
        if memory is not None:
            wrong += _unlike(expected, _shown(memory), "after it, the same reader")
            memory.close()
        with open_left(root, "r") as again:
            wrong += _unlike(expected, _shown(again), "after it, the next reader")
    except Exception as problem:
        wrong.append(f"after it: {problem!r}")
    return {"outcome": outcome, "hits": hits, "wrong": wrong}


def _unlike(expected: dict[str, Any], seen: dict[str, Any], when: str) -> list[str]:
    return [
        f"{when}: {key} is {str(seen[key])[:300]}" for key in expected if seen[key] != expected[key]
    ]


def _digests(root: str) -> dict[str, str]:
    """Of all files but the shared memory of SQLite, which readers write to as well."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(store_in(root)).rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


def _changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [
        f"{os.path.basename(name)} has changed"
        for name in before
        if after.get(name) != before[name]
    ]

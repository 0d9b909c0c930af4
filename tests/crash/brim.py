"""A store that fills its disk to the brim: what still works, and what works once there is room."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import spector
from spector.errors import StoreFullError
from tests.crash.harness import in_fork, scratch
from tests.crash.shim import Shim
from tests.crash.workload import open_tiny, texts_of, vector_of, warm_up

_ROOM_BYTES = 600_000
_STEP_BYTES = 32_768


def brim(durability: str) -> dict[str, Any]:
    """Fill, forget, compact and reflect without room, then with room again."""
    warm_up()
    with scratch() as root:
        reading, writing = os.pipe()

        def work() -> None:
            for line in _live_at_the_brim(root, durability):
                os.write(writing, f"{line}\n".encode())

        code = in_fork(work)
        os.close(writing)
        with os.fdopen(reading) as told:
            lines = told.read().splitlines()
    counts = dict(line.split("=") for line in lines if "=" in line)
    return {
        "code": code,
        "wrong": [line for line in lines if "=" not in line],
        "counts": {name: int(count) for name, count in counts.items()},
    }


def _live_at_the_brim(root: str, durability: str) -> list[str]:
    shim, path = Shim(), os.path.join(root, "mind")
    memory: Any = open_tiny(path, durability=durability)
    shim.arm(root)
    shim.quota(_ROOM_BYTES)
    alive, wrong = _fill(memory, "first")
    wrong += _differences("filled", memory, alive)
    filled = len(alive)
    room, needed = shim.used(), 0
    for record_id in list(alive)[::2]:
        while not _done(partial(memory.forget, record_id)):
            needed += _STEP_BYTES
            shim.quota(room + needed)
            wrong += _differences("refusing", memory, alive)
        del alive[record_id]
    wrong += _differences("forgetting", memory, alive)
    shim.quota(shim.used())
    refused = sum(not _done(call) for call in (memory.checkpoint, memory.reflect, memory.compact))
    wrong += _differences("upkeep", memory, alive)
    shim.quota(-1)
    before = len(alive)
    more, troubles = _fill(memory, "second", 40)
    alive |= more
    memory.compact()
    memory.close()
    with open_tiny(path) as again:
        troubles += _differences("room", again, alive)
        troubles += [f"check: {p}" for p in again.check().problems]
    return [
        *wrong,
        *troubles,
        f"filled={filled}",
        f"forgotten={filled - before}",
        f"bytes_to_forget={needed}",
        f"refused={refused}",
        f"resumed={len(more)}",
    ]


def _done(call: Any) -> bool:
    try:
        call()
    except StoreFullError as error:
        if not (error.message and error.hint):
            raise
        return False
    return True


def _fill(memory: spector.Memory, word: str, most: int = 5000) -> tuple[dict[int, str], list[str]]:
    acknowledged: dict[int, str] = {}
    for n in range(most):
        text = f"{word}{n} version 0 " + "padding " * 60
        try:
            acknowledged[memory.remember(text, vector=vector_of(text)).id] = text
        except StoreFullError as error:
            return acknowledged, [] if error.hint and error.message else ["no hint"]
    return acknowledged, [] if most < 5000 else ["the disk was never full"]


def _differences(when: str, memory: spector.Memory, alive: dict[int, str]) -> list[str]:
    seen = texts_of(memory)
    return [] if seen == alive else [f"{when}: {len(seen)} memories, not {len(alive)}"]

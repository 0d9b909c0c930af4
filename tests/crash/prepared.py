"""The stores that lives begin with."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import spector
from spector.clock import ManualClock
from spector.layout import Flag
from tests.crash.harness import die, in_fork
from tests.crash.workload import START, TINY, open_tiny, put, vector_of
from tests.fakes import FakeEmbedder
from tests.images import codes_of

#: the models of a store that changes from one to the other
BEFORE, AFTER = FakeEmbedder(8), FakeEmbedder(80, seed=1)


def store_in(folder: str) -> str:
    return os.path.join(folder, "mind")


def item(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "vector": vector_of(text), **more}


def ids_of(memory: spector.Memory) -> dict[str, int]:
    return {record.text.split()[0]: record.id for record in memory}


def prepared(folder: str) -> None:
    """Thirteen memories in seven partitions, some of them moved, some forgotten."""
    with open_tiny(store_in(folder)) as memory:
        memory.remember_many(
            [
                *(item(f"old{n} version 0", event_time=START, tags=["a"]) for n in range(5)),
                *(
                    item(f"new{n} version 0", event_time=START + timedelta(days=1), user_id="u")
                    for n in range(3)
                ),
                *(item(f"fact{n} version 0", tier="semantic", unresolved=n == 1) for n in range(5)),
                *(item(f"way{n} version 0", tier="procedural") for n in range(2)),
            ]
        )
        ids = ids_of(memory)
        memory.forget([ids["old1"], ids["fact0"]])
        memory.update(ids["old2"], text="old2 version 1", vector=vector_of("old2 version 1"))


def with_a_secret(folder: str) -> None:
    """One of these memories has bytes that no other has; they are written down beside the store.

    Nothing else is due, or the next sleep would erase all at once.
    """
    prepared(folder)
    with open_tiny(store_in(folder)) as memory:
        memory.compact()
        made = put(
            memory,
            "secret version 0",
            tags=["zqtag"],
            metadata={"k": "zqmeta"},
            user_id="zquser",
        )
        Path(folder, "codes").write_bytes(codes_of(memory, made))


def secrets_in(folder: str) -> list[bytes]:
    return [b"secret", b"zqtag", b"zqmeta", b"zquser", Path(folder, "codes").read_bytes()]


def dirty(folder: str) -> None:
    """A store whose writer was killed with a full journal."""
    prepared(folder)

    def killed() -> None:
        memory = open_tiny(store_in(folder), at=START + timedelta(days=2))
        config = replace(memory._parts.config, checkpoint_bytes=1 << 20)
        for store in memory._parts.router.stores():
            store.config = config
        ids = ids_of(memory)
        memory.remember_many([item(f"late{n} version 0") for n in range(3)])
        memory.update(ids["new0"], text="new0 version 1", vector=vector_of("new0 version 1"))
        memory.forget([ids["old3"], ids["way0"]])
        memory.pin(ids["fact2"])
        die()

    in_fork(killed)


def ordered(folder: str) -> None:
    """Two sealed partitions that a cycle puts in order, one of them with a hole."""
    with open_tiny(store_in(folder)) as memory:
        for n in range(3):
            for tier in ("procedural", "semantic"):
                put(memory, f"{tier}{n} version 0", tier=tier)
        memory.update(next(iter(memory)).id, tags=["moved"])


def exported_before(folder: str) -> None:
    elsewhere = os.path.join(folder, "elsewhere")
    prepared(elsewhere)
    with open_tiny(store_in(elsewhere)) as memory:
        ids = ids_of(memory)
        memory.pin(ids["fact2"])
        memory._parts.changer.set_flag(ids["new0"], Flag.QUARANTINED, True)
        child = put(memory, "child version 0", parents=[ids["new0"]])
        memory.reinforce(child)
        memory.export(os.path.join(folder, "in.jsonl"))
    shutil.rmtree(elsewhere)
    with open_tiny(store_in(folder)) as memory:
        put(memory, "own version 0")


def backed_up(folder: str) -> None:
    prepared(folder)
    with open_tiny(store_in(folder)) as memory:
        memory.backup(os.path.join(folder, "copy"))
    shutil.rmtree(store_in(folder))


def embedded(folder: str) -> None:
    with spector.open(
        store_in(folder), embedder=BEFORE, clock=ManualClock(START), config=TINY
    ) as memory:
        memory.remember_many([f"thing{n} of one kind" for n in range(5)], tier="semantic")
        memory.remember_many([f"matter{n} of another" for n in range(5)])
        memory.forget(next(iter(memory)).id)

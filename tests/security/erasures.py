"""Scenarios that kill an erasure; run in a fresh interpreter (see ``tests.crash.harness``)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from spector.errors import UnknownRecordError
from tests.api.helpers import files_with
from tests.crash import faults
from tests.crash.harness import in_fork, scratch
from tests.crash.workload import open_tiny, vector_of, warm_up
from tests.images import codes_of

WORDS = ("zqxsecret", "zqtag", "zqmeta", "zquser")


def _fill(path: str) -> tuple[int, list[bytes]]:
    """A store with one memory among others; its id, and bytes that only it has."""
    with open_tiny(path) as memory:
        texts = [f"note {n}" for n in range(9)]
        memory.remember_many([{"text": t, "vector": vector_of(t)} for t in texts])
        secret = memory.remember(
            "zqxsecret opens it",
            vector=vector_of("zqxsecret"),
            tags=["zqtag"],
            metadata={"k": "zqmeta"},
            user_id="zquser",
        )
        codes = codes_of(memory, secret.id)
    return secret.id, [*(word.encode() for word in WORDS), codes]


def _purge(path: str, record_id: int, fault: faults.Fault) -> None:
    restore = faults.install(fault)
    try:
        memory = open_tiny(path)
        memory.forget(record_id, purge=True)
    finally:
        restore()
    memory.close()


def kills(start: int, step: int, finish: str) -> dict[str, Any]:
    """Kill ``forget(purge=True)`` at its n-th operation; then ``finish`` must leave nothing.

    ``finish``: the verb that comes next, "reflect" or "compact". A memory whose forgetting was not
    committed is there, whole; of one that was forgotten nothing is left.
    """
    warm_up()
    with scratch() as root:
        path = os.path.join(root, "mind")
        record_id, _ = _fill(path)
        fault = faults.Fault(sql=True)
        _purge(path, record_id, fault)
        total = fault.count
    wrong: list[str] = []
    tried = whole = 0
    for n in range(start, total + 1, step):
        with scratch() as root:
            path = os.path.join(root, "mind")
            record_id, needles = _fill(path)
            died = faults.Fault(at=n, sql=True)
            code = in_fork(lambda p=path, i=record_id, f=died: _purge(p, i, f))  # type: ignore[misc]
            if code not in (0, -signal.SIGKILL):
                wrong.append(f"{n}: ended with {code}")
            tried += 1
            alive, found = _finish(path, record_id, needles, finish)
            whole += alive
            wrong += [f"{n}: {each}" for each in found]
    return {"points": total, "tried": tried, "whole": whole, "wrong": wrong}


def _finish(path: str, record_id: int, needles: list[bytes], finish: str) -> tuple[bool, list[str]]:
    wrong = []
    with open_tiny(path) as memory:
        try:
            alive = memory.get(record_id).text == "zqxsecret opens it"
        except UnknownRecordError:
            alive = False
        report = getattr(memory, finish)()
        receipt = (report.compaction if finish == "reflect" else report).receipt
        if receipt is not None and (alive or not receipt.complete):
            wrong.append(f"receipt {receipt}")
        if not alive and memory.stats()["erasure"]["pending"]:
            wrong.append("something is still due")
        wrong += [f"check: {p}" for p in memory.check().problems]
        if len(memory) != 9 + alive:
            wrong.append(f"{len(memory)} memories")
    left = [needle for needle in needles if files_with(Path(path), needle)]
    if bool(left) != alive:
        wrong.append(f"alive {alive}, but left are {left}")
    return alive, wrong

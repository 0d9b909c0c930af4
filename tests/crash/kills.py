"""Kills a writing process at random moments; returns what was wrong, as text."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from datetime import timedelta
from typing import Any

import numpy as np

import spector
from tests.crash.harness import run_and_exit, scratch
from tests.crash.workload import (
    START,
    Model,
    Worker,
    open_tiny,
    tell_pipe,
    texts_of,
    warm_up,
    wrong_in,
)


def random_kills(kills: int, seed: int) -> dict[str, Any]:
    """Kill a writer ``kills`` times at random moments; one store lives through all of them.

    A moment is a little after a random number of lines, so that a slow machine gets as far as a
    fast one.
    """
    warm_up()
    rng = np.random.default_rng(seed)
    model = Model()
    acked = operations = 0
    with scratch() as root:
        path = os.path.join(root, "mind")
        for n in range(kills):
            # every fifth dies while it opens, which is while it recovers from the one before
            recovering = n % 5 == 4
            after = -1 if recovering else int(rng.exponential(30))
            delay_s = rng.uniform(0, 0.02)
            lines = _killed_writer(path, model, seed * 1000 + n, n, after, delay_s)
            for line in lines:
                model.take(line)
            acked += sum("ok" in line for line in lines)
            operations += sum("do" in line for line in lines)
            wrong = _inspect(path, model, n)
            if wrong:
                doing = model.doubt or (lines[-1] if lines else None)
                return {"wrong": wrong, "kill": n, "last": doing}
    return {"wrong": [], "acked": acked, "operations": operations, "alive": len(model.alive)}


def _killed_writer(
    path: str, model: Model, seed: int, n: int, after: int, delay_s: float
) -> list[dict[str, Any]]:
    """What a writer told until it was killed, ``delay_s`` after it had told more than ``after``
    lines; the first line comes when the store is open."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        run_and_exit(lambda: _write_for_ever(path, dict(model.alive), seed, n, writing))
    os.close(writing)
    data, counting, killed = b"", after >= 0, False
    deadline = time.monotonic() + (100 if counting else delay_s)
    while True:
        left = deadline - time.monotonic()
        if left <= 0 and not killed:
            os.kill(pid, signal.SIGKILL)
            killed = True
        ready, _, _ = select.select([reading], [], [], max(left, 0) if not killed else 5)
        if ready:
            chunk = os.read(reading, 1 << 16)
            if not chunk:
                break
            data += chunk
            if counting and data.count(b"\n") > after:
                counting, deadline = False, time.monotonic() + delay_s
    os.close(reading)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != -signal.SIGKILL:
        raise AssertionError(f"the writer failed by itself ({code}); its traceback is above")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def _write_for_ever(path: str, alive: dict[int, str], seed: int, n: int, fd: int) -> None:
    memory = open_tiny(path, at=START + timedelta(hours=n))
    worker = Worker(memory, alive, seed, tell_pipe(fd))
    while True:
        worker.step()


def _inspect(path: str, model: Model, n: int) -> list[str]:
    """A reader beside the dead writer and the next writer both see exactly what was committed."""
    if not os.path.exists(os.path.join(path, "catalog.db")):
        return model.settle({})
    wrong, beside = [], None
    try:
        with open_tiny(path, mode="r") as reader:
            beside = texts_of(reader)
            # what the dead left behind is removed by the next writer, not by a reader
            found = wrong_in(reader, model, sample=2)
            wrong += [f"reader: {p}" for p in found if "does not belong" not in p]
    except spector.StoreNotFoundError as error:
        if model.alive or model.gone:  # killed before its very first commit
            wrong.append(f"reader: {error}")
    with open_tiny(path, at=START + timedelta(hours=n)) as memory:
        seen = texts_of(memory)
        if beside is not None and seen != beside:
            wrong.append(f"reader and writer differ: {set(beside.items()) ^ set(seen.items())}")
        wrong += model.settle(seen)
        wrong += wrong_in(memory, model)
    return wrong

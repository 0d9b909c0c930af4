"""Scenarios that kill a writing process; each returns what was wrong, as text."""

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
from tests.crash import faults
from tests.crash.harness import in_fork, run_and_exit, scratch
from tests.crash.workload import (
    START,
    Model,
    Worker,
    open_tiny,
    tell_pipe,
    texts_of,
    vector_of,
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


# -- at every operation of one short life ---------------------------------------------------------


def short_life(path: str, tell: Any, attempt: Any) -> None:
    """Create, fill, change, forget, reflect, compact, close: every kind of commit once or twice.

    ``attempt(call, memory)`` runs each operation, and decides what an error means.
    """
    memory = attempt(lambda: open_tiny(path))
    if memory is None:
        return
    ids: dict[str, int] = {}

    def run(line: dict[str, Any], call: Any) -> None:
        def announced() -> None:
            tell(line)
            tell({"ok": 1, **(call() or {})})

        attempt(announced, memory)

    def put(*texts: str, **more: Any) -> None:
        def call() -> dict[str, Any]:
            found = memory.remember_many(
                [{"text": t, "vector": vector_of(t), **more} for t in texts]
            )
            ids.update((r.text.split()[0], r.id) for r in found)
            return {"put": [[r.id, r.text] for r in found]}

        run({"do": "remember_many", "texts": list(texts)}, call)

    def change(word: str, text: str) -> None:
        def call() -> dict[str, Any]:
            memory.update(ids[word], text=text, vector=vector_of(text))
            return {"put": [[ids[word], text]]}

        if word in ids:
            run({"do": "update", "texts": [text], "ids": [ids[word]]}, call)

    def drop(word: str) -> None:
        def call() -> dict[str, Any]:
            memory.forget(ids[word])
            return {"gone": [ids[word]]}

        if word in ids:
            run({"do": "forget", "ids": [ids[word]]}, call)

    def quiet(name: str) -> None:
        def call() -> None:
            getattr(memory, name)()

        run({"do": name}, call)

    put("alpha version 0", "beta version 0", event_time=START)
    put("gamma version 0", "delta version 0", event_time=START + timedelta(days=1))
    put(*(f"fact{n} version 0" for n in range(4)), tier="semantic")
    change("alpha", "alpha version 1")
    if "beta" in ids:
        run({"do": "reinforce"}, lambda: memory.reinforce(ids["beta"]) and None)
    drop("gamma")
    change("fact0", "fact0 version 1")
    drop("fact1")
    quiet("checkpoint")
    drop("delta")
    memory._clock.advance(days=3)
    quiet("reflect")
    put("omega version 0")
    quiet("compact")
    quiet("close")


def count_points(sql: bool = True) -> int:
    """How many moments one short life has."""
    fault = faults.Fault(sql=sql)
    with scratch() as root:
        restore = faults.install(fault)
        try:
            short_life(os.path.join(root, "mind"), lambda line: None, lambda call, _=None: call())
        finally:
            restore()
    return fault.count


def sweep(kind: str = "kill", start: int = 1, step: int = 1) -> dict[str, Any]:
    """Die at the n-th operation of a short life, for n = start, start + step, ..."""
    warm_up()
    total = count_points()
    wrong: dict[int, list[str]] = {}
    tried = 0
    for n in range(start, total + 1, step):
        with scratch() as root:
            path, model = os.path.join(root, "mind"), Model()
            _die_at(path, model, n, kind)
            tried += 1
            found = _inspect(path, model, 0)
            if found:
                wrong[n] = found
    return {"points": total, "tried": tried, "wrong": wrong}


def _die_at(path: str, model: Model, n: int, kind: str) -> None:
    reading, writing = os.pipe()

    def live() -> None:
        os.close(reading)
        faults.install(faults.Fault(at=n, kind=kind, sql=True))
        short_life(path, tell_pipe(writing), lambda call, _=None: call())

    code = in_fork(live)
    os.close(writing)
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            model.take(json.loads(line))
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"at operation {n} the writer failed by itself ({code})")


def sweep_recovery(stride: int = 7) -> dict[str, Any]:
    """Kill the recovery of a killed writer at each of its operations, then that one's too."""
    warm_up()
    total = count_points()
    tried, wrong, ends = 0, {}, []
    for n in range(1, total + 1, stride):
        for m in range(1, 200):
            with scratch() as root:
                path, model = os.path.join(root, "mind"), Model()
                _die_at(path, model, n, "kill")
                codes = [_open_dying_at(path, m), _open_dying_at(path, (m + 1) // 2)]
                tried += 1
                found = _inspect(path, model, 0)
                if found:
                    wrong[f"{n}.{m}"] = found
            if codes[0] == 0:
                break
        ends.append(m)
    return {"tried": tried, "wrong": wrong, "longest": max(ends)}


def _open_dying_at(path: str, m: int) -> int:
    def work() -> None:
        faults.install(faults.Fault(at=m, kind="kill", sql=True))
        open_tiny(path)  # killed before its close, or let go without one

    return in_fork(work)

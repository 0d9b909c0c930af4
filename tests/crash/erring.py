"""Scenarios in which the disk fails, once or for ever; each returns what was wrong, as text."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from spector.errors import SpectorError, StoreFailedError
from tests.crash import faults
from tests.crash.harness import scratch
from tests.crash.kills import short_life
from tests.crash.workload import Model, open_tiny, texts_of, warm_up, wrong_in


def sweep(
    kind: str, forever: bool, start: int = 1, step: int = 1, sql: bool = True,
    only: list[str] | None = None,
) -> dict[str, Any]:
    """Fail the n-th operation of a short life, for n = start, start + step, ..., until none is."""
    warm_up()
    wrong: dict[int, list[str]] = {}
    outcomes: Counter[str] = Counter()
    n = start
    while True:
        fault = faults.Fault(
            at=n, kind=kind, forever=forever, sql=sql, only=frozenset(only) if only else None
        )
        found = _life_with(fault, outcomes)
        if not fault.fired:
            break
        if found:
            wrong[n] = [f"at {fault.fired}", *found]
        n += step
    return {"tried": (n - start) // step, "outcomes": dict(outcomes), "wrong": wrong}


def _life_with(fault: faults.Fault, outcomes: Counter[str]) -> list[str]:
    model, wrong = Model(), []
    with scratch() as root:
        path = os.path.join(root, "mind")
        restore = faults.install(fault)
        opened: list[Any] = []
        listening = True

        def attempt(call: Callable[[], Any], memory: Any = None) -> Any:
            nonlocal listening
            failed_before = memory is not None and memory._opened[0].store.failed
            listening = not failed_before
            if memory is not None and memory not in opened:
                opened.append(memory)
            try:
                return call()
            except SpectorError as error:
                if not str(error):
                    wrong.append(f"{type(error).__name__} without a message")
                if failed_before and not isinstance(error, StoreFailedError):
                    wrong.append(f"a failed store answered {error!r}")
                outcomes[type(error).__name__] += not failed_before
                if memory is not None and not memory._opened[0].store.failed:
                    fault.armed = False
                    wrong.extend(_unharmed(memory, model))
                    fault.armed = True
            except Exception:
                wrong.append("untyped: " + " | ".join(traceback.format_exc().splitlines()[-4:]))
            return None

        try:
            short_life(path, lambda line: model.take(line) if listening else None, attempt)
        finally:
            fault.armed = False
            restore()
        for memory in opened:
            outcomes["poisoned"] += memory._opened[0].store.failed
            attempt(memory.close)
        wrong += _reopened(path, model)
    return wrong


def _unharmed(memory: Any, model: Model) -> list[str]:
    """After an error that did not fail the store it must be whole, with nothing half-done."""
    try:
        return [f"not poisoned, but {line}" for line in (
            *model.settle(texts_of(memory)), *wrong_in(memory, model, sample=2)
        ) if "does not belong" not in line]
    except SpectorError as error:
        return [] if memory._opened[0].store._closed else [f"not poisoned, but {error!r}"]


def _reopened(path: str, model: Model) -> list[str]:
    try:
        with open_tiny(path) as memory:
            return [*model.settle(texts_of(memory)), *wrong_in(memory, model)]
    except SpectorError as error:
        return [f"reopening: {error!r}"]

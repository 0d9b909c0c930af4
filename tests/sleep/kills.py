"""Kills a process within a night, and lets the next one finish it."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import spector
from spector import Config, ManualClock, Memory
from tests.crash.harness import in_fork, scratch
from tests.crash.shim import CHANGING, KILL, Shim
from tests.fakes import FakeEmbedder
from tests.sleep.nights import BEGIN, asleep
from tests.sleep.rich import CONFIG, fill, told

KILLED = -9


def _opened(path: Path, config: Config) -> Memory:
    clock = ManualClock(BEGIN)
    clock.advance(days=101)
    return spector.open(path, embedder=FakeEmbedder(), clock=clock, config=config)


def _slept(path: Path, config: Config, out: Path) -> None:
    """Finish the night, if it is not finished; write what the store says then."""
    with _opened(path, config) as memory:
        assert memory.check().ok, memory.check()
        state = memory._parts.sleeper._state()
        while state.step or not state.cycle:
            memory.reflect()
            state = memory._parts.sleeper._state()
        assert memory.check().ok, memory.check()
        out.write_text(json.dumps(told(memory), sort_keys=True, default=str))


def nights(points: int, seed: int, users: int = 1, forgets: bool = False) -> dict[str, Any]:
    """Kill a night at random file calls; returns how many there are, and how many nights differ."""
    config, rng = CONFIG, random.Random(seed)
    if forgets:
        config = replace(
            CONFIG, sleep=replace(CONFIG.sleep, forget_action="forget", compress_below="forget")
        )
    with scratch() as folder:
        base, whole = Path(folder) / "base", Path(folder) / "whole"
        with asleep(base, config=config) as (memory, clock):
            fill(memory, clock, users=users)
        calls_in = Path(folder) / "calls"

        def undisturbed() -> None:
            memory = _opened(whole, config)
            shim = Shim()
            shim.arm(str(whole), CHANGING)
            memory.reflect()
            calls_in.write_text(str(shim.count()))
            shim.disarm()
            memory.close()

        shutil.copytree(base, whole)
        assert in_fork(undisturbed) == 0
        calls, reference, left = int(calls_in.read_text()), Path(folder) / "r", Path(folder) / "l"
        assert in_fork(lambda: _slept(whole, config, reference)) == 0
        chosen = sorted(rng.sample(range(1, calls + 1), min(points, calls)))
        differ = []
        for at in chosen:
            case = Path(folder) / "case"
            shutil.copytree(base, case)

            def strike(case: Path = case, at: int = at) -> None:
                memory = _opened(case, config)
                shim = Shim()
                shim.arm(str(case), CHANGING)
                shim.fault(KILL, classes=CHANGING, at=at)
                memory.reflect()

            assert in_fork(strike) == KILLED, f"nothing killed it at call {at} of {calls}"
            assert in_fork(lambda case=case: _slept(case, config, left)) == 0  # type: ignore[misc]
            if left.read_text() != reference.read_text():
                differ.append(at)
            shutil.rmtree(case)
    return {"calls": calls, "kills": len(chosen), "differ": differ}

"""Lives of a whole system, each from one number: the same number is the same life, to the byte."""

from __future__ import annotations

import hashlib
import random
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.crash.harness import scratch
from tests.model.life import Setup
from tests.model.ops import OPERATIONS, Operation, Step
from tests.model.spec import Handle, Int, Pick, Spec
from tests.simulation.conductor import Plan
from tests.simulation.system import System

__all__ = ["Tally", "live", "simulate"]

STEPS = 120
_DAY_MS = 86_400_000
_NEW: Spec = OPERATIONS["remember"].args["new"]
_ADDED = {
    "reader": Operation(
        12, {"which": Int(0, 3), "verb": Pick(["open", "open", "open", "recall", "check", "close"])}
    ),
    "backup": Operation(5, {"where": Int(0, 2), "by_reader": Pick([True, False]), "new": _NEW}),
    "restore": Operation(5, {"where": Int(0, 2)}),
    "intruder": Operation(1, {}),
    "days": Operation(2, {"count": Int(1, 9)}),
    "clock": Operation(
        4,
        {
            "ms": Pick(
                [
                    0,
                    1,
                    1000,
                    3_600_000,
                    _DAY_MS,
                    30 * _DAY_MS,
                    -1,
                    -3_600_000,
                    -_DAY_MS,
                    -400 * _DAY_MS,
                ]
            )
        },
    ),
    "doom": Operation(6, {"after": Int(0, 40)}),
}
ALL: dict[str, Operation] = {**OPERATIONS, **_ADDED}
_NAMES, _WEIGHTS = list(ALL), [each.weight for each in ALL.values()]
_CROWDED = 20


@dataclass
class Tally:
    """What systems did."""

    seeds: int = 0
    steps: int = 0
    days: float = 0.0
    kills: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    #: of the first life that failed: how to repeat it, and what was wrong
    wrong: list[str] = field(default_factory=list)
    trace: str = ""

    def add(self, system: System) -> None:
        self.seeds += 1
        self.steps += system.steps
        self.days += system.days
        self.kills += system.crashes
        self.counts.update(system.counts)


def simulate(first_seed: int, steps: int, *, length: int = STEPS) -> Tally:
    """Lives of ``length`` steps from consecutive seeds until there were ``steps`` in all.

    Stops at the first that fails.
    """
    tally = Tally()
    seed = first_seed
    while tally.steps < steps and not tally.wrong:
        live(seed, tally, length=length)
        seed += 1
    return tally


def live(seed: int, tally: Tally, *, length: int = STEPS) -> None:
    """One life: durability, operations, faults, kills, all that is left to chance, from ``seed``.

    What went wrong is noted in ``tally``; so is a digest of the course of this life.
    """
    rng = random.Random(f"simulation {seed}")
    kernel = "reference" if rng.random() < 0.05 else "native"
    setup = Setup(kernel, rng.choice(["strict", "relaxed"]), rng.random() < 0.5)
    course = hashlib.sha256()
    last: tuple[Any, ...] = ()
    with setup.installed(), scratch() as root:
        system = System(setup, root, rng)
        try:
            for serial in range(1, length + 1):
                step, plan = _draw(rng, serial, system), Plan.draw(rng)
                last = (*step, plan)
                system.play(*last)
                course.update(f"{last} {system.moments} {system.state()}\n".encode())
            system.finish()
        except Exception:
            tally.wrong = [
                f"SPECTOR_SEED={seed} repeats it: {setup}, at {last}",
                traceback.format_exc(),
            ]
        finally:
            _close(system, tally)
    tally.trace = course.hexdigest()
    tally.add(system)


def _close(system: System, tally: Tally) -> None:
    try:
        system.close()
    except Exception:  # after another failure nothing more than its echo
        tally.wrong = tally.wrong or [traceback.format_exc()]


def _draw(rng: random.Random, serial: int, system: System) -> Step:
    known: list[Handle] = list(system.handles)
    alive = [h for h in known if system.handles[h] in system.oracle.records]
    if len(alive) > _CROWDED and rng.random() < 0.5:
        return serial, "forget", {"which": rng.sample(alive, 9), "purge": False}
    name = rng.choices(_NAMES, _WEIGHTS)[0]
    among = alive if alive and rng.random() < 0.93 else known[-40:]
    return serial, name, {key: spec.sample(rng, among) for key, spec in ALL[name].args.items()}

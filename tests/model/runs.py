"""Lives of a whole system, each from one number: the same number is the same life, to the byte."""

from __future__ import annotations

import hashlib
import random
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.crash.harness import scratch
from tests.model.conductor import Plan
from tests.model.life import Setup
from tests.model.ops import draw
from tests.model.system import System

__all__ = ["STEPS", "Tally", "live", "simulate"]

STEPS = 120


@dataclass
class Tally:
    """What systems did."""

    seeds: int = 0
    steps: int = 0
    days: float = 0.0
    kills: int = 0
    recalls: int = 0
    hits: int = 0
    missed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    #: of the first life that failed: how to repeat it, and what was wrong
    wrong: list[str] = field(default_factory=list)
    trace: str = ""

    def add(self, system: System) -> None:
        self.seeds += 1
        self.steps += system.steps
        self.days += system.days
        self.kills += system.crashes
        self.recalls += system.recalls.compared
        self.hits += system.recalls.hits
        self.missed += system.recalls.missed
        self.counts.update(system.counts)


def simulate(
    first_seed: int, steps: int, *, setup: Setup | None = None, length: int = STEPS
) -> Tally:
    """Lives of ``length`` steps from consecutive seeds until there were ``steps`` in all.

    Stops at the first that fails.
    """
    tally = Tally()
    seed = first_seed
    while tally.steps < steps and not tally.wrong:
        live(seed, tally, setup=setup, length=length)
        seed += 1
    return tally


def live(seed: int, tally: Tally, *, setup: Setup | None = None, length: int = STEPS) -> None:
    """One life: operations, faults, kills and, without a setup, durability and kernel as well, all
    from ``seed``.

    What went wrong is noted in ``tally``; so is a digest of the course of this life.
    """
    rng = random.Random(f"simulation {seed}")
    if setup is None:
        kernel = "reference" if rng.random() < 0.05 else "native"
        setup = Setup(kernel, rng.choice(["strict", "relaxed"]), rng.random() < 0.5)
    course = hashlib.sha256()
    last: tuple[Any, ...] = ()
    with setup.installed(), scratch() as root:
        system = System(setup, root, rng)
        try:
            for serial in range(1, length + 1):
                step = draw(rng, serial, system)
                last = (*step, Plan() if setup.store == "memory" else Plan.draw(rng))
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

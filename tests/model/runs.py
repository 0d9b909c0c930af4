"""Scripts of operations: run in bulk from a seed, repeated, cut down to what still fails."""

from __future__ import annotations

import random
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.crash.harness import scratch
from tests.model.ops import Step, draw
from tests.model.world import Setup, World

__all__ = ["Tally", "bulk", "repeat", "shortest"]


@dataclass
class Tally:
    """What machines did."""

    machines: int = 0
    steps: int = 0
    crashes: int = 0
    recalls: int = 0
    hits: int = 0
    missed: int = 0
    wrong: list[str] = field(default_factory=list)
    #: the shortest one found that fails, for ``repeat``
    script: list[Step] = field(default_factory=list)

    def add(self, world: World) -> None:
        self.machines += 1
        self.steps += world.steps
        self.crashes += world.crashes
        self.recalls += world.recalls.compared
        self.hits += world.recalls.hits
        self.missed += world.recalls.missed


def bulk(setup: Setup, *, seed: int, steps: int, length: int = 200) -> Tally:
    """Machines of ``length`` operations until there were ``steps``; stops at the first that fails.

    What is wrong then holds the shortest script that was found to fail, ready for ``repeat``.
    """
    tally = Tally()
    with setup.installed():
        while tally.steps < steps and not tally.wrong:
            rng = random.Random(f"{seed}/{setup}/{tally.machines}")
            script: list[Step] = []
            with scratch() as root:
                world = World(setup, root)
                try:
                    for serial in range(1, max(20, min(length, steps - tally.steps)) + 1):
                        script.append(draw(rng, serial, world))
                        world.step(*script[-1])
                    world.finish()
                except Exception:
                    reason = traceback.format_exc()
                    tally.wrong = [f"{setup} seed {seed} machine {tally.machines}", reason]
                finally:
                    world.close()
                tally.add(world)
            if tally.wrong:
                tally.script = shortest(setup, script)
                tally.wrong.append(f"repeat({setup}, {tally.script!r})")
    return tally


def repeat(setup: Setup, script: Sequence[Step]) -> None:
    """Run a script; raises what it raised when it was found."""
    with setup.installed(), scratch() as root:
        world = World(setup, root)
        try:
            for serial, name, args in script:
                world.step(serial, name, args)
            world.finish()
        finally:
            world.close()


def shortest(setup: Setup, script: list[Step], budget: int = 300) -> list[Step]:
    """A part of a failing script that still fails, by leaving out ever smaller stretches."""
    size = len(script) // 2
    while size and budget > 0:
        at, shrunk = 0, False
        while at < len(script) and budget > 0:
            fewer = script[:at] + script[at + size :]
            budget -= 1
            if _fails(setup, fewer):
                script, shrunk = fewer, True
            else:
                at += size
        size = size if shrunk and size == 1 else size // 2
    return script


def _fails(setup: Setup, script: Sequence[Step]) -> bool:
    try:
        repeat(setup, script)
    except Exception:
        return True
    return False

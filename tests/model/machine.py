"""The same operations as a Hypothesis state machine, which finds and shrinks by its own lights."""

from __future__ import annotations

from typing import Any

from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from tests.crash.harness import scratch
from tests.model.ops import OPERATIONS, Operation
from tests.model.world import Setup, World

__all__ = ["machine"]

_MAKERS = frozenset({"remember", "remember_many", "remember_bad", "supersede"})


def machine(setup: Setup, count: dict[str, int]) -> type[RuleBasedStateMachine]:
    """A machine class over ``setup``, to be used while that is installed; ``count`` is added to."""
    memories: Bundle[Any] = Bundle("memories")

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.root = scratch()
            self.world = World(setup, self.root.name)
            self.serial = 0

        def do(self, name: str, args: dict[str, Any]) -> Any:
            self.serial += 1
            return self.world.step(self.serial, name, args)

        def teardown(self) -> None:
            try:
                self.world.finish()
                count["machines"] += 1
                count["steps"] += self.world.steps
                count["crashes"] += self.world.crashes
            finally:
                self.world.close()
                self.root.cleanup()

    for name, operation in OPERATIONS.items():
        setattr(Machine, name, _rule(name, operation, memories))
    return Machine


def _rule(name: str, operation: Operation, memories: Bundle[Any]) -> Any:
    strategies = {key: spec.strategy(memories) for key, spec in operation.args.items()}

    def act(self: Any, **args: Any) -> Any:
        made = self.do(name, args)
        return multiple(*made) if name in _MAKERS else None

    act.__name__ = name
    if name in _MAKERS:
        return rule(target=memories, **strategies)(act)
    return rule(**strategies)(act)

"""What an operation's argument may be: plain data, drawn by a generator.

So a sequence of operations is a list that can be printed, repeated and cut down.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

#: names a memory in a script: (serial number of the operation that made it, which of its memories)
Handle = tuple[int, int]


class Spec(Protocol):
    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Any: ...


@dataclass(frozen=True)
class Int:
    low: int
    high: int

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> int:
        return rng.randint(self.low, self.high)


@dataclass(frozen=True)
class Pick:
    """One of some values; one that is listed twice is drawn twice as often."""

    values: Sequence[Any]

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Any:
        return self.values[rng.randrange(len(self.values))]


@dataclass(frozen=True)
class Known:
    """A memory that was made before, alive or not."""

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Handle:
        return known[rng.randrange(len(known))] if known else (-1, 0)


@dataclass(frozen=True)
class Many:
    of: Spec
    low: int
    high: int

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> list[Any]:
        return [self.of.sample(rng, known) for _ in range(rng.randint(self.low, self.high))]


@dataclass(frozen=True)
class Fields:
    """A dictionary: every one of ``always``, and some of ``sometimes``."""

    always: Mapping[str, Spec] = field(default_factory=dict)
    sometimes: Mapping[str, Spec] = field(default_factory=dict)
    share: float = 0.25

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> dict[str, Any]:
        out = {name: spec.sample(rng, known) for name, spec in self.always.items()}
        for name, spec in self.sometimes.items():
            if rng.random() < self.share:
                out[name] = spec.sample(rng, known)
        return out

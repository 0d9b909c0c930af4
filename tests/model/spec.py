"""What an operation's argument may be: drawn by Hypothesis, or by a plain generator in bulk.

Both draw the same plain data, so a sequence of operations that either found is a list that can be
printed, repeated and cut down.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hypothesis import strategies as st

#: names a memory in a script: (serial number of the operation that made it, which of its memories)
Handle = tuple[int, int]
Strategy = st.SearchStrategy[Any]


class Spec(Protocol):
    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Any: ...

    def strategy(self, known: Strategy) -> Strategy: ...


@dataclass(frozen=True)
class Int:
    low: int
    high: int

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> int:
        return rng.randint(self.low, self.high)

    def strategy(self, known: Strategy) -> Strategy:
        return st.integers(self.low, self.high)


@dataclass(frozen=True)
class Pick:
    """One of some values; one that is listed twice is drawn twice as often."""

    values: Sequence[Any]

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Any:
        return self.values[rng.randrange(len(self.values))]

    def strategy(self, known: Strategy) -> Strategy:
        return st.sampled_from(self.values)


@dataclass(frozen=True)
class Known:
    """A memory that was made before, alive or not."""

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> Handle:
        return known[rng.randrange(len(known))] if known else (-1, 0)

    def strategy(self, known: Strategy) -> Strategy:
        return known


@dataclass(frozen=True)
class Many:
    of: Spec
    low: int
    high: int

    def sample(self, rng: random.Random, known: Sequence[Handle]) -> list[Any]:
        return [self.of.sample(rng, known) for _ in range(rng.randint(self.low, self.high))]

    def strategy(self, known: Strategy) -> Strategy:
        return st.lists(self.of.strategy(known), min_size=self.low, max_size=self.high)


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

    def strategy(self, known: Strategy) -> Strategy:
        return st.fixed_dictionaries(
            {name: spec.strategy(known) for name, spec in self.always.items()},
            optional={name: spec.strategy(known) for name, spec in self.sometimes.items()},
        )

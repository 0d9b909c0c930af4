"""Mechanism: whatever comes from outside, a typed error that says what is wrong, or a result.

Damage without it: a value from a model's tool call ends a recall with a traceback. Guard: sound
arguments are changed at random, as JSON, where the structure is kept so that the changes reach
behind the first check. Files are changed so beside their readers: importers/test_safe.py,
exchange/test_damaged_lines.py, test_forge.py.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

import spector
from spector.errors import SpectorError
from tests.cases import Cases
from tests.crash.workload import DIM
from tests.fakes import FakeEmbedder
from tests.proof import seed

cases = Cases(__file__)


_ODD: tuple[Any, ...] = (
    *cases.rows("odd"),
    1 << 63,
    -(1 << 63) - 1,
    1 << 200,
    float("nan"),
    float("inf"),
    "a" * 5000,
)
_KEYS = (*cases.rows("keys"), "a" * 300)


def _odd(rng: random.Random, depth: int = 0) -> Any:
    pick = rng.randrange(8)
    if depth > 3 or pick < 4:
        return copy.deepcopy(rng.choice(_ODD))
    if pick < 6:
        return {rng.choice(_KEYS): _odd(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [_odd(rng, depth + 1) for _ in range(rng.randrange(4))]


def _changed(value: Any, rng: random.Random) -> Any:
    """The same JSON with one to three places replaced, doubled or taken out."""
    out = copy.deepcopy(value)
    for _ in range(rng.randrange(1, 4)):
        at, parent, key = out, None, None
        while isinstance(at, (dict, list)) and at and rng.random() < 0.8:
            parent = at
            key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
            at = at[key]
        if parent is None:
            continue
        action = rng.randrange(4)
        if action == 0 and isinstance(parent, dict):
            parent[rng.choice(_KEYS)] = parent.pop(key)
        elif action == 1:
            del parent[key]
        else:
            parent[key] = _odd(rng)
    return out


def _only_typed(call: Callable[[], object], what: object) -> int:
    """1 when it was refused; anything but a typed error is a failure that shows the input."""
    try:
        call()
    except SpectorError as error:
        return 1 if error.message else 0
    except Exception as error:
        raise AssertionError(f"SPECTOR_SEED={seed(3)}: {what!r}") from error
    return 0


@pytest.mark.parametrize(
    "count", [pytest.param(400, id="some"), pytest.param(40_000, id="all", marks=pytest.mark.slow)]
)
def test_arguments_of_any_kind_are_taken_or_refused(count: int, proof: Any) -> None:
    """Filters, tags, scopes, times and texts, as a model's tool call may give them."""
    rng = random.Random(seed(4))
    with spector.open(":memory:", embedder=FakeEmbedder(dim=DIM)) as memory:
        memory.remember("one", tags=["a"], metadata={"a": {"b": [1, "x", None]}, "c": 1.5})
        names = tuple(
            (
                "where tags any_tags user_id time_range tiers k valence min_importance mood "
                "include categories modalities vector"
            ).split()
        )
        refused = 0
        for _ in range(count):
            given = {rng.choice(names): _odd(rng) for _ in range(rng.randrange(1, 3))}
            if rng.random() < 0.5:
                sound = {"a.b": {"$contains": 1}, "$or": [{"c": {"$gt": 1}}, {"$not": {"c": 2}}]}
                given["where"] = _changed(sound, rng)
            refused += _only_typed(lambda given=given: memory.recall("one", **given), given)
        assert 0 < refused <= count
        memory.check()
    proof("T11", arguments_by_chance=count, crashes=0)

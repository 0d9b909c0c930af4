"""How large each room is, and how far a call walks: ``tests/budget.toml``, which may only fall.

Mechanism: syntax nodes are counted, which no layout changes; calls by the profiler. Damage without
it: a room grows by a rule a day, and nobody picks it up again.
"""

from __future__ import annotations

import ast
import dataclasses
import tomllib
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import pytest

import spector
from bench.flow import changes, flow
from tests.fakes import FakeEmbedder
from tests.test_layers import MODULES, REPO
from tests.trees import nodes_of, tree_of

BUDGET: Final = tomllib.loads((REPO / "tests/budget.toml").read_text(encoding="utf-8"))
#: share of a figure that it may lie below its entry before the entry is lowered
SLACK: Final = 0.02


def room_of(module: str) -> str:
    first = module.split("/")[1]
    return "." if first.endswith(".py") else first


def nodes() -> dict[str, int]:
    """Room -> syntax nodes, imports and docstrings not among them."""
    found: Counter[str] = Counter()
    for module in MODULES:
        tree = tree_of(module)
        skipped = sum(
            len(nodes_of(each))
            for each in nodes_of(tree)
            if isinstance(each, (ast.Import, ast.ImportFrom))
            or (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            )
        )
        found[room_of(module)] += len(nodes_of(tree)) - skipped
    return dict(found)


def data() -> dict[str, int]:
    """Room -> lines of its tables."""
    found: Counter[str] = Counter()
    for path in (REPO / "spector").rglob("*.toml"):
        lines = path.read_text(encoding="utf-8").splitlines()
        found[room_of(path.relative_to(REPO).as_posix())] += sum(map(bool, lines))
    return dict(found)


def settings(config: Any) -> int:
    """Fields of a configuration and of its sections."""
    values = [getattr(config, each.name) for each in dataclasses.fields(config)]
    return sum(settings(each) if dataclasses.is_dataclass(each) else 1 for each in values)


def names() -> dict[str, int]:
    public = [each for each in dir(spector.Memory) if not each.startswith("_")]
    return {
        "settings": settings(spector.Config()),
        "exported": len(vars(spector)["__all__"]),
        "methods": len(public),
    }


def exceeds(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """What is over its entry, has none, or lies so far below that the entry can fall."""
    out = [f"{name} has {n}, {allowed.get(name, 0)} allowed" for name, n in found.items()
           if n > allowed.get(name, 0)]  # fmt: skip
    out += [
        f"{name} has {found.get(name, 0)}: lower its entry of {n}"
        for name, n in allowed.items()
        if found.get(name, 0) < n * (1 - SLACK)
    ]
    return out


@pytest.mark.parametrize(("kind", "count"), [("nodes", nodes), ("data", data), ("names", names)])
def test_no_room_grows(kind: str, count: Callable[[], dict[str, int]]) -> None:
    assert exceeds(count(), BUDGET[kind]) == []


def test_an_entry_can_only_fall() -> None:
    assert exceeds({"a": 101}, {"a": 100}) == ["a has 101, 100 allowed"]
    assert exceeds({"a": 1}, {}) == ["a has 1, 0 allowed"]
    assert exceeds({"a": 97}, {"a": 100}) == ["a has 97: lower its entry of 100"]
    assert exceeds({"a": 99}, {"a": 100}) == []


def corridors() -> dict[str, list[int]]:
    """Calls of a verb, and how often they change rooms, in a store that has 31 memories."""
    said = "We met Ines at the harbour on Friday, and she has sold the boat to her cousin."
    with spector.open(":memory:", embedder=FakeEmbedder(dim=64)) as memory:
        for n in range(30):
            memory.remember(f"I have been to the market number {n} and bought apples.")
        memory.observe("My brother Olaf has a bakery in Bergen.")
        memory.recall("Which apples did I buy?")
        memory.reflect()
        verbs: dict[str, Callable[[], object]] = {
            "remember": lambda: memory.remember("The dentist is on Friday at nine."),
            "recall": lambda: memory.recall("When is the dentist?"),
            "observe": lambda: memory.observe(said),
            "reflect": memory.reflect,
        }
        walks = {name: flow(call, str(REPO / "spector")) for name, call in verbs.items()}
    return {name: [len(walk), changes(walk)] for name, walk in walks.items()}


def test_no_verb_walks_farther() -> None:
    allowed = BUDGET["corridors"]
    far = {
        name: found
        for name, found in corridors().items()
        if found[0] > allowed[name][0] or found[1] > allowed[name][1]
    }
    assert far == {}

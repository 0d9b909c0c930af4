"""Every field of the configuration is read by a part of spector.

Mechanism: the attributes that the source reads, with the name of what they are read from. Damage
without it: a field that is accepted and ignored. Guard: a field that only ``spector.config`` knows
fails.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections import defaultdict
from pathlib import Path

import pytest

import spector
from spector import Config
from tests.trees import nodes_of, tree_of

SOURCE = Path(spector.__file__).parent
#: names under which parts keep the configuration, or a section of it
ROOTS = frozenset({"config", "_config", "args"})
#: further names of single sections
NAMES = {
    "association": {"tuning", "usual"},
    "knowledge": {"tuning", "usual"},
    "llm": {"limits"},
}


@functools.cache
def reads() -> dict[str, set[str]]:
    """Attribute -> the last names of what it is read from, anywhere but in the configuration."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] == "config":
            continue
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.Attribute):
                of = node.value
                if isinstance(of, ast.Name):
                    found[node.attr].add(of.id)
                elif isinstance(of, ast.Attribute):
                    found[node.attr].add(of.attr)
    return found


def unread(found: dict[str, set[str]]) -> set[str]:
    """Names of fields that nothing reads."""
    out: set[str] = set()
    for field in dataclasses.fields(Config):
        value = getattr(Config(), field.name)
        if not dataclasses.is_dataclass(value):
            if not found[field.name] & ROOTS:
                out.add(field.name)
            continue
        names = ROOTS | {field.name} | NAMES.get(field.name, set())
        out.update(
            f"{field.name}.{each.name}"
            for each in dataclasses.fields(value)
            if not found[each.name] & names
        )
    return out


def test_every_field_is_read() -> None:
    assert unread(reads()) == set()


@pytest.mark.parametrize("name", ["max_refs", "jaccard", "route", "checkpoint_bytes"])
def test_a_field_that_is_no_longer_read_is_found(name: str) -> None:
    found = defaultdict(set, reads())
    found[name] = {"elsewhere"}
    assert {each.rpartition(".")[2] for each in unread(found)} == {name}

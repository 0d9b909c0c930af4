"""Small deliberate faults in a module: where they can be made, and the source that has one.

The kinds are those that damage a store when they are made by mistake: a comparison that is off at
its boundary or the wrong way round, a number that is off by one, a condition negated, a sync or
another call left out, two calls in the wrong order, an error not raised.
"""

from __future__ import annotations

import ast
import functools
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["KINDS", "Mutant", "mutants_of", "sample", "source_of"]

KINDS: Final = (
    "comparison", "off by one", "negated condition", "removed sync", "removed call",
    "swapped calls", "swapped sync", "dropped raise",
)  # fmt: skip
_FLIPS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BLOCKS: Final = ("body", "orelse", "finalbody")
#: flipped, these are what a negated condition is
_EITHER_OR: Final = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
#: nothing that a user could notice follows from these; the words of messages are tested elsewhere
_SKIPPED: Final = frozenset({"__repr__", "__del__"})
#: characters of a changed line, or of the lines of a changed statement
_SHOWN: Final = 120
_OPAQUE: Final = (ast.FunctionDef, ast.JoinedStr, ast.Raise, ast.Assert)


@dataclass(frozen=True, order=True)
class Mutant:
    """The ``number``-th change that can be made to the module at ``path``."""

    path: str
    number: int
    line: int
    kind: str
    text: str
    #: of the changes of this kind to lines of this text, from 1 on
    nth: int = 1

    def __str__(self) -> str:
        which = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.path}:{self.line} {self.kind}{which}: {self.text}"


@dataclass(frozen=True)
class _Change:
    kind: str
    node: ast.AST
    make: Callable[[], None]


@functools.cache
def mutants_of(root: Path, path: str) -> list[Mutant]:
    """All changes that can be made to one module, in the order of the syntax tree."""
    source = (root / path).read_text()
    lines = source.splitlines()
    out = []
    seen: Counter[tuple[str, str]] = Counter()
    for number, change in enumerate(_changes(ast.parse(source))):
        line: int = change.node.lineno  # type: ignore[attr-defined]
        end: int = change.node.end_lineno  # type: ignore[attr-defined]
        text = " ".join(each.strip() for each in lines[line - 1 : end])[:_SHOWN]
        seen[text, change.kind] += 1
        if "pragma: no cover" not in lines[line - 1]:
            out.append(Mutant(path, number, line, change.kind, text, seen[text, change.kind]))
    return out


def source_of(root: Path, mutant: Mutant) -> str:
    """The module's source with that one change; comments and layout are lost."""
    tree = ast.parse((root / mutant.path).read_text())
    change = list(_changes(tree))[mutant.number]
    change.make()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def sample(
    root: Path, paths: Iterable[str], count: int, seed: int, left_out: Collection[Mutant] = ()
) -> list[Mutant]:
    """``count`` mutants, as many of each kind as there are, from anywhere in the modules.

    None of those that are ``left_out`` is among them.
    """
    rng = random.Random(seed)
    heaps: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in sorted(paths):
        for mutant in mutants_of(root, path):
            if mutant not in left_out:
                heaps[mutant.kind].append(mutant)
    for heap in heaps.values():
        rng.shuffle(heap)
    out: list[Mutant] = []
    while len(out) < count and any(heaps.values()):
        out += [heap.pop() for heap in heaps.values() if heap]
    return out[:count]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    for node in _within_functions(tree):
        yield from _in_expression(node)
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield from _in_block(block)


def _within_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when a function is called; not annotations, defaults, constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in _SKIPPED:
            inner = ast.Module(body=node.body, type_ignores=[])
            yield node
            yield from _nodes(inner)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Below ``node``, but what is inside of further functions, which have a turn of their own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _OPAQUE):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield child.value
                yield from _nodes(child.value)
            continue
        yield child
        yield from _nodes(child)


def _in_expression(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        flipped = _FLIPS[type(node.ops[0])]
        yield _Change("comparison", node, _setting(node, "ops", [flipped()]))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_either_or(node.test):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield _Change("negated condition", node.test, _setting(node, "test", negated))
    if isinstance(node, ast.Compare | ast.BinOp | ast.Slice | ast.Subscript):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Constant) and type(child.value) is int:
                more = child.value + 1
                yield _Change("off by one", child, _setting(child, "value", more))


def _is_either_or(test: ast.expr) -> bool:
    """Whether the test is flipped as a comparison already, or a constant."""
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], _EITHER_OR)
    return isinstance(test, ast.Constant)


def _in_block(block: list[ast.stmt]) -> Iterator[_Change]:
    for at, statement in enumerate(block):
        if isinstance(statement, ast.Raise):
            yield _Change("dropped raise", statement, _putting(block, at, [ast.Pass()]))
        if not _is_call(statement):
            continue
        kind = "removed sync" if _is_sync(statement) else "removed call"
        yield _Change(kind, statement, _putting(block, at, [ast.Pass()]))
        if at + 1 < len(block) and _is_call(block[at + 1]):
            pair = [block[at + 1], statement]
            kind = "swapped sync" if any(map(_is_sync, pair)) else "swapped calls"
            yield _Change(kind, statement, _putting(block, at, pair))


def _is_sync(statement: ast.stmt) -> bool:
    return _is_call(statement) and "sync" in ast.unparse(statement.value.func)  # type: ignore[attr-defined]


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _setting(node: ast.AST, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(node, name, value)


def _putting(block: list[ast.stmt], at: int, new: Sequence[ast.stmt]) -> Callable[[], None]:
    def put() -> None:
        block[at : at + len(new)] = new

    return put

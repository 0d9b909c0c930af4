"""Syntax trees of the project's own modules, parsed and walked once for all rules of the house."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

__all__ = ["nodes_of", "tree_of"]

REPO = Path(__file__).resolve().parent.parent


def tree_of(module: str | Path) -> ast.Module:
    """The tree of a file, named by its path, or from the root of the project."""
    return _parsed((REPO / module).resolve().relative_to(REPO).as_posix())


@functools.cache
def _parsed(module: str) -> ast.Module:
    return ast.parse((REPO / module).read_text(encoding="utf-8"), module)


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """A node and all below it in the order of `ast.walk`, without what says load or store.

    The nodes of a module are kept, because a dozen rules ask for those of every module.
    """
    return _kept(tree) if isinstance(tree, ast.Module) else _walk(tree)


def _walk(tree: ast.AST) -> list[ast.AST]:
    found = [tree]
    for node in found:  # grows meanwhile
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                if value._fields:
                    found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
    return found


_kept = functools.cache(_walk)

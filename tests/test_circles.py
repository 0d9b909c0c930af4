"""No module needs itself: imports and C calls have no circle.

Mechanism: the graph of all imports of the package, those in functions and for type checking
included, has one module in each strongly connected component. Damage without it: what stands on
what is decided by the order of imports, and a delayed import hides it. Guard: a circle is found in
a graph that has one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from tests.test_house import dotted
from tests.test_layers import MODULES, REPO
from tests.trees import nodes_of, tree_of

Graph = Mapping[str, set[str]]


def imports() -> dict[str, set[str]]:
    """Each module of the package and the modules that it imports anywhere."""
    names = {dotted(each): each for each in MODULES}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        targets = set()
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{each.name}" for each in node.names}
                targets |= {each if each in names else node.module for each in inside}
            elif isinstance(node, ast.Import):
                targets |= {each.name for each in node.names}
        graph[name] = (targets & names.keys()) - {name}
    return graph


def calls() -> dict[str, set[str]]:
    """Each C file of the kernel and the files whose functions it calls."""
    texts = {
        path.name: re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.S)
        for path in sorted((REPO / "native").glob("*.c"))
    }
    owner: dict[str, str] = {}
    for name, text in texts.items():
        # a definition begins at the left edge; macros of the vector units lay theirs out likewise
        for found in re.finditer(r"^(?!static\b)\w[\w *]*?\b(\w+)\([^;{}]*\)\s*\{", text, re.M):
            owner[found[1]] = name
    graph = {}
    for name, text in texts.items():
        called = set(re.findall(r"\b(spector_\w+)\s*\(", text))
        graph[name] = {owner[each] for each in called & owner.keys()} - {name}
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Strongly connected components of more than one node (Tarjan), sorted."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for each in sorted(graph.get(node, ())):
            if each not in number:
                visit(each)
            if each in path:
                lowest[node] = min(lowest[node], lowest[each])
        if lowest[node] == number[node]:
            at = path.index(node)
            component, path[at:] = sorted(path[at:]), []
            if len(component) > 1:
                found.append(component)

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return sorted(found)


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"a"}}
    assert circles(graph) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_c_file_calls_itself_through_others() -> None:
    graph = calls()
    assert "straight.c" in graph["scan.c"]
    assert "straight.c" in graph["rerank.c"]
    assert circles(graph) == []


def test_no_module_imports_itself_through_others() -> None:
    assert circles(imports()) == []

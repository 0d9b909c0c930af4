"""How the house is kept: rooms with faces, and nothing that grows without anybody noticing.

Mechanism: sizes are counted from the files and the syntax tree; every import line is read. Damage
without it: one room becomes a hall again, other rooms depend on internals. Guard:
lists of what exceeds a limit today, with its size; a list may only shrink.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.test_layers import MODULES, REPO
from tests.trees import nodes_of, tree_of

PUBLIC_METHODS = 25
#: of the body of a verb of the public face, docstring aside: it hands its arguments on
STATEMENTS_OF_A_VERB = 6

#: class -> public methods. ``Memory`` is the public face, which is held by its lines instead
LARGE_CLASSES = {"spector/knowledge/reader.py:KnowledgeReader": 40}

#: what lies at the top of the tree, dotfiles aside
TOP = set(
    "CHANGELOG.md LICENSE MANIFEST.in Makefile NOTICE README.md bench docs examples native "
    "pyproject.toml setup.cfg setup.py spector tests".split()
)

#: packages whose modules others may import: what they hold is looked up by name
OPEN = (
    "spector",
    "spector.store",
    "spector.kernel",
    "spector.language",
    "spector.cli",
    "spector.cli.commands",
    "spector.importers",
)


def dotted(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


PACKAGES = {dotted(each): each for each in MODULES if each.endswith("__init__.py")}


def imports_of(module: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line, module and names of every import of the package's own modules."""
    for node in nodes_of(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spector."):
            yield node.lineno, node.module or "", [each.name for each in node.names]
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.name.startswith("spector."):
                    yield node.lineno, each.name, []


def exported(package: str) -> set[str]:
    """What a face lists, or imports where it has no list."""
    for node in tree_of(PACKAGES[package]).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and (node.targets[0].id == "__all__")
        ):
            return set(ast.literal_eval(node.value))
    imports = imports_of(PACKAGES[package])
    return {name for _, home, names in imports for name in names if home != "spector.faces"}


def test_strangers_see_the_face_of_a_package_only() -> None:
    assert [each for module in MODULES for each in behind_a_face(module)] == []


def behind_a_face(module: str) -> list[str]:
    """Imports of a module that go past the face of a package."""
    here = dotted(module) if module.endswith("__init__.py") else dotted(module).rpartition(".")[0]
    wrong = []
    for line, target, names in imports_of(module):
        package = target if target in PACKAGES else target.rpartition(".")[0]
        if package in OPEN or here == package or here.startswith(f"{package}."):
            continue
        missing = set(names) - exported(package) if target in PACKAGES else {target}
        wrong += [f"{module}:{line}: {each} of {package}" for each in sorted(missing)]
    return wrong


def test_no_class_has_more_public_methods_than_it_may_have() -> None:
    large = {}
    for module in MODULES:
        for node in nodes_of(tree_of(module)):
            if isinstance(node, ast.ClassDef):
                public = sum(
                    isinstance(each, ast.FunctionDef) and not each.name.startswith("_")
                    for each in node.body
                )
                if public > PUBLIC_METHODS:
                    large[f"{module}:{node.name}"] = public
    assert grown(large, LARGE_CLASSES) == []


def test_memory_is_verbs_only() -> None:
    """Its file stays short, a body hands its arguments to one part, and no store is in sight."""
    source = (REPO / "spector/memory.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 640
    long = {}
    for node in nodes_of(tree_of("spector/memory.py")):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if len(body) > STATEMENTS_OF_A_VERB:
                long[node.name] = len(body)
    assert long == {}
    below = ("spector.store", "spector.tiers", "spector.kernel.", "spector.lexical")
    seen = [
        target
        for _, target, _ in imports_of("spector/memory.py")
        if target.startswith(below) and target != "spector.kernel.contract"
    ]
    assert seen == []
    reached = re.findall(r"\.(?:opened|store|stores|lock|catalog|router)\b", source)
    assert reached == []


def grown(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """What is over a limit and not allowed to be, and what is allowed and has shrunk since."""
    out = [
        f"{each} has {n}, {allowed.get(each, 0) or 'the limit'} allowed"
        for each, n in found.items()
        if n > allowed.get(each, 0)
    ]
    out += [
        f"{each} has {found.get(each, 'no more than the limit')}: lower its entry of {n}"
        for each, n in allowed.items()
        if found.get(each, 0) < n
    ]
    return out


def test_the_lists_of_what_is_too_long_can_only_shrink() -> None:
    assert grown({"a": 410}, {}) == ["a has 410, the limit allowed"]
    assert grown({"a": 410}, {"a": 405}) == ["a has 410, 405 allowed"]
    assert grown({"a": 404}, {"a": 405}) == ["a has 404: lower its entry of 405"]
    assert grown({}, {"a": 405}) == ["a has no more than the limit: lower its entry of 405"]
    assert grown({"a": 405}, {"a": 405}) == []


def test_the_map_of_the_source_lists_the_packages_that_there_are() -> None:
    """docs/architecture.md has every package with what it is for."""
    whole = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(spector[\w/]*)` \| (.+) \|$", whole, re.MULTILINE))
    purposes = {
        path.removesuffix("/__init__.py"): (ast.get_docstring(tree_of(path)) or "").split("\n")[0]
        for path in PACKAGES.values()
        if path != "spector/__init__.py"
    }
    assert listed == purposes


def test_no_store_of_somebody_is_committed() -> None:
    """A store that was opened in the tree by hand was once committed with everything else."""
    if not (REPO / ".git").exists():
        pytest.skip("not a checkout: nothing says which files are committed")
    git = subprocess.run(["git", "ls-files"], cwd=REPO, capture_output=True, text=True, check=True)
    listed = git.stdout.splitlines()
    assert {path.split("/")[0] for path in listed if not path.startswith(".")} <= TOP
    stores = [path for path in listed if path.endswith((".mem", "/catalog.db"))]
    assert [path for path in stores if "/fixtures/" not in path] == []

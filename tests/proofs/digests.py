"""What a proof rests on: the rooms of the product that its row names, and files of the tests.

Both are digests of 12 hex digits. A record whose digests differ from those of the tree is stale.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

__all__ = [
    "digest_of_rooms",
    "digest_of_sources",
    "digest_of_tests",
    "files_of",
    "files_of_room",
    "forget",
]

REPO: Final = Path(__file__).resolve().parents[2]
#: rows are judged when the page is made, not when a test runs
_PAGE: Final = "tests/proofs/"
#: folders with code that tests use, besides the product
_ROOTS: Final = ("tests", "bench")
#: how other tests are named in texts: "tests.soak.run:soak", "tests/store/test_lock.py::test_x"
_NAMED: Final = re.compile(r"^tests(?:\.\w+)+(?=$|:)|^tests(?:/\w+)+(?:\.py)?(?=$|::)")
_BUILT: Final = frozenset({".pyc", ".so", ".o", ".orig", ".lock", ".tmp"})


def digest_of_sources(repo: Path = REPO) -> str:
    """Digest of everything that decides how the product behaves, build and data included."""
    return _of_sources(repo)


def digest_of_rooms(rooms: Iterable[str], repo: Path = REPO) -> str:
    """Digest of the files in ``rooms`` (see ``files_of_room``) and of the build settings."""
    return _of_rooms(repo, tuple(sorted(rooms)))


def files_of_room(room: str, repo: Path = REPO) -> list[Path]:
    """``native`` is the C code and its build; any other room is a package or module of spector."""
    if room == "native":
        return [*repo.glob("native/*.[chp]*"), *repo.glob("setup.py")]
    place = repo / "spector" / room
    if place.is_dir():
        return list(_plain(place, deep=True))
    return [path for path in (place.with_suffix(".py"),) if path.exists()]


def digest_of_tests(test: str, repo: Path = REPO) -> str:
    """Digest of the test's folder, of whatever it imports or names, and of conftest files."""
    return _of_tests(repo, test.partition("::")[0])


def forget() -> None:
    """Drop what is cached: files have changed."""
    for cached in (_of_sources, _of_rooms, _of_tests, _tree, _data_in):
        cached.cache_clear()


def files_of(test: str, repo: Path = REPO) -> list[str]:
    """Paths of the files that a test rests on, relative to the repository."""
    return sorted(_tree(repo).rests_on(test.partition("::")[0]))


@functools.cache
def _of_sources(repo: Path) -> str:
    product = _plain(repo / "spector", deep=True)
    return _digest(repo, [*product, *files_of_room("native", repo)], _project(repo))


@functools.cache
def _of_rooms(repo: Path, rooms: tuple[str, ...]) -> str:
    files = {path for room in rooms for path in files_of_room(room, repo)}
    return _digest(repo, files, _project(repo))


@functools.cache
def _of_tests(repo: Path, file: str) -> str:
    return _digest(repo, [repo / each for each in _tree(repo).rests_on(file)], _project(repo))


def _digest(repo: Path, paths: Iterable[Path], more: str) -> str:
    whole = hashlib.sha256(more.encode())
    for path in sorted(paths):
        whole.update(f"{os.path.relpath(path, repo)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:12]


def _project(repo: Path) -> str:
    """The part of pyproject.toml that a result depends on; linter settings are not."""
    path = repo / "pyproject.toml"
    if not path.exists():
        return ""
    whole: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    project = whole.get("project", {})
    chosen = [
        whole.get("build-system"),
        project.get("requires-python"),
        project.get("dependencies"),
        project.get("optional-dependencies"),
        whole.get("tool", {}).get("pytest"),
    ]
    return json.dumps(chosen, sort_keys=True)


class _Tree:
    """The modules of tests and benches under ``repo``, and which of them use which."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self._uses: dict[str, frozenset[str]] = {}

    def rests_on(self, file: str) -> frozenset[str]:
        """A test's own folder (in ``tests`` itself: only its file), and everything it uses."""
        folder = (self.repo / file).parent
        alone = folder == self.repo / "tests"
        first = [self.repo / file] if alone else list(_plain(folder, deep=True))
        above = (self.repo / "tests", folder)
        first += [place / "conftest.py" for place in above]
        due = [self._name(path) for path in first if path.exists()]
        found: set[str] = set()
        while due:
            name = due.pop()
            if name not in found and not name.startswith(_PAGE):
                found.add(name)
                due += self._used_by(name)
        return frozenset(found)

    def _name(self, path: Path) -> str:
        return os.path.relpath(path, self.repo)

    def _used_by(self, name: str) -> frozenset[str]:
        if name not in self._uses:
            path = self.repo / name
            used = set(self._read(path)) if path.suffix == ".py" else set()
            self._uses[name] = frozenset(self._name(each) for each in used)
        return self._uses[name]

    def _read(self, path: Path) -> Iterator[Path]:
        package = ".".join(path.relative_to(self.repo).parent.parts)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                for each in node.names:
                    yield from self._module(each.name)
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: 1 - node.level or None] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                yield from self._module(base)
                for each in node.names:
                    yield from self._module(f"{base}.{each.name}")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = _NAMED.match(node.value)
                if named or node.value == "fixtures":  # Path(...) / "fixtures" / "format-1"
                    where = named[0] if named else "tests/fixtures"
                    yield from self._module(where.removesuffix(".py").replace("/", "."))

    def _module(self, dotted: str) -> Iterator[Path]:
        """A module, its packages, and the files beside it that are not Python."""
        parts = dotted.split(".")
        if parts[0] not in _ROOTS:
            return
        for upto in range(1, len(parts) + 1):
            place = self.repo.joinpath(*parts[:upto])
            for path in (place.with_suffix(".py"), place / "__init__.py"):
                if path.exists():
                    yield path
                    if upto > 1 and path.parent != self.repo / parts[0]:
                        yield from _data_in(path.parent)


@functools.cache
def _tree(repo: Path) -> _Tree:
    return _Tree(repo)


@functools.cache
def _data_in(folder: Path) -> tuple[Path, ...]:
    """Sources in C, fixtures, corpora: in the folder, or below it where no package is."""
    found = [path for path in _plain(folder, deep=False) if path.suffix != ".py"]
    for below in sorted(folder.iterdir()):
        if below.is_dir() and not any(below.glob("*.py")) and _is_kept(below):
            found += _plain(below, deep=True)
    return tuple(found)


def _plain(folder: Path, *, deep: bool) -> Iterator[Path]:
    for path in folder.rglob("*") if deep else folder.iterdir():
        if path.is_file() and path.suffix not in _BUILT and _is_kept(path.relative_to(folder)):
            yield path


def _is_kept(path: Path) -> bool:
    return not any(part == "__pycache__" or part.startswith(".") for part in path.parts)

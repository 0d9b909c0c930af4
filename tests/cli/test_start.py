"""What a command imports: the module of the chosen verb, and of the library what the verb uses.

Mechanism: a table names the module of each command, parts of a memory are made at their first use,
and faces of rooms import a module when one of its names is used. Damage without it: hooks of agents
call the command at every start, and each call imports a writer, rules of language and a model to
count memories. Guard: the rooms that fresh interpreters have imported are compared with lists.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import spector
from spector.cli.commands import COMMANDS
from spector.cli.main import main
from spector.faces import _homes, on_first_use
from tests.test_house import exported

_LOADED = """
import json, sys
from spector.cli.main import main
code = main(json.loads(sys.argv[1]))
names = [each for each in sys.modules if each.startswith("spector.")]
rooms = {each for each in names if not hasattr(sys.modules[each], "__path__")}
# modules of these rooms are listed by name: a part of them is late
flat = {each for each in rooms if each.startswith(("spector.search.", "spector.knowledge."))}
others = {"numpy", "sqlite3", "onnxruntime", "dataclasses", "difflib"} & sys.modules.keys()
packages = {each.rpartition(".")[0][8:] for each in rooms - flat}
print(json.dumps([code, sorted(packages | {each[8:] for each in flat} | others)]))
"""

#: of every command; modules of the package itself are of the room ""
HELP = {"", "cli", "dataclasses", "process"}
VERB = HELP | {"cli.commands"}
#: of every command that reads
READING = VERB | set(
    """
    numpy sqlite3 arguments config kernel kernel.contract kernel.reference
    language.cues language.words providers records search.listing search.request store store.catalog
    store.core store.erasure store.files store.integrity store.opening
    store.partitions store.payloads store.sqlite tiers write
    """.split()
)
SHOWING = READING | {"language.statements", "language.tables", "search.origins"}
KNOWING = {"knowledge.changes", "knowledge.facts", "knowledge.reader"}
ROOMS = {
    "--help": HELP,
    "count --help": VERB,
    "recall --help": VERB | {"config"},
    "graph --help": VERB,
    "count MIND": READING | {"upkeep"},
    "users MIND": READING | {"upkeep"},
    "list MIND": SHOWING,
    "get MIND --key a --user ada": SHOWING,
    "stats MIND": READING | KNOWING | {"upkeep"},
    "recall MIND tea --embedder none": SHOWING
    | KNOWING
    | set(
        """
        difflib knowledge.association knowledge.concepts knowledge.entities knowledge.graph
        knowledge.items knowledge.procedures knowledge.statistics language.dates language.tables lexical recall
        search.associations search.features search.hot search.newer
        search.ordering search.plan search.probes search.scoring search.searcher search.selection
        search.signals search.snapshot search.standing search.words
        """.split()
    ),
}


def loaded(*argv: str) -> tuple[int, set[str]]:
    """The exit code of a command, and the rooms that its process has imported modules of."""
    # the one kernel that is everywhere
    env = {**os.environ, "SPECTOR_KERNEL": "reference"}
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, json.dumps(argv)],
        capture_output=True,
        text=True,
        env=env,
        check=True,
    )
    code, rooms = json.loads(done.stdout.splitlines()[-1])
    return code, set(rooms)


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("start") / "mind"
    with spector.open(path, embedder=None, dim=4) as memory:
        memory.remember("Ada prefers tea.", vector=[1, 0, 0, 0], user_id="ada", key="a")
    return path


@pytest.mark.parametrize("line", ROOMS)
def test_a_command_imports_the_rooms_of_its_list(line: str, mind: Path) -> None:
    code, rooms = loaded(*(str(mind) if each == "MIND" else each for each in line.split()))
    assert code == 0
    assert rooms == ROOMS[line]


def test_the_table_names_functions_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in COMMANDS:
        assert main([verb, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: spector {verb} ")


def packages() -> list[str]:
    found = pkgutil.walk_packages(spector.__path__, "spector.")
    return ["spector", *(each.name for each in found if each.ispkg)]


@pytest.mark.parametrize("package", packages())
def test_a_face_has_what_it_exports(package: str) -> None:
    face = importlib.import_module(package)
    names = getattr(face, "__all__", None) or exported(package)
    assert [each for each in names if not hasattr(face, each)] == []
    if "on_first_use" in vars(face):
        # an imported module becomes an attribute of its package, and would hide the name
        modules = {each.name for each in pkgutil.iter_modules(face.__path__)}
        assert modules & set(_homes(package)) == set()


def test_a_face_finds_its_names_without_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanism: bundled programs have compiled modules only."""
    for package in packages():
        face = importlib.import_module(package)
        if "on_first_use" not in vars(face):
            continue
        spec = face.__spec__
        assert spec is not None
        by_source = _homes(package)
        with monkeypatch.context() as bundled:
            bundled.setattr(spec, "loader", object())
            bare = _homes.__wrapped__(package)
        assert by_source.keys() <= bare.keys(), package
        for name, home in by_source.items():
            there = getattr(importlib.import_module(bare[name]), name)
            assert there is getattr(importlib.import_module(home), name), name


def test_an_unknown_name_of_a_face_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"spector\.search.*Sarcher"):
        on_first_use("spector.search")("Sarcher")

"""What the command advises can be typed into it.

Mechanism: the library raises in the words of who calls it from Python. Damage: a person at a shell
is told to pass ``mode="r"`` or ``forget(7)``, and there is no such thing. Guard: every hint of the
library that a command can meet is said with flags and commands that exist; and the library itself
goes on saying arguments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spector
from spector.cli import main as cli
from spector.cli.tongue import in_shell
from tests.cli.conftest import Run

_, PARSERS = cli.build_parser()
#: what can only be written in a program
_PYTHON = re.compile(
    r"""\b[a-z_]+\((?=\d|id\b|\)|\.\.\.)|\b[a-z_]+=[\w"'\[{]|\b\w+_id\b(?!["'])|mode="""
)
#: modules whose hints no command meets: it makes none of these objects, or argparse was there first
_NEVER = {"clock.py", "config.py", "opening.py", "options.py", "quantize.py", "draft.py",
          "minilm.py", "openai.py", "validate.py", "hints.py", "router.py"}  # fmt: skip
#: and single ones
_NOT_MET = ("write embedder=7(...)", "multiprocessing.get_context", "dim=7", "7reinstate(7)",
            "pass 7=True", "convert it: str(tag)")  # fmt: skip


def hints(repo: Path) -> Iterator[tuple[str, str]]:
    """(module, hint) of every error of the library; 7 stands for what is filled in."""
    for path in sorted((repo / "spector").rglob("*.py")):
        if "cli" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values = [k.value for k in getattr(node, "keywords", ()) if k.arg == "hint"]
            for value in values if isinstance(node, ast.Call) else ():
                if isinstance(value, ast.Constant):
                    yield path.name, value.value
                elif isinstance(value, ast.JoinedStr):
                    yield path.name, "".join(
                        part.value if isinstance(part, ast.Constant) else "7"
                        for part in value.values
                    )


def test_no_hint_that_a_command_meets_is_of_python(repo: Path) -> None:
    strange = [
        (name, hint, in_shell(hint)) for name, hint in hints(repo)
        if name not in _NEVER and not any(each in hint for each in _NOT_MET)
        and _PYTHON.search(in_shell(hint))
    ]
    assert not strange, strange


def test_every_flag_and_command_in_a_hint_exists(repo: Path) -> None:
    flags = {flag for parser in PARSERS.values()
             for flag in re.findall(r"--[a-z-]+", parser.format_help())}  # fmt: skip
    for _, hint in hints(repo):
        said = in_shell(hint)
        if "pip install" in said:
            continue
        assert set(re.findall(r"(?<!\w)--[a-z][a-z-]+", said)) <= flags, said
        assert set(re.findall(r"\bspector ([a-z]+) PATH", said)) <= set(PARSERS), said


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("history(41) has all of them: spector history PATH 41",
         "spector history PATH 41 has all of them"),
        ("force=True (--force) replaces it", "--force replaces it"),
        ('write update(id, move_to={"user_id": "b"})',
         "write spector update PATH ID --move-to-user b"),
        ('close it there, or open it here with mode="r"',
         "close it there, or use a command that only reads (recall, list, export, check)"),
        ("user_id must be a non-empty printable str, got ''",
         "--user must be a non-empty printable str, got ''"),
        ("valid_until is not after valid_from", "--valid-until is not after valid_from"),
        ("notes.jsonl, message 2: session is wrong", "notes.jsonl, message 2: session is wrong"),
        ("give it up: forget(12) drops the memory",
         "give it up: spector forget PATH 12 drops the memory"),
        ("nothing to say here", "nothing to say here"),
    ],
)  # fmt: skip
def test_each_kind_of_phrase(said: str, typed: str) -> None:
    assert in_shell(said) == typed


def test_the_same_error_speaks_to_its_caller(run: Run, tmp_path: Path) -> None:
    mind = tmp_path / "a mind"
    told = run("remember", mind, "a thing", "--json").json
    with spector.open(mind) as memory:
        memory.forget(told["id"])
        with pytest.raises(spector.UnknownRecordError, match=r"forget\(id, purge=True\)"):
            memory.get(told["id"])
        locked = run("forget", mind, told["id"])
    assert (locked.code, "mode=" in locked.err) == (3, False)
    assert "a command that only reads" in locked.err
    shown = run("get", mind, told["id"])
    assert f"spector forget '{mind}' ID --purge" in shown.err
    assert "purge=True" not in run("get", mind, told["id"], "--json").err
    empty = run("remember", mind, "x", "--user", "")
    assert "error: --user must be" in empty.err
    assert "user_id" not in empty.err

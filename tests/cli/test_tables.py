"""Tables of arguments: each sign of a line gives the parser what it stands for.

Damage without it: an option that takes no value, is not repeatable, or loses its default.
"""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from spector.cli.commands import COMMANDS
from spector.cli.main import parser_of
from spector.cli.options import SHARED, Arguments


def parsed(table: str, *argv: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    kinds: dict[str, Any] = {"letter": ("a", "b"), "half": lambda text: int(text) // 2}
    Arguments("About.", table, kinds=lambda: kinds, json="").add_to(parser)
    return {k: v for k, v in vars(parser.parse_args(argv)).items() if k != "as_json"}


@pytest.mark.parametrize(
    ("line", "argv", "wanted"),
    [
        ("PATH  where", ("x",), {"path": "x"}),
        ("NAME?  who", (), {"name": None}),
        ("FILE?=-  what", (), {"file": "-"}),
        ("ids ID+:half  which", ("4", "6"), {"ids": [2, 3]}),
        ("--dry  do nothing", ("--dry",), {"dry": True}),
        ("--no >drawing=none  leave it", ("--no",), {"drawing": "none"}),
        ("-n/--limit N:half=20  most", (), {"limit": 10}),
        ("-n/--limit N:half=20  most", ("-n", "8"), {"limit": 4}),
        ("--tag TAG*  what", (), {"tag": []}),
        ("--tag TAG*  what", ("--tag", "a", "--tag", "b"), {"tag": ["a", "b"]}),
        ("--user ID >user_id  who", ("--user", "u"), {"user_id": "u"}),
        ("--between LOW HIGH:half  range", ("--between", "2", "4"), {"between": [1, 2]}),
        ("--how fast|safe=safe  how", (), {"how": "safe"}),
        ("--which *:letter  which", ("--which", "b"), {"which": ["b"]}),
        ("(one of)\n-a  one\n-b  other\n[]\n--c  third", ("-a", "--c"), {"a": True, "b": False, "c": True}),
        ("@path\n@wait", ("p", "--wait", "1"), {"path": "p", "wait": 1.0}),
    ],
)  # fmt: skip
def test_a_line_is_an_argument(line: str, argv: tuple[str, ...], wanted: dict[str, Any]) -> None:
    assert parsed(line, *argv) == wanted


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("--how fast|safe  how", ("--how", "slow")),
        ("--which :letter  which", ("--which", "c")),
        ("(one of)\n-a  one\n-b  other", ("-a", "-b")),
        ("ids ID+:half  which", ()),
    ],
)
def test_what_a_line_excludes_is_refused(line: str, argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit):
        parsed(line, *argv)


def test_every_argument_has_a_help_and_every_shared_table_a_command() -> None:
    parsers = [parser_of(verb) for verb in COMMANDS]
    bare = [
        (each.prog, action.dest)
        for each in parsers
        for action in each._actions
        if not action.help and action.dest not in ("suite", "arguments", "hook")
    ]
    assert bare == []
    named = {action.dest for each in parsers for action in each._actions}
    assert {"attach", "durability", "embedder", "wait"} <= named & SHARED.keys()

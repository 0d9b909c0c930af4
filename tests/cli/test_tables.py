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
from tests.cases import Cases

cases = Cases(__file__)


def parsed(table: str, *argv: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    kinds: dict[str, Any] = {"letter": ("a", "b"), "half": lambda text: int(text) // 2}
    Arguments("About.", table, kinds=lambda: kinds, json="").add_to(parser)
    return {k: v for k, v in vars(parser.parse_args(argv)).items() if k != "as_json"}


@cases("line", "argv", "wanted")
def test_a_line_is_an_argument(line: str, argv: tuple[str, ...], wanted: dict[str, Any]) -> None:
    assert parsed(line, *argv) == wanted


@cases("line", "argv")
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

"""The error for an unknown command or option suggests an existing one.

Mechanism: people know the verbs of other stores, and mistype. Damage: "invalid choice" and a list
of thirty names; or, worse, something like it that is run in its place. Guard: each name is answered
with one that exists, and nothing is run.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import spector
from spector.cli.commands import COMMANDS
from spector.cli.main import main, parser_of
from spector.cli.suggest import _OPTIONS, _VERBS, suggest_option, suggest_verb
from spector.cli.translation import translate_to_commands
from tests.cases import Cases
from tests.cli.conftest import Run
from tests.trees import nodes_of, tree_of

cases = Cases(__file__)

PARSERS = {verb: parser_of(verb) for verb in COMMANDS}


@cases("typed", "meant")
def test_a_verb_that_is_not_there_names_the_one_that_was_meant(
    run: Run, tmp_path: Path, typed: str, meant: str
) -> None:
    result = run(typed, tmp_path / "mind", "some words")
    assert (result.code, result.out) == (2, "")
    assert f"unknown command {typed!r}" in result.err
    assert f"did you mean spector {meant}?" in result.err
    assert not (tmp_path / "mind").exists(), "nothing is run in its place"


@pytest.mark.parametrize("typed", ["xyzzy", "qq", "\x1b[31mred", "a\u202eb", "z" * 10_000])
def test_a_verb_like_no_other_suggests_nothing_and_drives_no_terminal(run: Run, typed: str) -> None:
    result = run(typed)
    assert result.code == 2
    assert "did you mean" not in result.err
    assert "hint: see spector --help" in result.err
    assert not {"\x1b", "\u202e"} & set(result.err)


@cases("argv", "meant")
def test_an_option_that_is_not_there_names_the_one_that_was_meant(
    run: Run, argv: list[str], meant: str
) -> None:
    result = run(*argv)
    assert result.code == 2
    assert f"did you mean {meant}?" in result.err
    assert f"see spector {argv[0]} --help" in result.err


def test_what_is_suggested_exists_and_what_exists_is_suggested_for_itself() -> None:
    for meant in _VERBS.values():
        assert meant.split()[0] in PARSERS or meant.startswith("--"), meant
    assert all(suggest_verb(verb, PARSERS) == verb for verb in PARSERS)
    texts = " ".join(parser.format_help() for parser in PARSERS.values())
    for options in _OPTIONS.values():
        assert all(f"{option} " in texts or f"{option}]" in texts for option in options), options
    assert suggest_option("--xyzzy", ["--tag", "-k"]) == ""


# -- An error that the command shows names flags and verbs; one raised in Python names arguments ---
#
# Mechanism: the library's hints are written for those who call it, and the command passed them on.
# Damage: the error of ``spector stats`` suggests to open the store with mode="r", which no flag
# does. Guard: no hint or cause of the library that is shown by the command has a Python argument
# or call in it; what is quoted, like a text or a metadata key, stays as it is.


PACKAGE = Path(spector.__file__).parent
#: hints to those who write code or configure it, which no command runs into
OF_CODE = re.compile(
    r"Config\(|extra_tiers|MiniLMEmbedder|OpenAIEmbedder|tzinfo|str\(|errors=\"|embedder=\{|now_ms"
    r"|path=|pinned=|parents=|pass a str|vector=None|dim=\{|options|steps=|selective|always=True"
    r"|embedder=\\?\"|17=|register it|passes|\{name\}=|move_to"
    r"|Percept\(|Episode\(|leave seed out|pass the id of one, or|pass learn=False to read only"
)
PYTHON = re.compile(
    r"mode=|\b(?:user_id|agent_id|session_id|max_tokens|event_time)\b|\b\w+=(?:True|False|None|\[)"
    r"|\b(?:recall|forget|get|update|records|history|reinstate|compact|reflect)\([^)]*\)"
)


def _hints() -> list[str]:
    """The hints in the library's source, as far as they are plain texts."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                value = node.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found.append(value.value)
                elif isinstance(value, ast.JoinedStr):
                    found.append(
                        "".join(
                            each.value if isinstance(each, ast.Constant) else "17"
                            for each in value.values
                        )
                    )  # type: ignore[arg-type]
    return found


def test_no_hint_of_the_library_reaches_the_terminal_in_python() -> None:
    hints = _hints()
    assert len(hints) > 100
    left = {hint: translate_to_commands(hint) for hint in hints if not OF_CODE.search(hint)}
    assert {hint for hint, said in left.items() if PYTHON.search(said)} == set()


@cases("text", "said")
def test_arguments_become_flags(text: str, said: str) -> None:
    assert said in translate_to_commands(text)


@cases("text")
def test_what_is_no_argument_stays(text: str) -> None:
    assert translate_to_commands(text) == text


def test_a_locked_store_is_told_in_either_tongue(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=4) as memory:
        memory.remember("a cat", vector=[1.0, 0.0, 0.0, 0.0])
        with pytest.raises(spector.StoreLockedError) as caught:
            spector.open(tmp_path / "mind", embedder=None, dim=4)
        assert "spector " not in caught.value.hint
        assert main(["compact", str(tmp_path / "mind")]) == 3
        said = capsys.readouterr().err
        assert "hint:" in said
        assert "mode=" not in said
        assert main(["list", str(tmp_path / "mind")]) == 0, "readers are welcome"


def test_every_flag_and_command_in_a_hint_exists() -> None:
    parsers = PARSERS
    flags = {
        flag
        for parser in parsers.values()
        for flag in re.findall(r"--[a-z-]+", parser.format_help())
    }
    for hint in _hints():
        said = translate_to_commands(hint)
        if "pip install" in said or OF_CODE.search(hint):
            continue
        assert set(re.findall(r"(?<!\w)--[a-z][a-z-]+", said)) <= flags, said
        assert set(re.findall(r"\bspector ([a-z]+) PATH", said)) <= set(parsers), said


@cases("text", "said")
def test_a_way_out_can_be_typed(text: str, said: str) -> None:
    assert translate_to_commands(text) == said


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


def test_a_key_of_a_file_is_no_flag(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"text": "x", "session_id": ""}\n')
    told = run("import", tmp_path / "mind", notes)
    assert told.code == 2
    assert "message 1 (line 1): session_id must be" in told.err

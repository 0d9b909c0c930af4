"""The error for an unknown command or option suggests an existing one.

Mechanism: people know the verbs of other stores, and mistype. Damage: "invalid choice" and a list
of thirty names; or, worse, something like it that is run in its place. Guard: each name is answered
with one that exists, and nothing is run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spector.cli import main as cli
from spector.cli.suggest import _OPTIONS, _VERBS, suggest_option, suggest_verb
from tests.cli.conftest import Run

_, PARSERS = cli.build_parser()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("search", "recall"),
        ("QUERY", "recall"),
        ("add", "remember"),
        ("insert", "remember"),
        ("delete", "forget"),
        ("rm", "forget"),
        ("get_all", "list"),
        ("ls", "list"),
        ("show", "get"),
        ("edit", "update"),
        ("vacuum", "compact"),
        ("fsck", "check"),
        ("repair", "check PATH --repair DEST"),
        ("info", "stats"),
        ("ingest", "import"),
        ("recal", "recall"),
        ("rembmer", "remember"),
        ("forgett", "forget"),
        ("lst", "list"),
        ("chekc", "check"),
        ("exprot", "export"),
        ("re-embed", "reembed"),
        ("contxt", "context"),
        ("user", "users"),
        ("unpinn", "unpin"),
        ("reinst", "reinstate"),
        ("compct", "compact"),
    ],
)
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


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["recall", "p", "x", "--top-k", "3"], "-k"),
        (["recall", "p", "x", "--limit=3"], "-k"),
        (["recall", "p", "x", "--user_id", "a"], "--user"),
        (["recall", "p", "x", "--filters", "{}"], "--where"),
        (["list", "p", "--top_k", "3"], "--limit"),
        (["list", "p", "--until", "2026"], "--before"),
        (["forget", "p", "--created-before", "2026"], "--stored-before"),
        (["forget", "p", "1", "--confirm"], "--yes"),
        (["forget", "p", "1", "--hard"], "--purge"),
        (["remember", "p", "x", "--improtance", "1"], "--importance"),
        (["context", "p", "x", "--budget", "9"], "--max-tokens"),
        (["stats", "p", "--agent-id", "a"], "--agent"),
        (["get", "p", "1", "--format"], "--json"),
    ],
)
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

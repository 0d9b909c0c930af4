"""``spector bench``: the measurements of the source tree, from the command.

Mechanism: the command looks for ``bench/`` beside the package, imports it and hands it the rest of
the line. Damage if wrong: a traceback for users of the installed package, or a user's own module
named bench being run. Guard: a tree without it, one with another module in the way, and the real
suite's own help and errors.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spector.cli import main as cli
from spector.cli.commands import bench
from tests.cli.conftest import Run


def test_an_installed_package_says_where_the_measurements_are(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "spector" / "cli" / "c" / "bench.py"))
    result = run("bench", "recall")
    assert (result.code, result.out) == (2, "")
    assert "not part of an installed package" in result.err
    assert "hint: in a source checkout" in result.err


def test_everything_behind_the_suite_is_for_the_suite(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "recall", "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: spector bench recall")
    assert "--sets" in text


def test_a_suite_without_data_ends_with_its_own_words(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECTOR_DATA", str(tmp_path / "none"))
    result = run("bench", "recall", "quick", "--sets", "madial", "--adapters", "role")
    assert result.code == 2
    assert "SPECTOR_DATA" in result.err


def test_a_suite_that_there_is_not_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "dreams"]) == 2
    assert "hint: see spector bench --help" in capsys.readouterr().err

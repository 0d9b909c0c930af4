"""The frame around the commands: help, version, exit codes, errors, interrupts, closed pipes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spector._version import __version__
from spector.cli import main as cli
from spector.cli.commands import COMMANDS, reading
from spector.errors import (
    EmbeddingError,
    ImportFormatError,
    KernelUnavailableError,
    ModelMismatchError,
    StoreLockedError,
    StoreNotFoundError,
    UnknownRecordError,
)
from tests.cases import Cases
from tests.cli.conftest import Run

cases = Cases(__file__)

VERBS = tuple(
    (
        "remember observe recall import export forget reflect compact check stats "
        "inspect reembed demo history reinstate list get count namespaces users update "
        "pin unpin resolve reinforce context backup restore bench facts graph entities "
        "procedures learnings concepts retire reactivate dormant hot"
    ).split()
)
NEEDS_STORE = dict(cases.rows("NEEDS_STORE"))


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("bench", "restore")])
def test_help_of_every_command(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: spector {verb}")
    assert "--json" in text
    assert "PATH" in text


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {verb} " in text for verb in VERBS)
    assert sorted((*VERBS, "doctor", "hook", "judge", "mcp")) == sorted(COMMANDS)  # take no PATH
    assert "exit codes:" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"spector {__version__}\n"


@cases("argv")
def test_wrong_usage_exits_2_with_a_hint(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "hint: see spector" in captured.err


@cases("argv", "expected", ids=" ".join)
def test_options_stand_before_between_and_behind_the_others(
    argv: list[str], expected: dict[str, Any]
) -> None:
    """Mechanism: argparse gives an argument that may be absent up at the first option."""
    found = vars(cli.parse(argv))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("verb", NEEDS_STORE)
def test_absent_store_exits_3_and_is_not_created(run: Run, tmp_path: Path, verb: str) -> None:
    result = run(verb, tmp_path / "none", *NEEDS_STORE[verb])
    assert (result.code, result.out) == (3, "")
    assert "there is no store" in result.err
    assert "hint:" in result.err
    assert not (tmp_path / "none").exists()


def test_json_errors_are_one_document_on_stderr(run: Run, tmp_path: Path) -> None:
    result = run("stats", tmp_path / "none", "--json")
    assert result.out == ""
    error = json.loads(result.err)["error"]
    assert (error["type"], error["exit_code"]) == ("StoreNotFoundError", 3)
    assert error["hint"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ImportFormatError("x"), 2),
        (UnknownRecordError("x"), 2),
        (StoreNotFoundError("x"), 3),
        (StoreLockedError("x"), 3),
        (ModelMismatchError("x"), 3),
        (EmbeddingError("x"), 4),
        (KernelUnavailableError("x"), 4),
    ],
)
def test_exit_code_of_each_kind_of_error(error: Any, code: int) -> None:
    assert cli.exit_code_of(error) == code


@pytest.mark.parametrize(
    ("raised", "code", "word"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("oops"), 70, "bug in spector"),
        (StoreLockedError("busy \x1b[2J", hint="wait"), 3, "error: busy \\x1b[2J"),
    ],
    ids=["ctrl-c", "bug", "typed"],
)
def test_how_a_command_ends(
    monkeypatch: pytest.MonkeyPatch, run: Run, raised: BaseException, code: int, word: str
) -> None:
    def fail(*_: object) -> int:
        raise raised

    monkeypatch.setattr(reading, "open_store", fail)
    result = run("stats", "anywhere")
    assert result.code == code
    assert word in result.err
    assert ("Traceback" in result.err) == (code == 70)


@pytest.mark.waits
def test_a_command_waits_for_another_writer(run: Run, filled: Path) -> None:
    import spector

    holder = spector.open(str(filled))
    leaving = threading.Timer(0.3, holder.close)
    leaving.start()
    assert run("reflect", filled, "--steps", "upkeep").code == 0
    leaving.join()


WRITING = dict(cases.rows("WRITING"))


@pytest.mark.sampled
@pytest.mark.parametrize("verb", WRITING)
def test_every_command_that_writes_says_how_long_it_waits(
    run: Run, filled: Path, tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import spector

    waited: list[float] = []

    def noting(real: Any, *args: Any, **given: Any) -> Any:
        waited.append(given.get("wait", 0.0))
        return real(*args, **given)

    for name in ("open", "reembed"):
        monkeypatch.setattr(spector, name, partial(noting, getattr(spector, name)))
    (tmp_path / "notes.txt").write_text("a horse\n")
    given = [each.format(file=tmp_path / "notes.txt") for each in WRITING[verb]]
    with spector.open(str(filled)):
        assert run(verb, filled, *given, "--wait", "0.02").code == 3
    assert waited[-1] == 0.02
    assert run(verb, filled, *given, "--wait", "-1").code == 2


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    """The reader of a long output leaves early: no traceback, exit code 141."""
    script = (
        "import sys\n"
        "from spector.cli import main as cli\n"
        "from spector.cli.commands import reading\n"
        "def many(args, console):\n"
        "    for n in range(100_000):\n"
        "        console.data('x' * 100)\n"
        "    return 0\n"
        "reading.run_stats = many\n"
        "sys.exit(cli.main(['stats', 'p']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.parametrize("module", ["spector", "spector.cli"])
def test_module_runs_as_a_program(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"spector {__version__}"

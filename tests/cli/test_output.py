"""Tables fit the terminal, escape sequences stay harmless, colours only where they are wanted."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector.cli.output import Column, Console, clean, width_of, wrap


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def attach(monkeypatch: pytest.MonkeyPatch, *, color: bool = False) -> Terminal:
    """A terminal on stdout; called inside a test, since capturing swaps stdout before it."""
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    if color:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    return screen


COLUMNS = [Column("n", right=True), Column("text", flexible=True), Column("id")]


@pytest.mark.parametrize("columns", [40, 60, 100, 160])
def test_table_wraps_to_the_width_and_loses_no_word(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    terminal = attach(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    words = [f"word{n}" for n in range(60)]
    Console().table(COLUMNS, [(1, " ".join(words), 123456), (22, "short", 7)])
    lines = terminal.getvalue().splitlines()
    assert max(width_of(line) for line in lines) <= columns
    assert [w for line in lines for w in line.split() if w.startswith("word")] == words


def test_wide_characters_keep_the_columns_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach(monkeypatch)
    Console().table(COLUMNS, [(1, "港の記憶", 5), (2, "harbour!", 6)])
    _, _, wide, narrow = terminal.getvalue().splitlines()
    assert width_of(wide[: wide.index("5")]) == width_of(narrow[: narrow.index("6")])


@given(st.text(max_size=200), st.integers(min_value=2, max_value=30))
def test_wrapped_lines_fit_and_keep_every_character(text: str, width: int) -> None:
    flat = clean(text)
    lines = wrap(flat, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == flat.replace(" ", "")


@given(st.text(max_size=200))
def test_cleaned_text_holds_no_control_character(text: str) -> None:
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in clean(text))


def test_escape_sequences_and_bidi_overrides_are_made_visible() -> None:
    assert clean("a\x1b[31mred\r\nb\u202etxt") == "a\\x1b[31mred b\\x202etxt"


def test_colour_only_on_a_terminal_and_never_against_no_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attach(monkeypatch, color=True)
    assert Console().style("x", "bold") == "\x1b[1mx\x1b[0m"
    monkeypatch.setenv("TERM", "dumb")
    assert Console().style("x", "bold") == "x"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert Console().style("x", "bold") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert Console().style("x", "bold") == "x"


def test_json_mode_prints_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True)
    console.say("for people")
    console.table(COLUMNS, [(1, "x", 2)])
    console.pairs({"a": 1})
    console.document({"a": 1})
    assert json.loads(capsys.readouterr().out) == {"a": 1}


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, pipe = Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        with Console().progress("importing", "message") as progress:
            progress.reach(1, 3)
            progress.reach(3, 3)
    assert "importing" in screen.getvalue()
    assert pipe.getvalue() == ""


def test_a_question_is_asked_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for keyboard, screen, can in (
        (Terminal(), Terminal(), True),
        (Terminal(), io.StringIO(), False),
        (io.StringIO(), Terminal(), False),
    ):
        monkeypatch.setattr("sys.stdin", keyboard)
        monkeypatch.setattr("sys.stderr", screen)
        assert Console().can_ask is can


# -- Standard streams that are closed, full or cannot be read --------------------------------------
#
# Mechanism: a closed stream is None in Python, and the next file that is opened gets its number.
# Damage without it: a traceback that calls it a bug; a library's remark to "stderr" inside a
# partition. Guard: the command run as a shell would run it.


SPECTOR = f"{shlex.quote(sys.executable)} -m spector"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "mind"
    with spector.open(path, embedder=None, dim=4) as memory:
        memory.remember("Maya likes tea", vector=[1, 0, 0, 0])
    return path


def shell(command: str, path: Path, fed: str | None = None) -> subprocess.CompletedProcess[str]:
    command = command.replace("SPECTOR", SPECTOR).replace("STORE", shlex.quote(str(path)))
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=60, input=fed, check=False
    )


def test_help_that_goes_nowhere_is_told(store: Path) -> None:
    done = shell("SPECTOR --help >&-", store)
    assert (done.returncode, done.stderr) == (74, "")


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["stats STORE", "check STORE", "export STORE"])
@pytest.mark.parametrize("closed", [">&-", ">/dev/full"])
def test_output_that_goes_nowhere_is_told(store: Path, command: str, closed: str) -> None:
    done = shell(f"SPECTOR {command} {closed}", store)
    assert done.returncode == 74, done.stderr
    assert "Traceback" not in done.stderr
    assert "the output cannot be written: " in done.stderr


def test_a_command_does_its_work_although_nobody_listens(store: Path) -> None:
    with spector.open(store, embedder=None) as memory:
        memory.forget(memory.remember("Jonas likes rum", vector=[0, 1, 0, 0]).id)
    before = {path.name for path in store.rglob("*.mem")}
    assert shell("SPECTOR compact STORE <&- >&- 2>&-", store).returncode == 74
    assert before.isdisjoint(path.name for path in store.rglob("*.mem"))
    with spector.open(store, embedder=None, mode="r") as memory:
        assert memory.check().ok


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["<&-", "0>x"])
def test_input_that_cannot_be_read_is_no_output_that_cannot_be_written(
    store: Path, where: str, tmp_path: Path
) -> None:
    where = where.replace("0>x", f"0>{shlex.quote(str(tmp_path / 'x'))}")
    for command in ("import STORE -", "remember STORE - --embedder none", "recall STORE -"):
        done = shell(f"SPECTOR {command} {where}", store)
        assert done.returncode == 2, done.stderr
        assert "error: standard input cannot be read: " in done.stderr
        assert "Traceback" not in done.stderr

"""Tables fit the terminal, escape sequences stay harmless, colours only where they are wanted."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

"""README and the page of a night show what their programs print, and figures that were measured.

Mechanism: the programs are run, and their output is compared line by line with what the page shows;
figures are looked up on the pages that measured them. Damage without it: a first screen that tells
a story which no longer happens. Guard: a changed line, answer or figure fails.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench.cognition import voices
from docs.make_shown import PAGES, rendered, without_times
from tests.test_layers import REPO

README = (REPO / "README.md").read_text(encoding="utf-8")
FIRST, MEASURED = README.split("\n## ")[:2]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_a_page_shows_what_its_programs_print(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert without_times(text) == without_times(rendered(page)), "run: python -m docs.make_shown"
    assert "```text" in text


def test_the_story_of_the_first_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = re.findall(r"^```python\n(.*?)^```", FIRST, re.DOTALL | re.MULTILINE)
    shown = re.findall(r"^```text\n(.*?)^```", FIRST, re.DOTALL | re.MULTILINE)
    assert (len(program), len(shown)) == (1, 1)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(program[0], "README.md", "exec"), names)
    assert capsys.readouterr().out == shown[0]
    with names["memory"] as memory:
        ask, night = names["ask"], names["night"]
        every = [each.text for each in memory.records(include=["dormant", "superseded"])]
        assert not any("lol" in text for text in every)
        assert any("8080" in text for text in every)
        assert night.memories[1] >= night.memories[0]
        now = ask("which port does staging use?")
        (asleep,) = [each for each in memory.records(include=["dormant"]) if each.dormant]
        memory.reflect_undo(night.cycle)
        assert not memory.get(asleep.id).dormant
        assert ask("which port does staging use?") == now
        memory.retire(asleep.id)
        memory.reactivate(asleep.id)
        assert not memory.get(asleep.id).dormant
        assert memory.check().ok


def test_the_first_screen_is_short() -> None:
    assert len(FIRST.splitlines()) <= 66
    assert max(len(each) for each in FIRST.splitlines() if each[:1] != "|") <= 126


def row(page: str, start: str) -> list[str]:
    """The cells of the only row of a page that starts so."""
    text = (REPO / "docs" / page).read_text(encoding="utf-8")
    (line,) = [each for each in text.splitlines() if each.startswith(start)]
    return [cell.strip(" *") for cell in line.strip("|").split("|")]


def test_the_figures_of_the_readme_are_those_of_the_pages() -> None:
    shown = re.findall(r"(\d+) %", MEASURED.split("On long conversations")[1])
    right = row("recall.md", "|LoCoMo|any@10|")[3]
    every = row("recall.md", "|LoCoMo|all@10 ")[3]
    assert [int(each) for each in shown] == [round(float(each)) for each in (right, every)]


@pytest.mark.slow
def test_the_figures_on_messages_of_strangers_are_measured() -> None:
    """In the order of the table: unseen lists, then those of development."""
    chats, pairs, messages = (
        [_numbers(each.found) for each in measure()]
        for measure in (voices.chats, voices.pairs, voices.messages)
    )
    lines = re.findall(r"^\| .*\| (.*\d.*) \| (.*\d.*) \|$", MEASURED, re.MULTILINE)
    for n, cells in enumerate(zip(*lines, strict=True)):
        shown = [_numbers(each) for each in cells]
        one = 100 / 64  # question: the model rounds by the threads that it has
        assert shown[0] == pytest.approx(chats[-n][::2], abs=one)
        assert shown[1] == pytest.approx(chats[-n][1::2], abs=one)
        of_pairs = pairs[-2:] if n else pairs[:2]  # what was written last lies between
        for (first, hidden, *_), found in zip(shown[2:4], of_pairs, strict=True):
            assert (pytest.approx(first, abs=1), hidden) == tuple(found[:2])
        assert shown[4:] == [[pytest.approx(100 * each)] for each in messages[-n]]


def _numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"[\d.]+", text)]

"""The documentation is true: its programs run, its links lead somewhere, its tables are current.

Mechanism: documentation drifts from the code. Damage: a newcomer's first ten minutes fail. Guard:
every Python block of the README and of each chapter of the manual is executed, in order; every
local link is followed; the reference is generated again and compared.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from docs import make_reference
from spector import Config, Memory, RecallOptions
from spector.importers import READERS
from tests.test_layers import REPO

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")

CHAPTERS = sorted((REPO / "docs" / "manual").glob("*.md"))
PROGRAMS = [REPO / "README.md", *(page for page in CHAPTERS if "```python" in page.read_text())]
PAGES = [
    REPO / "README.md",
    REPO / "CHANGELOG.md",
    REPO / "native" / "FORMAT.md",
    *sorted((REPO / "docs").rglob("*.md")),
    *sorted((REPO / "bench").rglob("*.md")),
]

#: without the log and a page made from old runs, which name files as they were
TODAY = [page for page in PAGES if page.parent.name != "log" and page != REPO / "docs/recall.md"]


def name(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


@pytest.mark.parametrize("page", PROGRAMS, ids=name)
def test_the_programs_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(blocks), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    readers = dict(READERS)
    try:
        runpy.run_path(str(script))
    finally:  # a page may register a format, which is the process's
        READERS.clear()
        READERS.update(readers)


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_local_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        found = (page.parent / target) if target else page
        if not found.exists():
            wrong.append(target)
        elif anchor and found.suffix == ".md" and anchor[1:] not in anchors(found):
            wrong.append(target + anchor)
    assert wrong == []


@pytest.mark.parametrize("page", TODAY, ids=name)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:spector|tests|bench|native|docs)/[\w/.-]*\w)(?:::\w+)?`", text)
    assert [each for each in named if not (REPO / each).exists()] == []


def test_no_page_is_empty() -> None:
    """A page of the manual was once committed with nothing in it, and only readers noticed."""
    assert [page.name for page in PAGES if len(page.read_text(encoding="utf-8").split()) < 50] == []


def test_every_page_is_in_the_index() -> None:
    index = (REPO / "docs" / "README.md").read_text(encoding="utf-8")
    linked = {target for target, _ in _LINK.findall(index)}
    pages = {path.relative_to(REPO / "docs").as_posix() for path in (REPO / "docs").rglob("*.md")}
    assert pages - linked == {"README.md"}


def test_the_reference_is_current() -> None:
    written = make_reference.PAGE.read_text(encoding="utf-8")
    assert written == make_reference.render(), "run: python -m docs.make_reference"


@pytest.mark.parametrize(
    ("title", "function"),
    [
        ("spector.open", spector.open),
        ("Memory.remember", Memory.remember),
        ("Memory.recall", Memory.recall),
        ("Memory.context", Memory.context),
    ],
)
def test_the_reference_lists_every_argument(title: str, function: Callable[..., Any]) -> None:
    page = make_reference.PAGE.read_text(encoding="utf-8")
    section = page.split(f"## {title}\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\|`(\w+)`\|", section, re.MULTILINE))
    # keywords that are handed on, and the cue of a context, are those of recall
    assert set(inspect.signature(function).parameters) - listed <= {"self", "rare", "recall", "cue"}


def test_every_argument_and_field_in_the_reference_has_a_meaning() -> None:
    page = make_reference.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\|`(\w+)`\|.*\|(.*)\|$", page, re.MULTILINE)
    assert [field for field, meaning in rows if len(meaning) < 4] == []
    listed = {field for field, _ in rows}
    fields = [*dataclasses.fields(Config), *dataclasses.fields(RecallOptions)]
    assert {field.name for field in fields} <= listed

"""Word tables are checked when they are read, and a folder beside the others is a language.

Damage without it: a misspelt list name that silently turns a rule off, a pattern that fails on the
first message of a user, words whose licence is unknown. Guard: every file that ships is read, and
each fault is planted in a copy.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from spector.config.settings import VARIABLE
from spector.language.tables import (
    FOLDER,
    PARTS,
    TableError,
    language_of,
    languages,
    patterns_of,
    read_table,
    table_of,
)
from tests.cases import Cases
from tests.trees import REPO

cases = Cases(__file__)

_PARTS_OF_A_LANGUAGE = sorted(set(PARTS) - {"signs", "code"})


def test_every_language_has_every_part_with_its_sources() -> None:
    assert languages()[0] == "en"
    assert "tr" in languages()
    for language in languages():
        for part in _PARTS_OF_A_LANGUAGE:
            table = table_of(language, part)
            assert table.sources
            written = tomllib.loads((FOLDER / language / f"{part}.toml").read_text("utf-8"))
            assert set(written["words"]) == PARTS[part].words
            assert set(written["patterns"]) == PARTS[part].patterns
            assert all("(" in each for each in table.sources)
    assert table_of("any", "signs").words["joy"]


@pytest.mark.parametrize(
    "path", sorted((FOLDER / "any").glob("*.toml")), ids=lambda path: path.stem
)
def test_every_pattern_of_all_languages_compiles(path: Path) -> None:
    """They are compiled when a text first needs them, not when a program starts."""
    for name in tomllib.loads(path.read_text("utf-8")).get("patterns", {}):
        if path.stem in PARTS:
            assert table_of("any", path.stem).patterns[name]
        else:
            assert patterns_of(path.stem)[name].pattern


@cases("old", "new", "said")
def test_a_wrong_file_is_refused_with_its_name_and_the_fault(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    folder = tmp_path / "xx"
    shutil.copytree(FOLDER / "en", folder)
    path = folder / "emotion.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TableError, match=r"^xx/emotion\.toml") as caught:
        read_table(path)
    assert said in str(caught.value)


def test_a_list_that_is_left_out_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "xx" / "emotion.toml"
    path.parent.mkdir()
    about = '[about]\nsources = [{ name = "here", licence = "CC0-1.0" }]\n'
    path.write_text(about + '[words]\njoy = "glad"\n', encoding="utf-8")
    table = read_table(path)
    assert table.words["joy"] == ("glad",)
    assert set(table.words) == PARTS["emotion"].words
    assert table.words["anger"] == ()
    assert dict(table.patterns) == {"inflected": (), "urgent": (), "negated": ()}


def test_a_missing_file_and_an_unknown_part_are_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"xx/emotion\.toml is missing"):
        read_table(tmp_path / "xx" / "emotion.toml")
    with pytest.raises(TableError, match="is no part of a language"):
        read_table(tmp_path / "xx" / "moods.toml")


def test_a_copied_folder_is_a_language(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "en", tmp_path / "xx")
    for part in _PARTS_OF_A_LANGUAGE:
        assert read_table(tmp_path / "xx" / f"{part}.toml").language == "xx"


@cases("text", "language")
def test_the_language_of_a_text(text: str, language: str) -> None:
    assert language_of(text) == language


# -- The language that the page on languages adds is read: a newcomer needs no code ----------------
#
# Damage without it: a folder that is found and never applied, or a page that describes another
# product. Guard: the files of the page, in a folder of their own, and a process that is told of
# it.


TRIED = """
import json, spector
from tests.fakes import FakeEmbedder
out = {}
with spector.open(":memory:", embedder=FakeEmbedder(dim=32)) as memory:
    for text in json.loads(input()):
        found = memory.observe(text, dry_run=True)
        out[text] = [found.filter, found.kind, found.emotion.category]
print(json.dumps([spector.ObserveConfig().language, out]))
"""
#: message -> what stops it, its class, its feeling
MESSAGES = dict(cases.rows("MESSAGES"))


def tried(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", TRIED],
        input=json.dumps(list(MESSAGES)),
        text=True,
        cwd=REPO,
        capture_output=True,
        env={**os.environ, VARIABLE: str(folder)},
        check=False,
    )


def test_the_language_of_the_page_is_read(tmp_path: Path) -> None:
    page = (REPO / "docs" / "language.md").read_text(encoding="utf-8")
    files = re.findall(r"```toml\n# (da/\w+\.toml)\n(.*?)```", page, re.DOTALL)
    assert len(files) == 3
    (tmp_path / "da").mkdir()
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = tried(tmp_path)
    assert found.returncode == 0, found.stderr
    languages, seen = json.loads(found.stdout)
    assert languages == ["en", "da", "tr"]
    assert seen == MESSAGES


@pytest.mark.slow
def test_a_folder_without_a_language_is_refused_by_name(tmp_path: Path) -> None:
    found = tried(tmp_path / "none")
    assert found.returncode != 0
    assert f"{VARIABLE} names" in found.stderr
    assert "InvalidInputError" in found.stderr

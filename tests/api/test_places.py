"""Where a store is: the home directory, a folder of stores, a file that is there already.

Mechanism: a path is taken as it is typed. Damage: "~/agent" makes a folder called "~" in the
working directory; the folder above one's stores is "repaired" into a heap of all of them, or the
whole disk is walked to say that it is no store; an export takes the place of somebody's file.
Guard: a leading tilde is the home in every verb; a folder names the stores below it, after a look
at a bounded number of names; an export replaces a file only when told to.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import NotCopyableError
from spector.cli.main import main
from spector.errors import InvalidInputError, StoreError, StoreExistsError, StoreNotFoundError
from tests.api.helpers import own_vectors, texts, vector
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)

CUE = [1.0, 0.0, 0.0, 0.0]


def make(path: Path | str, *texts: str) -> None:
    with spector.open(path, embedder=None, dim=4) as memory:
        for text in texts or ("The kettle is in the left cupboard.",):
            memory.remember(text, vector=CUE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, and another one to work in."""
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


# -- the home directory ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path], ids=["str", "Path"])
def test_a_tilde_is_the_home_in_every_verb(home: Path, kind: Callable[[str], Any]) -> None:
    with spector.open(kind("~/agent"), embedder=None, dim=4) as memory:
        assert memory.path == str(home / "agent")
        memory.remember("Rent is due on the first.", vector=CUE)
        assert memory.backup(kind("~/copy")).path == str(home / "copy")
        assert memory.export(kind("~/all.jsonl")) == 1
        assert len(memory.import_(kind("~/all.jsonl"))) == 1
    assert spector.check(kind("~/agent")).records == 2
    spector.restore(kind("~/copy"), kind("~/back"))
    spector.repair(kind("~/agent"), kind("~/saved"))
    with pytest.raises(spector.EmbeddingError):  # and not that nothing is there
        spector.reembed(kind("~/agent"), Refusing())
    assert sorted(p.name for p in home.iterdir()) == ["agent", "all.jsonl", "back", "copy", "saved"]
    assert os.listdir() == []


class Refusing:
    """An embedder that is asked, and declines."""

    model_id, dim, fingerprint = "refusing", 4, "refusing-1"

    def embed(self, texts: Any) -> Any:
        raise spector.EmbeddingError("declined")


def test_a_tilde_is_the_home_on_the_command_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(home / "agent")
    for command in (
        ["check", "~/agent"],
        ["export", "~/agent", "~/all.jsonl"],
        ["backup", "~/agent", "~/copy"],
        ["restore", "~/copy", "~/back"],
        ["check", "~/agent", "--repair=~/saved"],
        ["inspect", "~/agent"],
        ["stats", "~/agent"],
        ["import", "~/back", "~/all.jsonl", "--embedder", "none"],
    ):
        assert main(command) == 0, (command, capsys.readouterr().err)
    assert os.listdir() == []
    assert spector.check(home / "back").records == 1  # it knows its own export


@pytest.mark.parametrize("path", ["~nosuchuser7/mind", "~"])
def test_a_tilde_without_a_home_is_refused(
    home: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(InvalidInputError, match="no home directory") as caught:
        spector.open(path, embedder=None, dim=4)
    assert f"./{path}" in caught.value.hint
    assert os.listdir() == []


def test_a_name_that_only_begins_with_a_tilde_is_a_name(home: Path) -> None:
    make("./~")
    make("~draft")
    assert sorted(os.listdir()) == ["~", "~draft"]


# -- a folder with stores in it --------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two stores, one of them a level deeper, and one that has lost its catalog."""
    make(tmp_path / "agents" / "ann")
    make(tmp_path / "agents" / "team" / "ben")
    make(tmp_path / "agents" / "cem")
    for name in os.listdir(tmp_path / "agents" / "cem"):
        if name.startswith("catalog.db"):
            os.unlink(tmp_path / "agents" / "cem" / name)
    return tmp_path / "agents"


VERBS: dict[str, Callable[[Path], Any]] = {
    "open": lambda path: spector.open(path, embedder=None, dim=4),
    "open to read": lambda path: spector.open(path, embedder=None, mode="r"),
    "check": spector.check,
    "restore": lambda path: spector.restore(path, path.parent / "new"),
    "repair": lambda path: spector.repair(path, path.parent / "new"),
    "reembed": lambda path: spector.reembed(path, Refusing()),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_of_stores_names_them(folder: Path, verb: str) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises(StoreNotFoundError) as caught:
        VERBS[verb](folder)
    assert caught.value.message == f"{folder} is not a store; stores below it: ann, cem, team/ben"
    assert caught.value.hint == f"name one of them, like {folder}/ann"
    assert sorted(folder.rglob("*")) == before
    assert not (folder.parent / "new").exists()


@cases("command", ids=" ".join)
def test_every_command_names_them(
    folder: Path,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder.parent)
    code = main([command[0], str(folder), *command[1:]])
    assert code == 3
    assert "is not a store; stores below it: ann, cem, team/ben" in capsys.readouterr().err
    assert not (folder.parent / "new").exists()


def test_the_remains_of_a_store_are_still_told_as_such_and_repaired(folder: Path) -> None:
    for verb in ("open", "check"):
        with pytest.raises(StoreNotFoundError, match=r"catalog\.db is missing") as caught:
            VERBS[verb](folder / "cem")
        assert "--repair" in caught.value.hint
    shutil.copytree(folder / "ann", folder / "cem" / "kept")  # a copy below changes nothing
    assert spector.repair(folder / "cem", folder / "new").wordless == 1


@pytest.mark.parametrize("content", [[], ["notes.txt"]])
def test_a_reader_is_sent_to_create_a_store_only_where_that_is_possible(
    tmp_path: Path, content: list[str]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for name in content:
        (place / name).touch()
    with pytest.raises(StoreNotFoundError) as caught:
        spector.open(place, embedder=None, mode="r")
    assert ('mode="rw"' in caught.value.hint) == (not content)
    if content:
        with pytest.raises(StoreNotFoundError):
            spector.open(place, embedder=None, dim=3)


def test_many_stores_are_counted_and_not_listed(tmp_path: Path) -> None:
    make(tmp_path / "s0")
    for n in range(1, 9):
        shutil.copytree(tmp_path / "s0", tmp_path / f"s{n}")
    with pytest.raises(StoreNotFoundError, match="below it: s0, s1, s2, s3, s4 and 4 more"):
        spector.check(tmp_path)


def test_an_empty_folder_in_the_place_of_a_new_store_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "mind" / "notes").mkdir(parents=True)
    make(tmp_path / "mind")
    assert spector.check(tmp_path / "mind").ok


# -- an export -------------------------------------------------------------------------------------


def test_a_store_beneath_a_file_is_a_wrong_path_and_no_damage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory") as caught:
        spector.open(tmp_path / "file" / "mind", embedder=None, dim=3)
    assert "check the path: a part of it is a file" in str(caught.value)


@pytest.mark.parametrize("kind", ["file", "link", "link into nowhere"])
def test_an_export_replaces_a_file_only_when_told_to(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "mind")
    target, other = tmp_path / "all.jsonl", tmp_path / "other.txt"
    other.write_text("a letter")
    if kind == "file":
        target.write_text("a letter")
    else:
        target.symlink_to(other if kind == "link" else tmp_path / "gone")
    with spector.open(tmp_path / "mind", embedder=None) as memory:
        with pytest.raises(StoreExistsError, match="already exists") as caught:
            memory.export(target)
        assert "overwrite=True" in caught.value.hint
        assert isinstance(caught.value, FileExistsError)
        assert target.is_symlink() or target.read_text() == "a letter"
        with pytest.raises(InvalidInputError):
            memory.export(target, overwrite="yes")  # type: ignore[arg-type]
    command = ["export", str(tmp_path / "mind"), str(target)]
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    assert target.read_text().count("\n") == 1
    assert other.read_text() == "a letter"


# An open memory, and what hangs on it, is neither copied nor pickled.
#
# Mechanism: ``copy`` and ``pickle`` ask an object how to make another one of it. Damage without it: a
# copy shares files and lock with its original, and when the copy is dropped it closes both. Guard:
# every way of making a second one raises, says what to do instead, and the original goes on. A
# shallow copy makes none: it is the memory itself.

COPIES: dict[str, Callable[[Any], object]] = {
    "deepcopy": copy.deepcopy,
    "deepcopy within a dictionary": lambda thing: copy.deepcopy({"agent": [thing]}),
    **{
        f"pickle {n}": lambda thing, n=n: pickle.dumps(thing, protocol=n)  # type: ignore[misc]
        for n in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "reduce": lambda thing: thing.__reduce_ex__(2),
}


@pytest.mark.parametrize("way", COPIES.values(), ids=COPIES)
def test_no_copy_is_made_and_the_original_goes_on(
    store_path: Path, way: Callable[[Any], object]
) -> None:
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("before")
        with pytest.raises(NotCopyableError) as caught:
            way(memory)
        assert isinstance(caught.value, TypeError), "as where a file or a lock is pickled"
        assert "spector.open" in caught.value.hint
        assert "backup" in caught.value.hint
        memory.remember("after")
        assert sorted(texts(memory.recall("after"))) == ["after", "before"]


def test_a_shallow_copy_of_a_memory_is_that_memory(store_path: Path) -> None:
    """What copies its configuration, and holds a memory in it, goes on with the same one."""
    with spector.open(store_path, embedder=FakeEmbedder()) as memory:
        memory.remember("before")
        again = copy.copy(memory)
        assert again is memory
        del again
        memory.remember("after")
        assert memory.check().ok


def test_another_process_is_told_to_open_the_path(store_path: Path) -> None:
    with own_vectors(store_path) as memory:
        memory.remember("before", vector=vector())
        process = multiprocessing.get_context("spawn").Process(target=len, args=(memory,))
        with pytest.raises(NotCopyableError):
            process.start()
        assert len(memory) == 1


def test_what_a_memory_returns_is_copied_as_ever(store_path: Path) -> None:
    with own_vectors(store_path) as memory:
        record = memory.remember("a lamp", vector=vector(), tags=["t"], metadata={"n": 1})
        hits = memory.recall("a lamp", vector=vector())
        assert copy.deepcopy(record) == record
        assert pickle.loads(pickle.dumps(record)) == record
        again = copy.deepcopy(hits)
        assert [hit.id for hit in again] == [hit.id for hit in hits]
        assert np.isclose(again[0].score, hits[0].score)
    assert again[0].text == "a lamp"
    assert again[0].explain() == hits[0].explain()

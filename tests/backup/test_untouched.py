"""Mechanism: a copy is built beside its destination, under names that it empties and renames.

Damage without it: a store, an older backup or somebody's directory that has such a name, or is
behind a link of that name, is gone. Guard: what no copy has left there is refused with a typed
error that names it, before anything changes; and a refused copy leaves every byte where it was.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli.main import main
from spector.store.backup import destination as trees
from spector.store.files.lock import WriterLock
from tests.crash.workload import open_tiny, texts_of, vector_of

Copy = Callable[[Path, "Path | str"], Any]


def _backup(source: Path, dest: Path | str) -> None:
    with open_tiny(str(source), mode="r") as memory:
        memory.backup(dest)


COPIES = pytest.mark.parametrize(
    "copy", [_backup, spector.restore, spector.repair], ids=["backup", "restore", "repair"]
)


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with open_tiny(str(tmp_path / "mind")) as memory:
        for n in range(4):
            memory.remember(f"w{n}", vector=vector_of(f"w{n}"))
    return tmp_path / "mind"


def everything(root: Path) -> dict[str, object]:
    """Each path below, and what is there; without what a reader of a store leaves beside it."""
    return {
        str(p.relative_to(root)): os.readlink(p)
        if p.is_symlink()
        else p.read_bytes()
        if p.is_file()
        else None
        for p in root.rglob("*")
        if not p.name.startswith("catalog.db-")
    }


# -- the source ------------------------------------------------------------------------------------


@COPIES
@pytest.mark.parametrize("kind", ["incomplete", "previous"])
@pytest.mark.parametrize("taken", [False, True], ids=["nothing", "empty"])
def test_a_source_with_a_name_that_the_copy_passes_through_is_refused(
    copy: Copy, kind: str, taken: bool, mind: Path
) -> None:
    """What a killed backup left is salvaged, or restored, to where that backup was to be."""
    source = mind.rename(mind.parent / f".out.spector-{kind}")
    if taken:
        (mind.parent / "out").mkdir()
    before = everything(mind.parent)
    with pytest.raises(spector.InvalidInputError) as caught:
        copy(source, mind.parent / "out")
    assert source.name in caught.value.message
    assert f"rename {source}" in caught.value.hint
    assert everything(mind.parent) == before


@COPIES
def test_a_source_inside_of_a_name_that_the_copy_passes_through_is_refused(
    copy: Copy, mind: Path
) -> None:
    (mind.parent / ".out.spector-incomplete").mkdir()
    source = mind.rename(mind.parent / ".out.spector-incomplete" / "mind")
    before = everything(mind.parent)
    with pytest.raises(spector.InvalidInputError, match="would remove it"):
        copy(source, mind.parent / "out")
    assert everything(mind.parent) == before


# -- what belongs to others ------------------------------------------------------------------------


def _link(path: Path, precious: Path) -> None:
    path.symlink_to(precious)


def _directory(path: Path, precious: Path) -> None:
    shutil.copytree(precious, path)


def _file(path: Path, precious: Path) -> None:
    path.write_text("a letter")


def _linked_inside(path: Path, precious: Path) -> None:
    path.mkdir()
    (path / "LOCK").touch()
    (path / "episodic").symlink_to(precious)


@COPIES
@pytest.mark.parametrize("kind", ["incomplete", "previous"])
@pytest.mark.parametrize("put", [_link, _directory, _file, _linked_inside])
def test_what_no_copy_has_left_is_neither_emptied_nor_followed(
    copy: Copy, kind: str, put: Callable[[Path, Path], None], mind: Path
) -> None:
    precious = mind.parent / "precious"
    (precious / "sub").mkdir(parents=True)
    (precious / "thesis.txt").write_text("years of work")
    (precious / "sub" / "data").write_text("more")
    strange = mind.parent / f".out.spector-{kind}"
    put(strange, precious)
    before = everything(mind.parent)
    with pytest.raises(spector.StoreError) as caught:
        copy(mind, mind.parent / "out")
    assert str(strange) in caught.value.message
    assert "rename it" in caught.value.hint
    assert everything(mind.parent) == before


@COPIES
def test_a_store_in_use_that_has_the_name_of_a_leftover_is_left_alone(
    copy: Copy, mind: Path
) -> None:
    """What a killed copy left may be complete, and somebody may have gone on with it."""
    left = mind.parent / ".out.spector-incomplete"
    shutil.copytree(mind, left)
    (left / "LOCK").unlink()
    with open_tiny(str(left)) as memory:
        memory.remember("only here", vector=vector_of("only here"))
    before = everything(mind.parent)
    with pytest.raises(spector.StoreExistsError, match="has been in use") as caught:
        copy(mind, mind.parent / "out")
    assert str(left) in caught.value.message
    assert "rename it" in caught.value.hint
    assert everything(mind.parent) == before


@COPIES
def test_a_store_that_is_written_to_right_now_is_not_taken_for_another_copy(
    copy: Copy, mind: Path
) -> None:
    """Who is told to wait for a copy would wait for ever."""
    with open_tiny(str(mind.parent / ".out.spector-incomplete")) as memory:
        memory.remember("only here", vector=vector_of("only here"))
        with pytest.raises(spector.StoreExistsError, match="has been in use"):
            copy(mind, mind.parent / "out")
        assert memory.check().ok


@COPIES
def test_a_complete_copy_that_nobody_has_written_to_gives_way(copy: Copy, mind: Path) -> None:
    left = mind.parent / ".out.spector-incomplete"
    copy(mind, left)
    with open_tiny(str(left), mode="r") as memory:  # looking at it is not using it
        texts = texts_of(memory)
    copy(mind, mind.parent / "out")
    assert sorted(p.name for p in mind.parent.iterdir()) == ["mind", "out"]
    with open_tiny(str(mind.parent / "out"), mode="r") as memory:
        assert texts_of(memory) == texts


@COPIES
def test_leftovers_of_a_killed_copy_are_cleared_by_the_next(copy: Copy, mind: Path) -> None:
    left = mind.parent / ".out.spector-incomplete"
    (left / "episodic").mkdir(parents=True)
    (left / "episodic" / "2026-01-01-000.mem").write_bytes(b"half")
    (left / "catalog.db").write_bytes(b"half")
    (left / "LOCK").write_bytes(b"1")
    # a repair leaves folders of tiers only, and finds no others
    (left / ("semantic" if copy is spector.repair else "deeper/still")).mkdir(parents=True)
    copy(mind, mind.parent / "out")
    assert sorted(p.name for p in mind.parent.iterdir()) == ["mind", "out"]
    assert spector.check(mind.parent / "out").ok


@COPIES
def test_two_copies_to_one_destination_do_not_mix(copy: Copy, mind: Path) -> None:
    left = mind.parent / ".out.spector-incomplete"
    left.mkdir()
    lock = WriterLock(str(left))
    try:
        with pytest.raises(spector.StoreLockedError, match="another copy"):
            copy(mind, mind.parent / "out")
    finally:
        lock.release()
    assert left.is_dir()
    assert not (mind.parent / "out").exists()


def _strange_file(left: Path) -> None:
    left.mkdir(exist_ok=True)
    (left / "thesis.txt").write_text("years of work")


def _used_store(left: Path) -> None:
    with open_tiny(str(left)) as memory:
        memory.remember("only here", vector=vector_of("only here"))


@COPIES
@pytest.mark.parametrize(
    ("put", "said"), [(_strange_file, "thesis.txt"), (_used_store, "has been in use")]
)
def test_what_comes_to_the_name_of_a_leftover_before_it_is_locked_is_left_alone(
    copy: Copy,
    put: Callable[[Path], None],
    said: str,
    mind: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first look is without the lock, and somebody may be quicker."""
    real, left = trees._claim, mind.parent / ".out.spector-incomplete"
    came: list[dict[str, object]] = []

    def later(*args: Any) -> WriterLock:
        put(left)
        came.append(everything(left))
        return real(*args)

    monkeypatch.setattr(trees, "_claim", later)
    with pytest.raises(spector.StoreError, match=said):
        copy(mind, mind.parent / "out")
    assert len(came) == 1
    assert everything(left).items() >= came[0].items()
    assert not (mind.parent / "out").exists()


def test_what_somebody_put_into_a_backup_is_not_replaced_with_it(mind: Path) -> None:
    _backup(mind, mind.parent / "copy")
    (mind.parent / "copy" / "notes.txt").write_text("mine")
    with pytest.raises(spector.StoreExistsError, match=r"something else in it: notes\.txt"):
        _backup(mind, mind.parent / "copy")
    assert (mind.parent / "copy" / "notes.txt").read_text() == "mine"


# -- an older copy that a crash between two renames has left ---------------------------------------


def _aside(mind: Path) -> Path:
    aside = mind.parent / ".copy.spector-previous"
    _backup(mind, aside)
    return aside


@COPIES
def test_a_refused_copy_leaves_the_older_one_where_a_crash_left_it(copy: Copy, mind: Path) -> None:
    _aside(mind)
    (mind.parent / "copy").mkdir()
    (mind.parent / "copy" / "letter").write_text("mine")
    before = everything(mind.parent)
    with pytest.raises(spector.StoreExistsError):
        copy(mind, mind.parent / "copy")
    assert everything(mind.parent) == before


# -- the destination -------------------------------------------------------------------------------


@pytest.fixture(params=[[], ["bind"]], ids=["another disk", "the same disk"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty directory that is a mount point."""
    place = tmp_path / "a disk"
    place.mkdir()
    (tmp_path / "other").mkdir()
    how = ["--bind", str(tmp_path / "other")] if request.param else ["-t", "tmpfs", "tmpfs"]
    try:
        done = subprocess.run(["mount", *how, str(place)], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("mounting needs privileges")
    yield place
    gc.collect()  # maps of a closed store that wait for it keep the disk busy
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.sampled
@COPIES
def test_a_mount_point_is_refused_before_anything_is_written(
    copy: Copy, mind: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # it does not come to that
    monkeypatch.setattr("spector.store.files.disk.DiskFiles.make_root", None)
    with pytest.raises(spector.StoreError, match="mount point") as caught:
        copy(mind, disk)
    assert f"inside it, '{disk}/copy'" in caught.value.hint
    monkeypatch.undo()
    copy(mind, disk / "copy")
    assert spector.check(disk / "copy").ok


@COPIES
def test_the_current_directory_is_not_replaced(
    copy: Copy, mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mind.parent / "here").mkdir()
    monkeypatch.chdir(mind.parent / "here")
    with pytest.raises(spector.InvalidInputError, match="current directory") as caught:
        copy(mind, ".")
    assert "cd .." in caught.value.hint
    assert os.listdir() == []
    copy(mind, "copy")
    assert spector.check("copy").ok


def test_a_current_directory_that_is_gone_is_a_typed_error(
    mind: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (mind.parent / "gone").mkdir()
    monkeypatch.chdir(mind.parent / "gone")
    (mind.parent / "gone").rmdir()
    assert main(["check", str(mind), "--repair", "out"]) == 3
    assert "bug" not in capsys.readouterr().err


# -- when it fails ---------------------------------------------------------------------------------


@COPIES
def test_a_copy_that_fails_takes_the_directories_above_it_away_again(
    copy: Copy, mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise spector.StoreError("half-way")

    (mind.parent / "there").mkdir()
    for module in ("destination", "copy"):
        monkeypatch.setattr(f"spector.store.backup.{module}.put_in_place", fail)
    with pytest.raises(spector.StoreError, match="half-way"):
        copy(mind, mind.parent / "there" / "new" / "deeper" / "out")
    assert list((mind.parent / "there").iterdir()) == []


@pytest.mark.parametrize("command", [["backup"], ["restore"], ["check", "--repair"]])
def test_an_error_of_the_destination_sends_nobody_to_check_the_source(
    command: list[str],
    mind: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(trees.os, "rename", broken)
    dest = mind.parent / "out"
    assert main([command[0], str(mind), *command[1:], str(dest)]) == 3
    said = capsys.readouterr().err
    assert f"cannot rename to {dest}" in said
    assert "destination" in said
    assert f"spector check {mind}" not in said


def test_what_is_wrong_with_a_repaired_store_is_told_of_that_one(
    mind: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(path: str) -> None:
        raise spector.StoreError("cannot read it", hint="run: spector check PATH")

    monkeypatch.setattr(spector, "check", broken)
    assert main(["check", str(mind), "--repair", str(mind.parent / "out")]) == 3
    assert f"spector check {mind.parent / 'out'}" in capsys.readouterr().err

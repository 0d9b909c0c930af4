"""No name and no file leads outside of the store, and nothing in the place of a file hangs it.

Mechanism: names of files are checked as names, directories between root and file must be
directories, the last step follows no link and waits for no pipe, and what was opened must be a
regular file. Damage without it: a store from elsewhere overwrites files of its user, or an agent
that never starts. Guard: a corpus of names in the catalog, and every file of a store replaced in
turn by a link, a pipe, a directory or a socket, with a witness outside that must not change.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector import Config, ManualClock, SpectorError
from spector.cli.main import main
from spector.store.files.disk import DiskFiles
from tests.cases import Cases
from tests.fakes import FakeEmbedder

cases = Cases(__file__)


CONFIG = Config(episodic_capacity=8, index_min_rows=1)
_STEPS = tuple(cases.rows("steps"))
_ENDS = (*cases.rows("ends"), "/" + "n" * 300, "/" + "d/" * 60 + "x")
NAMES = sorted({first + last for first in _STEPS for last in _ENDS})


def filled(path: Path, clock: ManualClock) -> None:
    with spector.open(path, embedder=FakeEmbedder(), clock=clock, config=CONFIG) as memory:
        memory.remember_many([f"note {n}" for n in range(20)])
        memory.recall("note")


def world(tmp_path: Path) -> dict[str, Any]:
    """Everything beside the store: names, sizes, contents and times of change."""
    return {
        p.relative_to(tmp_path).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in tmp_path.rglob("*")
        if p.is_file() and "mind" not in p.relative_to(tmp_path).parts
    }


def everything_one_can_do(path: Path, clock: ManualClock) -> list[str]:
    """Open, use, check and inspect a store; untyped errors and silences are failures."""
    said = []
    for mode in ("r", "rw"):
        try:
            with spector.open(
                path,
                mode=mode,
                embedder=FakeEmbedder(),
                clock=clock,  # type: ignore[arg-type]
                config=CONFIG,
            ) as memory:
                memory.recall("note", k=30)
                list(memory)
                if mode == "rw":
                    memory.remember("another note")
                    memory.forget(next(iter(memory)).id)
                    memory.compact()
        except SpectorError as error:
            said.append(str(error))
    try:
        said += [str(problem) for problem in spector.check(path).problems]
    except SpectorError as error:
        said.append(str(error))
    code = main(["inspect", str(path), "--json"])
    assert code in (0, 1, 2, 3), "inspect met an untyped error"
    return said


# -- names -----------------------------------------------------------------------------------------


def test_no_name_is_taken_for_one_outside_of_the_root(tmp_path: Path) -> None:
    """Each verb of the seam, with each name: refused, or below the root."""
    root = tmp_path / "mind"
    root.mkdir()
    (tmp_path / "witness").write_text("precious")
    files = DiskFiles(str(root))
    verbs: list[Callable[[str], object]] = [
        lambda n: files.open(n, create=True).close(),
        lambda n: files.open(n).close(),
        lambda n: files.glance(n, 1, writable=False, most=4096),
        lambda n: files.map_private(n, most=4096),
        files.remove,
        files.exists,
        files.size_of,
        lambda n: files.replace(n, "b.mem"),
        lambda n: files.replace("a.mem", n),
        files.sync_dir,
    ]
    before = world(tmp_path)
    for name in NAMES:
        for verb in verbs:
            try:
                verb(name)
            except (SpectorError, UnicodeEncodeError):
                continue
    assert world(tmp_path) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mind", "witness"]
    assert len(NAMES) >= 500


@pytest.mark.parametrize("part", range(4))
def test_a_catalog_that_names_files_elsewhere_reaches_none_of_them(
    tmp_path: Path, clock: ManualClock, part: int, capsys: Any
) -> None:
    """A partition is put where each name leads, as far as it leads anywhere that we may write."""
    path = tmp_path / "mind"
    filled(path, clock)
    (tmp_path / "witness").write_text("precious")
    stolen = (path / "episodic/2026-11-21-000.mem").read_bytes()
    (tmp_path / "x.mem").write_bytes(stolen)
    before = world(tmp_path)
    catalog = (path / "catalog.db").read_bytes()
    for name in NAMES[part * 10 :: 160]:
        (path / "catalog.db").write_bytes(catalog)
        with sqlite3.connect(path / "catalog.db") as db:
            try:
                db.execute("UPDATE segment SET path = ? WHERE id = 1", (name,))
            except UnicodeEncodeError:
                continue
        db.close()
        said = everything_one_can_do(path, clock)
        assert said, f"nobody noticed {name!r}"
        assert world(tmp_path) == before, name
    capsys.readouterr()


# -- things in the place of files ------------------------------------------------------------------


def _link(path: Path, outside: Path) -> None:
    outside.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(outside)


def _dangling(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside.with_name("new"))


def _pipe(path: Path, outside: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path, outside: Path) -> None:
    path.unlink()
    path.mkdir()


def _socket(path: Path, outside: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_RDONLY)
        try:  # the name of a socket may not be long
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


@pytest.mark.sampled
@pytest.mark.parametrize("put", [_link, _dangling, _pipe, _folder, _socket])
@pytest.mark.parametrize(
    "name",
    (
        "catalog.db catalog.db-wal catalog.db-shm catalog.db-journal LOCK "
        "episodic/2026-11-21-000.mem episodic/2026-11-21-000.idx episodic/stray.mem"
    ).split(),
)
def test_nothing_in_the_place_of_a_file_is_followed_or_waited_for(
    tmp_path: Path, clock: ManualClock, name: str, put: Any, capsys: Any
) -> None:
    if put is _socket and not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc to make a socket with a long name")
    path = tmp_path / "mind"
    filled(path, clock)
    outside = tmp_path / "outside"
    outside.write_text("")
    if not (path / name).exists():
        (path / name).write_bytes(b"")
    put(path / name, outside)
    before = world(tmp_path)
    everything_one_can_do(path, clock)
    assert world(tmp_path) == before
    assert not (tmp_path / "new").exists()
    capsys.readouterr()


def test_a_tier_folder_that_is_a_link_is_refused(
    tmp_path: Path, clock: ManualClock, capsys: Any
) -> None:
    path = tmp_path / "mind"
    filled(path, clock)
    (path / "episodic").rename(tmp_path / "elsewhere")
    (path / "episodic").symlink_to(tmp_path / "elsewhere")
    before = world(tmp_path)
    said = everything_one_can_do(path, clock)
    assert any("symbolic link" in each for each in said)
    assert world(tmp_path) == before
    capsys.readouterr()


# -- the path of the store -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "n" * 300, "d/" * 2100])
def test_a_name_that_the_file_system_does_not_take_is_a_typed_error(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(SpectorError):
        spector.open(str(tmp_path / name) if name else "", embedder=FakeEmbedder())


@pytest.mark.parametrize("what", ["remove", "replace", "replace by", "create", "open"])
def test_nothing_behind_a_link_in_the_place_of_a_folder_is_touched(
    tmp_path: Path, what: str
) -> None:
    """It is refused before it is done, and not after."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "000.mem").write_bytes(b"theirs")
    root = tmp_path / "mind"
    (root / "lexical").mkdir(parents=True)
    (root / "lexical" / "000.lex").write_bytes(b"ours")
    (root / "semantic").symlink_to(outside)
    files = DiskFiles(str(root))
    do: dict[str, Callable[[], object]] = {
        "remove": lambda: files.remove("semantic/000.mem"),
        "replace": lambda: files.replace("semantic/000.mem", "lexical/001.lex"),
        "replace by": lambda: files.replace("lexical/000.lex", "semantic/000.mem"),
        "create": lambda: files.open("semantic/001.mem", create=True),
        "open": lambda: files.open("semantic/000.mem"),
    }
    with pytest.raises(spector.StoreError):
        do[what]()
    assert {p.name: p.read_bytes() for p in outside.iterdir()} == {"000.mem": b"theirs"}
    assert [p.name for p in (root / "lexical").iterdir()] == ["000.lex"]

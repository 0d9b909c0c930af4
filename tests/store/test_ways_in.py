"""Wrong ways to check, repair, back up and restore: errors say what to do, nothing is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli.main import main
from spector.store.files import lock
from spector.store.files.lock import without_writer
from tests.fakes import FakeEmbedder
from tests.store.spoil import says


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with spector.open(tmp_path / "mind", embedder=None, dim=3) as memory:
        memory.remember("north", vector=[0, 1, 0])
    return tmp_path / "mind"


@pytest.mark.parametrize("where", ["mind", "mind/saved", "."])
def test_a_repair_does_not_write_into_the_store_that_it_reads(
    mind: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(mind.parent)
    before = sorted(mind.rglob("*"))
    with pytest.raises(spector.InvalidInputError, match="inside it, or a parent of it"):
        spector.repair("mind", where)
    assert sorted(mind.rglob("*")) == before


def test_a_store_of_a_newer_format_is_not_repaired_as_if_it_were_ours(mind: Path) -> None:
    says(mind, "2")
    for file in mind.rglob("*.mem"):
        os.truncate(file, 40)  # no partition says that it is of a format that we know
    with pytest.raises(spector.FormatVersionError, match="format 2"):
        spector.repair(mind, mind.parent / "saved")
    assert not (mind.parent / "saved").exists()


def test_a_lost_catalog_leads_to_repair_and_not_to_a_new_store(
    mind: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mind / "catalog.db").unlink()
    ways = (
        lambda: spector.open(mind, embedder=None, dim=3),
        lambda: spector.open(mind, embedder=None, mode="r"),
        lambda: spector.check(mind),
        lambda: spector.restore(mind, mind.parent / "new"),
    )
    for way in ways:
        with pytest.raises(spector.StoreNotFoundError, match="is missing at") as caught:
            way()
        assert "--repair" in caught.value.hint
    for command in ("check", "stats", "export"):
        assert main([command, str(mind)]) == 3
        assert f"spector check {mind} --repair DEST" in capsys.readouterr().err
    assert spector.repair(mind, mind.parent / "saved").kept == 1


def test_a_failed_check_names_the_next_step(mind: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = mind.rglob("*.mem")
    file.unlink()
    assert main(["check", str(mind)]) == 1
    assert f"spector check {mind} --repair DEST" in capsys.readouterr().err
    assert main(["restore", str(mind.parent / "nowhere"), str(mind.parent / "new")]) == 3
    assert "create one" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a\0b", "is "),
        ("\ud800", "is "),
        *((p, "pass the path") for p in ("", ":memory:", None, 7)),
    ],
)
@pytest.mark.parametrize(
    "verb", ["check", "repair", "repair to", "restore", "restore to", "reembed", "backup"]
)
def test_what_no_file_can_be_called_is_refused_as_such(
    mind: Path, verb: str, path: object, said: str
) -> None:
    """A NUL ended in a ValueError of the operating system's module."""
    given: Any = path
    calls = {
        "check": lambda: spector.check(given),
        "repair": lambda: spector.repair(given, mind.parent / "saved"),
        "repair to": lambda: spector.repair(mind, given),
        "restore": lambda: spector.restore(given, mind.parent / "saved"),
        "restore to": lambda: spector.restore(mind, given),
        "reembed": lambda: spector.reembed(given, FakeEmbedder(dim=3)),
        "backup": lambda: _backed_up(mind, given),
    }
    with pytest.raises(spector.InvalidInputError, match=said):
        calls[verb]()
    assert sorted(p.name for p in mind.parent.iterdir()) == ["mind"]


def _backed_up(mind: Path, dest: Any) -> None:
    with spector.open(mind, embedder=None, dim=3, mode="r") as memory:
        memory.backup(dest)


def test_a_writer_during_a_repair_is_told_to_wait(
    mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told to end a process that had ended long ago, or else the repair itself."""
    monkeypatch.setattr(lock, "sleep", lambda seconds: None)
    (mind / "LOCK").write_text("999999999\n")
    with (
        without_writer(str(mind)),
        pytest.raises(spector.StoreLockedError, match="being repaired") as caught,
    ):
        spector.open(mind, embedder=None, dim=3)
    assert "wait until" in caught.value.hint


@pytest.mark.parametrize("there", [False, True], ids=["nothing", "empty"])
def test_a_new_store_of_unknown_dimension_is_refused_before_anything_is_made(
    tmp_path: Path, there: bool
) -> None:
    """Or each wrong call leaves a folder, a lock or half a catalog where no store is."""
    path = tmp_path / "above" / "new"
    if there:
        path.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(spector.ModelMismatchError, match="how long its vectors are") as caught:
        spector.open(path, embedder=None)
    assert "dim=" in caught.value.hint
    assert sorted(tmp_path.rglob("*")) == before
    with spector.open(path, embedder=None, dim=3) as memory:
        memory.remember("north", vector=[0, 1, 0])


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_vectors_of_another_length_are_refused_whoever_opens(mind: Path, mode: Any) -> None:
    before = (mind / "catalog.db").read_bytes()
    with pytest.raises(spector.ModelMismatchError, match="3 dimensions, not 4") as caught:
        spector.open(mind, embedder=None, dim=4, mode=mode)
    assert "spector reembed" in caught.value.hint
    assert (mind / "catalog.db").read_bytes() == before
    with spector.open(mind, embedder=None, dim=3, mode=mode) as memory:
        assert [record.text for record in memory] == ["north"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("mode", ["rw", "r"])
@pytest.mark.parametrize("fault", ["dimension", "format", "partition"])
def test_an_opening_that_is_refused_leaves_no_file_open_and_no_lock(
    tmp_path: Path, mode: Any, fault: str
) -> None:
    """Or a host that tries again and again runs out of descriptors; a traceback may be kept."""
    live, mind = tmp_path / "live", tmp_path / "mind"
    with spector.open(live, embedder=None, dim=3) as memory:
        for tier in ("semantic", "episodic", "procedural"):
            memory.remember("north", vector=[0, 1, 0], tier=tier)
        # as a kill leaves it: the next opening replays the journal into its partitions
        shutil.copytree(live, mind, ignore=shutil.ignore_patterns("LOCK"))
    given: dict[str, Any] = {"embedder": None, "dim": 3, "mode": mode}
    if fault == "dimension":
        given["dim"] = 4
    elif fault == "format":
        says(mind, "none")
    else:
        (partition,) = (mind / "procedural").glob("*.mem")
        partition.unlink()
    with pytest.raises(spector.SpectorError) as caught:
        spector.open(mind, **given)
    assert [name for name in _open_files() if name.startswith(str(mind))] == []
    assert caught.value.__traceback__ is not None
    with without_writer(str(mind)):
        pass


def _open_files() -> list[str]:
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return found

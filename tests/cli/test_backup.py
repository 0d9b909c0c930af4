"""The commands backup and restore: output, exit codes, and what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

import spector
from tests.cli.conftest import Run


def test_backup_then_restore(run: Run, filled: Path, tmp_path: Path) -> None:
    copy, back = tmp_path / "copy", tmp_path / "back"
    result = run("backup", filled, copy)
    assert result.code == 0, result.err
    assert "backed up 3 records" in result.out
    assert str(copy) in result.out
    result = run("restore", copy, back)
    assert result.code == 0, result.err
    assert "restored 3 records" in result.out
    assert run("export", back).out == run("export", filled).out
    assert run("check", back).code == 0


def test_json_of_backup_and_restore(run: Run, filled: Path, tmp_path: Path) -> None:
    first = run("backup", filled, tmp_path / "copy", "--json").json
    assert (first["records"], first["reused"]) == (3, 0)
    again = run("backup", filled, tmp_path / "copy", "--json").json
    assert again["reused"] == again["partitions"] == first["partitions"]
    assert again["bytes_copied"] < again["bytes"] == first["bytes"]
    assert run("restore", tmp_path / "copy", tmp_path / "back", "--json").json["records"] == 3


def test_backup_beside_a_writer(run: Run, filled: Path, tmp_path: Path) -> None:
    with spector.open(filled):
        assert run("backup", filled, tmp_path / "copy").code == 0
    assert run("check", tmp_path / "copy").code == 0


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_a_destination_that_is_taken_is_exit_code_3(
    verb: str, run: Run, filled: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    result = run(verb, filled, tmp_path / "full")
    assert result.code == 3
    assert "hint: choose a path where nothing is" in result.err
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_without_a_store_nothing_is_made(verb: str, run: Run, tmp_path: Path) -> None:
    assert run(verb, tmp_path / "nothing", tmp_path / "copy").code == 3
    assert list(tmp_path.iterdir()) == []


def test_backup_into_the_store_is_a_wrong_argument(run: Run, filled: Path) -> None:
    result = run("backup", filled, filled / "copy")
    assert result.code == 2
    assert not (filled / "copy").exists()


def test_a_damaged_store_is_named_and_not_copied(run: Run, filled: Path, tmp_path: Path) -> None:
    victim = sorted(filled.rglob("*.mem"))[0]
    data = bytearray(victim.read_bytes())
    data[64 + 64] ^= 1
    victim.write_bytes(data)
    result = run("backup", filled, tmp_path / "copy")
    assert result.code == 3
    assert "is damaged and was not copied" in result.err
    assert victim.name in result.err
    assert f"spector check {filled} --repair DEST" in result.err
    assert not (tmp_path / "copy").exists()

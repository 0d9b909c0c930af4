"""The commands backup and restore: output, exit codes, and what they did."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spector
from spector import ManualClock, ReflectReport
from spector.cli.main import main
from tests.cli.conftest import Run
from tests.crash.workload import DIM, vector_of
from tests.sleep.nights import BEGIN, tell, themes_in


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


# -- ``spector check``: how many problems it lists, and what a script gets to know -----------------


@pytest.fixture
def ruined(tmp_path: Path) -> Path:
    path = tmp_path / "ruined"
    with spector.open(path, embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {"text": f"memory {n}", "vector": vector_of(str(n)), "tier": "semantic"}
                for n in range(1100)
            ]
        )
    part = path / "semantic" / "semantic-000.mem"
    data = bytearray(part.read_bytes())
    for slot in range(1100):
        data[64 + slot * 128 + 34] ^= 1
    part.write_bytes(data)
    return path


def test_check_says_how_many_more_there_are_and_lists_them_when_asked(
    run: Run, ruined: Path
) -> None:
    shown = run("check", ruined)
    assert shown.code == 1
    assert "and 100 more (--all lists them)" in shown.out
    assert "1100 problems:" in shown.out
    assert "--repair DEST" in shown.err
    everything = run("check", ruined, "--all")
    assert "more (--all" not in everything.out
    assert everything.out.count("I3 ") == 1100
    found = run("check", ruined, "--json").json
    assert (len(found["problems"]), found["unlisted"], found["ok"]) == (1100, 0, False)


def test_check_of_an_unreadable_sector_names_it_and_the_memories(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = next(filled.glob("semantic/*.mem"), next(filled.glob("episodic/*.mem")))
    real, inode = os.pread, victim.stat().st_ino

    def pread(fd: int, length: int, offset: int) -> bytes:
        if os.fstat(fd).st_ino == inode:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    shown = run("check", filled, "--all")
    assert shown.code == 1
    assert "1 problem:" in shown.out
    assert "cannot be read from the disk (EIO)" in " ".join(shown.out.split())
    assert "memories in " in shown.out
    assert "--repair" in shown.err
    (problem,) = run("check", filled, "--json").json["problems"]
    assert (problem["code"], problem["file"].split("/")[-1]) == ("I20", victim.name)
    assert problem["ids"]


# -- ``spector reflect``: what a night would do, does, and takes back ------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store whose memories are old by the clock of the command."""
    where = tmp_path / "mind"
    with spector.open(where, embedder=None, dim=4, clock=ManualClock(BEGIN)) as memory:
        for n in range(3):
            memory.remember(f"hm {n}", importance=0.1, vector=[1.0, n, 0.0, 0.0])
    return where


def test_a_night_is_proposed_done_and_taken_back(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reflect", str(path), "--dry-run"]) == 0
    assert "would strength (decay)" in capsys.readouterr().out
    assert main(["reflect", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cycle"] == 1
    assert {each["name"] for each in report["steps"]} >= {"decay", "forget", "upkeep"}
    assert main(["reflect", str(path), "--undo", "1"]) == 0
    assert "undo" in capsys.readouterr().out
    with spector.open(path, embedder=None, mode="r") as memory:
        assert [record.stability_days for record in memory] == pytest.approx([4.2] * 3)
    assert main(["reflect", str(path), "--undo", "1"]) != 0
    assert "not on record" in capsys.readouterr().err


def test_a_dry_run_tells_first_what_would_rest_and_be_made_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty lines of ids whose strength would change hid all else."""
    where = str(tmp_path / "akıl")
    clock = ManualClock(BEGIN)
    with spector.open(where, embedder=None, dim=4, clock=clock) as memory:
        for n in range(70):
            memory.remember(
                f"şey {n}", importance=0.1 if n > 60 else 0.6, vector=[1.0, n, 0.0, 0.0]
            )
        for n in range(4):
            said = f"Benim kilom {70 + n}."
            memory.remember(said, importance=0.7, vector=[0.0, 0.0, 1.0, n / 100])
        clock.advance(days=3)
        memory.reflect(["compress", "extract"])
    assert main(["reflect", where, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("would ")]
    assert len(told) <= 50
    assert any("would put to rest (forget)" in line and "faded: şey 6" in line for line in told)
    assert any("would make (consolidate)" in line and "kilo: “70” (" in line for line in told)
    kinds = ["strength" in line or "rehearse" in line for line in told]
    assert kinds == sorted(kinds)
    assert not any(line.startswith("sealed") for line in lines)
    counts = []
    for options in (["--dry-run"], []):
        assert main(["reflect", where, "--json", *options]) == 0
        steps = json.loads(capsys.readouterr().out)["steps"]
        counts.append({each["name"]: each["changed"] for each in steps if each["name"] != "seal"})
    assert counts[0] == counts[1]
    assert counts[0]["consolidate"] == 1


def test_steps_are_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reflect", str(path), "--steps", "upkeep"]) == 0
    assert "cycle" not in capsys.readouterr().out
    assert main(["reflect", str(path), "--steps", "dacay"]) != 0
    assert "decay" in capsys.readouterr().err


def test_a_night_of_the_shell_can_embed_what_it_words_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A theme that is brought up to date needs a vector: the command opened without embedder."""
    where = tmp_path / "mind"
    with spector.open(where, clock=ManualClock(BEGIN)) as memory:
        for each in ("12 knots", "11 knots", "10 knots", "9 knots"):
            tell(memory, "Lyra", "makes", each, user_id="ada")
            if each == "10 knots":
                memory.reflect()
    assert main(["reflect", str(where)]) == 0, capsys.readouterr().err
    with spector.open(where, mode="r") as memory:
        (theme,) = themes_in(memory)
    assert "9 knots" in theme.text


def test_a_night_lets_other_writers_in(
    run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's server writes while a night goes on."""
    with spector.open(filled) as memory:
        first = next(memory.records()).id
    ended: list[subprocess.CompletedProcess[str]] = []

    def beside(*_: object, **__: object) -> ReflectReport:
        command = [sys.executable, "-m", "spector", "retire", str(filled), str(first)]
        ended.append(subprocess.run([*command, "--wait", "5"], capture_output=True, text=True))
        return ReflectReport()

    monkeypatch.setattr(spector.Memory, "reflect", beside)
    assert run("reflect", filled).code == 0
    assert [(each.returncode, each.stderr) for each in ended] == [(0, "")]

"""``spector check``: how many problems it lists, and what a script gets to know."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import spector
from tests.cli.conftest import Run
from tests.crash.workload import DIM, vector_of


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

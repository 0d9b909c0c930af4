"""An export appears whole or not at all, and what a kill leaves of one does not stay.

Mechanism: a file is written under a temporary name and renamed; a process that is killed meanwhile
leaves it. Damage: memories in a file that nobody knows of, for ever. Guard: where the system has
files without names, nothing is left; elsewhere the next export to the same name removes what no
living process has locked.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from spector.store.files import text_files as textfile
from spector.store.files.text_files import write_lines
from tests.crash.harness import in_fork


def _killed_while(target: Path) -> None:
    def lines() -> Iterator[str]:
        yield "the first line"
        os.kill(os.getpid(), signal.SIGKILL)

    write_lines(str(target), lines())


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without names here")
def test_a_kill_leaves_nothing(tmp_path: Path) -> None:
    assert in_fork(lambda: _killed_while(tmp_path / "out.jsonl")) == -signal.SIGKILL
    assert _names(tmp_path) == []


def test_what_a_kill_left_elsewhere_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "_nameless", lambda folder: None)
    target = tmp_path / "out.jsonl"
    assert in_fork(lambda: _killed_while(target)) == -signal.SIGKILL
    (left,) = _names(tmp_path)
    others = ["other.jsonl.0000000000000000.tmp", "out.jsonl.tmp", "out.jsonl.gggggggggggggggg.tmp"]
    for name in others:
        (tmp_path / name).write_text("not ours")
    (tmp_path / "out.jsonl.1111111111111111.tmp").symlink_to(tmp_path / others[0])
    busy = tmp_path / "out.jsonl.2222222222222222.tmp"
    with open(busy, "w") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        write_lines(str(target), ["whole"])
        assert busy.exists(), "its writer is still there"
    assert left not in _names(tmp_path)
    assert target.read_text() == "whole\n"
    assert all((tmp_path / name).read_text() == "not ours" for name in others)
    write_lines(str(target), ["again"])
    assert not busy.exists()


@pytest.mark.parametrize("nameless", [True, False])
def test_an_error_leaves_the_older_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool
) -> None:
    if not nameless:
        monkeypatch.setattr(textfile, "_nameless", lambda folder: None)
    target = tmp_path / "out.jsonl"
    write_lines(str(target), ["older"])

    def lines() -> Iterator[str]:
        yield "newer"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(str(target), lines())
    assert _names(tmp_path) == ["out.jsonl"]
    assert target.read_text() == "older\n"
    assert target.stat().st_mode & 0o777 == 0o600
    write_lines(str(target), ["newer"])
    assert (target.read_text(), _names(tmp_path)) == ("newer\n", ["out.jsonl"])


def test_a_name_that_is_removed_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "_nameless", lambda folder: None)
    real, taken = textfile._lock, []

    def lock(fd: int) -> None:
        if not taken:
            (left,) = tmp_path.glob("*.tmp")
            left.unlink()
            taken.append(left)
        real(fd)

    monkeypatch.setattr(textfile, "_lock", lock)
    write_lines(str(tmp_path / "out.jsonl"), ["whole"])
    assert taken
    assert (tmp_path / "out.jsonl").read_text() == "whole\n"

"""A purge where nothing is rewritten: dead slots are blanked, and only they.

Mechanism: which slots are dead was read from flags that no checksum covers. Damage: one flipped bit
and a purge of another memory blanked a living one, with a checksum that a repair believed.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import spector
from spector import ManualClock
from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES, stride_of
from spector.store.files import text_files as textfile
from spector.store.files.text_files import write_lines
from tests.crash.harness import in_fork

FLAGS_AT = 40


class Kept(spector.PartitionedTier):
    name, code = "kept", 21

    @property
    def compactable(self) -> bool:
        return False


def test_a_purge_does_not_blank_what_the_catalog_names(tmp_path: Path, clock: ManualClock) -> None:
    path, options = tmp_path / "mind", {"embedder": None, "dim": 8, "extra_tiers": [Kept()]}
    rng = np.random.default_rng(1)
    with spector.open(path, clock=clock, **options) as memory:
        drafts = [
            {"text": f"memory {n}", "vector": rng.standard_normal(8), "tier": "kept"}
            for n in range(30)
        ]
        ids = [record.id for record in memory.remember_many(drafts)]
    (partition,) = path.rglob("*.mem")
    at = PARTITION_HEADER_BYTES + 3 * stride_of(8)
    damaged = bytearray(partition.read_bytes())
    damaged[at + FLAGS_AT] |= 1
    partition.write_bytes(damaged)
    vector = slice(at + HEADER_BYTES, at + HEADER_BYTES + 8)
    with spector.open(path, clock=clock, **options) as memory:
        receipt = memory.forget(ids[7], purge=True).receipt
        assert receipt is not None
        assert any("kept" in each.where and "blanked" in each.what for each in receipt.purged)
    after = partition.read_bytes()
    assert after[vector] == damaged[vector]
    gone = PARTITION_HEADER_BYTES + 7 * stride_of(8) + HEADER_BYTES
    assert after[gone : gone + 8] == bytes(8)
    report = spector.repair(path, tmp_path / "repaired", extra_tiers=[Kept()])
    assert report.kept == 29
    with spector.open(tmp_path / "repaired", mode="r", **options) as memory:
        assert memory.get(ids[3]).text == "memory 3"
        assert memory.check().ok


def test_a_writer_that_outlives_a_restore_acknowledges_nothing(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Mechanism: only new connections were compared with the file at the path."""
    path = tmp_path / "mind"
    rng = np.random.default_rng(1)

    def drafts(word: str) -> list[dict[str, object]]:
        return [{"text": f"{word} {n}", "vector": rng.standard_normal(8)} for n in range(20)]

    with spector.open(path, clock=clock, embedder=None, dim=8) as memory:
        memory.remember_many(drafts("first"))
        memory.backup(tmp_path / "backup")
    old = spector.open(path, clock=clock, embedder=None, dim=8)
    path.rename(tmp_path / "aside")
    spector.restore(tmp_path / "backup", path)
    before = {each: each.read_bytes() for each in path.rglob("*.mem")}
    with pytest.raises(spector.StoreError, match="another file"):
        old.remember_many(drafts("lost"))
    with pytest.raises(spector.StoreError):
        old.remember("lost as well", vector=rng.standard_normal(8))
    old.close()
    assert {each: each.read_bytes() for each in path.rglob("*.mem")} == before
    with spector.open(path, clock=clock, embedder=None, dim=8) as memory:
        assert memory.check().ok
        assert len(memory) == 20


# -- An export appears whole or not at all, and what a kill leaves of one does not stay ------------
#
# Mechanism: a file is written under a temporary name and renamed; a process that is killed
# meanwhile leaves it. Damage: memories in a file that nobody knows of, for ever. Guard: where the
# system has files without names, nothing is left; elsewhere the next export to the same name
# removes what no living process has locked.


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

"""Mechanism: a repair reads SQLite's log frame by frame, each tested from the checksum before it.

Damage without it: SQLite ends its log at the first damaged frame and says nothing. A repair then
showed the moment before: acknowledged memories missing and unlisted, forgotten ones alive again,
and called that complete. Guard: what is behind the damage is read, or the report is incomplete; a
partition's later word outlives the catalog's; nobody is neither kept nor named.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Flag
from spector.cli.main import main
from tests.crash.workload import DIM, open_tiny, vector_of, warm_up
from tests.proof import seed
from tests.store.damage import ram

_FRAME = 24 + 4096
LOG = "catalog.db-wal"


@dataclass
class Killed:
    """The files of a writer that was killed; most of what it did is in the log only."""

    root: Path
    truth: dict[int, dict[str, Any]]
    #: forgotten, by now
    gone: int
    #: its words and vector were changed
    changed: int
    before: dict[str, bytes]

    @property
    def frames(self) -> int:
        return (len(self.before[LOG]) - 32) // _FRAME

    def put(self, name: str, data: bytes) -> None:
        (self.root / name).write_bytes(data)

    def restore(self) -> None:
        for name, data in self.before.items():
            self.put(name, data)
        for path in self.root.parent.iterdir():
            if path != self.root:
                shutil.rmtree(path)

    def ruin(self, frame: int, offset: int, size: int = 1) -> None:
        """Flip a bit, or zero a range, of one frame; 0 is the first byte of its page."""
        data = bytearray(self.before[LOG])
        at = 32 + frame * _FRAME + 24 + offset
        data[at : at + size] = bytes(size) if size > 1 else bytes([data[at] ^ 1])
        self.put(LOG, bytes(data))

    def repair(self) -> tuple[spector.RepairReport, dict[int, dict[str, Any]]]:
        """What came through; whatever the damage, nothing of it may be untrue."""
        dest = self.root.parent / "saved"
        shutil.rmtree(dest, ignore_errors=True)
        report = spector.repair(self.root, dest)
        found = spector.check(dest)
        assert found.ok, found.problems
        with open_tiny(str(dest), mode="r") as memory:
            shown = {record.id: record.to_dict() for record in memory}
            wordless = {r.id for r in memory if not r.text}
            assert all(Flag.QUARANTINED in memory.get(each).flags for each in wordless)
        assert self.gone not in shown, "a forgotten memory is back"
        named = {each.id for each in (*report.lost, *report.notes)}
        assert set(self.truth) <= set(shown) | named, "neither kept nor named"
        for each, said in shown.items():  # all words are true, but for a change that may be lost
            assert said["text"] in ("", self.truth[each]["text"]) or each == self.changed
            assert not said["text"] or said["user_id"] == self.truth[each]["user_id"]
        if report.complete:
            assert shown == self.truth
        return report, shown


@pytest.fixture(scope="module")
def made() -> Iterator[Killed]:
    warm_up()
    top = Path(tempfile.mkdtemp(dir=ram()))
    live, root = top / "live", top / "in" / "dead"
    root.parent.mkdir()
    with spector.open(live, embedder=None, dim=DIM) as memory:
        memory.remember("before", vector=vector_of("before"), tier="semantic")
    with spector.open(live, embedder=None, dim=DIM) as memory:
        ids = [
            memory.remember(
                f"memory {n}",
                vector=vector_of(f"memory {n}"),
                user_id="ada",
                tags=[f"t{n}"],
                tier="semantic" if n % 3 else "episodic",
            ).id
            for n in range(12)
        ]
        memory.forget(ids[3])
        memory.update(ids[4], text="corrected", vector=vector_of("corrected"))
        truth = {record.id: record.to_dict() for record in memory}
        shutil.copytree(live, root, ignore=shutil.ignore_patterns("LOCK", "*-shm", "*.idx"))
    before = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    yield Killed(root, truth, ids[3], ids[4], before)
    shutil.rmtree(top)


@pytest.fixture
def killed(made: Killed) -> Iterator[Killed]:
    yield made
    made.restore()


def test_what_lies_behind_a_flipped_bit_of_the_log_is_read(killed: Killed) -> None:
    """The page that it hit was written again later, as most are: nothing is missing."""
    killed.ruin(2, 100)
    report, shown = killed.repair()
    assert (report.complete, shown) == (True, killed.truth)
    (note,) = report.notes
    assert note.file == LOG
    assert f"damaged at byte {32 + 2 * _FRAME}, " in note.reason
    assert "all of them were read" in note.reason


def test_a_head_of_the_log_that_is_gone_costs_nothing(killed: Killed) -> None:
    """SQLite takes such a log for an empty one."""
    killed.put(LOG, bytes(32) + killed.before[LOG][32:])
    report, shown = killed.repair()
    assert shown == killed.truth
    assert report.notes


def test_a_log_that_the_disk_cannot_read_is_not_called_complete(
    killed: Killed, capsys: pytest.CaptureFixture[str]
) -> None:
    killed.ruin(killed.frames - 40, -24, 4096)
    report, _ = killed.repair()
    assert report.commits_lost
    assert not report.complete
    dest = killed.root.parent / "again"
    assert main(["check", str(killed.root), "--repair", str(dest)]) == 1
    assert "not all of them can be read" in " ".join(capsys.readouterr().out.split())


def test_without_its_log_the_store_is_not_called_complete(killed: Killed) -> None:
    """An older catalog: a partition that it does not know, and others that are ahead of it."""
    (killed.root / LOG).unlink()
    report, shown = killed.repair()
    assert report.commits_lost
    assert set(shown) == set(killed.truth), "the records of every partition are salvaged"
    assert report.wordless == len(killed.truth) - 1
    assert [each["text"] for each in shown.values() if each["text"]] == ["before"]


def test_an_older_catalog_brings_nothing_back(killed: Killed) -> None:
    """One in which the forgotten memory is alive, and the changed one says what it said before."""
    data = killed.before[LOG]
    forgets = max(  # the last frame before both
        n
        for n in range(killed.frames)
        if data[32 + n * _FRAME + 4 : 32 + n * _FRAME + 8] != bytes(4) and n < killed.frames - 40
    )
    killed.put(LOG, data[: 32 + (forgets + 1) * _FRAME])
    report, shown = killed.repair()
    assert report.commits_lost
    assert killed.changed not in shown or shown[killed.changed]["text"] in ("", "corrected")


@pytest.mark.parametrize("size", [1, 4096, 8 * _FRAME])
def test_ruined_anywhere_nothing_comes_back_and_nobody_vanishes(killed: Killed, size: int) -> None:
    rng = np.random.default_rng(seed(31) + size)
    for _ in range(12):
        frame = int(rng.integers(0, killed.frames - size // _FRAME))
        killed.ruin(frame, int(rng.integers(-24, 4096)), size)
        killed.repair()


def test_a_torn_end_is_the_moment_before_it(killed: Killed) -> None:
    """A power cut within the last commit, of which nobody has been told: parts of it are there."""
    ends = [
        n
        for n in range(killed.frames)
        if killed.before[LOG][32 + n * _FRAME + 4 : 32 + n * _FRAME + 8] != bytes(4)
    ]
    last = ends[-2] + 1
    killed.ruin(last, -24, _FRAME)
    report, _ = killed.repair()
    assert report.commits_lost
    assert any("commits after it: 1" in note.reason for note in report.notes)


@pytest.mark.parametrize("kept", [1, 3, -1])
def test_a_commit_without_its_end_is_none(tmp_path: Path, kept: int) -> None:
    """A process was killed, or had its disk taken away, before the last frame of a commit came."""
    live, root = tmp_path / "live", tmp_path / "dead"
    with spector.open(live, embedder=None, dim=DIM) as memory:
        for n in range(3):
            memory.remember(f"memory {n}", vector=vector_of(str(n)), tier="semantic")
        truth = {record.id: record.to_dict() for record in memory}
        before = (live / LOG).stat().st_size
        shutil.copytree(live, root, ignore=shutil.ignore_patterns("LOCK", "*-shm"))
        memory.remember_many(
            {"text": f"never said {n}", "vector": vector_of(f"never {n}"), "tier": "semantic"}
            for n in range(60)
        )
        whole = (live / LOG).read_bytes()
    ends = [n for n in range(before, len(whole), _FRAME) if whole[n + 4 : n + 8] != bytes(4)]
    frames = (ends[0] - before) // _FRAME
    assert frames > 4, "the commit is too small to be cut anywhere: the test shows nothing"
    (root / LOG).write_bytes(whole[: before + (kept % frames) * _FRAME])
    report = spector.repair(root, tmp_path / "saved")
    assert report.lost == ()
    with open_tiny(str(tmp_path / "saved"), mode="r") as memory:
        assert {record.id: record.to_dict() for record in memory} == truth

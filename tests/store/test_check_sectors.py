"""Mechanism: one sector that the disk cannot read is one finding, with the memories behind it.

Damage without it: a read that ends early counts as zeros, so every record behind the sector is
told as damaged, in several ways each, until a thousand problems hide what happened; a catalog that
cannot be opened is no report at all. Guard: check reads around the sector, leaves out what only
follows from it, and looks at everything else as always.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.records import Problem
from tests.crash.harness import scratch
from tests.crash.shim import Shim, in_shimmed_process
from tests.crash.workload import DIM, vector_of
from tests.store.conftest import PAGE, Break
from tests.store.damage import Patient
from tests.store.test_repair import ONE

_STRIDE = stride_of(DIM)
_MANY = 300


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {"text": f"memory {n}", "vector": vector_of(str(n)), "tier": "semantic"}
                for n in range(_MANY)
            ]
        )
    return tmp_path / "mind"


def _ids(path: Path) -> list[int]:
    with spector.open(path, embedder=None, dim=DIM, mode="r") as memory:
        return [record.id for record in memory]


def _slots(page: int) -> tuple[int, int]:
    """The slots of which a page has at least a byte, the last one excluded."""
    first = (page * PAGE - PARTITION_HEADER_BYTES) // _STRIDE
    return max(0, first), -(-((page + 1) * PAGE - PARTITION_HEADER_BYTES) // _STRIDE)


def _told(problem: Problem, page: int) -> str:
    assert (problem.code, problem.file, problem.offset) == ("I20", ONE, page * PAGE)
    last = min((page + 1) * PAGE, PARTITION_HEADER_BYTES + _MANY * _STRIDE) - 1
    where = f"bytes {page * PAGE} to {last} cannot be read from the disk (EIO)"
    assert problem.message.startswith(where)
    assert "--repair" in problem.message
    return problem.message


@pytest.mark.parametrize("page", [0, 1, 5, 9])
def test_a_bad_page_of_a_partition_is_one_finding(mind: Path, broken: Break, page: int) -> None:
    made = _ids(mind)
    broken(mind / ONE, {page})
    report = spector.check(mind)
    (problem,) = report.problems
    message = _told(problem, page)
    low, high = _slots(page)
    assert problem.ids == tuple(made[low:high])
    assert f"{min(high, _MANY) - low} memories ({made[low]}, " in message
    assert ("the partition's header" in message) == (page == 0)
    assert (report.count, report.unlisted, report.records) == (1, 0, _MANY)


@pytest.mark.parametrize("suffix", [".idx", ".lex"])
def test_a_bad_page_of_a_derived_file_is_a_note_at_most(
    mind: Path, broken: Break, suffix: str
) -> None:
    """It is read through calls: in a map the sector would end the process."""
    with spector.open(mind, embedder=None, dim=DIM) as memory:
        memory.recall("memory", vector=vector_of("1"))
    for each in mind.rglob(f"*{suffix}"):
        broken(each, set(range(100)))
    report = spector.check(mind)
    assert report.ok
    if suffix == ".idx":
        assert any("cannot be read from the disk (EIO)" in note.message for note in report.notes)


# -- the catalog ---------------------------------------------------------------------------------


def check_beside_bad_pages(name: str, closed: bool) -> list[Any]:
    """In a process whose reads, SQLite's too, see the bad page: what check says of each page."""
    out = []
    with scratch() as root:
        patient = Patient(Path(root) / "mind", closed=closed)
        shim = Shim()
        shim.arm(patient.path)
        pages = -(-os.path.getsize(f"{patient.path}/{name}") // PAGE)
        for page in range(pages):
            shim.bad(f"/{name}", page * PAGE, (page + 1) * PAGE)
            report = spector.check(patient.path)
            out.append(
                [[p.code, p.file, p.offset, list(p.ids), p.message] for p in report.problems]
            )
        shim.bad("", 0, 0)
        assert spector.check(patient.path).ok
    return out


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "closed"), [("catalog.db", True), ("catalog.db-wal", False)])
def test_a_bad_page_of_the_catalog_or_its_log_is_one_finding(name: str, closed: bool) -> None:
    pages = in_shimmed_process(
        "tests.store.test_check_sectors:check_beside_bad_pages", name=name, closed=closed
    )
    assert len(pages) > 5
    for page, problems in enumerate(pages):
        assert [found[:3] for found in problems] == [["I20", name, page * PAGE]], page
        assert "--repair" in problems[0][4]
    if closed:  # the pages of rows and of words name all of the eleven memories each
        assert max(len(problems[0][3]) for problems in pages) == 11


# -- many problems -------------------------------------------------------------------------------


@pytest.fixture
def ruined(tmp_path: Path) -> Path:
    """A store with a flipped bit in each of its 1,200 records."""
    path = tmp_path / "ruined"
    with spector.open(path, embedder=None, dim=DIM) as memory:
        memory.remember_many(
            [
                {"text": f"memory {n}", "vector": vector_of(str(n)), "tier": "semantic"}
                for n in range(1200)
            ]
        )
    data = bytearray((path / ONE).read_bytes())
    for slot in range(1200):
        data[PARTITION_HEADER_BYTES + slot * _STRIDE + 34] ^= 1  # the source's confidence
    (path / ONE).write_bytes(data)
    return path


def test_problems_beyond_the_limit_are_counted(ruined: Path) -> None:
    report = spector.check(ruined)
    assert (len(report.problems), report.unlisted, report.count) == (1000, 200, 1200)
    few = spector.check(ruined, limit=7)
    assert (len(few.problems), few.count, few.ok) == (7, 1200, False)
    assert few.problems == report.problems[:7]
    everything = spector.check(ruined, limit=None)
    assert (len(everything.problems), everything.unlisted) == (1200, 0)


def test_a_live_memory_counts_them_as_well(ruined: Path) -> None:
    with spector.open(ruined, embedder=None, dim=DIM, mode="r") as memory:
        assert memory.check().count == 1200
        assert len(memory.check(limit=None).problems) == 1200

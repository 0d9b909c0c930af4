"""Mechanism: a disk that cannot read some sectors fails each read that begins there.

Damage without it: one bad sector in the catalog stops a repair, and one in a partition costs every
memory behind it. Guard: reads go around whole pages, which count as damaged bytes, and no others.
"""

from __future__ import annotations

import errno
import itertools
from pathlib import Path

import numpy as np
import pytest

import spector
from spector.errors import StoreError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.store.files.bad_sectors import describe_ranges, join_ranges, read_around
from tests.api.helpers import ids
from tests.crash.workload import DIM, vector_of
from tests.proof import seed
from tests.store.conftest import PAGE, Break
from tests.store.damage import Patient
from tests.store.test_repair import ONE, repaired


class _Disk:
    """Reads as Linux does: up to the next bad page, or an error when that is the first one."""

    def __init__(self, data: bytes, bad: set[int], code: int = errno.EIO) -> None:
        self.data, self.bad, self.code = data, bad, code
        self.reads = 0

    def size(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, length: int) -> bytes:
        self.reads += 1
        end = min(len(self.data), offset + length)
        for page in range(offset // PAGE, (end - 1) // PAGE + 1):
            if page in self.bad:
                if page * PAGE <= offset:
                    error = StoreError("cannot read", hint="")
                    error.errno = self.code
                    raise error
                return self.data[offset : page * PAGE]
        return self.data[offset:end]


@pytest.mark.parametrize("case", range(20))
def test_everything_beside_bad_pages_is_read(case: int) -> None:
    rng = np.random.default_rng(seed(77) + case)
    data = rng.integers(1, 255, int(rng.integers(1, 40 * PAGE)), dtype=np.uint8).tobytes()
    bad = {int(page) for page in rng.integers(0, 40, int(rng.integers(0, 12)))}
    disk = _Disk(data, bad)
    offset, length = int(rng.integers(0, len(data))), int(rng.integers(1, 45 * PAGE))
    found, holes = read_around(disk, offset, length)
    end = min(len(data), offset + length)
    expected = bytearray(data[offset:end])
    lost = np.zeros(len(data) + PAGE, dtype=bool)
    for page in bad:
        lost[page * PAGE : (page + 1) * PAGE] = True
    for at in range(offset, end):
        if lost[at]:
            expected[at - offset] = 0
    assert found == bytes(expected)
    told = np.zeros_like(lost)
    for low, high in holes:
        told[low:high] = True
    assert (told[offset:end] == lost[offset:end]).all()
    assert all(a[1] < b[0] for a, b in itertools.pairwise(holes)), "not joined"


@pytest.mark.parametrize("name", ["ENODATA", "EUCLEAN", "EBADMSG", "ETIMEDOUT", "EILSEQ"])
def test_what_other_disks_and_file_systems_say_is_gone_around_as_well(name: str) -> None:
    code = getattr(errno, name, None)
    if code is None:
        pytest.skip(f"there is no {name} here")
    found, holes = read_around(_Disk(b"x" * 3 * PAGE, {1}, code), 0, 3 * PAGE)
    assert holes == [(PAGE, 2 * PAGE)]
    assert found == b"x" * PAGE + bytes(PAGE) + b"x" * PAGE


@pytest.mark.parametrize("page", range(8))
def test_a_bad_page_of_the_catalog_does_not_stop_a_repair(
    patient: Patient, dest: Path, broken: Break, page: int
) -> None:
    broken(patient.root / "catalog.db", {page})
    report, whole = repaired(patient, dest)
    told = [note.reason for note in report.notes if note.file == "catalog.db"]
    where = f"bytes {page * PAGE} to {(page + 1) * PAGE - 1} cannot be read from the disk"
    assert where in told
    assert report.kept == len(patient.truth)
    # each page of this small catalog is the only one of its table
    lost = {note.id for note in report.notes if note.id}
    assert whole | lost == set(patient.truth)
    assert report.complete == (not lost)


def test_a_bad_page_of_a_partition_costs_only_its_own_records(
    tmp_path: Path, broken: Break
) -> None:
    with spector.open(tmp_path / "mind", embedder=None, dim=DIM) as memory:
        drafts = [
            {"text": f"memory {n}", "vector": vector_of(str(n)), "tier": "semantic"}
            for n in range(300)
        ]
        made = [record.id for record in memory.remember_many(drafts)]
    page, stride = 3, stride_of(DIM)
    first = (page * PAGE - PARTITION_HEADER_BYTES) // stride
    behind = -(-((page + 1) * PAGE - PARTITION_HEADER_BYTES) // stride)
    broken(tmp_path / "mind" / ONE, {page})
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert [each.id for each in report.lost] == made[first:behind]
    assert {each.text for each in report.lost} == {f"memory {n}" for n in range(first, behind)}
    where = f"bytes {page * PAGE} to {(page + 1) * PAGE - 1} cannot be read from the disk"
    assert [note.reason for note in report.notes if note.file == ONE] == [where]
    with spector.open(tmp_path / "saved", embedder=None, dim=DIM, mode="r") as memory:
        assert sorted(ids(memory)) == sorted(set(made) - set(made[first:behind]))
        assert memory.check().ok


def test_a_long_bad_stretch_does_not_cost_a_read_a_page() -> None:
    """A disk may take seconds for each that fails."""
    disk = _Disk(bytes(1024 * PAGE), set(range(100, 900)))
    _, holes = read_around(disk, 0, 1024 * PAGE)
    assert describe_ranges(holes) == f"bytes {100 * PAGE} to {900 * PAGE - 1}"
    assert disk.reads < 60


def test_a_disk_that_is_gone_does_not_cost_a_read_a_page() -> None:
    disk = _Disk(bytes(4096 * PAGE), set(range(4096)))
    bad: list[tuple[int, int]] = []
    for start in range(0, 4096, 256):
        within = bool(bad)
        found, holes = read_around(disk, start * PAGE, 256 * PAGE, within_bad=within)
        assert found == bytes(256 * PAGE)
        bad = join_ranges(bad, holes)
    assert bad == [(0, 4096 * PAGE)]
    assert disk.reads < 250

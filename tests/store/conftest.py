"""What the tests of damage share: a store to damage, and where its repair goes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.workload import warm_up
from tests.store.damage import Patient, ram


@pytest.fixture(scope="module")
def patient() -> Iterator[Patient]:
    warm_up()
    root = Path(tempfile.mkdtemp(dir=ram()))
    yield Patient(root / "mind")
    shutil.rmtree(root)


@pytest.fixture
def dest(patient: Patient) -> Iterator[Path]:
    yield patient.root.parent / "saved"
    shutil.rmtree(patient.root.parent / "saved", ignore_errors=True)
    patient.restore()

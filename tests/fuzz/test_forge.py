"""Mechanism: a forger whose sums do not fit is stopped where a flipped bit is, testing nothing."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import PartitionCorruptError, SpectorError
from spector.layout import HEADER_BYTES, PARTITION_HEADER_BYTES
from spector.store import words as word_files
from spector.store.core import records as hydrate
from tests.crash.workload import open_tiny, vector_of
from tests.fuzz.forge import reseal
from tests.fuzz.sealed import Forgery
from tests.proof import Proof, seed
from tests.store.damage import WORDS, ram


class Dice:
    """What Atheris makes of bytes, made by chance."""

    def __init__(self, first: int) -> None:
        self._random = random.Random(first)

    def ConsumeIntInRange(self, low: int, high: int, /) -> int:
        return self._random.randint(low, high)

    def ConsumeBytes(self, count: int, /) -> bytes:
        return self._random.randbytes(count)

    def ConsumeBool(self) -> bool:
        return self._random.random() < 0.5

    def PickValueInList(self, values: list[Any], /) -> Any:
        return self._random.choice(values)


@pytest.fixture
def forgery(monkeypatch: pytest.MonkeyPatch) -> Iterator[Forgery]:
    monkeypatch.setattr(hydrate, "_ATTEMPTS", hydrate._ATTEMPTS)  # put back what it changes
    monkeypatch.setattr(word_files, "_WORTH_WRITING", word_files._WORTH_WRITING)
    root = Path(tempfile.mkdtemp(dir=ram()))
    yield Forgery(root)
    shutil.rmtree(root)


@pytest.mark.parametrize(
    ("name", "offset"),
    [("semantic/semantic-000.idx", 512), ("lexical/00000000.lex", -3), ("lexical/rows.lex", -70)],
)
def test_derived_file_with_sums_that_fit_is_not_told_from_a_sound_one(
    forgery: Forgery, name: str, offset: int
) -> None:
    patient = forgery.patient
    image = bytearray(patient.bytes[name])
    image[offset] ^= 1
    patient.put(name, bytes(image))
    assert [note.where for note in spector.check(patient.path).notes] == [name]
    patient.put(name, reseal(name, image, _uuid(patient.path), patient.root))
    assert [
        note.message for note in spector.check(patient.path).notes if "damaged" in note.message
    ] == []


def test_record_with_a_sum_that_fits_is_shown(forgery: Forgery) -> None:
    patient, name = forgery.patient, "semantic/semantic-000.mem"
    image = bytearray(patient.bytes[name])
    image[PARTITION_HEADER_BYTES + HEADER_BYTES] ^= 1  # a code of its vector
    patient.put(name, bytes(image))
    first = next(iter(patient.truth))
    with open_tiny(patient.path, mode="r") as memory, pytest.raises(SpectorError):
        memory.get(first)
    patient.put(name, reseal(name, image, _uuid(patient.path), patient.root))
    with open_tiny(patient.path, mode="r") as memory:
        assert memory.get(first).id == first


def test_record_of_a_tier_that_there_is_not_is_damaged(forgery: Forgery) -> None:
    """Mechanism: the number was looked up as it stood: a bare KeyError of ``get``."""
    patient, name = forgery.patient, "semantic/semantic-000.mem"
    image = bytearray(patient.bytes[name])
    image[PARTITION_HEADER_BYTES + 1] = 128
    patient.put(name, reseal(name, image, _uuid(patient.path), patient.root))
    first = next(iter(patient.truth))
    with open_tiny(patient.path, mode="r") as memory:
        for ask in (
            lambda: memory.get(first),
            lambda: list(memory),
            lambda: memory.recall(vector=vector_of(WORDS[0]), k=20),
        ):
            with pytest.raises(PartitionCorruptError, match="tier 128"):
                ask()
    with open_tiny(patient.path) as memory, pytest.raises(PartitionCorruptError):
        memory.pin(first)


def test_forged_stores_are_read_or_refused_without_guidance(forgery: Forgery, proof: Proof) -> None:
    """Where there is no Atheris, too: by chance."""
    for n in range(seed(8) * 1000, seed(8) * 1000 + 60):
        try:
            forgery.run(Dice(n))
        except BaseException as error:
            error.add_note(f"case {n}")
            raise
    proof("T11", forged_by_chance=60, crashes=0)


def _uuid(path: str) -> bytes:
    with contextlib.closing(sqlite3.connect(f"file:{path}/catalog.db?mode=ro", uri=True)) as db:
        return bytes.fromhex(db.execute("SELECT value FROM meta WHERE key = 'uuid'").fetchone()[0])

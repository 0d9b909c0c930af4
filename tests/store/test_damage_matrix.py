"""Mechanism: checksums over what never changes, two copies of what does, seals over words.

Damage without it: a flipped bit shows as another memory, another strength, another word, or as a
memory that silently is not there. Guard: bytes of every file are changed one at a time and in
larger pieces; check must name the place, and no reader may show what was not stored.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import SpectorError
from spector.layout import PARTITION_HEADER_BYTES, stride_of
from spector.store.core import records as hydrate
from tests.crash.workload import DIM, open_tiny, vector_of
from tests.proof import seed
from tests.store.damage import FILTERS, Outcome, Patient, ram

STRIDE = stride_of(DIM)
FIRST = PARTITION_HEADER_BYTES
SLOW = pytest.param(True, marks=pytest.mark.slow, id="all")
SIZES = pytest.mark.parametrize("full", [pytest.param(False, id="some"), SLOW])


@pytest.fixture(autouse=True)
def _no_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers need not wait for a writer to finish what it is doing: there is none."""
    monkeypatch.setattr(hydrate, "_ATTEMPTS", 2)


def _values(byte: int, rng: np.random.Generator) -> list[int]:
    """0, 255, a flipped bit, one more, anything; without the byte itself."""
    found = {0, 255, byte ^ 1, (byte + 1) % 256, int(rng.integers(256))}
    return sorted(found - {byte})


def _settle(outcomes: dict[Any, Outcome]) -> None:
    wrong = {key: each for key, each in outcomes.items() if each.verdict == "WRONG"}
    assert not wrong, f"SPECTOR_SEED={seed(9)}: {wrong}"


@pytest.mark.sampled
@pytest.mark.parametrize("asked", [asked for asked, _ in FILTERS], ids="-".join)
@pytest.mark.parametrize("less", [True, False], ids=["less", "more"])
def test_whoever_filters_wrongly_does_not_pass(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], less: bool
) -> None:
    """The tests below can fail: one hit too few, or one that the filter shuts out."""
    recall = spector.Memory.recall

    def wrong(memory: spector.Memory, **given: Any) -> Any:
        hits = recall(memory, **given)
        if {*asked} == {*given} - {"vector", "k", "cut"}:
            return hits[1:] if less else recall(memory, vector=given["vector"], k=given["k"])
        return hits

    monkeypatch.setattr(spector.Memory, "recall", wrong)
    assert patient.ask().verdict == "WRONG"


@SIZES
def test_every_byte_of_both_headers_is_proved_by_check(patient: Patient, full: bool) -> None:
    rng = np.random.default_rng(seed(9))
    outcomes: dict[Any, Outcome] = {}
    partition, other = "semantic/semantic-000.mem", "episodic/2026-11-20-001.mem"
    spans = [(partition, 0), (partition, FIRST)]
    if full:
        spans += [(partition, FIRST + STRIDE), (other, 0), (other, FIRST)]
    for name, start in spans:
        for offset in range(
            start + (0 if full else int(rng.integers(2))), start + 64, 1 if full else 2
        ):
            values = _values(patient.bytes[name][offset], rng)
            for value in values if full else rng.permutation(values)[:1].tolist():
                with patient.damaged(name, offset, bytes([value])):
                    outcomes[name, offset, value] = patient.ask()
    _settle(outcomes)
    assert not [key for key, each in outcomes.items() if not each.by_check]
    in_records = {k: o for k, o in outcomes.items() if k[1] >= FIRST}
    assert not [key for key, each in in_records.items() if not each.by_get]
    # flags that hide a memory (offset 40) hide it from recall, too, and so does a scale that is no
    # number any more (offset 7), which no score is made of; check and get tell
    unseen = {(key[1] - FIRST) % STRIDE for key, o in in_records.items() if not o.by_recall}
    assert unseen <= {7, 40, 41}, unseen


def _pieces(patient: Patient, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, what to do) of larger damage, each against undamaged files."""
    one, two = "semantic/semantic-000.mem", "semantic/semantic-001.mem"
    whole = patient.bytes[one]
    put = patient.put
    for edge in range(0, 4):
        for more in (-1, 0, 1):
            keep = FIRST + edge * STRIDE + more
            if keep < len(whole):
                yield f"truncated to {keep}", lambda keep=keep: put(one, whole[:keep])
    for size in (1, 4096, 100_000):
        yield f"{size} bytes of junk", lambda size=size: put(one, whole + rng.bytes(size))
    a, b = whole[FIRST : FIRST + STRIDE], whole[FIRST + STRIDE : FIRST + 2 * STRIDE]
    yield "swapped records", lambda: put(one, whole[:FIRST] + b + a + whole[FIRST + 2 * STRIDE :])
    yield "a record twice", lambda: put(one, whole[:FIRST] + b + b + whole[FIRST + 2 * STRIDE :])
    yield "a zeroed page", lambda: put(one, bytes(len(whole)))
    yield "zeroed records", lambda: put(one, whole[:FIRST] + bytes(len(whole) - FIRST))
    yield "a file of another partition", lambda: put(one, patient.bytes[two])

    def swap() -> None:
        put(one, patient.bytes[two])
        put(two, whole)

    yield "two swapped files", swap
    for page in range(len(patient.bytes["catalog.db"]) // 4096):
        start = page * 4096
        data = patient.bytes["catalog.db"]
        zeroed = data[:start] + bytes(4096) + data[start + 4096 :]
        yield f"catalog page {page} zeroed", lambda zeroed=zeroed: put("catalog.db", zeroed)


def test_pieces_of_files_cut_zeroed_swapped_and_added_are_found(patient: Patient) -> None:
    outcomes: dict[Any, Outcome] = {}
    for name, act in _pieces(patient, np.random.default_rng(seed(9))):
        act()
        try:
            outcomes[name] = patient.ask()
        finally:
            patient.restore()
    _settle(outcomes)
    # behind the last record nothing is read; a page of the catalog may be an empty one
    spared = {key for key, each in outcomes.items() if each.verdict == "harmless"}
    unused = {key for key in spared if "junk" in key or "page" in key}
    assert spared == unused, spared
    assert "a zeroed page" not in spared


@SIZES
def test_bytes_of_the_catalog_are_proved_or_of_no_account(patient: Patient, full: bool) -> None:
    rng = np.random.default_rng(seed(10))
    whole = patient.bytes["catalog.db"]
    outcomes: dict[Any, Outcome] = {}
    for offset in rng.integers(0, len(whole), 3000 if full else 30).tolist():
        value = int(whole[offset]) ^ 1 << int(rng.integers(8))
        with patient.damaged("catalog.db", offset, bytes([value])):
            outcomes[offset, value] = patient.ask()
    _settle(outcomes)


def test_every_letter_of_a_text_is_sealed(patient: Patient) -> None:
    whole = patient.bytes["catalog.db"]
    start = whole.index(b"word7 version 0 of the memory number 7")
    outcomes: dict[Any, Outcome] = {}
    for offset in range(start, start + 38, 3):
        with patient.damaged("catalog.db", offset, bytes([whole[offset] ^ 0x20])):
            outcomes[offset] = patient.ask()
            codes = {problem.code for problem in spector.check(patient.path).problems}
            assert "I17" in codes, (offset, codes)
    _settle(outcomes)
    assert all(each.by_get and each.by_recall for each in outcomes.values())


@SIZES
def test_a_damaged_scan_index_costs_nothing_but_itself(patient: Patient, full: bool) -> None:
    rng = np.random.default_rng(seed(11))
    name = "semantic/semantic-000.idx"
    whole = patient.bytes[name]
    outcomes: dict[Any, Outcome] = {}
    offsets = rng.permutation(len(whole))[: 800 if full else 8].tolist()
    for offset in [*range(0, 128, 1 if full else 17), *offsets]:
        with patient.damaged(name, offset, bytes([whole[offset] ^ 1 << int(rng.integers(8))])):
            outcomes[offset] = patient.ask()
            assert [note.where for note in spector.check(patient.path).notes] == [name]
    _settle(outcomes)
    assert {each.verdict for each in outcomes.values()} == {"harmless"}


@SIZES
def test_a_damaged_log_loses_commits_to_nobody_who_is_not_told(full: bool) -> None:
    """A process died; its last commits are in the log only. A flip there makes SQLite drop them."""
    root = Path(tempfile.mkdtemp(dir=ram()))
    rng = np.random.default_rng(seed(12))
    try:
        patient = Patient(root / "mind", closed=False)
        whole = patient.bytes["catalog.db-wal"]
        outcomes: dict[Any, Outcome] = {}
        for offset in rng.integers(0, len(whole), 1500 if full else 30).tolist():
            value = int(whole[offset]) ^ 1 << int(rng.integers(8))
            with patient.damaged("catalog.db-wal", offset, bytes([value])):
                outcomes[offset, value] = patient.ask()
    finally:
        shutil.rmtree(root)
    _settle(outcomes)


@SIZES
def test_flipped_bits_all_over_a_store_are_all_found(full: bool) -> None:
    """Many at once: one bit of every record, and check and get must name every one of them."""
    rng = np.random.default_rng(seed(13))
    root = Path(tempfile.mkdtemp(dir=ram()))
    rounds, count = 250 if full else 8, 400
    try:
        config = spector.Config(semantic_capacity=count)
        with spector.open(root / "mind", embedder=None, dim=DIM, config=config) as memory:
            made = memory.remember_many(
                {"text": f"m{n}", "vector": vector_of(str(n)), "tier": "semantic"}
                for n in range(count)
            )
        path = root / "mind" / "semantic" / "semantic-000.mem"
        whole = np.fromfile(path, dtype=np.uint8)
        for _ in range(rounds):
            damaged = whole.copy()
            at = FIRST + np.arange(count) * STRIDE + rng.integers(0, STRIDE, count)
            damaged[at] ^= (1 << rng.integers(0, 8, count)).astype(np.uint8)
            damaged.tofile(path)
            named = {p.slot for p in spector.check(root / "mind").problems}
            assert named >= set(range(count)), f"not by check: {set(range(count)) - named}"
            with spector.open(root / "mind", embedder=None, dim=DIM) as memory:
                for record in made:
                    with pytest.raises(SpectorError, match=str(record.id)):
                        memory.get(record.id)
    finally:
        shutil.rmtree(root)


def test_catalog_and_partitions_of_different_moments_are_told_apart(tmp_path: Path) -> None:
    """A restored catalog beside newer partitions, and the reverse."""
    path, old, new = tmp_path / "mind", tmp_path / "old", tmp_path / "new"
    for step, copy in enumerate((old, new)):
        with open_tiny(str(path)) as memory:
            for n in range(5):
                text = f"word{step}{n} version 0"
                memory.remember(text, vector=vector_of(text), tier="semantic")
        shutil.copytree(path, copy)
    for catalog, files in ((old, new), (new, old)):
        mixed = tmp_path / f"mixed-{catalog.name}"
        shutil.copytree(files, mixed)
        shutil.copy(catalog / "catalog.db", mixed / "catalog.db")
        problems = spector.check(mixed).problems
        assert problems
        assert all(problem.file for problem in problems)
        with pytest.raises(SpectorError):
            open_tiny(str(mixed))

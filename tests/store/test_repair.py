"""Mechanism: catalog and partitions are read row by row and slot by slot, each proving itself.

Damage without it: one ruined page, and everything that is whole beside it is lost as well. Guard:
for each kind of damage the new store is sound, has every memory that was whole, shows nothing that
was not stored, and the rest is listed; the source is byte for byte as it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector import Flag
from spector.errors import (
    SpectorError,
    StoreError,
    StoreLockedError,
    StoreNotFoundError,
)
from spector.layout import (
    MUTABLE_BYTES,
    MUTABLE_DTYPE,
    MUTABLE_OFFSET,
    PARTITION_HEADER_BYTES,
    stride_of,
)
from spector.store.catalog.schema import JOURNAL_MUTABLE, JOURNAL_RECORDS
from tests.api.helpers import ids
from tests.crash.workload import DIM, open_tiny, vector_of
from tests.fakes import FakeEmbedder
from tests.proof import seed
from tests.store.damage import WORDS, Patient, ram
from tests.store.spoil import flip, sql

STRIDE = stride_of(DIM)
ONE = "semantic/semantic-000.mem"


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_the_lock_is_not_waited_for(patient: Patient, dest: Path) -> None:
    lock = patient.root / "LOCK"
    kept = lock.read_bytes()
    lock.unlink()
    os.mkfifo(lock)
    try:
        assert spector.repair(patient.root, dest).kept
    finally:
        lock.unlink()
        lock.write_bytes(kept)


def _files(root: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def repaired(patient: Patient, dest: Path, **options: Any) -> tuple[spector.RepairReport, set[int]]:
    """The report and the ids that came through; everything about them must be true."""
    before = _files(patient.root)
    report = spector.repair(patient.root, dest, **options)
    assert _files(patient.root) == before, "the source was touched"
    found = spector.check(dest)
    assert found.ok, found.problems
    whole = set()
    with open_tiny(str(dest)) as memory:
        assert len(memory) == report.kept
        for record in memory:
            if record.text:
                assert record.to_dict() == patient.truth[record.id]
                whole.add(record.id)
                hits = memory.recall(vector=vector_of(record.text), k=1, profile="similarity")
                assert ids(hits) == [record.id]
            else:
                assert Flag.QUARANTINED in record.flags
        assert patient.gone not in ids(memory)
        memory.remember("life goes on", vector=vector_of("on"), tier="semantic")
        assert memory.check().ok
    assert {each.id for each in report.lost if each.id}.isdisjoint(whole)
    return report, whole


def test_a_sound_store_is_copied_whole(patient: Patient, dest: Path) -> None:
    report, whole = repaired(patient, dest)
    assert report.complete
    assert whole == set(patient.truth)


def _cut(p: Patient) -> None:
    p.put(ONE, p.bytes[ONE][: PARTITION_HEADER_BYTES + STRIDE + 5])


def _flip(at: int) -> Callable[[Patient], None]:
    return lambda p: flip(p.root / ONE, PARTITION_HEADER_BYTES + at, 4)


def _header(p: Patient) -> None:
    p.put(ONE, bytes(64) + p.bytes[ONE][64:])


def _missing(p: Patient) -> None:
    (p.root / ONE).unlink()


def _word(p: Patient) -> None:
    data = p.bytes["catalog.db"]
    at = data.index(WORDS[4].encode())
    p.put("catalog.db", data[:at] + b"W" + data[at + 1 :])


def _sql(*statements: str) -> Callable[[Patient], None]:
    return lambda p: sql(p.root, *statements)


def _place(assignment: str) -> Callable[[Patient], None]:
    """Damage to nothing but the place in the row of the first memory."""
    return _sql(
        "DROP INDEX record_place",
        f"UPDATE record SET {assignment} WHERE id = (SELECT min(id) FROM record)",
    )


def _hit_and_elsewhere(p: Patient) -> None:
    """The first record is damaged, and in the place of the second is what it was."""
    data = bytearray(p.bytes[ONE])
    first = PARTITION_HEADER_BYTES
    data[first + STRIDE : first + 2 * STRIDE] = data[first : first + STRIDE]
    data[first + 70] ^= 4
    p.put(ONE, bytes(data))


def _count_header_and_record(p: Patient) -> None:
    """How many records there are is not known, one of them is damaged, and the journal names the
    place of a later one."""
    _header(p)
    _flip(STRIDE + 70)(p)
    half = PARTITION_HEADER_BYTES + 2 * STRIDE + MUTABLE_OFFSET
    same = p.bytes[ONE][half : half + MUTABLE_BYTES].hex()
    _sql(
        "UPDATE segment SET slots = -5, live = 'x'",
        f"INSERT INTO journal SELECT 900, id, {JOURNAL_MUTABLE}, 2, x'{same}' FROM segment"
        f" WHERE path = '{ONE}'",
    )(p)


#: entries of the journal behind the end of any file
FAR = [
    f"INSERT INTO journal SELECT {kind + 9}00 + id, id, {kind}, 4000000000, zeroblob({size})"
    " FROM segment"
    for kind, size in ((JOURNAL_RECORDS, STRIDE), (JOURNAL_MUTABLE, MUTABLE_BYTES))
]
#: a varint of nine bytes, and more of them
HUGE = b"\xff" * 12 + b"\x00\xff\x00\x1d\x11"

#: damage that costs no memory
HARMLESS: dict[str, Callable[[Patient], None]] = {
    "a flipped strength": _flip(45),
    "a header of zeros": _header,
    "a journal that names nothing": _sql("INSERT INTO journal VALUES (999, 77, 0, 0, x'00')"),
    "counters gone": _sql("DELETE FROM head"),
    "no name and no dimension": _sql("DELETE FROM meta"),
    "a row of a partition that makes no sense": _sql(
        "UPDATE segment SET live = 'many'",
        "INSERT INTO segment VALUES (77, 1, 0, 9, 0, '../../elsewhere', 0, 1, 1, 1, 0)",
    ),
    "a count below nothing": _sql("UPDATE segment SET slots = -5"),
    "counts below nothing and of nothing": _sql("UPDATE segment SET slots = -5, live = 'x'", *FAR),
    "a count beyond all memory": _sql("UPDATE segment SET slots = 1 << 40"),
    "a count that no disk holds": _sql(
        "UPDATE segment SET slots = (1 << 32) - 1, live = slots", *FAR
    ),
    "a count that is a word": _sql("UPDATE segment SET slots = 'many'"),
    "more living than there are": _sql("UPDATE segment SET live = slots + 7"),
    "a tier that is a word": _sql("UPDATE segment SET tier = 'one'"),
    "a tier below nothing": _sql("UPDATE segment SET tier = -1"),
    "a day that is a word": _sql("UPDATE segment SET day = 'Monday'"),
    "a place behind the end": _place("slot = 77"),
    "a place that is another's": _place("slot = 1"),
    "a place in no partition": _place("segment_id = 99"),
    "a place that is no number": _place("segment_id = 'x', slot = x'00'"),
    "no partitions in the catalog": _sql("DROP TABLE segment"),
    "no full text": _sql("DROP TABLE fulltext"),
    "no tag index": _sql("DELETE FROM record_tag"),
}
#: damage -> (what to do, memories that come through whole, those without words)
KINDS: dict[str, tuple[Callable[[Patient], None], int, int]] = {
    **{name: (act, 11, 0) for name, act in HARMLESS.items()},
    "a partition cut off": (_cut, 9, 0),
    "a flipped vector": (_flip(STRIDE + 70), 10, 0),
    "a partition gone": (_missing, 8, 0),
    "a flipped letter": (_word, 10, 0),
    "a count, a header and a record": (_count_header_and_record, 10, 0),
    "a record that was hit, and one of before": (_hit_and_elsewhere, 9, 0),
    "no words": (_sql("DROP TABLE content"), 0, 11),
    "no rows": (_sql("DROP TABLE record"), 0, 11),
    "no catalog": (lambda p: (p.root / "catalog.db").unlink(), 0, 11),
    "an empty catalog": (lambda p: p.put("catalog.db", b""), 0, 11),
    "a catalog of zeros": (lambda p: p.put("catalog.db", bytes(81920)), 0, 11),
    "an old catalog's place": (lambda p: p.put("catalog.db", b"hello" * 999), 0, 11),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_whole_is_saved_and_the_rest_is_named(
    patient: Patient, dest: Path, kind: str
) -> None:
    act, expected, wordless = KINDS[kind]
    act(patient)
    report, whole = repaired(patient, dest)
    assert len(whole) == expected, report
    assert report.wordless == wordless
    lost = {each.id for each in report.lost}
    if wordless == 0:  # whoever is not there is named
        assert lost == set(patient.truth) - whole
        assert all(each.reason and each.text for each in report.lost)


def test_pages_of_the_catalog_one_after_the_other(patient: Patient, dest: Path) -> None:
    """Each page ruined in turn: never a lie, and never a memory that is neither saved nor named."""
    data = patient.bytes["catalog.db"]
    kept = silent = 0
    rng = np.random.default_rng(seed(5))
    for page in range(len(data) // 4096):
        start = page * 4096
        patient.put("catalog.db", data[:start] + rng.bytes(4096) + data[start + 4096 :])
        report, whole = repaired(patient, dest)
        named = {each.id for each in (*report.lost, *report.notes)}
        silent += len(set(patient.truth) - whole - named)
        kept += len(whole)
        shutil.rmtree(dest)
        patient.restore()
    assert silent == 0
    assert kept > len(data) // 4096 * 6


def test_lack_of_memory_is_not_taken_for_damage(
    patient: Patient, dest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = patient.bytes["catalog.db"]
    start = data.index(WORDS[6].encode()) - 20
    patient.put("catalog.db", data[:start] + HUGE + data[start + len(HUGE) :])
    monkeypatch.setattr("spector.store.sqlite.connections.has_room", lambda: False)
    with pytest.raises(MemoryError):
        spector.repair(patient.root, dest)
    assert not dest.exists()


def test_words_without_a_vector_are_embedded_again(tmp_path: Path) -> None:
    embedder = FakeEmbedder(dim=DIM)
    path, dest = tmp_path / "mind", tmp_path / "saved"
    with spector.open(path, embedder=embedder) as memory:
        made = memory.remember("the cat sleeps", tags=["cat"], user_id="ada", tier="semantic")
        memory.pin(made.id)
    (part,) = path.rglob("*.mem")
    flip(part, PARTITION_HEADER_BYTES + 70)
    assert spector.repair(path, tmp_path / "other", embedder=FakeEmbedder(dim=DIM, seed=1)).lost
    report = spector.repair(path, dest, embedder=embedder)
    assert (report.kept, report.mended, report.complete) == (1, 1, True)
    with spector.open(dest, embedder=embedder) as memory:
        (found,) = memory.recall("the cat sleeps", user_id="ada", tags=["cat"])
        assert (found.id, found.record.pinned) == (made.id, True)
        assert memory.check().ok


def test_a_missing_partition_costs_vectors_and_an_embedder_makes_them_anew(tmp_path: Path) -> None:
    """The vector is not damaged, it is gone; and nobody would guess that a model brings it back."""
    embedder, path = FakeEmbedder(dim=DIM), tmp_path / "mind"
    with spector.open(path, embedder=embedder) as memory:
        memory.remember_many(["the cat sleeps", "the dog barks"])
    for part in path.rglob("*.mem"):
        part.unlink()
    report = spector.repair(path, tmp_path / "bare")
    assert {loss.reason for loss in report.lost} == {"its vector is lost; its text is whole"}
    said = str(report.notes[-1])
    assert said.startswith("memories with a text and without a vector: 2; ")
    assert embedder.model_id in said
    assert "--embedder" in said
    whole = spector.repair(path, tmp_path / "whole", embedder=embedder)
    assert (whole.kept, whole.complete) == (2, True)
    assert not any("without a vector" in str(note) for note in whole.notes)


def test_without_a_model_no_embedder_is_proposed(tmp_path: Path) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        memory.remember("m", vector=vector_of("m"))
    for part in (tmp_path / "mind").rglob("*.mem"):
        part.unlink()
    report = spector.repair(tmp_path / "mind", tmp_path / "saved")
    assert len(report.lost) == 1
    assert not any("embedder" in str(note) for note in report.notes)


def test_a_store_in_use_or_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        with pytest.raises(StoreLockedError):
            spector.repair(path, tmp_path / "saved")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "note").touch()
    with pytest.raises(StoreError, match="not empty"):
        spector.repair(path, tmp_path / "taken")
    with pytest.raises(StoreNotFoundError):
        spector.repair(tmp_path / "nowhere", tmp_path / "saved")
    (path / "catalog.db").write_bytes(b"")
    for part in path.rglob("*.mem"):
        part.write_bytes(b"nothing")
    with pytest.raises(SpectorError, match="which store this is"):
        spector.repair(path, tmp_path / "saved")


def test_the_commits_of_a_killed_process_are_saved_too(dest: Path) -> None:
    root = Path(tempfile.mkdtemp(dir=ram()))
    try:
        killed = Patient(root / "mind", closed=False)
        report, whole = repaired(killed, root / "out")
        assert (whole, report.complete) == (set(killed.truth), True)
    finally:
        shutil.rmtree(root)


def test_a_catalog_that_is_a_link_is_not_followed(patient: Patient, dest: Path) -> None:
    """It may lead to another's store, whose texts the report would list."""
    for name in ("catalog.db", "catalog.db-wal"):
        path = patient.root / name
        path.unlink(missing_ok=True)
        path.symlink_to(patient.root.parent / "elsewhere")
        with pytest.raises(StoreError, match="symbolic link"):
            spector.repair(patient.root, dest)
        path.unlink()
        patient.restore()
        assert not dest.exists()


@pytest.mark.parametrize(
    ("at", "bits", "taken"),
    [
        (MUTABLE_DTYPE.fields["access_count"][1] + 3, 0x0B, "catalog"),
        (MUTABLE_DTYPE.fields["importance"][1] + 3, 0x40, "partition"),  # 0.6 becomes 10^38
        (MUTABLE_DTYPE.fields["flags"][1] + 1, 0x80, "partition"),  # a flag that there is not
        (MUTABLE_DTYPE.fields["flags"][1], 0x01, "partition"),  # a row of a forgotten memory
    ],
)
def test_a_strength_in_the_catalog_that_is_damaged_is_told_and_not_taken_if_it_cannot_be(
    patient: Patient, dest: Path, at: int, bits: int, taken: str
) -> None:
    """Mechanism: the catalog's copy won without a word, or cost the memory, whole as it was."""
    hit = list(patient.truth)[4]
    [(raw,)] = sql(patient.root, "SELECT mutable FROM record WHERE id = ?", given=(hit,))
    raw = raw[:at] + bytes([raw[at] ^ bits]) + raw[at + 1 :]
    sql(patient.root, "UPDATE record SET mutable = ? WHERE id = ?", given=(raw, hit))
    report = spector.repair(patient.root, dest)
    patient.restore()
    assert (report.kept, report.mended, report.complete) == (len(patient.truth), 1, True)
    (note,) = report.notes
    assert note.id == hit
    assert f"the {taken}'s was taken" in note.reason
    with open_tiny(str(dest)) as memory:
        shown = {record.id: record.to_dict() for record in memory}
        assert memory.check().ok
    if taken == "catalog":  # nothing tells that it is the damaged one
        assert shown[hit]["access_count"] == 0x0B000000
        shown[hit]["access_count"] = 0
    assert shown == patient.truth


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("importance", 1.5),
        ("importance", -0.5),
        ("utility", 1.25),
        ("utility", float("nan")),
        ("stability_days", 0.0),
        ("stability_days", 1e30),
    ],
)
def test_a_strength_that_no_memory_can_have_is_not_taken_over(
    patient: Patient, dest: Path, field: str, value: float
) -> None:
    """Catalog and partition agree on it, so only its range tells; a check would report it anew."""
    hit = list(patient.truth)[4]
    block = np.zeros(1, MUTABLE_DTYPE)
    [(raw, slot, path)] = sql(
        patient.root,
        "SELECT mutable, slot, path FROM record JOIN segment ON segment.id = segment_id"
        " WHERE record.id = ?",
        given=(hit,),
    )
    block[:] = np.frombuffer(raw, MUTABLE_DTYPE)
    block[field] = value
    sql(patient.root, "UPDATE record SET mutable = ? WHERE id = ?", given=(block.tobytes(), hit))
    data = bytearray(patient.bytes[path])
    at = PARTITION_HEADER_BYTES + slot * STRIDE + MUTABLE_OFFSET
    data[at : at + MUTABLE_BYTES] = block.tobytes()
    patient.put(path, bytes(data))
    report, whole = repaired(patient, dest)
    assert whole == set(patient.truth) - {hit}
    assert [each.id for each in report.lost] == [hit]

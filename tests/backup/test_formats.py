"""Every format that was ever written is read and migrated; a newer one is refused.

The fixtures were made by the code of their time (``tests/fixtures``).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.cli.main import main
from spector.kernel.checksum import crc32c
from spector.layout import FORMAT_MINOR, FORMAT_VERSION, PARTITION_DTYPE
from spector.store.catalog import schema
from spector.store.core.store import Store
from spector.store.opening import recovery as recover
from spector.store.opening import stamp
from spector.store.partitions import header, segment
from spector.store.rewriting import migrations as migrate
from spector.store.rewriting.migrations import STEPS, Step, next_step
from spector.store.rewriting.rewriting import rewrite_all
from tests.crash.shim import in_shimmed_process
from tests.crash.workload import vector_of
from tests.fixtures import make

FIXTURES = Path(make.__file__).parent
FORMATS = range(1, FORMAT_VERSION + 1)
KINDS = ("closed", "killed")


def unpack(version: int, kind: str, folder: Path) -> Path:
    with tarfile.open(FIXTURES / f"format-{version}" / f"{kind}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "mind"


def expected(version: int) -> dict[str, Any]:
    text = (FIXTURES / f"format-{version}" / "expected.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    assert found.pop("format") == version
    return found


def assert_same(memory: spector.Memory, wanted: dict[str, Any]) -> None:
    """Contents to the last byte; scores to a rounding, which is what another machine may change."""
    found = make.found_in(memory)
    for record in found["records"]:  # what records can tell since then
        assert record.pop("supersedes") == record.pop("superseded_by") == []
    for hits, of_then in zip(found.pop("recalls"), recalls := wanted["recalls"], strict=True):
        assert [i for i, _ in hits] == [i for i, _ in of_then]
        assert [s for _, s in hits] == pytest.approx([s for _, s in of_then], abs=2e-5)
    assert found == {name: each for name, each in wanted.items() if name != "recalls"}
    assert recalls


def version_of(path: Path) -> str:
    with sqlite3.connect(path / "catalog.db") as db:
        found: str = db.execute("SELECT value FROM meta WHERE key = 'format_version'").fetchone()[0]
    db.close()
    return found


def headers(path: Path) -> set[int]:
    files = [p.read_bytes()[:64] for p in path.rglob("*.mem")]
    return {int(np.frombuffer(raw, PARTITION_DTYPE)[0]["version"]) for raw in files}


# -- every format that was written ----------------------------------------------------------------


def test_every_format_has_a_fixture_and_a_way_to_the_next() -> None:
    assert [p.name for p in sorted(FIXTURES.glob("format-*"))] == [f"format-{n}" for n in FORMATS]
    assert [step.before for step in STEPS] == list(range(1, FORMAT_VERSION))
    assert sum(p.stat().st_size for p in FIXTURES.rglob("*") if p.is_file()) < 200_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", FORMATS)
class TestFixture:
    def test_is_read_as_it_is(self, version: int, kind: str, tmp_path: Path, proof: Any) -> None:
        path = unpack(version, kind, tmp_path)
        before = {p: p.read_bytes() for p in path.rglob("*.mem")}
        with make.open_small(str(path), mode="r") as memory:
            assert_same(memory, expected(version))
            assert memory.check().ok
        assert {p: p.read_bytes() for p in path.rglob("*.mem")} == before
        assert version_of(path) == str(version)
        proof("T16", cells_passed=1)

    def test_is_written_to_in_the_format_of_now(
        self, version: int, kind: str, tmp_path: Path, proof: Any
    ) -> None:
        path = unpack(version, kind, tmp_path)
        with make.open_small(str(path)) as memory:
            assert_same(memory, expected(version))
            assert memory.check().ok
            new = memory.remember("new", vector=vector_of("new"), tags=["t1"], user_id="ada").id
            assert new in [hit.id for hit in memory.recall(tags=["t1"], user_id="ada", k=50)]
            memory.forget(new)
        assert version_of(path) == str(FORMAT_VERSION)
        assert headers(path) == {FORMAT_VERSION}
        assert spector.check(path).ok
        with make.open_small(str(path), mode="r") as memory:
            assert_same(memory, expected(version))
        proof("T16", cells_passed=1)

    def test_is_checked_backed_up_and_restored_as_it_is(
        self, version: int, kind: str, tmp_path: Path, proof: Any
    ) -> None:
        path = unpack(version, kind, tmp_path)
        assert spector.check(path).ok
        with make.open_small(str(path), mode="r") as memory:
            memory.backup(tmp_path / "copy")
        spector.restore(tmp_path / "copy", tmp_path / "back")
        assert version_of(tmp_path / "back") == str(version)
        assert headers(tmp_path / "back") == {version}
        with make.open_small(str(tmp_path / "back")) as memory:
            assert_same(memory, expected(version))
        proof("T16", cells_passed=3)

    def test_is_migrated_in_a_plain_copy_and_in_relaxed_mode(
        self, version: int, kind: str, tmp_path: Path, proof: Any
    ) -> None:
        shutil.copytree(unpack(version, kind, tmp_path), tmp_path / "copy")
        with spector.open(
            tmp_path / "copy",
            embedder=None,
            config=make.SMALL,
            durability="relaxed",
            clock=spector.ManualClock(make.LATER),
            threads=1,
        ) as memory:
            assert_same(memory, expected(version))
        assert spector.check(tmp_path / "copy").ok
        proof("T16", cells_passed=1)


@pytest.mark.parametrize("command", ["check", "stats", "inspect", "export", "compact"])
@pytest.mark.parametrize("version", FORMATS)
def test_commands_take_every_format(
    version: int, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], proof: Any
) -> None:
    path = unpack(version, "closed", tmp_path)
    assert main([command, str(path)]) == 0, capsys.readouterr()
    assert spector.check(path).ok
    proof("T16", cells_passed=1)


# -- migration ------------------------------------------------------------------------------------


@pytest.mark.crash
@pytest.mark.parametrize(
    ("start", "step"),
    [(7, 59), pytest.param(3, 9, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
def test_an_upgrade_killed_on_its_way_is_finished_by_the_next_opening(
    start: int, step: int, proof: Any
) -> None:
    """A sample: the row of kills has this upgrade killed at every call, and with torn writes."""
    found = in_shimmed_process(
        "tests.crash.sweep:kills",
        names=["upgrade"],
        start=start,
        step=step,
        torn=False,
        timeout_s=290 if step > 9 else 890,
    )
    tried = sum(found["points"].values())
    proof("T16", upgrade_kill_points=tried, wrong=len(found["wrong"]))
    assert found["wrong"] == {}, found
    assert tried > 3


def test_a_damaged_record_does_not_stand_in_the_way_of_a_migration(tmp_path: Path) -> None:
    """Mechanism: if it did, the store could never again be opened to forget that record."""
    path = unpack(1, "closed", tmp_path)
    victim = sorted(path.rglob("semantic-*.mem"))[1]
    data = bytearray(victim.read_bytes())
    data[64 + 64 + 5] ^= 4
    victim.write_bytes(data)
    before = [p.code for p in spector.check(path).problems]
    assert before == ["I3"]
    with make.open_small(str(path)) as memory:
        problems = memory.check().problems
        assert {p.code for p in problems} == {"I3", "I8"}  # still found; its tags stay as they were
        damaged = [r["id"] for r in expected(1)["records"] if _is_damaged(memory, r["id"])]
        assert len(damaged) == 1
        memory.forget(damaged)
        memory.compact()
        assert memory.check().ok
        assert len(memory) == len(expected(1)["records"]) - 1


def _is_damaged(memory: spector.Memory, record_id: int) -> bool:
    try:
        memory.get(record_id)
    except spector.PartitionCorruptError:
        return True
    return False


def test_a_migration_without_room_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpack(1, "closed", tmp_path)
    real, made = segment.Segment.create, []

    def full(self: Any, where: str, *, allocate: int) -> None:
        made.append(where)
        if len(made) == 4:
            raise spector.StoreFullError("no room", hint="free some space")
        real(self, where, allocate=allocate)

    monkeypatch.setattr(segment.Segment, "create", full)
    with pytest.raises(spector.StoreFullError):
        make.open_small(str(path))
    assert version_of(path) == "1"
    with make.open_small(str(path), mode="r") as memory:
        assert_same(memory, expected(1))
    monkeypatch.undo()
    with make.open_small(str(path)) as memory:
        assert_same(memory, expected(1))
        assert memory.check().ok


def test_a_reader_that_is_open_during_an_upgrade_is_told(tmp_path: Path) -> None:
    path = unpack(1, "closed", tmp_path)
    with make.open_small(str(path), mode="r") as reader:
        assert reader.recall(tags=["t1"], k=3)
        make.open_small(str(path)).close()
        with pytest.raises(spector.FormatVersionError, match="meanwhile"):
            reader.recall(tags=["t1"], k=3)
    with make.open_small(str(path), mode="r") as reader:
        assert_same(reader, expected(1))


def test_a_migration_that_finds_the_disk_full_takes_its_files_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = unpack(1, "closed", tmp_path)
    before = sorted(each.relative_to(path) for each in path.rglob("*.mem"))
    sync, left = segment.Segment.sync, [1]

    def sync_until_full(self: segment.Segment) -> None:
        if left.pop() == 0:
            raise spector.StoreFullError("no room for the second one")
        left.append(0)
        sync(self)

    with monkeypatch.context() as patch:
        patch.setattr(segment.Segment, "sync", sync_until_full)
        with pytest.raises(spector.StoreFullError):
            make.open_small(str(path))
    assert len(before) > 1
    assert sorted(each.relative_to(path) for each in path.rglob("*.mem")) == before
    with make.open_small(str(path)) as memory:
        assert_same(memory, expected(1))


def _steps_beyond(runs: list[int], die_in: int) -> tuple[Step, ...]:
    """Two more formats that change nothing but the number."""

    def to(version: int) -> Callable[[Store], object]:
        def run(store: Store) -> object:
            runs.append(version)
            if version == die_in:
                raise spector.StoreError("killed here")
            return rewrite_all(
                store,
                lambda images, rows: images,
                {"format_version": str(version)},
                keep_damaged=True,
            )

        return run

    last = FORMAT_VERSION
    return (*STEPS, Step(last, "nothing", to(last + 1)), Step(last + 1, "nothing", to(last + 2)))


def test_a_migration_of_several_steps_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, last = unpack(1, "killed", tmp_path), FORMAT_VERSION
    for module in (schema, header):
        monkeypatch.setattr(module, "FORMAT_VERSION", last + 2)
    runs: list[int] = []
    steps = _steps_beyond(runs, die_in=last + 2)
    monkeypatch.setattr(recover, "next_step", lambda version: next_step(version, steps))
    with pytest.raises(spector.StoreError, match="killed here"):
        make.open_small(str(path))
    assert (runs, version_of(path)) == ([last + 1, last + 2], str(last + 1))
    steps = _steps_beyond(runs, die_in=0)
    make.open_small(str(path)).close()
    assert runs == [last + 1, last + 2, last + 2], "the finished step was done again"
    assert version_of(path) == str(last + 2)
    assert headers(path) == {last + 2}


def test_bits_of_a_migrated_record_are_those_of_a_new_one(tmp_path: Path) -> None:
    from spector.write.drafts.encode import bloom_of

    with make.open_small(str(unpack(1, "closed", tmp_path))) as memory:
        rows = memory._parts.store.catalog.fetch([r.id for r in memory]).values()
    assert len(rows) > 15
    for row in rows:
        wanted = bloom_of(row.tags, row.user_id, row.agent_id, row.session_id)
        assert migrate.bloom_of(row, FORMAT_VERSION) == wanted


# -- newer ones and forgeries ---------------------------------------------------------------------


def forge_meta(path: Path, **values: str) -> None:
    with sqlite3.connect(path / "catalog.db") as db:
        for key, value in values.items():
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
    db.close()


def forge_header(path: Path, version: int) -> None:
    victim = sorted(path.rglob("*.mem"))[0]
    data = bytearray(victim.read_bytes())
    header = np.frombuffer(data, PARTITION_DTYPE, count=1)
    header["version"] = version
    data[60:64] = crc32c(bytes(data[:60])).to_bytes(4, "little")
    victim.write_bytes(data)


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    return unpack(FORMAT_VERSION, "closed", tmp_path)


@pytest.mark.parametrize("mode", ["rw", "r"])
@pytest.mark.parametrize("ahead", [1, 7, 2**31])
def test_a_newer_format_is_refused_and_both_are_named(
    ahead: int, mode: str, mind: Path, proof: Any
) -> None:
    newer = str(FORMAT_VERSION + ahead)
    forge_meta(mind, format_version=newer)
    before = {p: p.read_bytes() for p in mind.rglob("*.mem")}
    for call in (
        lambda: make.open_small(str(mind), mode=mode),
        lambda: spector.check(mind),
        lambda: spector.restore(mind, mind.parent / "back"),
        lambda: spector.reembed(mind, "default"),
    ):
        with pytest.raises(spector.FormatVersionError) as caught:
            call()
        assert f"format {newer}" in str(caught.value)
        assert f"reads up to {FORMAT_VERSION}" in str(caught.value)
        assert "upgrade" in caught.value.hint
    assert {p: p.read_bytes() for p in mind.rglob("*.mem")} == before
    assert not (mind.parent / "back").exists()
    proof("T16", cells_passed=4)


def test_a_newer_minor_is_read_and_not_written(mind: Path, proof: Any) -> None:
    forge_meta(mind, format_minor=str(FORMAT_MINOR + 1))
    with pytest.raises(spector.FormatVersionError) as caught:
        make.open_small(str(mind))
    assert f"{FORMAT_VERSION}.{FORMAT_MINOR + 1}" in str(caught.value)
    assert 'mode="r"' in caught.value.hint
    with make.open_small(str(mind), mode="r") as memory:
        assert_same(memory, expected(FORMAT_VERSION))
        with pytest.raises(spector.FormatVersionError):
            memory.backup(mind.parent / "copy")
    assert spector.check(mind).ok
    assert not (mind.parent / "copy").exists()
    proof("T16", cells_passed=4)


@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1, 0, 2**32 - 1])
def test_a_partition_of_another_format_than_its_catalog_is_found(
    version: int, mind: Path, proof: Any
) -> None:
    forge_header(mind, version)
    with pytest.raises((spector.FormatVersionError, spector.PartitionCorruptError)):
        make.open_small(str(mind))
    if version <= FORMAT_VERSION:
        assert [p.code for p in spector.check(mind).problems] == ["I1"]
    else:
        assert not spector.check(mind).ok
    proof("T16", cells_passed=2)


@pytest.mark.parametrize(
    "values",
    [
        {"format_version": "0"},
        {"format_version": "-1"},
        {"format_version": "two"},
        {"format_version": ""},
        {"format_minor": "-1"},
        {"format_minor": "x"},
    ],
)
def test_a_version_that_is_none_is_damage(values: dict[str, str], mind: Path, proof: Any) -> None:
    forge_meta(mind, **values)
    for mode in ("rw", "r"):
        with pytest.raises(spector.CatalogCorruptError):
            make.open_small(str(mind), mode=mode)
    assert [p.code for p in spector.check(mind).problems] == ["I15"]
    proof("T16", cells_passed=3)


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_older_code_refuses_what_this_code_wrote(
    mode: str, mind: Path, monkeypatch: pytest.MonkeyPatch, proof: Any
) -> None:
    for module in (schema, header, stamp):
        monkeypatch.setattr(module, "FORMAT_VERSION", FORMAT_VERSION - 1)
    with pytest.raises(spector.FormatVersionError, match="no way back"):
        make.open_small(str(mind), mode=mode)
    proof("T16", cells_passed=1)


@pytest.mark.parametrize("origin", ["format 1", "dropped"])
def test_stores_without_a_table_of_erasures_forget_purge_and_compact(
    origin: str, tmp_path: Path
) -> None:
    """Mechanism: the first stores have no table ``erasure``; whoever asks it must do without."""
    path = unpack(1 if origin == "format 1" else FORMAT_VERSION, "closed", tmp_path)
    with closing(sqlite3.connect(path / "catalog.db")) as db, db:
        db.execute("DROP TABLE IF EXISTS erasure")
        db.execute("INSERT OR REPLACE INTO meta VALUES ('purge_due', '1')")
    with make.open_small(str(path), mode="r") as memory:
        assert memory.stats()["erasure"]["pending"] == 0
        with pytest.raises(spector.UnknownRecordError, match="there is no memory"):
            memory.get(12345)
    with make.open_small(str(path)) as memory:
        assert memory.compact().erased, "something is due, and nobody knows of which memory"
        assert memory.stats()["erasure"] == {"pending": 0, "due": None}
        first, second, *_ = [record.id for record in memory if not record.immutable]
        with pytest.raises(spector.UnknownRecordError, match="there is no memory"):
            memory.forget(12345, purge=True)
        memory.forget(first)
        assert memory.stats()["erasure"]["pending"] == 1
        receipt = memory.forget(second, purge=True, verify=True).receipt
        assert receipt is not None
        assert (receipt.complete, receipt.ids) == (True, tuple(sorted((first, second))))
        assert memory.check().ok
    assert spector.check(path).ok

"""Mechanism: scan indexes are kept in files beside the partitions and in memory of each process.

Damage: an index that lies makes recall miss memories, silently.
Guard: whatever happens to the files, answers are those of a store without any index.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.clock import ManualClock
from spector.errors import StoreError, StoreFullError
from spector.kernel.contract.index import ScanIndex, sections_of
from spector.kernel.contract.query import make_query
from spector.kernel.dispatch import get_kernel
from spector.layout import Flag
from spector.store.files.disk import DiskFiles
from tests.crash.workload import DIM, START, TINY, vector_of
from tests.fakes import FakeEmbedder
from tests.store.spoil import copy_files, flip

pytestmark = pytest.mark.skipif(
    not get_kernel().indexes, reason="this kernel scans without indexes"
)

CAPACITY = 80
CONFIG = replace(
    TINY,
    semantic_capacity=CAPACITY,
    episodic_capacity=CAPACITY,
    procedural_capacity=CAPACITY,
    min_extent_bytes=4096,
    max_extent_bytes=1 << 20,
    checkpoint_bytes=1 << 20,
    cluster_records=0,
    recall_confidence=100.0,  # rules nothing out, but goes over the index, as exact scans may not
)
#: the same store as another process sees it that has never heard of indexes
STRAIGHT = replace(CONFIG, index_min_rows=1 << 30)
#: two full partitions and one that still takes appends
COUNT = 2 * CAPACITY + 30


@pytest.fixture(autouse=True)
def _every_scan_uses_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even of partitions so small that they would be scanned straight."""
    monkeypatch.setitem(make_query.__kwdefaults__, "index_from_rows", 0)


def open_store(path: Path, *, mode: Any = "rw", config: Any = CONFIG, **more: Any) -> Any:
    return spector.open(
        path, embedder=None, dim=DIM, mode=mode, config=config, clock=ManualClock(START), **more
    )


def fill(memory: Any, first: int = 0, count: int = COUNT) -> list[int]:
    rng = np.random.default_rng(first)
    texts = [f"m{n}" for n in range(first, first + count)]
    return [
        record.id
        for record in memory.remember_many(
            [
                {
                    "text": text,
                    "vector": vector_of(text),
                    "tier": "semantic",
                    "tags": [f"t{n % 3}"],
                    "importance": float(rng.random()),
                    "valence": float(rng.uniform(-1, 1)),
                    "confidence": float(rng.random()),
                }
                for n, text in enumerate(texts, first)
            ]
        )
    ]


def set_flag(memory: Any, record_id: int, flag: Flag, on: bool) -> None:
    memory._parts.changer.set_flag(record_id, flag, on)


def indexes_of(memory: Any) -> list[ScanIndex | None]:
    segments = memory._parts.store.segments.values()
    return [segment.scan.index for segment in segments]


def idx_files(path: Path) -> list[Path]:
    return sorted(path.glob("*/*.idx"))


def answers(memory: Any) -> list[list[tuple[int, float]]]:
    """What a store says to many kinds of question."""
    asked: list[dict[str, Any]] = [
        {},
        {"k": 400},
        {"tags": ["t1"]},
        {"any_tags": ["t0", "t2"]},
        {"valence": (-0.2, 0.6)},
        {"min_importance": 0.6, "k": 400},
        {"include": ["dormant"]},
        {"profile": "similarity"},
    ]
    out = []
    for n, options in enumerate(asked):
        options = {"k": 12, "lexical": False, **options}
        hits = memory.recall(vector=vector_of(f"m{7 * n}"), **options)
        out.append([(hit.id, round(hit.score, 6)) for hit in hits])
    return out


def expected(path: Path, **more: Any) -> list[list[tuple[int, float]]]:
    with open_store(path, mode="r", config=STRAIGHT, **more) as memory:
        found = answers(memory)
        assert indexes_of(memory) == [None] * len(indexes_of(memory))
    return found


def kill(memory: Any) -> None:
    """Let go of a writer as a crash does: nothing is checkpointed, saved or said."""
    opened = memory._parts.access.opened[0]
    memory.daemon.stop()
    opened.store._closed = True
    for segment in opened.store.segments.values():
        segment.close()
    opened.store.catalog.close()
    opened.lock.release()
    opened.lock = None


@pytest.fixture
def store(store_path: Path) -> Path:
    """A closed store of three partitions, with indexes."""
    with open_store(store_path) as memory:
        ids = fill(memory)
        memory.forget(ids[5])
        set_flag(memory, ids[7], Flag.DORMANT, True)
        set_flag(memory, ids[CAPACITY + 3], Flag.DORMANT, True)
        memory.checkpoint()
    assert [file.name for file in idx_files(store_path)] == [
        f"semantic-00{n}.idx" for n in range(3)
    ]
    return store_path


@pytest.fixture
def no_building(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ScanIndex, "create", lambda *_: pytest.fail("an index was built that is in a file")
    )


def test_these_tests_would_notice_an_index_that_lies(store_path: Path) -> None:
    with open_store(store_path) as memory:
        fill(memory)
        want = answers(memory)
        for index in indexes_of(memory):
            assert index is not None
            sections = sections_of(index.image)
            sections.flags[0] = (1 << 64) - 1  # all dead
            sections.blocks["flags_or"] |= int(Flag.TOMBSTONE)
        assert answers(memory) == [[]] * len(want)
        assert want == expected(store_path)


# -- saved, loaded, kept up ---------------------------------------------------------------------


@pytest.mark.usefixtures("no_building")
@pytest.mark.parametrize("mode", ["rw", "r"])
def test_saved_indexes_are_loaded_and_not_built_again(store: Path, mode: Any) -> None:
    with open_store(store, mode=mode) as memory:
        assert answers(memory) == expected(store)
        assert [index.rows for index in indexes_of(memory) if index] == [80, 80, 30]


def test_index_that_commits_kept_up_equals_one_that_is_built(store_path: Path) -> None:
    with open_store(store_path) as memory:
        ids = fill(memory, count=100)
        answers(memory)
        ids += fill(memory, 100, 60)
        for n in range(0, 160, 9):
            set_flag(memory, ids[n], Flag.DORMANT, True)
            memory.reinforce(ids[n + 1])
            memory.pin(ids[n + 2])
            memory.update(ids[n + 3], importance=0.9, valence=0.5)
            memory.forget(ids[n + 4])
            if n % 27 == 0:
                set_flag(memory, ids[n], Flag.DORMANT, False)
                memory.update(ids[n + 5], text=f"changed {n}", vector=vector_of(f"m{n}"))
        memory.recall(vector=vector_of("m3"), k=20, learn=True)
        memory.checkpoint()  # retires the slots that moved memories left
        for segment in memory._parts.store.segments.values():
            records = segment.records()
            built = ScanIndex.create(get_kernel(), DIM, len(records))
            built.append(records)
            kept = segment.scan.index.grow(len(records))
            assert kept.rows == len(records)
            one, two = sections_of(kept.image), sections_of(built.image)
            assert np.array_equal(one.flags, two.flags)
            assert np.array_equal(one.tags, two.tags)
            for name, column in one.columns.items():
                assert np.array_equal(column, two.columns[name]), name
        assert answers(memory) == expected(store_path)


def test_commits_of_a_process_that_never_recalled_are_in_the_next_ones_index(store: Path) -> None:
    with open_store(store) as memory:
        ids = [record.id for record in memory.records()]
        set_flag(memory, ids[6], Flag.DORMANT, False)  # was ids[7] before one was forgotten
        memory.update(ids[0], importance=1.0)
        fill(memory, 500, 3)
    for mode in ("r", "rw"):
        with open_store(store, mode=mode) as memory:
            assert answers(memory) == expected(store)
            assert [index.rows for index in indexes_of(memory) if index] == [80, 80, 33]


@pytest.mark.usefixtures("no_building")
def test_file_of_an_older_moment_serves_after_reading_the_mutable_halves_again(
    store: Path, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(store, older)
    with open_store(store) as memory:
        answers(memory)
        ids = [record.id for record in memory.records()]
        set_flag(memory, ids[6], Flag.DORMANT, False)
        memory.update(ids[9], importance=1.0)
        memory.forget(ids[20])
        fill(memory, 500, 7)
    for file in idx_files(older):
        shutil.copy(file, store / "semantic" / file.name)
    with open_store(store, mode="r") as memory:
        assert answers(memory) == expected(store)
        assert [index.rows for index in indexes_of(memory) if index] == [80, 80, 37]


def test_process_that_was_killed_leaves_files_that_later_ones_do_not_believe(store: Path) -> None:
    memory = open_store(store)
    answers(memory)
    ids = [record.id for record in memory.records()]
    set_flag(memory, ids[6], Flag.DORMANT, False)
    set_flag(memory, ids[30], Flag.DORMANT, True)
    memory.update(ids[9], importance=1.0)
    moved = memory.update(ids[10], text="moved", vector=vector_of("m14")).id
    kill(memory)
    with open_store(store) as memory:
        assert answers(memory) == expected(store)
        assert moved in [hit.id for hit in memory.recall(vector=vector_of("m14"), k=3)]


# -- files that are absent, damaged, of another partition or another store ----------------------


def _nothing(path: Path) -> None:
    for file in idx_files(path):
        file.unlink()


def _swapped(path: Path) -> None:
    one, two, *_ = idx_files(path)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def _foreign(path: Path) -> None:
    with open_store(path.parent / "other") as memory:
        for record_id in fill(memory)[::2]:
            set_flag(memory, record_id, Flag.DORMANT, True)
    for file in idx_files(path.parent / "other"):
        shutil.copy(file, path / "semantic" / file.name)


def _each(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def tamper(path: Path) -> None:
        for file in idx_files(path):
            file.write_bytes(change(file.read_bytes()))

    return tamper


def _directories(path: Path) -> None:
    for file in idx_files(path):
        file.unlink()
        file.mkdir()


def _pipes(path: Path) -> None:
    for file in idx_files(path):
        file.unlink()
        os.mkfifo(file)


def _links(path: Path) -> None:
    for file in idx_files(path):
        file.unlink()
        file.symlink_to("/dev/zero")


TAMPERED = {
    "absent": _nothing,
    "swapped": _swapped,
    "foreign": _foreign,
    "empty": _each(lambda raw: b""),
    "zeros": _each(lambda raw: bytes(len(raw))),
    "noise": _each(lambda raw: np.random.default_rng(3).bytes(len(raw))),
    "short": _each(lambda raw: raw[:-1]),
    "one page": _each(lambda raw: raw[:4096]),
    "half a header": _each(lambda raw: raw[:64]),
    "longer": _each(lambda raw: raw + bytes(64)),
    "huge rows": _each(lambda raw: raw[:16] + b"\xff" * 8 + raw[24:]),
    "directories": _directories,
    "links": _links,
    "pipes": _pipes,
}


@pytest.mark.sampled
@pytest.mark.parametrize("mode", ["r", "rw"])
@pytest.mark.parametrize("how", TAMPERED)
def test_useless_files_cost_a_rebuild_and_nothing_else(store: Path, how: str, mode: Any) -> None:
    TAMPERED[how](store)
    with open_store(store, mode=mode) as memory:
        assert answers(memory) == expected(store)
        assert [index.rows for index in indexes_of(memory) if index] == [80, 80, 30]
        assert memory.check().ok
    if mode == "rw" and how != "directories":  # which cannot be replaced by a file
        with open_store(store, mode="r") as memory:
            assert memory.check().notes == ()


def test_check_notes_useless_files_and_is_content(store: Path) -> None:
    one, two, _ = idx_files(store)
    flip(one, 700)
    stray = store / "semantic" / "semantic-900.idx"
    shutil.copy(two, stray)
    cut = store / "semantic" / "semantic-001.idx.tmp"
    cut.write_bytes(one.read_bytes()[:77])
    report = spector.check(store)
    assert report.ok
    assert [note.where for note in report.notes] == [
        "semantic/semantic-000.idx",
        "semantic/semantic-001.idx.tmp",
        "semantic/semantic-900.idx",
    ]
    with open_store(store):
        pass
    assert not stray.exists()
    assert not cut.exists()
    mine = store / "semantic" / "notes.idx"
    mine.write_text("not of spector's making")
    with open_store(store) as memory:
        assert [p.where for p in memory.check().problems] == ["semantic/notes.idx"]
    assert mine.exists()


# -- histories that part --------------------------------------------------------------------------


def _dormant(memory: Any, ids: list[int], *numbers: int) -> None:
    for number in numbers:
        set_flag(memory, ids[number], Flag.DORMANT, True)


@pytest.mark.parametrize("backup", ["closed", "live"])
def test_old_copy_that_is_put_back_under_newer_indexes_never_believes_them(
    store: Path, tmp_path: Path, backup: str
) -> None:
    """The restored store makes as many commits as the lost one made, but other ones."""
    copy = tmp_path / "copy"
    if backup == "closed":
        copy_files(store, copy, "catalog", ".mem")
    with open_store(store) as memory:
        ids = [record.id for record in memory.records()]
        answers(memory)
        if backup == "live":
            memory.pin(ids[0])  # the lost history and the copy have a commit of one opening
            memory.checkpoint()
            copy_files(store, copy, "catalog", ".mem")
        _dormant(memory, ids, 50, 51, 52)
        lost = memory._parts.store.head.change_seq
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (store / name).unlink(missing_ok=True)
    copy_files(copy, store, "catalog", ".mem")
    (store / "LOCK").unlink()  # or the older catalog is refused
    assert len(idx_files(store)) == 3
    memory = open_store(store)
    _dormant(memory, ids, 60, 61, 62)
    assert memory._parts.store.head.change_seq != lost
    kill(memory)
    for _ in range(2):
        with open_store(store) as memory:
            assert answers(memory) == expected(store)


def test_power_cut_that_takes_relaxed_commits_back_takes_their_indexes_with_them(
    store_path: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut"
    with open_store(store_path, durability="relaxed") as memory:
        ids = fill(memory)
        answers(memory)
        copy_files(store_path, cut, "catalog")
        _dormant(memory, ids, 10, 11, 90)
        fill(memory, 300, 20)
        memory.update(ids[3], importance=1.0)
        memory.checkpoint()
    copy_files(store_path, cut, ".mem", ".idx")
    assert len(idx_files(cut)) == 3
    memory = open_store(cut, durability="relaxed")
    assert answers(memory) == expected(cut)
    _dormant(memory, ids, 20, 21, 95)
    fill(memory, 400, 20)  # other records, in the slots of those that the cut took
    memory.update(ids[4], importance=1.0)
    assert answers(memory) == expected(cut)
    kill(memory)
    copy_files(store_path, cut, ".idx")
    with open_store(cut, durability="relaxed") as memory:
        assert answers(memory) == expected(cut)
        assert memory.check().ok


# -- files that cannot be written -----------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("step", ["open", "write_at", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_index_that_cannot_be_saved_fails_nothing(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int
) -> None:
    failed: list[str] = []

    def refuse(name: str) -> None:
        failed.append(name)
        error = (StoreFullError if code == errno.ENOSPC else StoreError)("injected")
        error.errno = code
        raise error

    opening, replacing = DiskFiles.open, DiskFiles.replace

    def open_it(self: Any, name: str, **more: Any) -> Any:
        if ".idx" not in name or step == "replace":
            return opening(self, name, **more)
        if step == "open":
            refuse(name)
        file = opening(self, name, **more)
        monkeypatch.setattr(file, "write_at", lambda *_: refuse(name))
        return file

    def replace_it(self: Any, source: str, target: str) -> None:
        if step == "replace" and ".idx" in source:
            refuse(source)
        replacing(self, source, target)

    monkeypatch.setattr(DiskFiles, "open", open_it)
    monkeypatch.setattr(DiskFiles, "replace", replace_it)
    with open_store(store_path) as memory:
        ids = fill(memory)
        _dormant(memory, ids, 4, 5)
        memory.checkpoint()
        memory.reflect()
        assert answers(memory) == expected(store_path)
    assert len(failed) >= 3
    assert list(store_path.glob("*/*.idx*")) == []
    with open_store(store_path) as memory:
        assert answers(memory) == expected(store_path)


# -- readers beside a writer ----------------------------------------------------------------------


def test_reader_follows_everything_that_makes_a_memory_appear_or_vanish(store: Path) -> None:
    with open_store(store) as memory, open_store(store, mode="r") as reader:
        ids = [record.id for record in memory.records()]
        changes: list[Callable[[], object]] = [
            lambda: set_flag(memory, ids[6], Flag.DORMANT, False),
            lambda: set_flag(memory, ids[9], Flag.DORMANT, True),
            # what was asleep when both loaded their indexes wakes up: ids[CAPACITY + 3] of the
            # fixture, before one was forgotten
            lambda: set_flag(memory, ids[CAPACITY + 2], Flag.DORMANT, False),
            lambda: memory.update(ids[12], importance=1.0),
            lambda: memory.pin(ids[14]),
            lambda: memory.reinforce(ids[15]),
            lambda: memory.update(ids[16], text="moved", vector=vector_of("m0"), tags=["t1"]),
            lambda: memory.forget(ids[17]),
            lambda: fill(memory, 1000, 5),
            lambda: memory.checkpoint(),
            lambda: set_flag(memory, ids[9], Flag.DORMANT, False),
            lambda: fill(memory, 2000, 60),
            lambda: memory.reflect(),
            lambda: memory.compact(),
        ]
        for n, change in enumerate(changes):
            change()
            want = expected(store)
            assert answers(memory) == want, n
            assert answers(reader) == want, n
            assert all(index is not None for index in indexes_of(reader)), n


# -- partitions that go ---------------------------------------------------------------------------


def test_compaction_replaces_the_index_and_an_empty_partition_takes_its_own_along(
    store: Path,
) -> None:
    with open_store(store) as memory:
        ids = [record.id for record in memory.records()]
        memory.forget(ids[: CAPACITY - 1])  # all of the first partition
        memory.forget(ids[CAPACITY : CAPACITY + 30])
        memory.compact()
        assert [file.name for file in idx_files(store)] == [
            "semantic-001.g1.idx",
            "semantic-002.idx",
        ]
        assert answers(memory) == expected(store)
    with open_store(store, mode="r") as memory:
        assert answers(memory) == expected(store)
        assert [index.rows for index in indexes_of(memory) if index] == [50, 30]


def test_change_of_model_leaves_no_index_of_the_old_one(store: Path) -> None:
    assert spector.reembed(store, FakeEmbedder(48)) == COUNT - 1
    assert list(store.glob("*/*.idx")) == []
    with spector.open(store, embedder=FakeEmbedder(48), config=CONFIG) as memory:
        want = [hit.id for hit in memory.recall("m17", k=5, lexical=False)]
        memory.reflect("upkeep")
        assert [hit.id for hit in memory.recall("m17", k=5, lexical=False)] == want
    assert len(idx_files(store)) == 3
    with spector.open(store, embedder=FakeEmbedder(48), config=STRAIGHT, mode="r") as memory:
        assert [hit.id for hit in memory.recall("m17", k=5, lexical=False)] == want


# -- bounded work ---------------------------------------------------------------------------------


def test_a_recall_builds_a_bounded_part_of_what_is_missing_and_reflect_the_rest(
    store: Path,
) -> None:
    _nothing(store)
    config = replace(CONFIG, index_rows_per_recall=50)
    want = expected(store)
    with open_store(store, mode="r", config=config) as memory:
        rows = []
        for n in range(4):
            memory.recall(vector=vector_of(f"m{n}"), k=3, lexical=False)
            rows.append(sum(index.rows for index in indexes_of(memory) if index))
        assert rows == [50, 100, 150, COUNT]
        assert answers(memory) == want
    with open_store(store, config=config) as memory:
        memory.recall(vector=vector_of("m0"), k=3)
        assert sum(index.rows for index in indexes_of(memory) if index) == 50
        assert answers(memory) == want
    _nothing(store)
    with open_store(store, config=replace(config, index_rows_per_recall=0)) as memory:
        assert answers(memory) == want
        assert indexes_of(memory) == [None] * 3
        memory.reflect()
        assert answers(memory) == want
        assert sum(index.rows for index in indexes_of(memory) if index) == COUNT
    assert len(idx_files(store)) == 3


# -- what goes wrong with an index is nobody's business -------------------------------------------


def test_no_memory_for_an_index_fails_no_commit(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(store_path) as memory:
        fill(memory, count=70)

        def none_left(*_: Any) -> None:
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(ScanIndex, "append", none_left)
            fill(memory, 70, count=5)
        fill(memory, 75, count=5)
        assert len(memory) == 80
        assert answers(memory) == expected(store_path)
        memory.reflect()
        assert None not in indexes_of(memory)


# --- centres -------------------------------------------------------------------------------------

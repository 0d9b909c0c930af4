"""What a backup is, what it takes over from an older one, and what it refuses."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.clock import ManualClock
from spector.store.backup import destination
from spector.store.files.lock import WriterLock
from tests.crash.workload import START, TINY, open_tiny, texts_of, vector_of
from tests.store.spoil import flip, sql


def fill(memory: spector.Memory, count: int = 20, start: int = 0) -> list[int]:
    texts = [f"w{n} version 0" for n in range(start, start + count)]
    return [
        memory.remember(
            text,
            vector=vector_of(text),
            tier=("episodic", "semantic")[n % 2],
            tags=[f"t{n % 3}"],
            user_id=f"u{n % 2}",
            metadata={"n": n},
            valence=0.25,
        ).id
        for n, text in enumerate(texts)
    ]


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    """A closed store with 20 memories, some changed, one forgotten."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        ids = fill(memory)
        memory.update(ids[3], text="w3 version 1", vector=vector_of("w3 version 1"))
        memory.forget(ids[4])
        memory.pin(ids[5])
        memory.reinforce(ids[6])
    return tmp_path / "mind"


def everything(path: Path) -> list[dict[str, Any]]:
    """All fields of all memories, and how a recall ranks them."""
    with open_tiny(str(path), mode="r") as memory:
        hits = memory.recall("w3", vector=vector_of("w3 version 1"), k=8, exact=True)
        return [record.to_dict() for record in memory] + [
            {"hit": hit.id, "score": hit.score} for hit in hits
        ]


def contents(path: Path) -> dict[str, bytes]:
    """Every file, without what SQLite makes for a reader."""
    return {
        str(p.relative_to(path)): p.read_bytes()
        for p in sorted(path.rglob("*"))
        if p.is_file() and p.name not in ("catalog.db-shm", "catalog.db-wal")
    }


# -- what it is -----------------------------------------------------------------------------------


def test_a_backup_holds_every_field_and_ranks_the_same(mind: Path) -> None:
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        report = memory.backup(copy)
    assert everything(copy) == everything(mind)
    assert spector.check(copy).ok
    assert (report.path, report.source) == (str(copy), str(mind))
    assert report.records == 19
    on_disk = sum(len(data) for name, data in contents(copy).items() if name != "LOCK")
    assert report.bytes == report.bytes_copied == on_disk


def test_a_restored_store_goes_on_where_the_backup_was_made(mind: Path) -> None:
    copy, back = mind.parent / "copy", mind.parent / "deep" / "back"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
    before = contents(copy)
    report = spector.restore(copy, back)
    assert report.records == 19
    assert contents(copy) == before
    assert everything(back) == everything(mind)
    with open_tiny(str(back)) as memory:
        new = fill(memory, 3, start=50)
        with open_tiny(str(mind), mode="r") as source:
            assert min(new) > max(texts_of(source))
        memory.compact()
        assert memory.check().ok


def test_a_backup_opens_as_a_store_in_any_mode(mind: Path) -> None:
    with open_tiny(str(mind), mode="r") as memory:
        memory.backup(mind.parent / "copy")
    with open_tiny(str(mind.parent / "copy")) as memory:
        fill(memory, 2, start=70)
        assert memory.check().ok
        assert len(memory) == 21


def test_directories_and_files_are_their_owners_only(mind: Path) -> None:
    with open_tiny(str(mind)) as memory:
        memory.backup(mind.parent / "copy")
    for path in mind.rglob("*"):
        path.chmod(0o777)
    (mind.parent / "empty").mkdir(mode=0o755)
    spector.restore(mind, mind.parent / "empty")
    for root in (mind.parent / "copy", mind.parent / "empty"):
        for path in (root, *root.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_the_source_is_not_changed(mind: Path) -> None:
    before = contents(mind)
    with open_tiny(str(mind), mode="r") as memory:
        memory.backup(mind.parent / "copy")
    assert contents(mind) == before


def test_progress_comes_to_its_end_and_never_goes_back(mind: Path) -> None:
    seen: list[tuple[int, int]] = []
    with open_tiny(str(mind)) as memory:
        memory.backup(mind.parent / "copy", progress=lambda done, total: seen.append((done, total)))
    assert len({total for _, total in seen}) == 1
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_a_store_that_was_never_checkpointed_is_backed_up_whole(tmp_path: Path) -> None:
    from dataclasses import replace

    lazy = replace(TINY, checkpoint_bytes=1 << 30)
    with spector.open(
        tmp_path / "mind", embedder=None, dim=16, config=lazy, clock=ManualClock(START)
    ) as memory:
        ids = fill(memory)
        memory.update(ids[0], text="moved version 1", vector=vector_of("moved version 1"))
        memory.backup(tmp_path / "copy")
        wanted = texts_of(memory)
    assert sql(tmp_path / "copy", "SELECT count(*) FROM journal") == [(0,)]
    with open_tiny(str(tmp_path / "copy")) as copy:
        assert texts_of(copy) == wanted
        assert copy.check().ok


def test_a_store_written_in_relaxed_mode_leaves_no_note_of_it(tmp_path: Path) -> None:
    with open_tiny(str(tmp_path / "mind"), durability="relaxed") as memory:
        fill(memory)
        memory.backup(tmp_path / "copy")
    assert ("unsynced",) not in sql(tmp_path / "copy", "SELECT key FROM meta")


def test_what_a_power_cut_left_in_relaxed_mode_is_backed_up_as_the_catalog_has_it(
    tmp_path: Path,
) -> None:
    """Mechanism: the log of a relaxed writer is not synced, so partitions may know the future."""
    left = tmp_path / "left"
    with open_tiny(str(tmp_path / "mind"), durability="relaxed") as memory:
        ids = fill(memory)
        memory.checkpoint()
        shutil.copytree(tmp_path / "mind", left)
        wanted = texts_of(memory)
        memory.forget(ids[2])
        memory.reinforce(ids[3])
        fill(memory, 1, start=40)
        for path in (tmp_path / "mind").rglob("*.mem"):  # the log of these commits is lost
            shutil.copyfile(path, left / path.relative_to(tmp_path / "mind"))
    spector.restore(left, tmp_path / "copy")
    with open_tiny(str(left)) as memory:
        memory.backup(tmp_path / "later")
    for name in ("copy", "later"):
        with open_tiny(str(tmp_path / name)) as memory:
            assert texts_of(memory) == wanted
            assert memory.check().ok


def test_an_empty_store_and_one_emptied_by_compaction_are_copied(tmp_path: Path) -> None:
    with open_tiny(str(tmp_path / "mind")) as memory:
        assert memory.backup(tmp_path / "one").records == 0
        memory.forget(fill(memory, 6))
        memory.compact()
        memory.backup(tmp_path / "two")
    for name in ("one", "two"):
        with open_tiny(str(tmp_path / name)) as copy:
            assert len(copy) == 0
            assert copy.check().ok


# -- the second time ------------------------------------------------------------------------------


def test_a_second_backup_takes_over_what_did_not_change(mind: Path) -> None:
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        first = memory.backup(copy)
        again = memory.backup(copy)
        assert (first.reused, again.reused) == (0, first.partitions)
        changed = next(iter(memory)).id
        memory.reinforce(changed)  # a change in place, which leaves every size as it was
        third = memory.backup(copy)
        assert third.reused == first.partitions - 1
        assert third.bytes_copied < third.bytes
    assert everything(copy) == everything(mind)
    assert {p.stat().st_nlink for p in copy.rglob("*.mem")} == {1}
    assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]


def test_files_that_somebody_else_has_are_not_taken_over(mind: Path) -> None:
    """Mechanism: backups are rotated with ``cp -al``; the newest, opened to write, would change all
    older ones in place."""
    copy, older = mind.parent / "copy", mind.parent / "older"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
        shutil.copytree(copy, older, copy_function=os.link)
        before = contents(older)
        assert memory.backup(copy).reused == 0
    with open_tiny(str(copy)) as memory:
        memory.reinforce(next(iter(memory)).id)
    assert contents(older) == before
    assert spector.check(older).ok


def test_a_rotten_older_backup_is_not_taken_over(mind: Path) -> None:
    """Mechanism: a bit flips in a backup at rest; the next one would inherit it for ever."""
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
        victim = sorted(copy.rglob("*.mem"))[0]
        flip(victim, 64 + 70)
        assert not spector.check(copy).ok
        memory.backup(copy)
    assert spector.check(copy).ok
    assert everything(copy) == everything(mind)


def test_a_backup_that_was_written_to_is_not_replaced(mind: Path) -> None:
    """Mechanism: somebody restored by opening the backup itself; the next nightly run would
    overwrite what it has learned since."""
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
    open_tiny(str(copy), mode="r").close()
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)  # being read does not count
    open_tiny(str(copy)).close()
    before = contents(copy)
    with (
        open_tiny(str(mind)) as memory,
        pytest.raises(spector.StoreExistsError, match="in use since"),
    ):
        memory.backup(copy)
    assert contents(copy) == before


@pytest.mark.parametrize("size", [1, 31, 4152])
def test_a_backup_beside_which_there_is_a_log_is_not_replaced(mind: Path, size: int) -> None:
    """However little of it a power cut has left, somebody has written to that backup since."""
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
        (copy / "catalog.db-wal").write_bytes(bytes(size))
        with pytest.raises(spector.StoreExistsError, match="in use since"):
            memory.backup(copy)
        (copy / "catalog.db-wal").write_bytes(b"")
        assert memory.backup(copy).reused


def test_a_reader_of_a_backup_that_is_replaced_does_not_mix_the_two(mind: Path) -> None:
    dest = mind.parent / "backup"
    with open_tiny(str(mind)) as memory:
        memory.backup(dest)
        before = len(memory)
        with open_tiny(str(dest), mode="r") as reader:
            cue = vector_of("cue")
            assert len(reader.recall(vector=cue, k=500)) == before
            fill(memory, 3, start=100)
            memory.backup(dest)
            assert len(reader.recall(vector=cue, k=500)) == before
            catalog = reader._parts.store.catalog
            with (  # as a second thread would have it
                catalog.reading(),
                pytest.raises(spector.StoreError, match="another file"),
            ):
                reader.recall(vector=cue, k=500)
            assert len(reader.recall(vector=cue, k=500)) == before


def test_a_restored_store_is_not_replaced_by_a_backup(mind: Path) -> None:
    spector.restore(mind, mind.parent / "back")
    with open_tiny(str(mind)) as memory, pytest.raises(spector.StoreExistsError):
        memory.backup(mind.parent / "back")


# -- what it refuses ------------------------------------------------------------------------------


def _file(path: Path) -> None:
    path.write_text("a file")


def _full(path: Path) -> None:
    path.mkdir()
    (path / "letter.txt").write_text("not a store")


def _stranger(path: Path) -> None:
    with open_tiny(str(path)) as other:
        fill(other, 2)


def _broken(path: Path) -> None:
    path.mkdir()
    (path / "catalog.db").write_bytes(b"not a database" * 100)


@pytest.mark.parametrize("what", [_file, _full, _stranger, _broken])
def test_whatever_else_is_at_the_destination_stays(what: Any, mind: Path) -> None:
    dest = mind.parent / "dest"
    what(dest)
    before = contents(dest) if dest.is_dir() else dest.read_bytes()
    with open_tiny(str(mind)) as memory, pytest.raises(spector.StoreExistsError) as caught:
        memory.backup(dest)
    with pytest.raises(spector.StoreExistsError):
        spector.restore(mind, dest)
    assert caught.value.hint
    assert isinstance(caught.value, FileExistsError)
    after = contents(dest) if dest.is_dir() else dest.read_bytes()
    assert after == before
    assert sorted(p.name for p in mind.parent.iterdir()) == ["dest", "mind"]


@pytest.mark.parametrize("dest", ["mind", "mind/inside", "mind/episodic", ".", "link/inside"])
def test_a_destination_in_or_around_the_store_is_refused(dest: str, mind: Path) -> None:
    (mind.parent / "link").symlink_to(mind)
    before = contents(mind)
    with open_tiny(str(mind), mode="r") as memory, pytest.raises(spector.InvalidInputError):
        memory.backup(mind.parent / dest)
    assert contents(mind) == before


def test_a_destination_that_is_being_written_is_refused(mind: Path) -> None:
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
        lock = WriterLock(str(copy))  # whoever has it is about to open the catalog
        with pytest.raises(spector.StoreLockedError):
            memory.backup(copy)
        lock.release()
        with open_tiny(str(copy)), pytest.raises(spector.StoreExistsError):
            memory.backup(copy)


def test_a_store_in_memory_says_what_to_do_instead(tmp_path: Path) -> None:
    with open_tiny(":memory:") as memory, pytest.raises(spector.InvalidInputError, match="export"):
        memory.backup(tmp_path / "copy")


def _flip_vector(mind: Path) -> None:
    flip(sorted(mind.rglob("semantic-*.mem"))[0], 64 + 64 + 3)


def _cut_partition(mind: Path) -> None:
    path = sorted(mind.rglob("semantic-*.mem"))[0]
    os.truncate(path, 64 + 100)


def _lose_partition(mind: Path) -> None:
    sorted(mind.rglob("semantic-*.mem"))[0].unlink()


def _swap_partitions(mind: Path) -> None:
    one, other = sorted(mind.rglob("semantic-*.mem"))[:2]
    bytes_ = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(bytes_)


def _lose_content(mind: Path) -> None:
    sql(mind, "DELETE FROM content WHERE id = (SELECT max(id) FROM content)")


def _break_catalog(mind: Path) -> None:
    data = bytearray((mind / "catalog.db").read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    (mind / "catalog.db").write_bytes(data)


DAMAGES = [
    _flip_vector,
    _cut_partition,
    _lose_partition,
    _swap_partitions,
    _lose_content,
    _break_catalog,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_not_copied(damage: Any, mind: Path) -> None:
    damage(mind)

    def by_backup(dest: Path) -> None:
        with open_tiny(str(mind), mode="r") as memory:
            memory.backup(dest)

    def by_restore(dest: Path) -> None:
        spector.restore(mind, dest)

    for copy in (by_restore, by_backup):
        with pytest.raises((spector.PartitionCorruptError, spector.CatalogCorruptError)) as caught:
            copy(mind.parent / "copy")
        assert "spector-incomplete" not in str(caught.value)
        assert caught.value.hint
    assert [p.name for p in mind.parent.iterdir()] == ["mind"]


def test_a_damaged_source_leaves_the_older_backup_alone(mind: Path) -> None:
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
    before = contents(copy)
    with open_tiny(str(mind)) as memory:
        memory.remember("late", vector=vector_of("late"), tier="semantic")
    newest = max(mind.rglob("semantic-*.mem"), key=lambda p: p.name)
    flip(newest, newest.stat().st_size - 16)
    spoilt = [p for p in spector.check(mind).problems if p.code == "I3"]
    if not spoilt:  # the flip hit room that means nothing
        flip(newest, 64 + 64 + 3)
    with open_tiny(str(mind)) as memory, pytest.raises(spector.PartitionCorruptError) as caught:
        memory.backup(copy)
    assert "checksum" in str(caught.value)
    assert "--repair" in caught.value.hint
    assert contents(copy) == before
    assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]


def test_restore_of_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(spector.StoreNotFoundError):
        spector.restore(tmp_path / "nothing", tmp_path / "dest")
    assert list(tmp_path.iterdir()) == []


def test_a_second_backup_works_where_names_cannot_be_exchanged(
    mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older one has its name until the newer one is there, also when that cannot get it."""
    monkeypatch.setattr(destination, "_exchange", lambda one, other: False)
    copy, rename = mind.parent / "copy", os.rename

    def fails(source: str, target: str) -> None:
        if str(source).endswith("-incomplete"):
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    with open_tiny(str(mind)) as memory:
        memory.backup(copy)
        older = everything(copy)
        fill(memory, 3, start=30)
        with monkeypatch.context() as patched:
            patched.setattr(os, "rename", fails)
            with pytest.raises(spector.StoreError):
                memory.backup(copy)
        assert everything(copy) == older
        assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]
        memory.backup(copy)
    assert everything(copy) == everything(mind)
    assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]


def test_a_second_backup_works_where_files_cannot_be_linked(
    mind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(95, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    with open_tiny(str(mind)) as memory:
        memory.backup(mind.parent / "copy")
        memory.pin(next(iter(memory)).id)
        assert memory.backup(mind.parent / "copy").reused == 0
    assert everything(mind.parent / "copy") == everything(mind)

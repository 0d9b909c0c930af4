"""A backup is only replaced by a later state of what it was made of.

Mechanism: nobody compared the two. Damage without the guard: a store that lost commits, an older
copy, or a copy that went its own way takes the place of the only good backup, and says that all is
well. Guard: the catalog notes where each opening began; a state is one of ours if its last opening
is, and it ends no later than that one did.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.cli.main import main
from spector.clock import ManualClock
from spector.errors import CatalogCorruptError, StoreExistsError
from tests.backup.test_backup import contents, everything, fill
from tests.crash.workload import START, TINY, open_tiny, texts_of, vector_of
from tests.store.spoil import flip, sql


def _put(path: Path, *texts: str) -> None:
    with open_tiny(str(path)) as memory:
        for text in texts:
            memory.remember(text, vector=vector_of(text))


def _back_up(path: Path, dest: Path, *, force: bool = False) -> int:
    with open_tiny(str(path), mode="r") as memory:
        return memory.backup(dest, force=force).records


def _texts(path: Path) -> list[str]:
    with open_tiny(str(path), mode="r") as memory:
        return sorted(texts_of(memory).values())


def test_a_twin_does_not_replace_the_backup_of_the_original(tmp_path: Path) -> None:
    one, twin, copy = (tmp_path / name for name in ("one", "twin", "copy"))
    _put(one, "common")
    _back_up(one, copy)
    spector.restore(copy, twin)
    assert _back_up(twin, copy) == 1, "nothing has been written to it yet"
    _put(twin, "only in the twin", "and this")
    assert _back_up(twin, copy) == 3, "what is there was a state of the twin, too"
    _put(one, "only in the original")
    for _ in range(2):
        with pytest.raises(StoreExistsError, match="went its own way") as told:
            _back_up(one, copy)
        assert "--force" in told.value.hint
        _put(one, "many more", "than in the twin")
    assert _texts(copy) == ["and this", "common", "only in the twin"]
    assert spector.check(copy).ok
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert _back_up(one, copy, force=True) == 6
    assert _texts(copy) == _texts(one)


def test_an_older_state_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    one, older, copy = (tmp_path / name for name in ("one", "older", "copy"))
    with open_tiny(str(one)) as memory:
        memory.remember("first", vector=vector_of("first"))
        memory.backup(older)
        memory.remember("second", vector=vector_of("second"))
        memory.backup(copy)
        with open_tiny(str(older), mode="r") as old, pytest.raises(StoreExistsError):
            old.backup(copy)
    spector.restore(older, tmp_path / "restored")
    with pytest.raises(StoreExistsError, match="later state"):
        _back_up(tmp_path / "restored", copy)
    _put(tmp_path / "restored", "another second", "third")
    with pytest.raises(StoreExistsError):
        _back_up(tmp_path / "restored", copy)
    assert _texts(copy) == ["first", "second"]


def test_a_store_that_lost_commits_is_no_source_of_a_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, dead, copy = (tmp_path / name for name in ("one", "dead", "copy"))
    _put(one, "yesterday")
    with open_tiny(str(one)) as memory:
        for n in range(10):
            memory.remember(f"today{n}", vector=vector_of(f"today{n}"))
        memory.backup(copy)
        memory.remember("later", vector=vector_of("later"))
        shutil.copytree(one, dead)
    log = dead / "catalog.db-wal"
    flip(log, 32 + 2 * 4120 + 124)
    assert main(["backup", str(dead), str(copy), "--force"]) != 0
    assert "lost commits" in capsys.readouterr().err
    with pytest.raises(CatalogCorruptError):
        spector.restore(dead, tmp_path / "restored")
    assert len(_texts(copy)) == 11
    (dead / "LOCK").unlink()
    with pytest.raises(CatalogCorruptError, match="more commits after"):
        _back_up(dead, copy)


def test_the_command_asks_for_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, copy = tmp_path / "one", tmp_path / "copy"
    _put(one, "m")
    shutil.copytree(one, tmp_path / "twin")
    _put(one, "n")
    assert main(["backup", str(one), str(copy)]) == 0
    assert main(["backup", str(tmp_path / "twin"), str(copy)]) == 3
    assert "--force" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "twin"), str(copy), "--force"]) == 0
    assert _texts(copy) == ["m"]


def test_a_store_goes_on_replacing_its_backups_through_everything_it_does(tmp_path: Path) -> None:
    one, copy = tmp_path / "one", tmp_path / "copy"
    for n in range(4):
        _put(one, *(f"w{n}{k}" for k in range(5)))
        _back_up(one, copy)
    with open_tiny(str(one)) as memory:
        memory.forget([record.id for record in memory][:8], purge=True)
        memory.backup(copy)
        memory.compact()
        memory.backup(copy)
    with open_tiny(str(one), durability="relaxed") as memory:
        memory.remember("relaxed", vector=vector_of("relaxed"))
        memory.backup(copy)
    shutil.move(one, tmp_path / "moved")
    _put(tmp_path / "moved", "at another place")
    assert _back_up(tmp_path / "moved", copy) == 14
    spector.restore(copy, one)
    _put(one, "restored")
    assert _back_up(one, copy) == 15


# -- A backup of a store that has not changed since the last one writes next to nothing ------------
#
# Mechanism: the catalog, most of a small store, was copied whole each time. Damage: a backup every
# hour wears a disk and fills a snapshot with the same bytes again, and "writes only what changed"
# was not so. Guard: where both catalogs are in the same state the backup is verified and kept as
# it is; any change at all, and any doubt about the older backup, makes a new one.


@pytest.fixture
def mind(tmp_path: Path) -> Path:
    with open_tiny(str(tmp_path / "mind")) as memory:
        ids = fill(memory)
        memory.forget(ids[4])
        memory.backup(tmp_path / "copy")
    return tmp_path / "mind"


def state_of(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file: its number, when it was written, what is in it."""
    return {
        name: (os.stat(root / name).st_ino, os.stat(root / name).st_mtime_ns, data)
        for name, data in contents(root).items()
    }


@pytest.mark.parametrize("mode", ["rw", "r"])
def test_an_unchanged_store_leaves_its_backup_as_it_is(mind: Path, mode: str) -> None:
    copy = mind.parent / "copy"
    before = state_of(copy)
    seen: list[tuple[int, int]] = []
    for _ in range(2):  # opening and closing is no change
        with open_tiny(str(mind), mode=mode) as memory:
            memory.recall("w3", vector=vector_of("w3"))
            report = memory.backup(copy, progress=lambda *at: seen.append(at))
        assert report.bytes_copied == 0
        assert report.reused == report.partitions > 0
        assert report.records == 19
        assert report.bytes == sum(len(d) for n, d in contents(copy).items() if n != "LOCK")
        assert seen[-1][0] == seen[-1][1] == 2 * report.bytes
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        seen.clear()
    assert state_of(copy) == before
    assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]
    assert everything(copy) == everything(mind)


def _remember(memory: spector.Memory) -> None:
    memory.remember("one more", vector=vector_of("one more"))


CHANGES: dict[str, Callable[[spector.Memory], Any]] = {
    "remember": _remember,
    "update": lambda m: m.update(next(iter(m)).id, metadata={"n": 99}),
    "reinforce": lambda m: m.reinforce(next(iter(m)).id),
    "pin": lambda m: m.pin(next(iter(m)).id),
    "forget": lambda m: m.forget(next(iter(m)).id),
    "erase": lambda m: m.compact(),
    "purge": lambda m: m.forget(next(iter(m)).id, purge=True),
    "learn": lambda m: m.recall(vector=vector_of("w1"), learn=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_makes_a_new_backup(mind: Path, change: str) -> None:
    copy = mind.parent / "copy"
    with open_tiny(str(mind)) as memory:
        CHANGES[change](memory)
    with open_tiny(str(mind)) as memory:
        assert memory.backup(copy).bytes_copied > 0
        assert memory.backup(copy).bytes_copied == 0
    assert everything(copy) == everything(mind)
    assert spector.check(copy).ok


def test_erased_words_leave_the_backup_with_the_next_one(tmp_path: Path) -> None:
    """What was forgotten is due a day later; erasing it changes no memory, but the files."""
    clock = ManualClock(START)
    copy, secret = tmp_path / "copy", b"zwetschgenkompott"
    with spector.open(tmp_path / "mind", embedder=None, dim=16, clock=clock, config=TINY) as memory:
        fill(memory, 6)
        doomed = memory.remember(secret.decode(), vector=vector_of("x")).id
        memory.forget(doomed)
        memory.backup(copy)
        assert secret in b"".join(contents(copy).values())
        clock.advance(days=2)
        memory.reflect()
        assert memory.backup(copy).bytes_copied > 0
    assert secret not in b"".join(contents(copy).values())


def _rot(copy: Path) -> None:
    flip(sorted(copy.rglob("*.mem"))[0], 64 + 64 + 3)


def _lose(copy: Path) -> None:
    sorted(copy.rglob("*.mem"))[0].unlink()


def _cut(copy: Path) -> None:
    path = sorted(copy.rglob("*.mem"))[0]
    os.truncate(path, path.stat().st_size - 64)


def _spoil_catalog(copy: Path) -> None:
    sql(copy, "UPDATE content SET text = 'another text' WHERE id = (SELECT min(id) FROM content)")


def _share(copy: Path) -> None:
    shutil.copytree(copy, copy.parent / "older", copy_function=os.link)


def _link(copy: Path) -> None:
    (copy / "semantic").rename(copy.parent / "elsewhere")
    (copy / "semantic").symlink_to(copy.parent / "elsewhere")


@pytest.mark.parametrize("damage", [_rot, _lose, _cut, _spoil_catalog, _share, _link])
def test_a_backup_that_is_in_doubt_is_made_anew(mind: Path, damage: Callable[[Path], None]) -> None:
    copy = mind.parent / "copy"
    damage(copy)
    with open_tiny(str(mind)) as memory:
        assert memory.backup(copy).bytes_copied > 0
    assert everything(copy) == everything(mind)
    assert spector.check(copy).ok
    assert not (copy / "semantic").is_symlink()
    assert {p.stat().st_nlink for p in copy.rglob("*") if p.is_file()} == {1}


@pytest.mark.parametrize("kind", ["incomplete", "previous"])
def test_what_a_killed_backup_left_goes_although_nothing_changed(mind: Path, kind: str) -> None:
    left = mind.parent / f".copy.spector-{kind}"
    if kind == "previous":
        shutil.copytree(mind.parent / "copy", left)
    else:
        left.mkdir()
        (left / "catalog.db").write_bytes(b"half")
    with open_tiny(str(mind)) as memory:
        memory.backup(mind.parent / "copy")
    assert sorted(p.name for p in mind.parent.iterdir()) == ["copy", "mind"]


def test_a_twin_in_the_same_state_keeps_the_backup_and_one_that_went_on_is_refused(
    mind: Path,
) -> None:
    twin, copy = mind.parent / "twin", mind.parent / "copy"
    shutil.copytree(mind, twin)
    with open_tiny(str(twin)) as memory:
        assert memory.backup(copy).bytes_copied == 0
        _remember(memory)
    with open_tiny(str(mind)) as memory:
        _remember(memory)
        memory.backup(copy)
    with open_tiny(str(twin)) as memory, pytest.raises(spector.StoreExistsError):
        memory.backup(copy)


def test_a_backup_is_dated_by_the_clock_of_the_store(tmp_path: Path) -> None:
    """Mechanism: the note of a copy had the system's time, whatever clock the store was given.
    Damage: a replayed run leaves other bytes. Guard: the note has the store's time."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        fill(memory)
        memory.backup(tmp_path / "copy")
    [(note,)] = sql(tmp_path / "copy", "SELECT value FROM meta WHERE key = 'backup'")
    assert json.loads(note) == {"taken_ms": round(START.timestamp() * 1000)}

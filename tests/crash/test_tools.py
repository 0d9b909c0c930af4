"""The library in front of libc sees every call, and strikes where it is told to."""

from __future__ import annotations

import errno
import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.crash.disk import KEEP, ZEROS, Disk, Fate, Image
from tests.crash.harness import in_fork, scratch
from tests.crash.shim import (
    CHANGING,
    CREATE,
    FOR_EVER,
    KILL,
    KILL_AFTER,
    SHARE,
    SHORT,
    SYNC,
    TORN,
    WRITE,
    Shim,
    in_shimmed_process,
    read_trace,
)
from tests.crash.trace import Call
from tests.crash.workload import open_tiny, vector_of, warm_up

pytestmark = pytest.mark.crash


KILLED = -9


def _case(work: Any) -> int:
    """The exit code of ``work(shim, folder)`` in a fork, the shim armed at the folder."""
    with scratch() as root:

        def armed() -> None:
            shim = Shim()
            shim.arm(root)
            work(shim, root)

        return in_fork(armed)


# -- scenarios, in a process of their own ------------------------------------------------------


def traces() -> None:
    assert _case(_every_call_is_traced) == 0
    assert _case(_a_store_is_traced) == 0


def _every_call_is_traced(shim: Shim, root: str) -> None:
    with scratch() as beside:
        path = os.path.join(beside, "trace")
        shim.record(path)
        os.mkdir(f"{root}/d", 0o700)
        fd = os.open(f"{root}/d/a", os.O_RDWR | os.O_CREAT, 0o600)
        os.posix_fallocate(fd, 0, 64)
        os.pwrite(fd, b"abc", 10)
        os.lseek(fd, 3, os.SEEK_SET)
        os.write(fd, b"xy")
        os.writev(fd, [b"1", b"23"])
        os.fdatasync(fd)
        shim.mark("told")
        os.ftruncate(fd, 5)
        os.replace(f"{root}/d/a", f"{root}/b")
        os.fsync(fd)
        os.close(fd)
        with open(f"{root}/b", "ab") as file:
            file.write(b"end")
        os.unlink(f"{root}/b")
        os.rmdir(f"{root}/d")
        with pytest.raises(FileNotFoundError, match="nowhere"):
            os.open(f"{root}/nowhere", os.O_RDONLY)
        os.close(os.open(f"{beside}/elsewhere", os.O_CREAT))
        calls = list(read_trace(path))
    inode = calls[1].inode
    assert [c.sequence for c in calls] == list(range(1, len(calls) + 1))
    told = [
        (c.name, c.path, c.path2, c.offset, c.length, c.data)
        for c in calls
        if c.name not in ("read", "close")
    ]
    expected = [
        ("mkdir", "d", "", 0, 0o700, b""),
        ("create", "d/a", "", 0, 0o600, b""),
        ("fallocate", "d/a", "", 0, 64, b""),
        ("pwrite", "d/a", "", 10, 3, b"abc"),
        ("write", "d/a", "", 3, 2, b"xy"),
        ("writev", "d/a", "", 5, 3, b"123"),
        ("fdatasync", "d/a", "", 0, 0, b""),
        ("mark", "", "", 0, 0, b"told"),
        ("ftruncate", "d/a", "", 0, 5, b""),
        ("rename", "d/a", "b", 0, 0, b""),
        ("fsync", "b", "", 0, 0, b""),
        ("open", "b", "", 0, 0o666, b""),
        ("write", "b", "", 5, 3, b"end"),
        ("unlink", "b", "", 0, 0, b""),
        ("rmdir", "d", "", 0, 0, b""),
        ("open", "nowhere", "", 0, 0, b""),
    ]
    assert told == expected, (told, expected)
    assert calls[-1].result == -errno.ENOENT
    of_file = {c.inode for c in calls if c.path in ("d/a", "b")}
    assert of_file == {inode}
    assert inode
    numbers = [c.number for c in calls if c.number]
    assert numbers == list(range(1, shim.count() + 1))


def _a_store_is_traced(shim: Shim, root: str) -> None:
    with scratch() as beside:
        path = os.path.join(beside, "trace")
        shim.record(path)
        with open_tiny(f"{root}/mind") as memory:
            memory.remember("a word", vector=vector_of("a word"))
            memory.checkpoint()
        calls = list(read_trace(path))
    assert calls[0].path == "mind" or any(c.name == "mkdir" and c.path == "mind" for c in calls)
    wrote = {c.path.rpartition(".")[2] for c in calls if c.name == "pwrite"}
    assert {"db-wal", "mem", "db"} <= wrote, "SQLite's calls and Python's"
    assert any(b"a word" in c.data for c in calls if c.path.endswith("-wal"))
    assert any(c.name == "fsync" and c.path in ("", "mind") for c in calls)
    shared = {c.path.rpartition("/")[2] for c in calls if c.name == "share"}
    assert shared == {"catalog.db-shm"}, "something else is mapped writable"
    assert shim.seen(SHARE) > 0
    assert shim.seen(CHANGING) == shim.count() > 50


def strikes() -> None:
    warm_up()
    assert _case(_dies_before) == KILLED
    for action in (KILL, KILL_AFTER, TORN):
        with scratch() as root:
            code = in_fork(partial(_writes_thrice, root, action))
            left = Path(root, "a").read_bytes()
        assert code == KILLED
        assert len(left) == {KILL: 1000, KILL_AFTER: 2000, TORN: 1024}[action]
        assert left == b"1" * 1000 + b"2" * (len(left) - 1000)
    with scratch() as root:
        assert in_fork(partial(_writes_thrice, root, TORN, 200)) == KILLED
        assert Path(root, "a").read_bytes() == b"1" * 200, "a write within one sector was torn"
    for work in (
        _fails,
        _is_short,
        _is_full,
        _sqlite_is_struck,
        _tells_of_a_retried_sync,
        _tells_of_a_folder_synced_again,
    ):
        assert _case(work) == 0, work


def _dies_before(shim: Shim, root: str) -> None:
    shim.fault(KILL, classes=CREATE, only="fatal")
    Path(root, "harmless").touch()
    Path(root, "fatal").touch()


def _writes_thrice(root: str, action: int, length: int = 1000) -> None:
    shim = Shim()
    shim.arm(root)
    fd = os.open(f"{root}/a", os.O_WRONLY | os.O_CREAT)
    shim.fault(action, classes=WRITE, at=2)
    for byte in b"123":
        os.write(fd, bytes([byte] * length))


def _fails(shim: Shim, root: str) -> None:
    fd = os.open(f"{root}/a", os.O_WRONLY | os.O_CREAT)
    shim.fail(errno.EIO, WRITE, at=2)
    assert os.write(fd, b"1") == 1
    with pytest.raises(OSError, match="Input/output"):
        os.write(fd, b"2")
    assert os.write(fd, b"3") == 1
    shim.fail(errno.ENOSPC, at=2, times=FOR_EVER)
    assert os.write(fd, b"4") == 1
    for call in (
        lambda: os.write(fd, b"5"),
        lambda: os.fsync(fd),
        lambda: os.posix_fallocate(fd, 0, 9),
        lambda: os.unlink(f"{root}/a"),
    ):
        with pytest.raises(OSError, match="No space"):
            call()
    shim.fail(errno.EINTR, times=3)
    assert os.write(fd, b"6") == 1, "Python tries again"
    assert shim.hits() == 4
    assert Path(root, "a").read_bytes() == b"1346"


def _is_short(shim: Shim, root: str) -> None:
    fd = os.open(f"{root}/a", os.O_WRONLY | os.O_CREAT)
    shim.fault(SHORT, times=FOR_EVER)
    assert [os.write(fd, b"12345678"), os.write(fd, b"1")] == [4, 1]


def _is_full(shim: Shim, root: str) -> None:
    fd = os.open(f"{root}/a", os.O_WRONLY | os.O_CREAT)
    os.write(fd, bytes(5000))
    shim.quota(16_384)
    assert shim.used() == 8192
    assert os.pwrite(fd, bytes(20_000), 5000) == 11_384, "as much as fits"
    with pytest.raises(OSError, match="No space"):
        os.pwrite(fd, b"1", 16_384)
    assert os.pwrite(fd, b"1", 16_383) == 1
    other = os.open(f"{root}/b", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space"):
        os.posix_fallocate(other, 0, 1)
    os.ftruncate(fd, 4096)
    os.posix_fallocate(other, 0, 12_288)
    os.unlink(f"{root}/b")
    assert shim.used() == 4096


def _sqlite_is_struck(shim: Shim, root: str) -> None:
    connection = sqlite3.connect(f"{root}/db", isolation_level=None)
    connection.execute("CREATE TABLE t(a)")
    shim.fail(errno.EIO, SYNC)
    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        connection.execute("INSERT INTO t VALUES (1)")
    assert shim.hits() > 0


def _tells_of_a_retried_sync(shim: Shim, root: str) -> None:
    fd = os.open(f"{root}/a", os.O_WRONLY | os.O_CREAT)
    shim.fail(errno.EIO, SYNC)
    with pytest.raises(OSError, match="Input/output"):
        os.fsync(fd)
    assert shim.retried() == (0, "")
    os.fsync(fd)
    assert shim.retried() == (1, "a")
    shim.reopened()
    os.fsync(fd)
    assert shim.retried()[0] == 1


def _tells_of_a_folder_synced_again(shim: Shim, root: str) -> None:
    folder = os.open(root, os.O_RDONLY)
    shim.fail(errno.EIO, SYNC, at=2)
    os.fsync(folder)
    with pytest.raises(OSError, match="Input/output"):
        os.fsync(folder)
    assert shim.retried_folders() == 0, "a second sync, but the first was no failure"
    os.fsync(folder)
    assert shim.retried_folders() == 1
    assert shim.retried() == (0, ""), "a directory is not a file"
    shim.reopened()
    os.fsync(folder)
    assert shim.retried_folders() == 1


# -- tests -------------------------------------------------------------------------------------


def test_every_call_below_the_directory_is_in_the_trace() -> None:
    in_shimmed_process("tests.crash.test_tools:traces")


def test_faults_strike_the_call_that_was_named() -> None:
    in_shimmed_process("tests.crash.test_tools:strikes")


# -- the model disk loses what it may and keeps what it must ---------------------------------------


_BYTES = b"0123456789"


def _made(path: str = "a", fd: int = 3) -> list[Call]:
    """A file whose name is safe and whose bytes are ``0123456789``."""
    return [
        Call("create", path, fd=fd),
        Call("write", path, fd=fd, data=_BYTES),
        Call("sync", path, fd=fd),
        Call("sync", os.path.dirname(path)),
    ]


def _two_files() -> list[Call]:
    return [*_made("a", 3), *_made("b", 4), Call("write", "b", fd=4, data=b"B")]


#: calls, and by what became of pending changes (named by their first words) the image that is left
DISKS: dict[str, tuple[list[Call], list[tuple[dict[str, Fate], Image]]]] = {
    "synced bytes under a synced name are there": (_made(), [({}, {"a": _BYTES})]),
    "a name that was not synced may be gone": (
        _made()[:3],
        [({}, {}), ({"create": KEEP}, {"a": _BYTES})],
    ),
    "a synced name says nothing about its bytes": (
        [*_made()[:2], Call("sync", "")],
        [({}, {"a": b""}), ({"write": ZEROS}, {"a": bytes(10)})],
    ),
    "a sync of one file is none of another": (
        [*_two_files(), Call("write", "a", fd=3, data=b"A"), Call("sync", "b", fd=4)],
        [({}, {"a": _BYTES, "b": b"B123456789"})],
    ),
    "growth and shrinking may be lost by themselves": (
        [*_made(), Call("resize", "a", fd=3, length=4), Call("allocate", "a", fd=3, length=6)],
        [
            ({}, {"a": _BYTES}),
            ({"resize": KEEP}, {"a": b"0123"}),
            ({"resize": KEEP, "allocate": KEEP}, {"a": b"0123\0\0"}),
        ],
    ),
    "a sync makes growth and shrinking durable": (
        [*_made(), Call("resize", "a", fd=3, length=4), Call("sync", "a", fd=3)],
        [({}, {"a": b"0123"})],
    ),
    "a rename is one change, and may outlive the creation": (
        [*_made("a.tmp", 3)[:3], Call("rename", "a.tmp", "a")],
        [
            ({}, {}),
            ({"create": KEEP}, {"a.tmp": _BYTES}),
            ({"rename": KEEP}, {"a": _BYTES}),
            ({"create": KEEP, "rename": KEEP}, {"a": _BYTES}),
        ],
    ),
    "two names are exchanged as one change": (
        [*_two_files(), Call("sync", "b", fd=4), Call("rename", "a", "b", flags=2)],
        [
            ({}, {"a": _BYTES, "b": b"B123456789"}),
            ({"rename": KEEP}, {"a": b"B123456789", "b": _BYTES}),
        ],
    ),
    "an unlinked file may be there as it was last synced": (
        [*_made(), Call("write", "a", fd=3, data=b"X"), Call("unlink", "a")],
        [({}, {"a": _BYTES}), ({"unlink": KEEP}, {})],
    ),
    "a file of the same name is another file": (
        [
            *_made(),
            Call("unlink", "a"),
            *_made("a", 5)[:3],
            Call("write", "a", fd=3, data=b"old"),  # through the descriptor of the removed one
        ],
        [
            ({}, {"a": _BYTES}),
            ({"create": KEEP}, {"a": _BYTES}),
            ({"write": KEEP}, {"a": b"old3456789"}),
        ],
    ),
    "a directory whose name is lost takes everything in it along": (
        [Call("mkdir", "d"), *_made("d/a")],
        [({}, {}), ({"mkdir": KEEP}, {"d": None, "d/a": _BYTES})],
    ),
    "truncation at opening is a change like any other": (
        [*_made(), Call("open", "a", fd=7, flags=os.O_TRUNC | os.O_WRONLY)],
        [({}, {"a": _BYTES}), ({"truncate": KEEP}, {"a": b""})],
    ),
}


def _disk(*calls: Call) -> Disk:
    disk = Disk(volatile=("-shm",))
    for call in calls:
        disk.feed(call)
    return disk


@pytest.mark.parametrize("name", DISKS)
def test_a_power_cut_leaves_what_became_of_pending_changes(name: str) -> None:
    calls, images = DISKS[name]
    disk = _disk(*calls)
    for fates, image in images:
        found = {item: fates.get(item.what.split()[0]) for item in disk.pending()}
        assert disk.image(found) == image, fates
    assert disk.image(dict.fromkeys(disk.pending(), KEEP)) == disk.cache()


def test_a_later_write_may_be_kept_and_an_earlier_one_lost() -> None:
    disk = _disk(
        *_made(),
        Call("write", "a", fd=3, offset=0, data=b"AB"),
        Call("write", "a", fd=3, offset=12, data=b"CD"),
    )
    first, second = disk.pending()
    assert disk.image({second: KEEP})["a"] == b"0123456789\0\0CD"
    assert disk.image({first: KEEP})["a"] == b"AB23456789"
    assert disk.image({first: ((1, 2),)})["a"] == b"0B23456789"


def test_a_killed_process_leaves_the_cache_and_its_changes_stay_pending() -> None:
    disk = _disk(*_made(), Call("write", "a", fd=3, data=b"X"))
    disk.new_process()
    disk.feed(Call("open", "a", fd=3))
    assert disk.cache() == {"a": b"X123456789"}
    assert len(disk.pending()) == 1
    disk.feed(Call("sync", "a", fd=3))
    assert disk.image({}) == disk.cache()
    assert disk.durable("a") == b"X123456789"


def test_volatile_files_are_in_no_image_and_all_other_maps_for_stores_are_refused() -> None:
    disk = _disk(*_made(), *_made("a-shm", 4), Call("share", "a-shm", fd=4))
    assert set(disk.image({})) == {"a"} == set(disk.cache())
    with pytest.raises(ValueError, match="mapped for stores"):
        disk.feed(Call("share", "a", fd=3))

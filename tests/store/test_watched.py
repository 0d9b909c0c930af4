"""A store whose lock, log or catalog is removed or replaced while it is open says so at once.

Mechanism: an open file lives on without its name, and so do locks and logs. Damage: a second writer
got a lock of its own, both acknowledged what they wrote, and the store was ruined; or commits went
into a log that nobody would ever find, and were lost with the process. Guard: the next commit is a
typed error, what was acknowledged before it is there afterwards, and nothing else makes an alarm.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spector
from spector.errors import StoreError, StoreNotFoundError
from tests.crash.harness import in_fork, in_fresh_process
from tests.crash.workload import open_tiny, vector_of

DIM = 8


def opened(path: Path, **options: Any) -> spector.Memory:
    return spector.open(path, embedder=None, dim=DIM, **options)


def put(memory: spector.Memory, text: str) -> int:
    return memory.remember(text, vector=np.ones(DIM)).id


def write_there(path: str) -> int:
    with opened(Path(path)) as memory:
        return put(memory, "by the second")


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "removed": (remove, "removed while it was open"),
    "replaced": (replace, "another file than the one"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("name", ["LOCK", "catalog.db-wal"])
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
@pytest.mark.parametrize("end", ["closed", "killed"])
def test_what_was_acknowledged_is_there_afterwards(
    tmp_path: Path, name: str, how: str, durability: str, end: str
) -> None:
    act, message = CHANGES[how]

    def work() -> None:
        memory = opened(tmp_path / "mind", durability=durability)
        put(memory, "before")
        act(tmp_path / "mind" / name)
        for _ in range(2):
            with pytest.raises(StoreError, match=f"{name} .*{message}"):
                put(memory, "afterwards")
        if end == "closed":
            with contextlib.suppress(StoreError):  # it cannot do all that a close does
                memory.close()
        os._exit(0)

    opened(tmp_path / "mind").close()
    assert in_fork(work) == 0
    with opened(tmp_path / "mind") as memory:
        assert [each.text for each in memory] == ["before"]
        assert memory.check().ok
        put(memory, "life goes on")


def test_only_the_writer_with_the_lock_writes(tmp_path: Path) -> None:
    path = tmp_path / "mind"
    with opened(path) as memory:
        known = put(memory, "before")

    def first() -> None:
        memory = opened(path)
        (path / "LOCK").unlink()
        assert in_fresh_process("tests.store.test_watched:write_there", path=str(path))
        for change in (
            lambda: put(memory, "x"),
            lambda: memory.update(known, importance=0.1),
            lambda: memory.forget(known),
        ):
            with pytest.raises(StoreError, match="another file"):
                change()
        assert [(p.code, p.file) for p in memory.check().problems] == [("I14", "LOCK")]
        memory.close()

    assert in_fork(first) == 0
    with opened(path) as memory:
        assert {each.text for each in memory} == {"before", "by the second"}
        assert memory.check().ok


@pytest.mark.parametrize("name", ["LOCK", "catalog.db-wal", "catalog.db"])
def test_a_file_that_is_put_back_is_the_one(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / "mind") as memory:
        put(memory, "before")
        path = tmp_path / "mind" / name
        path.rename(tmp_path / name)
        with pytest.raises(StoreError, match="removed"):
            put(memory, "meanwhile")
        (tmp_path / name).rename(path)
        put(memory, "afterwards")
        memory.checkpoint()
        assert memory.check().ok


def test_a_log_that_begins_anew_is_no_other_one(tmp_path: Path) -> None:
    """Mechanism: checkpoints cut it, readers come and go; the file stays."""
    with opened(tmp_path / "mind", config=spector.Config(checkpoint_bytes=4096)) as memory:
        for n in range(40):
            put(memory, f"{n} " + "x" * 2000)
            with opened(tmp_path / "mind", mode="r") as reader:
                assert len(reader) == n + 1
            if n % 10 == 9:
                memory.forget([next(iter(memory)).id], purge=True)
                put(memory, "y")
                memory.forget([max(each.id for each in memory)])
                break
        memory.checkpoint()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_file_that_cannot_be_looked_at_is_not_taken_for_a_removed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Mechanism: a process may drop its rights to the directory; what is open can be written."""
    real = os.lstat

    def refused(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if str(path).startswith(str(tmp_path / "mind")):
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **options)

    with opened(tmp_path / "mind") as memory:
        put(memory, "before")
        monkeypatch.setattr(os, "lstat", refused)
        put(memory, "afterwards")
        monkeypatch.undo()
        assert len(memory) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_writer_that_has_dropped_its_rights_goes_on(tmp_path: Path) -> None:
    def work() -> None:
        memory = opened(tmp_path / "mind")
        put(memory, "before")
        os.seteuid(65534)
        put(memory, "afterwards")
        os.seteuid(0)
        memory.close()

    assert in_fork(work) == 0
    with opened(tmp_path / "mind") as memory:
        assert len(memory) == 2


# -- A catalog that is there and cannot be opened is not a store that is missing -------------------
#
# Mechanism: SQLite has one error for both, SQLITE_CANTOPEN. Damage: a caller who takes a missing
# store for an empty one, and makes a new one elsewhere or answers from nothing, when it was out of
# descriptors for a moment. Guard: "not found" is said only where there is no such file.


def test_reader_without_a_descriptor_left_is_not_told_that_there_is_no_store(
    store_path: Path,
) -> None:
    with open_tiny(str(store_path)) as memory:
        memory.remember("kept", vector=vector_of("kept"))

    def work() -> None:
        refusals, last = list[StoreError](), 0
        while last < 63:  # all below are taken
            last = os.open(os.devnull, os.O_RDONLY)
        for room in range(24):
            resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1 + room, 4096))
            try:
                with open_tiny(str(store_path), mode="r") as reader:
                    assert len(reader) == 1
                    assert [hit.text for hit in reader.recall(vector=vector_of("kept"))] == ["kept"]
            except StoreError as error:
                refusals.append(error)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        assert 0 < len(refusals) < 24, refusals
        assert all(error.hint for error in refusals)
        assert not [error for error in refusals if isinstance(error, StoreNotFoundError)]

    assert in_fork(work) == 0

"""One writer: other processes, other paths, forks, unwritable and foreign directories."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import (
    CatalogCorruptError,
    StoreClosedError,
    StoreError,
    StoreLockedError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.store.files import lock
from spector.store.files.lock import DEAD_HOLDER_WAIT_S
from tests.crash.harness import in_fork, in_fresh_process
from tests.crash.workload import open_tiny, put, texts_of, vector_of


@pytest.mark.sampled
@pytest.mark.parametrize(
    "scenario",
    [
        "use_after_fork",
        "child_exit_keeps_later_commits",
        "unrelated_closes_keep_the_lock",
        "close_in_a_child_forked_during_a_commit",
        "child_of_a_process_that_had_it_open",
        "use_in_a_child_forked_while_a_thread_has_the_lock",
    ],
)
def test_fork(scenario: str) -> None:
    wrong = in_fresh_process(f"tests.crash.forks:{scenario}")
    assert wrong == []


@pytest.mark.sampled
@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_child_that_outlives_its_parent_keeps_no_lock(killed: bool) -> None:
    found = in_fresh_process("tests.crash.forks:surviving_child_keeps_no_lock", killed=killed)
    assert found == []


def test_descriptor_of_a_killed_writer_in_a_child_before_exec_is_waited_for() -> None:
    found = in_fresh_process("tests.crash.forks:descriptor_of_a_killed_holder", lets_go=True)
    assert found["texts"] == ["m"], found
    assert found["steps"] == 1


@pytest.mark.slow
def test_child_that_keeps_a_killed_writers_descriptor_is_an_error_after_a_bounded_wait() -> None:
    found = in_fresh_process("tests.crash.forks:descriptor_of_a_killed_holder", lets_go=False)
    assert str(found["holder"]) in found["error"]
    assert "dead" in found["error"]
    assert "fuser" in found["hint"]
    assert 'mode="r"' in found["hint"]
    assert found["slept_s"] == pytest.approx(DEAD_HOLDER_WAIT_S)


@pytest.fixture
def locked(store_path: Path) -> Iterator[Path]:
    """A store whose lock somebody has, and whose file LOCK the test fills in."""
    open_tiny(str(store_path)).close()
    with (store_path / "LOCK").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield store_path


_LIVING = [f"{pid}\n" for pid in (os.getpid(), os.getppid(), 1)]
_NOBODY = ["", "\n", "two words", "0", "-1", "99999999999", "1e3", "é"]


@pytest.mark.parametrize("holder", _LIVING + _NOBODY, ids=["own", "parent", "init", *_NOBODY])
def test_lock_that_names_no_dead_process_is_not_waited_for(
    locked: Path, monkeypatch: pytest.MonkeyPatch, holder: str
) -> None:
    (locked / "LOCK").write_text(holder)
    monkeypatch.setattr(lock, "sleep", lambda _: pytest.fail("waited"))
    with pytest.raises(StoreLockedError, match="being written by process"):
        open_tiny(str(locked))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_lock_of_a_dead_process_that_nobody_has_reaped_is_waited_for(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def let_go(_: float) -> None:
        with (locked / "LOCK").open("rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (locked / "LOCK").write_text(f"{os.getpid()}\n")  # a faster one, who lives

    monkeypatch.setattr(lock, "sleep", let_go)
    with subprocess.Popen([sys.executable, "-c", ""]) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        (locked / "LOCK").write_text(f"{zombie.pid}\n")
        with pytest.raises(StoreLockedError, match=f"written by process {os.getpid()}"):
            open_tiny(str(locked))


def test_interrupted_wait_for_the_lock_keeps_no_descriptor(
    locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lock, "sleep", interrupt)
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    (locked / "LOCK").write_text(f"{dead.pid}\n")
    before = os.listdir("/dev/fd")
    with pytest.raises(KeyboardInterrupt):
        open_tiny(str(locked))
    assert len(os.listdir("/dev/fd")) == len(before)


@contextlib.contextmanager
def _bound(store: Path, other: Path) -> Iterator[None]:
    other.mkdir()
    mount = shutil.which("mount")
    done = subprocess.run(
        [mount or "false", "--bind", str(store), str(other)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no bind mounts here: {done.stderr.strip() or 'no mount'}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(other)], check=True)


@contextlib.contextmanager
def _hard_linked(store: Path, other: Path) -> Iterator[None]:
    """Directories cannot be linked, but all the files in them can."""
    shutil.copytree(store, other, copy_function=os.link)
    yield


@contextlib.contextmanager
def _symlinked(store: Path, other: Path) -> Iterator[None]:
    other.symlink_to(store)
    yield


@pytest.mark.parametrize(
    "way",
    [_symlinked, _hard_linked, _bound],
    ids=lambda way: way.__name__.strip("_"),
)
def test_second_writer_by_another_path_is_refused(
    store_path: Path, way: Callable[[Path, Path], Any]
) -> None:
    other = store_path.parent / "other"
    with open_tiny(str(store_path)) as memory, way(store_path, other):
        for name in (str(other), f"{other}/", os.path.relpath(other), f"{other}/../{other.name}"):
            with pytest.raises(StoreLockedError, match=f"this process .pid {os.getpid()}."):
                open_tiny(name)
        put(memory, "m")


def test_pid_of_the_dead_holder_that_is_somebody_elses_now_is_no_obstacle(store_path: Path) -> None:
    open_tiny(str(store_path)).close()
    for pid in (1, os.getppid(), os.getpid()):
        (store_path / "LOCK").write_text(f"{pid}\n")
        open_tiny(str(store_path)).close()


def test_closed_store_says_so_for_every_verb(store_path: Path) -> None:
    memory = open_tiny(str(store_path))
    record_id = put(memory, "m")
    memory.close()
    memory.close()
    verbs: list[Callable[[], object]] = [
        lambda: memory.get(record_id),
        lambda: put(memory, "x"),
        lambda: memory.recall("m"),
        lambda: list(memory),
        lambda: len(memory),
        memory.check,
        memory.compact,
        memory.reflect,
        memory.stats,
        lambda: memory.forget(record_id),
        memory.checkpoint,
        lambda: memory.update(record_id, text="x"),
        lambda: memory.reinforce(record_id),
        lambda: memory.pin(record_id),
        lambda: record_id in memory,
    ]
    for verb in verbs:
        with pytest.raises(StoreClosedError) as error:
            verb()
        assert error.value.hint


def test_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("hello")
    for mode in ("rw", "r"):
        with pytest.raises(StoreError, match=r"file|no spector store"):
            open_tiny(str(path), mode=mode)
    assert path.read_text() == "hello"


def test_foreign_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreNotFoundError, match="not empty"):
        open_tiny(str(tmp_path))
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_reading_what_does_not_exist_creates_nothing(store_path: Path) -> None:
    with pytest.raises(StoreNotFoundError):
        open_tiny(str(store_path), mode="r")
    assert not store_path.exists()


def _as_nobody(work: Callable[[], object]) -> int:
    def child() -> None:
        if os.getuid() == 0:  # root may write everywhere
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        work()

    return in_fork(child)


def _expect(error: type[Exception], call: Callable[[], object]) -> None:
    with pytest.raises(error):
        call()


@pytest.fixture
def unwritable(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store that nobody may write but everybody may read."""
    path = tmp_path / "mind"
    with open_tiny(str(path)) as memory:
        put(memory, "m")
    for folder, _, names in os.walk(path):
        os.chmod(folder, 0o555)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o444)
    ours = tmp_path_factory.getbasetemp()
    for parent in path.parents:
        if parent.is_relative_to(ours) or parent.name.startswith("pytest-of-"):
            os.chmod(parent, 0o755)
        elif os.getuid() == 0 and not os.stat(parent).st_mode & 0o001:
            pytest.skip(f"nobody but root may enter {parent}; set TMPDIR")
    return path


def test_unwritable_store_opens_for_reading_only(unwritable: Path) -> None:
    def work() -> None:
        _expect(StoreReadOnlyError, lambda: open_tiny(str(unwritable)))
        with open_tiny(str(unwritable), mode="r") as memory:
            assert list(texts_of(memory).values()) == ["m"]
            assert memory.recall(vector=vector_of("m"))[0].text == "m"
            assert memory.check().ok
            _expect(StoreReadOnlyError, lambda: put(memory, "x"))
        assert spector.check(str(unwritable)).ok

    assert _as_nobody(work) == 0


def test_new_store_in_an_unwritable_directory_is_refused(unwritable: Path) -> None:
    fresh = str(unwritable / "fresh")
    assert _as_nobody(lambda: _expect(StoreReadOnlyError, lambda: open_tiny(fresh))) == 0


# -- the file LOCK of another store ----------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two stores, of which the second has seen more."""
    for name, count in (("one", 1), ("other", 5)):
        with open_tiny(str(tmp_path / name)) as memory:
            for n in range(count):
                memory.remember(f"{name} {n}", vector=vector_of(f"{name} {n}"))
    return tmp_path / "one", tmp_path / "other"


@pytest.mark.parametrize("way", [shutil.copy, os.link], ids=["copied", "linked"])
def test_lock_of_another_store_is_no_obstacle(two: tuple[Path, Path], way: Any) -> None:
    one, other = two
    (one / "LOCK").unlink()
    way(other / "LOCK", one / "LOCK")
    assert spector.check(one).ok
    with open_tiny(str(one), mode="r") as memory:
        assert len(memory) == 1
    with open_tiny(str(one)) as memory:
        memory.remember("more", vector=vector_of("more"))
    assert spector.check(one).ok
    assert spector.check(other).ok
    with open_tiny(str(other)) as memory:
        assert len(memory) == 5


def test_stores_that_share_one_lock_are_written_one_after_the_other(two: tuple[Path, Path]) -> None:
    """Nothing is lost by it, and who waits is told of the process that writes."""
    one, other = two
    (one / "LOCK").unlink()
    os.link(other / "LOCK", one / "LOCK")
    with open_tiny(str(one)), pytest.raises(StoreLockedError, match=rf"\(pid {os.getpid()}\)"):
        open_tiny(str(other))
    open_tiny(str(other)).close()


def test_lock_of_a_later_state_of_the_same_store_says_what_to_do(tmp_path: Path) -> None:
    """It looks as if commits were lost, and only somebody who knows better can say otherwise."""
    with open_tiny(str(tmp_path / "mind")) as memory:
        memory.remember("first", vector=vector_of("first"))
    shutil.copytree(tmp_path / "mind", tmp_path / "before")
    with open_tiny(str(tmp_path / "mind")) as memory:
        memory.remember("second", vector=vector_of("second"))
    shutil.copy(tmp_path / "mind" / "LOCK", tmp_path / "before" / "LOCK")
    with pytest.raises(CatalogCorruptError, match="lost commits") as caught:
        open_tiny(str(tmp_path / "before"))
    assert "delete the file LOCK" in caught.value.hint
    (tmp_path / "before" / "LOCK").unlink()
    with open_tiny(str(tmp_path / "before")) as memory:
        assert len(memory) == 1

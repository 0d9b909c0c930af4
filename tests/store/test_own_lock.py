"""Who is refused a lock that this very process has is told so.

Mechanism: the holder is looked for among the locks of this process, by the file of the lock.
Damage without it: a notebook cell that is run again is sent to close the store "there", in a
process of its own number. Guard: every way to come by the same store again, and every way in which
it only looks like it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import StoreLockedError
from spector.store.files import lock
from spector.store.files.lock import WriterLock, without_writer
from tests.crash.harness import in_fork
from tests.crash.workload import open_tiny, vector_of


def linked(path: Path) -> str:
    link = path.parent / "link"
    link.symlink_to(path)
    return str(link)


def hard_linked(path: Path) -> str:
    other = path.parent / "other"
    other.mkdir()
    os.link(path / "LOCK", other / "LOCK")
    return str(other)


def within(path: Path) -> str:
    (path.parent / "a").mkdir()
    return f"{path.parent}/a/../{path.name}/."


WAYS: dict[str, Callable[[Path], str]] = {
    "the same path": str,
    "a relative path": lambda path: os.path.relpath(path),
    "a link": linked,
    "a detour": within,
    "another directory with the same lock": hard_linked,
}


def refusal(open_it: Callable[[], Any]) -> StoreLockedError:
    with pytest.raises(StoreLockedError) as caught:
        open_it()
    return caught.value


def assert_own(error: StoreLockedError) -> None:
    assert f"this process (pid {os.getpid()})" in error.message
    assert "close()" in error.hint
    assert "del" in error.hint


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_this_process_is_named(
    store_path: Path, way: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "sleep", lambda _: pytest.fail("waited for itself"))
    monkeypatch.chdir(store_path.parent)
    with open_tiny(str(store_path)):
        again = way(store_path)
        assert_own(refusal(lambda: open_tiny(again)))
        assert_own(refusal(lambda: open_tiny(again)))
    open_tiny(again).close()


def test_another_thread_of_it_is_told_the_same(store_path: Path) -> None:
    found: list[StoreLockedError] = []
    with open_tiny(str(store_path)):
        thread = threading.Thread(
            target=lambda: found.append(refusal(lambda: open_tiny(str(store_path))))
        )
        thread.start()
        thread.join()
    assert_own(found[0])


def test_what_only_looks_at_it_is_told_the_same(store_path: Path, tmp_path: Path) -> None:
    with open_tiny(str(store_path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        assert_own(refusal(lambda: spector.repair(store_path, tmp_path / "whole")))
        assert_own(refusal(lambda: without_writer(str(store_path)).__enter__()))
        with open_tiny(str(store_path), mode="r") as reader:
            assert len(reader) == 1, "as the hint says"


def test_a_forked_child_is_told_of_its_parent_and_not_sent_to_read(store_path: Path) -> None:
    """What was open at the fork cannot be opened in the child to read either."""
    with open_tiny(str(store_path)) as memory:
        memory.remember("m", vector=vector_of("m"))
        parent = os.getpid()

        def child() -> None:
            error = refusal(lambda: open_tiny(str(store_path)))
            assert f"process {parent}, which this process (pid {os.getpid()})" in error.message
            assert "before the fork" in error.hint
            assert 'mode="r"' not in error.hint

            def grandchild() -> None:
                assert str(parent) in refusal(lambda: open_tiny(str(store_path))).message

            assert in_fork(grandchild) == 0

        assert in_fork(child) == 0
        memory.remember("n", vector=vector_of("n"))


def test_another_process_is_named_as_before(store_path: Path) -> None:
    code = (
        "import sys; from tests.crash.workload import open_tiny; m = open_tiny(sys.argv[1]);"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(store_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        error = refusal(lambda: open_tiny(str(store_path)))
        assert f"being written by process {other.pid}" in error.message
        assert 'mode="r"' in error.hint
        other.communicate()


def test_a_lock_that_was_given_back_is_nobody_s(store_path: Path) -> None:
    store_path.mkdir()
    first = WriterLock(str(store_path))
    assert first.is_held
    assert_own(refusal(lambda: WriterLock(str(store_path))))
    first.release()
    first.release()
    assert not first.is_held
    WriterLock(str(store_path)).release()

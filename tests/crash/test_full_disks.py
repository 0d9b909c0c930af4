"""Small file systems that are really full: everything that takes room, begun without, then with.

Mechanism: a quota in front of libc is not a kernel. A map of a page that the disk has no room for
is a SIGBUS, a write may be accepted and its sync refused, and what is free is not what was asked
for. Damage: a process that dies, or a store that stays failed, at the first full disk. Guard: a
typed error, nothing acknowledged lost, and the same open store goes on once there is room.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import spector
from spector.errors import StoreFullError
from tests.crash.workload import START, open_tiny, texts_of, vector_of

pytestmark = pytest.mark.crash

NOW = START + timedelta(days=3)
#: what takes room besides remembering; the store's own disk has to hold the copy as well
UPKEEP: dict[str, Callable[[spector.Memory, Path], Any]] = {
    "reflect": lambda memory, disk: memory.reflect("upkeep"),
    "compact": lambda memory, disk: memory.compact(),
    "checkpoint": lambda memory, disk: memory.checkpoint(),
    "backup": lambda memory, disk: memory.backup(str(disk / "copy")),
}
_LEFT = [0, 4096, 12_288, 28_672, 65_536, 131_072]


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.slow)])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, or one of 8 MiB in a file, half of which its own tables may take."""
    place, image = tmp_path / "disk", tmp_path / "disk.img"
    place.mkdir()
    if request.param == "tmpfs":
        _mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place))
    else:
        image.touch()
        os.truncate(image, 8 << 20)
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-J", "size=1", str(image))
        _mount("-o", "loop", str(image), str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _mount(*options: str) -> None:
    _run("mount", *options)


def _run(*command: str) -> None:
    """Skips the test where that is impossible."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no {command[0]} here: {error.strerror}")
    if done.returncode:
        pytest.skip(f"cannot make a small file system here: {command[0]}: {done.stderr.strip()}")


def _fill(memory: spector.Memory, word: str, most: int = 9000) -> dict[int, str]:
    """Remember until there is no room, or ``most`` times; what was acknowledged."""
    acked: dict[int, str] = {}
    for n in range(most):
        text = f"{word}{n} version 0 " + "padding " * 60
        try:
            acked[memory.remember(text, vector=vector_of(text)).id] = text
        except StoreFullError as error:
            full = error
            break
    else:
        assert most < 9000, "the disk was never full"
        return acked
    assert full.message
    assert "free" in full.hint
    return acked


def _leave(disk: Path, left: int) -> None:
    """Take all room on the disk but ``left`` bytes."""
    with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    os.truncate(disk / "ballast", max(0, (disk / "ballast").stat().st_size - left))


def _sound(memory: spector.Memory, alive: dict[int, str]) -> None:
    assert texts_of(memory) == alive
    assert not memory._parts.store.failed
    assert [str(problem) for problem in memory.check().problems] == []
    for text in [*alive.values()][:: max(1, len(alive) // 3)]:
        hits = memory.recall(vector=vector_of(text), k=1, lexical=False, profile="similarity")
        assert [hit.text for hit in hits] == [text]


@pytest.mark.parametrize("durability", ["strict", "relaxed"])
def test_full_file_system_keeps_all_and_the_same_store_goes_on(disk: Path, durability: str) -> None:
    (disk / "ballast").write_bytes(bytes(1_500_000))
    with open_tiny(str(disk / "mind"), durability=durability) as memory:
        alive = _fill(memory, "first")
        assert len(alive) > 20
        _sound(memory, alive)
        os.truncate(disk / "ballast", 0)
        more = _fill(memory, "second", 20)
        assert len(more) == 20, "not usable after space was freed"
        alive |= more
        _sound(memory, alive)
    with open_tiny(str(disk / "mind"), mode="r") as memory:
        _sound(memory, alive)


@pytest.mark.parametrize("verb", UPKEEP)
def test_upkeep_begun_without_room_changes_nothing_and_works_with_room(
    disk: Path, verb: str
) -> None:
    path, refused = str(disk / "mind"), list[StoreFullError]()
    with open_tiny(path) as memory:
        texts = [f"old{n} version 0 " + "padding " * 60 for n in range(60)]
        memory.remember_many(
            [{"text": text, "vector": vector_of(text), "event_time": START} for text in texts]
        )
    with open_tiny(path, at=NOW) as memory:
        alive = texts_of(memory)
        alive |= _fill(memory, "new", 8)
        for record_id in list(alive)[::3]:
            memory.forget(record_id)
            del alive[record_id]
        for left in _LEFT:
            _leave(disk, left)
            try:
                UPKEEP[verb](memory, disk)
            except StoreFullError as error:
                refused.append(error)
            else:
                break
            assert not (disk / "copy").exists(), "half a copy goes by the name of a whole one"
            _sound(memory, alive)
        (disk / "ballast").unlink()
        UPKEEP[verb](memory, disk)
        alive |= _fill(memory, "more", 20)
        _sound(memory, alive)
    with open_tiny(path, mode="r") as memory:
        _sound(memory, alive)
    if verb == "backup":
        with open_tiny(str(disk / "copy"), mode="r") as copy:
            assert texts_of(copy).items() <= alive.items()
            assert len(copy) == len(alive) - 20
            assert copy.check().ok
    assert all(error.message and error.hint for error in refused)
    assert refused or verb == "checkpoint", "it never met the end of the disk"


@pytest.mark.sampled
@pytest.mark.parametrize("durability", ["strict", "relaxed"])
@pytest.mark.parametrize("left", [0, 4096, 20_000])
def test_closing_on_a_full_disk_is_no_error(disk: Path, durability: str, left: int) -> None:
    """Mechanism: a relaxed writer's last commit, the note that all is durable, had no room. Damage:
    `with spector.open(...)` ended in an error although nothing was lost. Guard: the note stays, and
    the next opening reconciles."""
    with open_tiny(str(disk / "mind"), durability=durability) as memory:
        alive = _fill(memory, "old", 30)
        _leave(disk, left)
        alive |= _fill(memory, "too late")
        for record_id in list(alive)[::2]:
            try:
                memory.forget(record_id)
            except StoreFullError:
                break
            del alive[record_id]
        store = memory._parts.store
    assert not store.failed
    with open_tiny(str(disk / "mind"), mode="r") as memory:
        assert texts_of(memory) == alive, "closing without room lost something"
    (disk / "ballast").unlink()
    with open_tiny(str(disk / "mind")) as memory:
        _sound(memory, alive)

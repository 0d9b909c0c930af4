"""The model disk loses what it may and keeps what it must."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from tests.crash.disk import KEEP, ZEROS, Disk, Fate, Image, Item
from tests.crash.trace import Call

pytestmark = pytest.mark.crash


def _disk(*calls: Call) -> Disk:
    disk = Disk(volatile=("-shm",))
    for call in calls:
        disk.feed(call)
    return disk


def _made(path: str = "a", fd: int = 3) -> list[Call]:
    """A file whose name is safe and whose bytes are ``0123456789``."""
    return [
        Call("create", path, fd=fd),
        Call("write", path, fd=fd, data=b"0123456789"),
        Call("sync", path, fd=fd),
        Call("sync", os.path.dirname(path)),
    ]


def _what(items: Iterable[Item]) -> list[str]:
    return [item.what for item in items]


def _with(disk: Disk, **fates: Fate) -> Image:
    """The image in which the pending items whose words begin so had these fates."""
    return disk.image(
        {
            item: fate
            for item in disk.pending()
            for word, fate in fates.items()
            if item.what.split()[0] == word
        }
    )


def test_what_was_synced_is_there_and_nothing_is_pending() -> None:
    disk = _disk(*_made())
    assert disk.pending() == []
    assert disk.image({}) == {"a": b"0123456789"} == disk.cache()


def test_synced_bytes_under_a_name_that_was_not_synced_may_be_gone() -> None:
    disk = _disk(*_made()[:3])
    assert _what(disk.pending()) == ["create a"]
    assert disk.image({}) == {}
    assert _with(disk, create=KEEP) == {"a": b"0123456789"}
    assert disk.durable("a") is None


def test_a_synced_name_says_nothing_about_its_bytes() -> None:
    disk = _disk(*_made()[:2], Call("sync", ""))
    assert disk.image({}) == {"a": b""}
    assert _with(disk, write=ZEROS) == {"a": bytes(10)}


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


def test_a_sync_of_one_file_is_none_of_another() -> None:
    disk = _disk(
        *_made("a", 3),
        *_made("b", 4),
        Call("write", "a", fd=3, data=b"A"),
        Call("write", "b", fd=4, data=b"B"),
        Call("sync", "b", fd=4),
    )
    assert disk.image({}) == {"a": b"0123456789", "b": b"B123456789"}


def test_growth_and_shrinking_may_be_lost_by_themselves() -> None:
    disk = _disk(
        *_made(),
        Call("resize", "a", fd=3, length=4),
        Call("allocate", "a", fd=3, length=6),
    )
    assert _with(disk)["a"] == b"0123456789"
    assert _with(disk, resize=KEEP)["a"] == b"0123"
    assert _with(disk, resize=KEEP, allocate=KEEP)["a"] == b"0123\0\0"
    disk.feed(Call("sync", "a", fd=3))
    assert disk.image({})["a"] == b"0123\0\0"


def test_a_rename_is_lost_or_kept_as_one_and_may_outlive_the_creation() -> None:
    disk = _disk(*_made("a.tmp", 3)[:3], Call("rename", "a.tmp", "a"))
    assert [
        set(_with(disk, create=c, rename=r))
        for c, r in [
            (None, None),
            (KEEP, None),
            (None, KEEP),
            (KEEP, KEEP),
        ]
    ] == [set(), {"a.tmp"}, {"a"}, {"a"}]


def test_two_names_are_exchanged_as_one_change() -> None:
    disk = _disk(
        *_made("a", 3),
        *_made("b", 4),
        Call("write", "b", fd=4, data=b"B"),
        Call("sync", "b", fd=4),
        Call("rename", "a", "b", flags=2),
    )
    before = {"a": b"0123456789", "b": b"B123456789"}
    assert _with(disk) == before
    assert _with(disk, rename=KEEP) == {"a": before["b"], "b": before["a"]} == disk.cache()


def test_an_unlinked_file_may_be_there_as_it_was_last_synced() -> None:
    disk = _disk(*_made(), Call("write", "a", fd=3, data=b"X"), Call("unlink", "a"))
    assert _what(disk.pending()) == ["write a 0+1", "unlink a"]
    assert _with(disk) == {"a": b"0123456789"}
    assert _with(disk, unlink=KEEP) == {}
    disk.feed(Call("sync", ""))
    assert disk.pending() == []  # nothing leads to the file


def test_a_file_of_the_same_name_is_another_file() -> None:
    disk = _disk(*_made(), Call("unlink", "a"), *_made("a", 5)[:3])
    assert _with(disk) == {"a": b"0123456789"}
    disk.feed(Call("write", "a", fd=3, data=b"old"))  # through the descriptor of the removed one
    assert _with(disk, create=KEEP) == {"a": b"0123456789"}
    assert _with(disk, write=KEEP) == {"a": b"old3456789"}


def test_a_directory_whose_name_is_lost_takes_everything_in_it_along() -> None:
    disk = _disk(Call("mkdir", "d"), *_made("d/a"))
    assert _what(disk.pending()) == ["mkdir d"]
    assert disk.image({}) == {}
    assert _with(disk, mkdir=KEEP) == {"d": None, "d/a": b"0123456789"}


def test_truncation_at_open_is_a_change_like_any_other() -> None:
    disk = _disk(*_made(), Call("open", "a", fd=7, flags=os.O_TRUNC | os.O_WRONLY))
    assert _with(disk)["a"] == b"0123456789"
    assert _with(disk, truncate=KEEP)["a"] == b""


def test_a_killed_process_leaves_the_cache_and_its_changes_stay_pending() -> None:
    disk = _disk(*_made(), Call("write", "a", fd=3, data=b"X"))
    disk.new_process()
    disk.feed(Call("open", "a", fd=3))
    assert disk.cache() == {"a": b"X123456789"}
    assert len(disk.pending()) == 1
    disk.feed(Call("sync", "a", fd=3))
    assert disk.image({}) == disk.cache()


def test_volatile_files_are_in_no_image_and_all_other_maps_for_stores_are_refused() -> None:
    disk = _disk(*_made(), *_made("a-shm", 4), Call("share", "a-shm", fd=4))
    assert set(disk.image({})) == {"a"} == set(disk.cache())
    with pytest.raises(ValueError, match="mapped for stores"):
        disk.feed(Call("share", "a", fd=3))

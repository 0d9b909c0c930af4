"""What is synced is on the medium, on systems whose fsync does not mean that as well."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from spector.store.catalog.catalog import Catalog
from spector.store.files import syncing as sync
from spector.store.files.disk import DiskFiles

FULL = 51


class _Mac:
    """An operating system with F_FULLFSYNC, which answers with ``error`` if there is one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int = 0) -> None:
        self.calls: list[str] = []

        def control(fd: int, command: int) -> int:
            assert command == FULL
            self.calls.append("full")
            if error:
                raise OSError(error, os.strerror(error))
            return 0

        def noted(name: str) -> Callable[[int], None]:
            return lambda fd: self.calls.append(name)

        monkeypatch.setattr(sync, "fcntl", SimpleNamespace(fcntl=control, F_FULLFSYNC=FULL))
        monkeypatch.setattr(os, "fsync", noted("fsync"))
        monkeypatch.setattr(os, "fdatasync", noted("fdatasync"))


def _sync_both(root: Path) -> None:
    files = DiskFiles(str(root))
    file = files.open("a.mem", create=True)
    file.extend(64)
    file.write_at(0, b"x")
    file.sync()
    file.close()
    files.sync_dir("a.mem")


def test_macos_waits_until_files_and_names_are_on_the_medium(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch)
    _sync_both(tmp_path)
    assert set(mac.calls) == {"full"}
    assert len(mac.calls) >= 2


def test_file_system_without_a_full_sync_gets_the_plain_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch, errno.ENOTSUP)
    _sync_both(tmp_path)
    assert mac.calls.count("fsync") + mac.calls.count("fdatasync") == mac.calls.count("full") >= 2


def test_full_sync_that_fails_is_not_tried_again_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = _Mac(monkeypatch, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        sync.sync_data(-1)
    assert mac.calls == ["full"]


def test_catalog_of_a_writer_is_synced_in_full(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path / "catalog.db"), mode="rw", durability="strict")
    try:
        main: sqlite3.Connection = catalog.main
        for pragma in ("fullfsync", "checkpoint_fullfsync"):
            assert main.execute(f"PRAGMA {pragma}").fetchone() == (1,), pragma
    finally:
        catalog.close()

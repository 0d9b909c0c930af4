"""A batch may touch more partitions than a process may have descriptors."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from spector.memory import Memory
from spector.store.core import partition_set, transaction
from spector.store.files.disk import DiskFile
from tests.conftest import NOW

KEPT, EVERY = 6, 5
DAYS = 60


class _Opened:
    """How many files of partitions are open, and how many were at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = 0
        self.now: set[DiskFile] = set()
        self.synced: set[str] = set()
        init, close, sync = DiskFile.__init__, DiskFile.close, DiskFile.sync

        def opened(file: DiskFile, fd: int, path: str) -> None:
            init(file, fd, path)
            if path.endswith(".mem"):
                self.now.add(file)
                self.most = max(self.most, len(self.now))

        def closed(file: DiskFile) -> None:
            self.now.discard(file)
            close(file)

        def synced(file: DiskFile) -> None:
            sync(file)
            self.synced.add(Path(file._path).name)

        monkeypatch.setattr(DiskFile, "__init__", opened)
        monkeypatch.setattr(DiskFile, "close", closed)
        monkeypatch.setattr(DiskFile, "sync", synced)


def test_a_batch_over_many_days_keeps_few_files_open(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_set, "OPEN_FILES", KEPT)
    monkeypatch.setattr(transaction, "_TRIM_EVERY", EVERY)
    monkeypatch.setattr(transaction, "_OPENED_BEFORE_COMMIT", EVERY)
    seen = _Opened(monkeypatch)
    texts = [f"what happened {day} days ago" for day in range(DAYS)]
    memory.remember_many(
        {"text": text, "event_time": NOW - timedelta(days=day)} for day, text in enumerate(texts)
    )
    # what the last trim left, and what was touched since
    assert seen.most <= KEPT + EVERY
    assert len(seen.synced) >= DAYS - KEPT - EVERY
    assert {hit.text for hit in memory.recall("what happened", k=DAYS)} == set(texts)

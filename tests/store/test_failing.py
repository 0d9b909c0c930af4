"""After which errors a store takes no more writes until it is opened again.

Mechanism: a sync that failed once may succeed the next time although the bytes are lost, so what
the disk has is not known any more; whereas too many open files, or a full disk, leave nothing in
doubt. Damage: writes go on beside a partition that never got its bytes; or a host that was short of
descriptors for a moment must be started again. Mutation hunting swapped the two, and no quick test
noticed.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from spector.errors import StoreError, StoreFailedError
from spector.store.files.disk import DiskFile
from spector.store.files.os_errors import translate_os_errors
from tests.crash.workload import open_tiny, texts_of, vector_of


@pytest.mark.parametrize(
    ("code", "fails"),
    [
        (errno.EIO, True),
        (errno.EBADF, True),
        (errno.EMFILE, False),
        (errno.ENFILE, False),
        (errno.ENOSPC, False),
    ],
    ids=["EIO", "EBADF", "EMFILE", "ENFILE", "ENOSPC"],
)
def test_an_error_of_a_new_partitions_sync_fails_the_store_or_does_not(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, fails: bool
) -> None:
    def failing(file: DiskFile) -> None:
        with translate_os_errors("sync", "a partition"):
            raise OSError(code, os.strerror(code))

    def put(text: str, tier: str) -> None:
        memory.remember(text, vector=vector_of(text), tier=tier)

    memory = open_tiny(str(store_path))
    put("before", "semantic")
    with monkeypatch.context() as patch:
        patch.setattr(DiskFile, "sync", failing)
        with pytest.raises(StoreError, match="cannot sync"):
            put("beside", "episodic")
    if fails:
        with pytest.raises(StoreFailedError, match="open it again"):
            put("after", "episodic")
    else:
        put("after", "episodic")
    memory.close()
    with open_tiny(str(store_path)) as memory:
        assert sorted(texts_of(memory).values()) == ["after", "before"][fails:]
        assert memory.check().ok


def test_a_store_that_an_interrupt_has_failed_says_so(store_path: Path) -> None:
    memory = open_tiny(str(store_path))
    memory._parts.store._failed = KeyboardInterrupt()
    with pytest.raises(StoreFailedError, match="failed: KeyboardInterrupt"):
        memory.remember("after", vector=vector_of("after"))
    memory.close()

"""The functions at the top of the package: open, check, restore a store, give one new vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from spector.config import Config
from spector.embed import Embedder, resolve
from spector.errors import CatalogCorruptError, InvalidInputError, StoreNotFoundError
from spector.opening import open_memory_at as open
from spector.records import BackupReport, CheckReport, Problem
from spector.store.backup import copy_store
from spector.store.catalog import CATALOG_NAME
from spector.store.check import check_settled
from spector.store.files import DiskFiles
from spector.store.recover import Stamp, open_disk, reading_catalog
from spector.tiers.base import TierStore
from spector.tiers.router import TierRouter, default_tiers
from spector.write.reembed import reembed_store

__all__ = ["check", "open", "reembed", "restore"]

Progress = Callable[[int, int], None]


def check(
    path: str | os.PathLike[str],
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
) -> CheckReport:
    """Prove that the store at ``path`` is whole, without opening it for use.

    Works on stores too damaged to open, and beside a writing process (a finding that only shows
    that the writer moved on meanwhile is looked at again).
    """
    files = DiskFiles(os.fspath(path))
    if not files.exists(CATALOG_NAME):
        raise StoreNotFoundError(
            f"there is no spector store at {files.root}", hint="check the path"
        )
    router = TierRouter([*default_tiers(), *extra_tiers])
    tiers = {tier.code: tier.files for tier in router}
    try:
        catalog = reading_catalog(files)
    except CatalogCorruptError as error:
        return CheckReport(problems=(Problem(code="I15", where=CATALOG_NAME, message=str(error)),))
    try:
        return check_settled(files, catalog, tiers, progress)
    finally:
        catalog.close()


def reembed(
    path: str | os.PathLike[str],
    embedder: str | Embedder = "default",
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
) -> int:
    """Convert a store to another embedding model (and dimension); returns how many memories.

    All or nothing: killed at any moment, the store is either as before or converted.
    """
    found = resolve(embedder)
    if found is None:
        raise InvalidInputError("reembed needs an embedder", hint='pass "default" or an object')
    router = TierRouter([*default_tiers(), *extra_tiers])
    config = Config()
    files = DiskFiles(os.fspath(path))
    if not files.exists(CATALOG_NAME):
        raise StoreNotFoundError(
            f"there is no spector store at {files.root}", hint="check the path"
        )
    opened = open_disk(
        os.fspath(path), Stamp(None, None, None), [tier.files for tier in router], config,
        mode="rw", durability="strict",
    )
    try:
        return reembed_store(opened.store, found, progress)
    finally:
        opened.store.close()
        if opened.lock is not None:
            opened.lock.release()


def restore(
    backup: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
) -> BackupReport:
    """Put a copy of the store at ``backup`` where nothing is, or at an empty directory.

    The copy is verified like a backup before it appears, all at once; ``backup`` stays as it is.

    Args:
        progress: called with (bytes done, bytes in total).

    Raises:
        StoreExistsError: something is at ``dest``. StoreNotFoundError: no store is at ``backup``.
        PartitionCorruptError, CatalogCorruptError: the backup is damaged; nothing was put in place.
    """
    router = TierRouter([*default_tiers(), *extra_tiers])
    opened = open_disk(
        os.fspath(backup), Stamp(None, None, None), [tier.files for tier in router], Config(),
        mode="r", durability="strict",
    )
    try:
        return copy_store(opened.store, os.fspath(dest), as_backup=False, progress=progress)
    finally:
        opened.store.close()

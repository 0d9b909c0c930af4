"""The functions at the top of the package: open, check, restore, repair and reembed a store."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from spector._types import Progress
from spector.arguments import parse_callback, parse_directory, parse_limit, parse_wait
from spector.assembly import open_memory_at as open
from spector.config import Config
from spector.errors import CatalogCorruptError, InvalidInputError, StoreError, StoreNotFoundError
from spector.kernel import get_kernel
from spector.messages import checks_arguments, items_of
from spector.process import completed, entry
from spector.providers import Embedder, resolve
from spector.records import MAX_PROBLEMS, BackupReport, CheckReport, Problem, RepairReport
from spector.store.catalog import CATALOG_NAME
from spector.store.files import DiskFiles, WriterLock, without_writer
from spector.store.opening import (
    OpenedStore,
    Stamp,
    has_partitions,
    no_store_at,
    open_disk,
    reading_catalog,
)
from spector.tiers import TierRouter, TierStore, default_tiers

if TYPE_CHECKING:
    from spector.store.repair import Identity, RecoveredCatalog, Salvage

__all__ = ["check", "open", "reembed", "repair", "restore"]


@checks_arguments("spector.check")
@entry
def check(
    path: str | os.PathLike[str],
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
    limit: int | None = MAX_PROBLEMS,
) -> CheckReport:
    """Prove that the store at ``path`` is whole, without opening it for use.

    Works on stores too damaged to open, and beside a writing process (a finding that a concurrent
    write explains is checked again).

    Args:
        limit: problems to list; the rest is counted (``CheckReport.unlisted``). None lists all.
    """
    from spector.store.integrity import StoreCheck, check_unopened

    where = parse_directory(path, "path")
    limit = parse_limit(limit)
    parse_callback(progress, "progress")
    files = DiskFiles(where)
    if not files.exists(CATALOG_NAME):
        raise no_store_at(files.root)
    router = _router(extra_tiers)
    tiers = {tier.code: tier.files for tier in router}
    try:
        catalog = reading_catalog(files)
    except StoreError as error:
        report = check_unopened(files)
        if report is not None:
            return report
        if not isinstance(error, CatalogCorruptError):
            raise
        return CheckReport(problems=(Problem(code="I15", where=CATALOG_NAME, message=str(error)),))
    try:
        return StoreCheck(files, catalog, tiers, get_kernel()).settled(progress, limit=limit)
    finally:
        catalog.close()


@checks_arguments("spector.reembed")
@entry
def reembed(
    path: str | os.PathLike[str],
    embedder: str | Embedder = "default",
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
    wait: float = 0.0,
) -> int:
    """Convert a store to another embedding model (and dimension); returns how many memories.

    All or nothing: killed at any moment, the store is either as before or converted.

    Args:
        wait: seconds to wait for another writer to close.
    """
    from spector.write import reembed_store

    parse_callback(progress, "progress")
    wait_s = parse_wait(wait)
    found = resolve(embedder)
    if found is None:
        raise InvalidInputError("reembed needs an embedder", hint='pass "default" or an object')
    router = _router(extra_tiers)
    where = parse_directory(path, "path")
    files = DiskFiles(where)
    if not files.exists(CATALOG_NAME):
        raise no_store_at(files.root)
    with _open_store(where, router, wait_s=wait_s) as store:
        return reembed_store(store, found, progress)


@checks_arguments("spector.restore")
@entry
def restore(
    backup: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
) -> BackupReport:
    """Copy the store at ``backup`` to ``dest``, which must be empty or not exist.

    The copy is verified like a backup and then appears at once; ``backup`` stays as it is.

    Args:
        progress: called with (bytes done, bytes in total).

    Raises:
        StoreExistsError: something is at ``dest``. StoreNotFoundError: no store is at ``backup``.
        PartitionCorruptError, CatalogCorruptError: the backup is damaged; nothing was put in place.
    """
    from spector.store.backup import copy_store

    parse_callback(progress, "progress")
    source, place = parse_directory(backup, "backup"), parse_directory(dest, "dest")
    if DiskFiles(source).is_empty():
        raise StoreNotFoundError(f"there is no backup at {source}", hint="check the path")
    with _open_store(source, _router(extra_tiers), mode="r") as store:
        return copy_store(store, place, taken_ms=None, progress=progress)


@checks_arguments("spector.repair")
@entry
def repair(
    path: str | os.PathLike[str],
    dest: str | os.PathLike[str],
    *,
    embedder: str | Embedder | None = None,
    extra_tiers: Iterable[TierStore] = (),
    progress: Progress | None = None,
) -> RepairReport:
    """Salvage what is intact in the store at ``path`` into a new store at ``dest``.

    The source is only read, whatever its state: the catalog may be unreadable in part or as a
    whole, partitions may be missing, truncated, or older than the catalog. No process may write to
    it meanwhile. Ids, words, times, tags and strengths stay. A vector without its words is kept,
    quarantined and without a text. Words without their vector are embedded again if the store's
    model is available, and are listed with their text otherwise. The new store appears when it is
    complete; the next run removes what a killed one left beside ``dest``.

    Args:
        embedder: the model that the store was made with; None uses the default one, if the catalog
            names it. If the catalog names none, the model is tried on texts whose vectors are
            whole, or taken by its dimension; ``RepairReport.notes`` say so.

    Raises:
        StoreNotFoundError: nothing is there. StoreExistsError: ``dest`` is not empty. StoreError:
        the store cannot be identified, ``dest`` is a mount point, or another user's file is in the
        way. StoreLockedError: a process is writing to the source. FormatVersionError: a newer
        spector wrote it. InvalidInputError: ``dest`` is in the source or is the current directory,
        or the source has a name beside ``dest`` that the new store passes through.
    """
    # loaded by who repairs a store, not by all who open one
    from spector.store.backup import Destination, building
    from spector.store.repair import Salvage, identify, recover_catalog, refuse_newer
    from spector.write import source_model

    started = time.perf_counter()
    parse_callback(progress, "progress")
    where, named = parse_directory(path, "path"), parse_directory(dest, "dest")
    files, place = DiskFiles(where), Destination.at(named)
    named = os.path.abspath(named)  # now: the current directory may be renamed meanwhile
    if not files.exists(CATALOG_NAME) and not has_partitions(files.root):
        raise no_store_at(files.root)
    place.refuse_harm(files.root)
    with (
        place.explained(files.root),
        building(place) as (staging, lock),
        contextlib.ExitStack() as opened,
    ):
        with without_writer(files.root):
            recovered = recover_catalog(files, staging)
            opened.callback(recovered.close)
            refuse_newer(files, recovered)
            source = source_model(files, recovered, identify(files, recovered), resolve(embedder))
            identity = source.identity
            found = Salvage(files, recovered, identity, source.embed).run(progress)
            found.notes += source.notes
        partitions = _transplant(
            staging.root, lock, recovered, identity, found, extra_tiers, progress
        )
    return RepairReport(
        path=named,
        kept=len(found.saved),
        wordless=found.wordless,
        mended=found.mended,
        lost=tuple(found.lost),
        notes=tuple(found.notes),
        partitions=partitions,
        commits_lost=found.commits_lost,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _transplant(
    root: str,
    lock: WriterLock,
    recovered: RecoveredCatalog,
    identity: Identity,
    found: Salvage,
    extra_tiers: Iterable[TierStore],
    progress: Progress | None,
) -> int:
    """Make the new store; returns how many partitions it has."""
    from spector.store.repair import transplant

    router = _router(extra_tiers)
    stamp = Stamp(identity.dim, identity.model_id or None, identity.fingerprint or None)
    opened = _open_store(root, router, stamp, held=lock)
    try:
        lasting = [tier for tier in router if not tier.volatile]
        for tier in lasting:
            tier.attach(opened.store, Config())
        transplant(
            opened.store,
            found,
            {tier.code: tier.place for tier in lasting},
            last_id=recovered.last_id,
            knowledge=recovered.knowledge,
            progress=progress,
        )
        return len(opened.store.segments)
    finally:
        completed(opened.store.close)


def _open_store(
    where: str,
    router: TierRouter,
    stamp: Stamp | None = None,
    mode: Literal["r", "rw"] = "rw",
    **how: Any,
) -> OpenedStore:
    """A store on disk; by its own stamp, unless it is made."""
    tiers, kernel = [tier.files for tier in router], get_kernel()
    by = Stamp(None, None, None) if stamp is None else stamp
    return open_disk(where, by, tiers, Config(), kernel, mode=mode, durability="strict", **how)


def _router(extra_tiers: Iterable[TierStore]) -> TierRouter:
    return TierRouter([*default_tiers(), *items_of(extra_tiers, "extra_tiers")])

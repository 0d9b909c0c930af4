"""Opening a store: create it, or bring it to its last commit, or follow it as a reader."""

from __future__ import annotations

import contextlib
import os
import uuid as uuid_module
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeVar

from spector.config import Config
from spector.errors import (
    CatalogCorruptError,
    ModelMismatchError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.kernel.contract import Kernel
from spector.layout import FORMAT_VERSION
from spector.process import Resource, completed, drop, take
from spector.store.catalog import CATALOG_NAME, LOG_NAME, Catalog
from spector.store.core import Store, StoreContext, TierFiles
from spector.store.files import LOCK_NAME, SALVAGE, DiskFiles, MemoryFiles, WriterLock

# What a store is made for: the model and the length of its vectors.


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a store is made for; written once, compared at every open. None means "whatever"."""

    dim: int | None
    model_id: str | None
    fingerprint: str | None

    def new_meta(self) -> dict[str, str]:
        """What the catalog of a new store says of it.

        Raises:
            ModelMismatchError: no dimension is given.
        """
        if self.dim is None:
            raise ModelMismatchError(
                "a new store needs to know how long its vectors are",
                hint="pass dim=, or an embedder",
            )
        return {
            "format_version": str(FORMAT_VERSION),
            "uuid": uuid_module.uuid4().hex,
            "dim": str(self.dim),
            "model_id": self.model_id or "",
            "fingerprint": self.fingerprint or "",
        }

    def refuse_other(self, meta: Mapping[str, str], root: str) -> None:
        """Raise when the store at ``root`` was made for something else.

        Args:
            meta: what ``Catalog.validate`` has found sound.

        Raises:
            ModelMismatchError
        """
        hint = f"open it with what it was made with, or convert it: spector reembed {root}"
        dim, theirs = int(meta["dim"]), meta["fingerprint"]
        if self.fingerprint and not theirs:
            what = f"that were given by its users, not made by {self.model_id}"
            hint = f"open it with embedder=None, or convert it: spector reembed {root}"
        elif self.fingerprint and self.fingerprint != theirs:
            own = f"{self.model_id} ({self.fingerprint})"
            what = f"of {meta['model_id']} ({theirs}), not of {own}"
        elif self.dim is not None and self.dim != dim:
            what = f"of {dim} dimensions, not {self.dim}"
        else:
            return
        raise ModelMismatchError(f"{root} holds vectors {what}", hint=hint)


# One attempt to open the store in a directory: what it is given, and what it has opened so far.

_Kind = TypeVar("_Kind", bound=Store)

#: all that a creation may leave which a kill or a power cut ended before the catalog was there
UNBORN = {LOCK_NAME, *(f"{CATALOG_NAME}{end}" for end in ("-journal", "-wal", "-shm"))}


@dataclass(slots=True, eq=False)
class Attempt:
    """What every way of opening a store needs."""

    files: DiskFiles
    stamp: Stamp
    tiers: Mapping[int, TierFiles]
    config: Config
    kernel: Kernel
    #: what has to be closed if the attempt fails, or is interrupted
    made: list[Catalog | Store] = field(default_factory=list)

    def make_store(
        self, kind: type[_Kind], catalog: Catalog, meta: Mapping[str, str], *, writable: bool
    ) -> _Kind:
        """A store that has read nothing yet.

        Raises:
            ModelMismatchError: it was made for something else.
        """
        self.stamp.refuse_other(meta, self.files.root)
        context = StoreContext(self.files, self.tiers, self.config, self.kernel)
        store = kind(context, catalog, meta, writable=writable)
        self.made.append(store)
        return store

    def anew(self) -> Attempt:
        """Another attempt to open the same store."""
        return Attempt(DiskFiles(self.files.root), self.stamp, self.tiers, self.config, self.kernel)

    def give_up(self) -> None:
        """Close what has been opened so far."""
        for each in self.made:
            if isinstance(each, Store):
                each.partitions.close_files()
        for each in self.made:
            if isinstance(each, Catalog):
                each.close()


def has_log(files: DiskFiles) -> bool:
    """True when the catalog was not closed properly, or is open elsewhere."""
    return files.exists(LOG_NAME) and files.size_of(LOG_NAME) > 0


def emptied(catalog: Catalog) -> CatalogCorruptError:
    return CatalogCorruptError(
        f"{catalog.path} is empty, but there are partitions beside it", hint=SALVAGE
    )


# What is at a path that is not a store: the remains of one, or a folder of stores.
#
# Directories are read two levels deep and up to a fixed number of names: a home directory or a whole
# disk is named by mistake, and walking it would take minutes.

#: names and directories that are read at most; some hundredths of a second
_MOST_LOOKS: Final = 20_000
#: stores that a message names
_NAMED: Final = 5


def no_store_at(root: str, hint: str = "check the path") -> StoreNotFoundError:
    """The error for a directory without a catalog, with the next step for what is there."""
    if has_partitions(root):
        return StoreNotFoundError(
            f"{CATALOG_NAME} is missing at {root}, but there are partitions", hint=SALVAGE
        )
    names, more = _stores_below(root)
    if names:
        shown, left = ", ".join(names[:_NAMED]), len(names) - _NAMED
        if left > 0:
            shown += f" and {left}{' or' if more else ''} more"
        elif more:
            shown += " and perhaps more"
        return StoreNotFoundError(
            f"{root} is not a store; stores below it: {shown}",
            hint=f"name one of them, like {os.path.join(root, names[0])}",
        )
    if next(_Look().entries(root), None) is not None:
        return StoreNotFoundError(
            f"there is no store at {root}, and the directory is not empty", hint=hint
        )
    return StoreNotFoundError(f"there is no store at {root}", hint=hint)


def _stores_below(root: str) -> tuple[list[str], bool]:
    """Stores one or two levels below a directory, also without a catalog; there may be others."""
    look = _Look()
    found: list[str] = []
    deeper: list[str] = []
    for name in look.folders(root, links=True):
        (found if look.is_store(os.path.join(root, name)) else deeper).append(name)
    for name in deeper:
        found += [
            f"{name}/{each}"
            for each in look.folders(os.path.join(root, name))
            if look.is_store(os.path.join(root, name, each))
        ]
    return sorted(found), look.left <= 0


def has_partitions(root: str) -> bool:
    """True when partitions are in a directory, or one level below outside another store."""
    return _Look().has_partitions(root)


def holds_only(root: str, names: set[str]) -> bool:
    """True when a directory has nothing but files of these names and empty folders."""
    look = _Look()
    for entry in look.entries(root):
        if entry.name not in names and not (
            entry.is_dir(follow_symlinks=False) and next(look.entries(entry.path), None) is None
        ):
            return False
    return look.left > 0


class _Look:
    """A walk over directories that ends after a number of names."""

    def __init__(self) -> None:
        self.left = _MOST_LOOKS

    def is_store(self, path: str) -> bool:
        return os.path.exists(os.path.join(path, CATALOG_NAME)) or self.has_partitions(path)

    def has_partitions(self, root: str) -> bool:
        folders = []
        for entry in self.entries(root):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(".mem"):
                return True
        return any(
            any(entry.name.endswith(".mem") for entry in self.entries(folder))
            and not os.path.exists(os.path.join(folder, CATALOG_NAME))
            for folder in folders
        )

    def folders(self, path: str, *, links: bool = False) -> list[str]:
        """Names of the folders in one, sorted."""
        found = []
        for entry in self.entries(path):
            with contextlib.suppress(OSError):  # a link to itself
                if entry.is_dir(follow_symlinks=links):
                    found.append(entry.name)
        return sorted(found)

    def entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        """The entries of a directory; none where it cannot be read or the limit is reached."""
        self.left -= 1
        if self.left <= 0:
            return
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                self.left -= 1
                if self.left <= 0:
                    return
                yield entry


@dataclass(slots=True, eq=False)
class OpenedStore(Resource):
    """A store and, for the writer, the lock that belongs to it; a context manager."""

    store: Store
    lock: WriterLock | None

    def close(self) -> None:
        """Close the store and release the lock, even if closing fails.

        Call it again after an interrupt; finished steps are skipped.
        """
        completed(self._close)

    def __enter__(self) -> Store:
        take(self)
        return self.store

    def __exit__(self, *exc: object) -> None:
        self.close()
        drop(self)

    def abandon(self, error: BaseException | None) -> None:
        self.close()

    def _close(self) -> None:
        try:
            self.store.close()
        finally:
            if self.lock is not None and self.store.is_shut:
                completed(self.lock.release)


def open_memory(
    stamp: Stamp, tiers: Iterable[TierFiles], config: Config, kernel: Kernel
) -> OpenedStore:
    """A store that lives in memory and vanishes with it."""
    catalog = Catalog(":memory:", mode="rw", durability="relaxed")
    meta = stamp.new_meta()
    catalog.create(meta)
    context = StoreContext(MemoryFiles(), {tier.code: tier for tier in tiers}, config, kernel)
    store = Store(context, catalog, meta, writable=True)
    store.publish()
    return OpenedStore(store, None)


def open_disk(
    root: str,
    stamp: Stamp,
    tiers: Iterable[TierFiles],
    config: Config,
    kernel: Kernel,
    *,
    mode: str,
    durability: str,
    held: WriterLock | None = None,
    wait_s: float = 0.0,
    shared: bool = False,
) -> OpenedStore:
    """Open, create or follow the store in the directory ``root``.

    Args:
        held: the lock of that directory, if the caller has it already; it is not released.
        wait_s: seconds to wait for another writer; if shared, before each write.
        shared: have the lock only for the length of a write.

    Raises:
        StoreNotFoundError: ``mode="r"`` and there is none.
        StoreLockedError: another writer has it.
        ModelMismatchError, FormatVersionError, CatalogCorruptError, PartitionCorruptError
    """
    files = DiskFiles(root)
    attempt = Attempt(files, stamp, {tier.code: tier for tier in tiers}, config, kernel)
    if mode == "r":
        from spector.store.opening.reader import open_reader

        return OpenedStore(open_reader(attempt), None)
    present = files.exists(CATALOG_NAME)
    if (
        not present
        and not files.is_empty()
        and not holds_only(files.root, UNBORN)
        and files.is_free(CATALOG_NAME)  # else another process is creating it
    ):
        raise no_store_at(files.root, "pass an empty or new directory, or the directory of a store")
    if present and not files.writable():
        raise StoreReadOnlyError(
            f"{files.root} cannot be written", hint='open it with mode="r", or fix the permissions'
        )
    if not present:
        stamp.new_meta()  # a stamp without a dimension is refused before anything is created
        files.make_root()
    store: Store
    lock: WriterLock | None = None
    try:
        if shared:
            from spector.store.opening.shared import open_shared

            store = open_shared(attempt, wait_s, present=present)
        else:
            lock = held or WriterLock(files.root, wait_s=wait_s)
            store = _writing()(attempt, durability, lock)
        return OpenedStore(store, lock)
    except BaseException:
        attempt.give_up()
        if lock is not None and held is None:
            lock.release()
        raise


@cache
def _writing() -> Callable[[Attempt, str, WriterLock], Store]:
    """What opens a store for writing; at the end of the interpreter nothing is imported anew."""
    from spector.store.opening.recovery import open_writer

    return open_writer

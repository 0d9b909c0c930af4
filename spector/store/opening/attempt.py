"""One attempt to open the store in a directory: what it is given, and what it has opened so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from spector.config import Config
from spector.errors import CatalogCorruptError
from spector.kernel.contract import Kernel
from spector.store.catalog import CATALOG_NAME, Catalog
from spector.store.core import Store, TierFiles
from spector.store.files import LOCK_NAME, DiskFiles
from spector.store.opening.stamp import Stamp

__all__ = ["UNBORN", "Attempt", "emptied", "has_log"]

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
            ModelMismatchError, CatalogCorruptError: it was made for something else.
        """
        self.stamp.refuse_other(meta, self.files.root)
        store = kind(
            self.files,
            catalog,
            self.kernel,
            meta=meta,
            tiers=self.tiers,
            config=self.config,
            writable=writable,
        )
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
    log = f"{CATALOG_NAME}-wal"
    return files.exists(log) and files.size_of(log) > 0


def emptied(catalog: Catalog) -> CatalogCorruptError:
    return CatalogCorruptError(
        f"{catalog.path} is empty, but there are partitions beside it",
        hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
    )

"""What is at a path that is not a store: the remains of one, or a folder of stores.

Directories are read two levels deep and up to a fixed number of names: a home directory or a whole
disk is named by mistake, and walking it would take minutes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spector.errors import StoreNotFoundError

__all__ = ["Below", "has_partitions", "holds_only", "no_store_at", "stores_below"]

_CATALOG: Final = "catalog.db"
#: names and directories that are read at most; some hundredths of a second
_MOST_LOOKS: Final = 20_000
#: stores that a message names
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Below:
    """Stores below a directory, relative to it; with ``more`` there may be others."""

    names: tuple[str, ...]
    more: bool

    def __str__(self) -> str:
        """The first five and how many more: "ann, ben and 7 more"."""
        shown, left = ", ".join(self.names[:_NAMED]), len(self.names) - _NAMED
        if left > 0:
            return f"{shown} and {left}{' or' if self.more else ''} more"
        return f"{shown} and perhaps more" if self.more else shown


def no_store_at(root: str, hint: str = "check the path") -> StoreNotFoundError:
    """The error for a directory without a catalog, with the next step for what is there."""
    if has_partitions(root):
        return StoreNotFoundError(
            f"{_CATALOG} is missing at {root}, but there are partitions",
            hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
        )
    below = stores_below(root)
    if below.names:
        first = os.path.join(root, below.names[0])
        return StoreNotFoundError(
            f"{root} is not a store; stores below it: {below}",
            hint=f"name one of them, like {first}",
        )
    if next(_Look().entries(root), None) is not None:
        return StoreNotFoundError(
            f"there is no store at {root}, and the directory is not empty", hint=hint
        )
    return StoreNotFoundError(f"there is no store at {root}", hint=hint)


def stores_below(root: str) -> Below:
    """The stores one or two levels below a directory, including those without a catalog."""
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
    return Below(tuple(sorted(found)), look.left <= 0)


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
        return os.path.exists(os.path.join(path, _CATALOG)) or self.has_partitions(path)

    def has_partitions(self, root: str) -> bool:
        folders = []
        for entry in self.entries(root):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(".mem"):
                return True
        return any(
            any(entry.name.endswith(".mem") for entry in self.entries(folder))
            and not os.path.exists(os.path.join(folder, _CATALOG))
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

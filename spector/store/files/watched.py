"""Files that must keep their names while a store is open: its catalog, its log, its lock.

POSIX lets another process unlink or replace an open file. Later commits would go to the unlinked
inode and be lost, and an unlinked lock excludes no one. So every transaction first checks that the
paths still name our inodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from spector.errors import StoreError
from spector.store.files.guards import identity, identity_if_any

__all__ = ["Watched"]


@dataclass(slots=True)
class Watched:
    """A file and its inode when it was opened."""

    path: str
    #: hints for a removed and for a replaced file
    when_removed: str
    when_replaced: str
    #: (device, inode); None until ``note``
    identity: tuple[int, int] | None = None

    def note(self) -> None:
        """Take the file at the path for the open one, unless the identity is known already."""
        if self.identity is None:
            self.identity = identity(self.path)

    def refuse_changed(self) -> None:
        """Raise when the path no longer names the opened file.

        Raises:
            StoreError
        """
        if self.identity is None:
            return
        try:
            now = identity_if_any(self.path)
        except OSError:  # invisible to a process that has dropped its rights: unknown
            return
        if now is None:
            raise StoreError(f"{self.path} was removed while it was open", hint=self.when_removed)
        if now != self.identity:
            raise StoreError(
                f"{self.path} is another file than the one that was opened",
                hint=self.when_replaced,
            )

    def is_changed(self) -> bool:
        try:
            self.refuse_changed()
        except StoreError:
            return True
        return False

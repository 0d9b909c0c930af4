"""Files that must stay in their places while a store is open: its catalog, its log, its lock.

Whoever removes or replaces one of them is told nothing, and an open file lives on without a name.
Commits into it succeed, and nobody would ever find them again; a lock without a name keeps nobody
out. So each transaction looks at the names first.
"""

from __future__ import annotations

from dataclasses import dataclass

from spector.errors import StoreError
from spector.store.files.guards import identity, identity_if_any

__all__ = ["Watched"]


@dataclass(slots=True)
class Watched:
    """A file, and which one it was when it was opened."""

    path: str
    #: what to do when it was removed, and when another one is in its place
    when_removed: str
    when_replaced: str
    #: device and number; None as long as there is nothing to compare with
    identity: tuple[int, int] | None = None

    def note(self) -> None:
        """Take what is there for the file that is open, unless that is known already."""
        if self.identity is None:
            self.identity = identity(self.path)

    def refuse_changed(self) -> None:
        """Raise when the file that was opened is no longer the one with the name.

        Raises:
            StoreError
        """
        if self.identity is None:
            return
        try:
            now = identity_if_any(self.path)
        except OSError:  # not to be seen by a process that has dropped its rights: nothing is known
            return
        if now is None:
            raise StoreError(
                f"{self.path} was removed while it was open", hint=self.when_removed
            )
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

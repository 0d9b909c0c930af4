"""Objects that cannot be copied, because they own a file, a lock or a thread.

A copy would share it, and the first of the two to be closed would take it away from the other.
"""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from spector.errors import NotCopyableError

__all__ = ["Sole"]


class Sole:
    """Base class of objects that can neither be copied nor pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse ``copy.copy``, ``copy.deepcopy`` and ``pickle``.

        Raises:
            NotCopyableError
        """
        raise NotCopyableError(
            f"a {type(self).__name__} cannot be copied or pickled: the copy would share its files"
            " and its lock",
            hint="pass the object itself, which threads may share; another process opens the path"
            " again with spector.open; memory.backup(dest) copies the store",
        )

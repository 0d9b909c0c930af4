"""Objects of which there is exactly one, because of the file, the lock or the thread behind them.

A copy of one would look like a second, and the first of the two that is closed or dropped would
take its file, its lock or its map away from the other.
"""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from spector.errors import NotCopyableError

__all__ = ["Sole"]


class Sole:
    """Is neither copied nor pickled; to be derived from."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Asked for by ``copy.copy``, ``copy.deepcopy`` and ``pickle``.

        Raises:
            NotCopyableError
        """
        raise NotCopyableError(
            f"a {type(self).__name__} cannot be copied or pickled: the copy would share its files"
            " and its lock",
            hint="pass the object itself, which threads may share; another process opens the path"
            " again with spector.open; memory.backup(dest) copies the store",
        )

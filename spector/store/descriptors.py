"""File descriptors that no interrupt loses, and none closes twice."""

from __future__ import annotations

import os

from spector.store.scopes import held_by_calling

__all__ = ["Descriptor"]


class Descriptor:
    """The number of an open file. Closed when it is let go of, in whatever way that happens."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        #: the number, or nothing
        self._held: list[int] = []

    @classmethod
    def opened(cls, path: str, flags: int, mode: int = 0o600) -> Descriptor:
        """Open a file.

        Raises:
            OSError
        """
        made = cls()
        held_by_calling(made._held, os.open, path, flags, mode)
        return made

    @property
    def number(self) -> int:
        """-1 once it is closed."""
        held = self._held
        return held[0] if held else -1

    def close(self) -> None:
        """Close it. Idempotent."""
        held = self._held
        if held:
            number = held[0]
            del held[0]  # no interrupt can come between this and the call of C
            os.close(number)

    def __enter__(self) -> Descriptor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._held:
            self.close()

"""The protocol of files, so that faults can be injected at one seam.

It has two implementations: ``DiskFiles`` (a directory) and ``MemoryFiles`` (slabs of memory, for
volatile tiers and ``spector.open(":memory:")``).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bytes", "File", "Files", "as_bytes"]

Bytes = NDArray[np.uint8]


class File(Protocol):
    """One open partition file."""

    def read_at(self, offset: int, length: int) -> bytes: ...

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        """Write all of ``data`` at ``offset``; the range must have been allocated."""

    def size(self) -> int: ...

    def extent(self, offset: int) -> tuple[int, int] | None:
        """(first, end) of the next written bytes from ``offset`` on; None if only a hole is left.

        Between ``offset`` and them is a hole: zeros that take no room on the disk.
        """

    def extend(self, size: int) -> None:
        """Allocate up to ``size`` bytes. Never shrinks."""

    def map(self, length: int) -> Bytes:
        """Read-only (length,) u8 view of the first bytes, alive as long as it is held."""

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Files(Protocol):
    """A flat namespace of files below one root. Names use ``/`` and never leave the root."""

    root: str
    durable: bool

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> File: ...

    def glance(self, name: str, head: int, *, writable: bool, most: int) -> tuple[bytes, Bytes]:
        """The first ``head`` bytes, read, and a read-only map of at most ``most`` bytes.

        No descriptor is kept. ``writable`` also proves that the file may be opened for writing.
        """

    def map_private(self, name: str, *, most: int) -> Bytes | None:
        """(size,) u8 copy-on-write map of a whole file, page-aligned.

        None when the file is missing, empty, or has more than ``most`` bytes.
        """

    def exists(self, name: str) -> bool: ...

    def listing(self) -> list[str]:
        """Names of all files, sorted."""

    def closed_folders(self) -> list[str]: ...

    def size_of(self, name: str) -> int: ...

    def sizes(self) -> dict[str, int]:
        """Bytes of every file that exists throughout the call."""

    def replace(self, source: str, target: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def is_free(self, name: str) -> bool:
        """True when no file has that name, except perhaps a discarded one."""

    def discard(self, name: str) -> None:
        """Remove a file of this process that nothing refers to; never raises.

        One that cannot be removed now is removed when its name is created again.
        """

    def sync_dir(self, name: str) -> None:
        """Make creations, renames and removals in the directory of ``name`` durable."""


def as_bytes(array: NDArray[Any]) -> memoryview:
    """The raw bytes of a C-contiguous array, without a copy."""
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)

"""The protocol of files, the errors that they raise, and files in memory."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.errors import StoreError, StoreFullError, StoreNotFoundError, StoreReadOnlyError

Bytes = NDArray[np.uint8]

#: what to do about damage, the hint of its errors
CHECK: Final = "run: spector check PATH"
SALVAGE: Final = "restore a backup, or salvage what there is: spector check PATH --repair DEST"
CHECK_OR_SALVAGE: Final = f"{CHECK}; {SALVAGE}"


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


# Errors of the operating system, as the typed errors that a user can act on.

#: number of an error -> its type, and what to do about it
_CAUSES: Final[Mapping[int, tuple[type[StoreError], str]]] = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        (StoreFullError, "free some space, then try again"),
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS),
        (StoreReadOnlyError, 'check the permissions, or open with mode="r" to read only'),
    ),
    **dict.fromkeys(
        (errno.EMFILE, errno.ENFILE),
        (StoreError, "raise the limit of open files: ulimit -n"),
    ),
    errno.ENOENT: (StoreNotFoundError, "check the path"),
    errno.ELOOP: (
        StoreError,
        "move the link away without deleting what it leads to, and put the file itself in its"
        " place; or restore a backup",
    ),
    errno.ENOTDIR: (StoreError, "check the path: a part of it is a file"),
    errno.ENAMETOOLONG: (StoreError, "choose a shorter name"),
    errno.ENOMEM: (StoreError, "memory is short: free some, then try again"),
}


@contextlib.contextmanager
def translate_os_errors(action: str, path: str) -> Iterator[None]:
    """Turn an ``OSError`` into the typed error a user can act on."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise typed_os_error(error, action, path) from error


def is_time_limit(error: OSError) -> bool:
    """True for a time limit of the caller's, raised in a signal handler."""
    return isinstance(error, TimeoutError) and error.errno is None


def typed_os_error(error: OSError, action: str, path: str) -> StoreError:
    """The spector error for an ``OSError`` met while doing ``action`` to ``path``.

    Raises:
        TimeoutError: ``error`` is one without a system error number: a signal handler raised it,
            and its time limit is not a fault of the file.
    """
    if is_time_limit(error):
        raise error
    reason = error.strerror or str(error)
    if error.errno == errno.ELOOP:
        reason = "it is a symbolic link"
    kind, hint = _CAUSES.get(error.errno or 0, (StoreError, CHECK))
    found = kind(f"cannot {action} {path}: {reason}", hint=hint)
    found.errno = error.errno
    return found


def is_missing(path: str) -> bool:
    """True when a path certainly does not exist; False also when that is unknown."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


# Files that are slabs of memory, for volatile tiers and ``spector.open(":memory:")``.


class MemoryFile:
    """A slab of zeroed memory; pages cost nothing until they are written."""

    def __init__(self, content: bytes = b"") -> None:
        self._slab: Bytes = np.frombuffer(content, np.uint8).copy()

    def read_at(self, offset: int, length: int) -> bytes:
        return self._slab[offset : offset + length].tobytes()

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        view = np.frombuffer(data, dtype=np.uint8)
        self._slab[offset : offset + len(view)] = view

    def size(self) -> int:
        return len(self._slab)

    def extent(self, offset: int) -> tuple[int, int] | None:
        return (offset, len(self._slab)) if offset < len(self._slab) else None

    def extend(self, size: int) -> None:
        if size > len(self._slab):
            grown = np.zeros(size, dtype=np.uint8)
            grown[: len(self._slab)] = self._slab
            self._slab = grown

    def map(self, length: int) -> Bytes:
        view = self._slab[:length]
        view.flags.writeable = False
        return view

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


class MemoryFiles:
    """Files that live as long as the process."""

    durable = False
    root = ":memory:"

    def __init__(self) -> None:
        self._files: dict[str, MemoryFile] = {}

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> MemoryFile:
        if create:
            self._files[name] = MemoryFile()
        if name not in self._files:
            raise StoreNotFoundError(f"no slab named {name}")
        return self._files[name]

    def glance(self, name: str, head: int, *, writable: bool, most: int) -> tuple[bytes, Bytes]:
        file = self.open(name)
        return file.read_at(0, head), file.map(min(file.size(), most))

    def map_private(self, name: str, *, most: int) -> Bytes | None:
        return None  # nothing that could be derived again is kept here

    def exists(self, name: str) -> bool:
        return name in self._files

    def listing(self) -> list[str]:
        return sorted(self._files)

    def closed_folders(self) -> list[str]:
        return []

    def size_of(self, name: str) -> int:
        return self._files[name].size()

    def sizes(self) -> dict[str, int]:
        return {name: file.size() for name, file in sorted(self._files.items())}

    def replace(self, source: str, target: str) -> None:
        self._files[target] = self._files.pop(source)

    def remove(self, name: str) -> None:
        if self._files.pop(name, None) is None:
            raise StoreNotFoundError(f"no slab named {name}")

    def is_free(self, name: str) -> bool:
        return name not in self._files

    def discard(self, name: str) -> None:
        self._files.pop(name, None)

    def sync_dir(self, name: str) -> None:
        pass

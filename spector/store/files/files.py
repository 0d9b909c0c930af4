"""The only module that touches files, so that faults can be injected at one seam.

Two implementations of one protocol: :class:`DiskFiles` (a directory) and :class:`MemoryFiles`
(fixed slabs of memory, for volatile tiers and ``spector.open(":memory:")``).

Rules kept here: files are written with ``pwrite`` and read through read-only maps, never stored to
through a map; they grow by explicit allocation and never shrink; short writes are continued;
directories are 0700 and files 0600.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from io import FileIO
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spector.errors import (
    StoreError,
    StoreFullError,
    StoreNotFoundError,
    StoreReadOnlyError,
)
from spector.process import Sole, open_given
from spector.store.files.bad_sectors import join, read_around, written
from spector.store.files.descriptors import opened
from spector.store.files.guards import (
    OPEN_FLAGS,
    made_private,
    refuse_strange_folders,
    regular,
    tighten,
)
from spector.store.files.maps import Map, populate
from spector.store.files.syncing import sync_data, sync_folder

__all__ = [
    "DiskFiles", "File", "Files", "MemoryFile", "MemoryFiles", "is_missing", "sync_folder",
    "translated",
]

Bytes = NDArray[np.uint8]
_NOTHING: Bytes = np.zeros(0, dtype=np.uint8)

#: what names a file inside the store: no empty part, no "." and no ".."
_NAME = re.compile(r"(?!\.{1,2}(?:/|$))[^/\0]+(?:/(?!\.{1,2}(?:/|$))[^/\0]+)*")
_COPIED_AT_ONCE = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


class File(Protocol):
    """One open partition file."""

    def read_at(self, offset: int, length: int) -> bytes: ...

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        """Write all of ``data`` at ``offset``; the range must have been allocated."""

    def size(self) -> int: ...

    def extent(self, offset: int) -> tuple[int, int] | None:
        """Where the next bytes from ``offset`` on lie that were written, and where they end.

        What is in front of them are zeros that take no room on the disk. None: up to the end of
        the file there is nothing else.
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

    def glance(
        self, name: str, head: int, *, writable: bool, most: int
    ) -> tuple[bytes, Bytes]:
        """The first ``head`` bytes, read, and a read-only map of at most ``most`` bytes.

        No descriptor stays. ``writable`` also proves that the file may be opened for writing.
        """

    def map_private(self, name: str, *, most: int) -> Bytes | None:
        """(size,) u8 of a whole file, page-aligned, for us to change without the file changing.

        None when there is no such file, an empty one, or one of more than ``most`` bytes.
        """

    def exists(self, name: str) -> bool: ...

    def listing(self) -> list[str]:
        """Names of all files, sorted."""

    def closed_folders(self) -> list[str]: ...

    def size_of(self, name: str) -> int: ...

    def sizes(self) -> dict[str, int]:
        """Bytes of every file that is there throughout."""

    def replace(self, source: str, target: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def is_free(self, name: str) -> bool:
        """True when nothing has that name but perhaps what has been discarded."""

    def discard(self, name: str) -> None:
        """Remove a file that this process has made and nobody refers to; never raises.

        One that cannot be removed now gives way when its name is created again.
        """

    def sync_dir(self, name: str) -> None:
        """Make creations, renames and removals in the directory of ``name`` durable."""


def is_missing(path: str) -> bool:
    """False as well where that cannot be found out."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    return False


@contextlib.contextmanager
def translated(action: str, path: str) -> Iterator[None]:
    """Turn an ``OSError`` into the typed error a user can act on."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise typed_os_error(error, action, path) from error


def is_time_limit(error: OSError) -> bool:
    """Whether an error is a time limit of the caller's, raised in a signal handler."""
    return isinstance(error, TimeoutError) and error.errno is None


def typed_os_error(error: OSError, action: str, path: str) -> StoreError:
    """The spector error for an ``OSError`` met while doing ``action`` to ``path``.

    Raises:
        TimeoutError: that is what ``error`` is, and the system did not say so: a signal handler
            did, whose time limit is no fault of the file.
    """
    if is_time_limit(error):
        raise error
    reason = error.strerror or str(error)
    message = f"cannot {action} {path}: {reason}"
    found: StoreError
    if error.errno in _FULL:
        found = StoreFullError(message, hint="free some space, then try again")
    elif error.errno in _DENIED:
        found = StoreReadOnlyError(
            message, hint='check the permissions, or open with mode="r" to read only'
        )
    elif error.errno == errno.ENOENT:
        found = StoreNotFoundError(message, hint="check the path")
    elif error.errno == errno.ELOOP:
        found = StoreError(
            f"cannot {action} {path}: it is a symbolic link",
            hint="move the link away without deleting what it leads to, and put the file itself in"
            " its place; or restore a backup",
        )
    elif error.errno == errno.ENAMETOOLONG:
        found = StoreError(message, hint="choose a shorter name")
    elif error.errno in (errno.EMFILE, errno.ENFILE):
        found = StoreError(message, hint="raise the limit of open files: ulimit -n")
    elif error.errno == errno.ENOMEM:
        found = StoreError(message, hint="memory is short: free some, then try again")
    else:
        found = StoreError(message, hint="run: spector check PATH")
    found.errno = error.errno
    return found


class DiskFile(Sole):
    """A file descriptor with positioned reads and writes."""

    def __init__(self, held: FileIO, path: str) -> None:
        self._held = held
        self._path = path

    @property
    def _fd(self) -> int:
        held = self._held
        return -1 if held.closed else held.fileno()

    def read_at(self, offset: int, length: int) -> bytes:
        with translated("read", self._path):
            return os.pread(self._fd, length, offset)

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        with translated("write", self._path):
            while view:
                written = os.pwrite(self._fd, view, offset)
                view = view[written:]
                offset += written

    def size(self) -> int:
        with translated("stat", self._path):
            return os.fstat(self._fd).st_size

    def extent(self, offset: int) -> tuple[int, int] | None:
        with translated("look for what was written to", self._path):
            try:
                first = os.lseek(self._fd, offset, os.SEEK_DATA)
                return first, os.lseek(self._fd, first, os.SEEK_HOLE)
            except (AttributeError, OSError) as error:
                if isinstance(error, OSError) and error.errno == errno.ENXIO:
                    return None
                # the system, or the file system, does not know: all of it may have been written
                size = os.fstat(self._fd).st_size
                return (offset, size) if offset < size else None

    def extend(self, size: int) -> None:
        with translated("allocate space for", self._path):
            present = os.fstat(self._fd).st_size
            if size <= present:
                return
            try:
                os.posix_fallocate(self._fd, present, size - present)
            except (AttributeError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in {
                    errno.EOPNOTSUPP,
                    errno.EINVAL,
                    errno.ENOSYS,
                }:
                    raise
                # No explicit allocation here (macOS, some file systems): write the zeros, because
                # a sparse file under a full disk would fault the reader instead of failing us.
                chunk = bytes(1 << 20)
                while present < size:
                    present += os.pwrite(self._fd, chunk[: size - present], present)

    def map(self, length: int) -> Bytes:
        with translated("map", self._path):
            if self.size() < length:
                raise StoreError(
                    f"cannot map {self._path}: it has {self.size()} bytes, expected {length}",
                    hint="the file was truncated; run: spector check PATH",
                )
            return np.asarray(Map(self._fd, length))

    def sync(self) -> None:
        with translated("sync", self._path):
            sync_data(self._fd)

    def close(self) -> None:
        self._held.close()


class DiskFiles:
    """Files in a directory."""

    durable = True

    def __init__(self, root: str) -> None:
        # resolved once: a link that is pointed elsewhere later must not split a store in two
        with translated("find", root):  # the current directory may be gone
            self.root = os.path.realpath(root)
        self._discarded: set[str] = set()

    def make_root(self) -> None:
        """Create the root directory if absent, and those above it; no power cut takes them back.

        Each name is synced before anything is put below it. Only the lowest directory that is
        there already may have been made by a process that was killed before it came to that.
        """
        with translated("create", self.root):
            missing, lowest = [], self.root
            while not os.path.isdir(lowest) and lowest != os.path.dirname(lowest):
                missing.append(lowest)
                lowest = os.path.dirname(lowest)
            with contextlib.suppress(PermissionError):  # then it is not one of ours
                sync_folder(os.path.dirname(lowest))
            for path in reversed(missing):
                with contextlib.suppress(FileExistsError):
                    made_private(path) if path == self.root else os.mkdir(path)
                self._sync_directory(os.path.dirname(path))

    def is_empty(self) -> bool:
        """True when the root is absent or holds nothing."""
        if os.path.exists(self.root) and not os.path.isdir(self.root):
            raise StoreError(
                f"cannot open a store at {self.root}: it is a file",
                hint="pass the path of a directory",
            )
        with translated("list", self.root):
            try:
                return not os.listdir(self.root)
            except FileNotFoundError:
                return True

    def writable(self) -> bool:
        return os.access(self.root, os.W_OK)

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> DiskFile:
        path = self._path(name)
        flags = OPEN_FLAGS | (os.O_RDWR if writable else os.O_RDONLY)
        with translated("create" if create else "open", path):
            refuse_strange_folders(self.root, name)
            if create:
                directory = os.path.dirname(path)
                if not os.path.isdir(directory):
                    made_private(directory)
                if _holds_nothing(directory):  # a killed process may have made it, and not synced
                    self._sync_directory(os.path.dirname(directory))
                flags |= os.O_CREAT | os.O_EXCL
                if name in self._discarded:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
                    self._discarded.discard(name)
            held = opened(path, flags)
            regular(held, path, created=create)
            return DiskFile(held, path)

    def glance(
        self, name: str, head: int, *, writable: bool, most: int
    ) -> tuple[bytes, Bytes]:
        path = self._path(name)
        try:  # not ``translated``: opening a store does this for each of a thousand partitions
            refuse_strange_folders(self.root, name)
            held = opened(path, OPEN_FLAGS | (os.O_RDWR if writable else os.O_RDONLY))
            size = min(regular(held, path).st_size, most)
            fd = held.fileno()
            try:
                return os.pread(fd, head, 0), np.asarray(Map(fd, size)) if size else _NOTHING
            finally:
                held.close()
        except StoreError:
            raise
        except OSError as error:
            raise typed_os_error(error, "open", path) from error

    def map_private(self, name: str, *, most: int) -> Bytes | None:
        path = self._path(name)
        try:
            refuse_strange_folders(self.root, name)
            held = opened(path, OPEN_FLAGS | os.O_RDONLY)
            try:
                status = os.fstat(held.fileno())
                if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= most:
                    return None
                mapped: Bytes = np.asarray(Map(held.fileno(), status.st_size, private=True))
                populate(mapped)  # all of it is going to be read: rather an error than a signal
                return mapped
            finally:
                held.close()
        except FileNotFoundError:
            return None
        except StoreError:
            raise
        except OSError as error:
            raise typed_os_error(error, "map", path) from error

    def exists(self, name: str) -> bool:
        return os.path.exists(self._path(name))

    def listing(self) -> list[str]:
        found = []
        for directory, folders, names in os.walk(self.root):
            folders.sort()
            within = os.path.relpath(directory, self.root)
            found += [os.path.normpath(os.path.join(within, name)) for name in names]
        return sorted(name.replace(os.sep, "/") for name in found)

    def closed_folders(self) -> list[str]:
        """Names of directories that ``listing`` does not enter: links, and what nobody may read."""
        found: list[str] = []
        denied: list[OSError] = []
        for directory, folders, _ in os.walk(self.root, onerror=denied.append):
            paths = [os.path.join(directory, name) for name in folders]
            found += [path for path in paths if os.path.islink(path)]
        found += [error.filename for error in denied]
        return sorted(os.path.relpath(path, self.root).replace(os.sep, "/") for path in found)

    def size_of(self, name: str) -> int:
        with translated("stat", self._path(name)):
            status = os.lstat(self._path(name))
            return status.st_size if stat.S_ISREG(status.st_mode) else 0

    def sizes(self) -> dict[str, int]:
        """Bytes of every file; one that vanishes during the look is left out."""
        found = {}
        for name in self.listing():
            with contextlib.suppress(StoreNotFoundError):
                found[name] = self.size_of(name)
        return found

    def replace(self, source: str, target: str) -> None:
        before, after = self._path(source), self._path(target)
        with translated("rename", before):
            refuse_strange_folders(self.root, source)
            refuse_strange_folders(self.root, target)
            os.replace(before, after)

    def remove(self, name: str) -> None:
        with translated("remove", self._path(name)):
            refuse_strange_folders(self.root, name)
            os.unlink(self._path(name))

    def is_free(self, name: str) -> bool:
        return name in self._discarded or not os.path.lexists(self._path(name))

    def discard(self, name: str) -> None:
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            pass
        except OSError:
            self._discarded.add(name)

    def sync_dir(self, name: str) -> None:
        self._sync_directory(os.path.dirname(self._path(name)))

    def make_private(self, name: str) -> None:
        """Create an empty file before a library does, which would let the umask decide on it."""
        with contextlib.suppress(StoreError):
            self.open(name, create=True).close()

    def tighten(self) -> None:
        """Take from group and others whatever they may do with the store."""
        tighten(self.root)

    def copy_to(self, other: DiskFiles, name: str) -> list[tuple[int, int]]:
        """Copy a file to another root, not synced; nothing if there is none. Links are followed.

        Returns the ranges of bytes that the disk cannot read: the copy has zeros there. An error
        names the side that it came from: a disk that is full is never the source's. What somebody
        has made a file longer by without writing to it (see ``written``) is not copied.
        """
        path = self._path(name)
        try:
            with translated("read", path):
                held = opened(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except StoreNotFoundError:
            return []
        regular(held, path)
        bad = list[tuple[int, int]]()
        with (
            contextlib.closing(DiskFile(held, path)) as source,
            contextlib.closing(other.open(name, create=True)) as target,
        ):
            for offset, end in written(source):
                while offset < end:
                    within = bool(bad) and bad[-1][1] == offset
                    length = min(_COPIED_AT_ONCE, end - offset)
                    block, unread = read_around(source, offset, length, within_bad=within)
                    if not block:  # cut off meanwhile
                        break
                    target.write_at(offset, block)
                    offset, bad = offset + len(block), join(bad, unread)
        return bad

    def protect(self, name: str) -> None:
        """Restrict a file that a library created for us to its owner."""
        with contextlib.suppress(OSError):
            os.chmod(self._path(name), 0o600)

    def _path(self, name: str) -> str:
        if _NAME.fullmatch(name) is None:
            raise StoreError(f"not a file name inside the store: {name!r}")
        return f"{self.root}/{name}"

    def _sync_directory(self, path: str) -> None:
        with translated("sync directory", path):
            sync_folder(path)


def _holds_nothing(directory: str) -> bool:
    with os.scandir(directory) as entries:
        return next(entries, None) is None


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

    def glance(
        self, name: str, head: int, *, writable: bool, most: int
    ) -> tuple[bytes, Bytes]:
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


def as_bytes(array: NDArray[Any]) -> memoryview:
    """The raw bytes of a C-contiguous array, without a copy."""
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """(line number, line) of a UTF-8 text file."""
    with (
        translated("read", path),
        open(open_given(path), encoding="utf-8", errors="strict") as lines,
    ):
        yield from enumerate(lines, start=1)

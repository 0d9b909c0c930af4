"""Files in a directory: the only module that opens, writes and removes the files of a store.

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
from io import FileIO

import numpy as np

from spector.errors import StoreError, StoreNotFoundError
from spector.process import Sole
from spector.store.files import syncing
from spector.store.files.bad_sectors import join_ranges, read_around, written_ranges
from spector.store.files.descriptors import open_descriptor
from spector.store.files.guards import (
    OPEN_FLAGS,
    make_private_folder,
    refuse_strange_folders,
    require_regular,
    tighten,
)
from spector.store.files.maps import Map, populate
from spector.store.files.os_errors import translate_os_errors, typed_os_error
from spector.store.files.protocol import Bytes

__all__ = ["DiskFile", "DiskFiles"]

_NO_BYTES: Bytes = np.zeros(0, dtype=np.uint8)
#: what names a file inside the store: no empty part, no "." and no ".."
_NAME = re.compile(r"(?!\.{1,2}(?:/|$))[^/\0]+(?:/(?!\.{1,2}(?:/|$))[^/\0]+)*")
_COPIED_AT_ONCE = 1 << 20


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
        with translate_os_errors("read", self._path):
            return os.pread(self._fd, length, offset)

    def write_at(self, offset: int, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        with translate_os_errors("write", self._path):
            while view:
                written = os.pwrite(self._fd, view, offset)
                view = view[written:]
                offset += written

    def size(self) -> int:
        with translate_os_errors("stat", self._path):
            return os.fstat(self._fd).st_size

    def extent(self, offset: int) -> tuple[int, int] | None:
        with translate_os_errors("look for what was written to", self._path):
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
        with translate_os_errors("allocate space for", self._path):
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
        with translate_os_errors("map", self._path):
            if self.size() < length:
                raise StoreError(
                    f"cannot map {self._path}: it has {self.size()} bytes, expected {length}",
                    hint="the file was truncated; run: spector check PATH",
                )
            return np.asarray(Map(self._fd, length))

    def sync(self) -> None:
        with translate_os_errors("sync", self._path):
            syncing.sync_data(self._fd)

    def close(self) -> None:
        self._held.close()


class DiskFiles:
    """Files in a directory."""

    durable = True

    def __init__(self, root: str) -> None:
        # resolved once: a link that is changed later must not split a store
        with translate_os_errors("find", root):  # the current directory may be gone
            self.root = os.path.realpath(root)
        self._discarded: set[str] = set()

    def make_root(self) -> None:
        """Create the root directory and its parents if absent; a power cut does not undo this.

        Each name is synced before anything is put below it. Only the lowest directory that exists
        already may have been made by a process that was killed before it synced the name.
        """
        with translate_os_errors("create", self.root):
            missing, lowest = [], self.root
            while not os.path.isdir(lowest) and lowest != os.path.dirname(lowest):
                missing.append(lowest)
                lowest = os.path.dirname(lowest)
            with contextlib.suppress(PermissionError):  # then it is not ours
                syncing.sync_folder(os.path.dirname(lowest))
            for path in reversed(missing):
                with contextlib.suppress(FileExistsError):
                    make_private_folder(path) if path == self.root else os.mkdir(path)
                self._sync_directory(os.path.dirname(path))

    def is_empty(self) -> bool:
        """True when the root is absent or empty."""
        if os.path.exists(self.root) and not os.path.isdir(self.root):
            raise StoreError(
                f"cannot open a store at {self.root}: it is a file",
                hint="pass the path of a directory",
            )
        with translate_os_errors("list", self.root):
            try:
                return not os.listdir(self.root)
            except FileNotFoundError:
                return True

    def writable(self) -> bool:
        return os.access(self.root, os.W_OK)

    def open(self, name: str, *, create: bool = False, writable: bool = True) -> DiskFile:
        path = self._path(name)
        flags = OPEN_FLAGS | (os.O_RDWR if writable else os.O_RDONLY)
        with translate_os_errors("create" if create else "open", path):
            refuse_strange_folders(self.root, name)
            if create:
                directory = os.path.dirname(path)
                if not os.path.isdir(directory):
                    make_private_folder(directory)
                if _holds_nothing(directory):  # a killed process may have made it, and not synced
                    self._sync_directory(os.path.dirname(directory))
                flags |= os.O_CREAT | os.O_EXCL
                if name in self._discarded:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
                    self._discarded.discard(name)
            held = open_descriptor(path, flags)
            require_regular(held, path, created=create)
            return DiskFile(held, path)

    def glance(self, name: str, head: int, *, writable: bool, most: int) -> tuple[bytes, Bytes]:
        path = self._path(name)
        try:  # without a context manager: opening a store does this for a thousand partitions
            refuse_strange_folders(self.root, name)
            held = open_descriptor(path, OPEN_FLAGS | (os.O_RDWR if writable else os.O_RDONLY))
            size = min(require_regular(held, path).st_size, most)
            fd = held.fileno()
            try:
                return os.pread(fd, head, 0), np.asarray(Map(fd, size)) if size else _NO_BYTES
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
            held = open_descriptor(path, OPEN_FLAGS | os.O_RDONLY)
            try:
                status = os.fstat(held.fileno())
                if not stat.S_ISREG(status.st_mode) or not 0 < status.st_size <= most:
                    return None
                mapped: Bytes = np.asarray(Map(held.fileno(), status.st_size, private=True))
                populate(mapped)  # all of it will be read: rather an error now than a signal
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
        """Names of directories that ``listing`` does not enter: links, and unreadable ones."""
        found: list[str] = []
        denied: list[OSError] = []
        for directory, folders, _ in os.walk(self.root, onerror=denied.append):
            paths = [os.path.join(directory, name) for name in folders]
            found += [path for path in paths if os.path.islink(path)]
        found += [error.filename for error in denied]
        return sorted(os.path.relpath(path, self.root).replace(os.sep, "/") for path in found)

    def size_of(self, name: str) -> int:
        with translate_os_errors("stat", self._path(name)):
            status = os.lstat(self._path(name))
            return status.st_size if stat.S_ISREG(status.st_mode) else 0

    def sizes(self) -> dict[str, int]:
        """Bytes of every file; one that vanishes meanwhile is left out."""
        found = {}
        for name in self.listing():
            with contextlib.suppress(StoreNotFoundError):
                found[name] = self.size_of(name)
        return found

    def replace(self, source: str, target: str) -> None:
        before, after = self._path(source), self._path(target)
        with translate_os_errors("rename", before):
            refuse_strange_folders(self.root, source)
            refuse_strange_folders(self.root, target)
            os.replace(before, after)

    def remove(self, name: str) -> None:
        with translate_os_errors("remove", self._path(name)):
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
        """Create an empty file before a library does, which would apply the umask."""
        with contextlib.suppress(StoreError):
            self.open(name, create=True).close()

    def tighten(self) -> None:
        """Take all rights to the store from group and others."""
        tighten(self.root)

    def copy_to(self, other: DiskFiles, name: str) -> list[tuple[int, int]]:
        """Copy a file to another root, not synced; a missing one is skipped. Links are followed.

        Returns the byte ranges that the disk cannot read, where the copy has zeros. An error names
        the side that it comes from: a full disk is never the source's. Long holes (see
        ``written_ranges``) are not copied.
        """
        path = self._path(name)
        try:
            with translate_os_errors("read", path):
                held = open_descriptor(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except StoreNotFoundError:
            return []
        require_regular(held, path)
        bad = list[tuple[int, int]]()
        with (
            contextlib.closing(DiskFile(held, path)) as source,
            contextlib.closing(other.open(name, create=True)) as target,
        ):
            for offset, end in written_ranges(source):
                while offset < end:
                    within = bool(bad) and bad[-1][1] == offset
                    length = min(_COPIED_AT_ONCE, end - offset)
                    block, unread = read_around(source, offset, length, within_bad=within)
                    if not block:  # cut off meanwhile
                        break
                    target.write_at(offset, block)
                    offset, bad = offset + len(block), join_ranges(bad, unread)
        return bad

    def _path(self, name: str) -> str:
        if _NAME.fullmatch(name) is None:
            raise StoreError(f"not a file name inside the store: {name!r}")
        return f"{self.root}/{name}"

    def _sync_directory(self, path: str) -> None:
        with translate_os_errors("sync directory", path):
            syncing.sync_folder(path)


def _holds_nothing(directory: str) -> bool:
    with os.scandir(directory) as entries:
        return next(entries, None) is None

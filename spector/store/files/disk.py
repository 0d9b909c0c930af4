"""Files in a directory: the only module that opens, writes and removes the files of a store."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import re
import stat
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from spector.errors import StoreError, StoreNotFoundError
from spector.process import Sole, held_by_calling, kind_of, postpone
from spector.store.files import syncing
from spector.store.files.bad_sectors import Unread, blocks_of, written_ranges
from spector.store.files.protocol import Bytes, translate_os_errors, typed_os_error

# File descriptors that an interrupt neither loses nor closes twice.


def open_descriptor(path: str, flags: int) -> FileIO:
    """Open a file; the returned object closes the descriptor when it is dropped.

    It does so in C, where no signal is handled, unlike in a ``__del__``.

    Raises:
        OSError
    """
    numbers: list[int] = []
    files: list[FileIO] = []
    try:
        held_by_calling(numbers, os.open, path, flags, 0o600)
        return held_by_calling(files, FileIO, numbers[0])
    except BaseException:
        if files:
            files[0].close()
        elif numbers:
            os.close(numbers[0])
        raise


# Only regular files, only below the root, only for their owner.
#
# A store's directory may come from an archive, or others may have written to it. So a link, a pipe or
# a device in the place of a file is refused instead of followed or waited for, and the rights of
# group and others are removed whenever the store is opened for writing.

#: never through a link in the last place, and never waiting for the other end of a pipe
OPEN_FLAGS: Final = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OTHERS: Final = 0o077
_HINT: Final = (
    "move it away without deleting it, and put the file itself in its place; or restore a backup"
)


def require_regular(held: FileIO, path: str, *, created: bool = False) -> os.stat_result:
    """The status of a descriptor's file; a descriptor of anything else is closed.

    A file that was ``created`` gets mode 0600, whatever the umask.

    Raises:
        StoreError: it is not a regular file.
    """
    try:
        status = os.fstat(held.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{path} is {kind_of(status.st_mode)}, not a file", hint=_HINT)
        if created and stat.S_IMODE(status.st_mode) != 0o600:
            os.fchmod(held.fileno(), 0o600)
    except BaseException:
        held.close()
        raise
    return status


def refuse_strange_folders(root: str, name: str) -> None:
    """Raise when a parent of ``name`` below the root is a link, or not a directory."""
    at = name.find("/")
    while at >= 0:
        path = f"{root}/{name[:at]}"
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(path).st_mode
            if not stat.S_ISDIR(mode):
                raise StoreError(f"{path} is {kind_of(mode)}, not a directory", hint=_HINT)
        at = name.find("/", at + 1)


def refuse_other_than_files(*paths: str) -> None:
    """Raise when one of the paths is a link, a pipe, a device or a directory.

    For files that a library opens, which would follow a link or wait for a pipe.
    """
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # opening it will say why
            continue
        if not stat.S_ISREG(mode):
            raise StoreError(f"{path} is {kind_of(mode)}, not a file", hint=_HINT)


def identity(path: str) -> tuple[int, int] | None:
    """(device, inode) of the file at a path; None when it is missing or cannot be seen."""
    try:
        return identity_if_any(path)
    except OSError:
        return None


def identity_if_any(path: str) -> tuple[int, int] | None:
    """(device, inode) of the file at a path; None when it certainly does not exist.

    Raises:
        OSError: that is unknown.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def make_private_folder(path: str) -> None:
    """Make a directory with mode 0700, whatever the umask."""
    os.mkdir(path, 0o700)
    if stat.S_IMODE(os.lstat(path).st_mode) & 0o777 != 0o700:
        os.chmod(path, 0o700)


def _everything(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """The directory and every regular file and directory below it; links are not followed."""
    with contextlib.suppress(OSError):
        yield root, os.lstat(root)
    waiting = [root]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                folder = entry.is_dir(follow_symlinks=False)
                if folder:
                    waiting.append(entry.path)
                if folder or entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        yield entry.path, entry.stat(follow_symlinks=False)


# Files that must keep their names while a store is open: its catalog, its log, its lock.
#
# POSIX lets another process unlink or replace an open file. Later commits would go to the unlinked
# inode and be lost, and an unlinked lock excludes no one. So every transaction first checks that the
# paths still name our inodes.


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


# Maps of files: they need no descriptor, and their pages can be read before they are touched.
#
# Touching a page that the disk cannot read, or that lies beyond the end of a truncated file, ends the
# process with SIGBUS. Linux can read pages beforehand and report a failure (MADV_POPULATE_READ, since
# 5.14). This covers pages that are bad at that moment: one that the system evicts is read again
# later, and may fail then.

_POPULATE_READ: Final = 22
_EHWPOISON: Final = 133


#: what mmap returns when it fails
_FAILED: Final = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_longlong,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class Map(Sole):
    """A map without a descriptor: shared and read-only, or private and writable.

    ``mmap.mmap`` duplicates the descriptor before Python 3.13, and a store of ten years has more
    day partitions than a process may have descriptors. Arrays keep the map alive as their base.
    """

    def __init__(self, fd: int, length: int, *, private: bool = False) -> None:
        self._length = length
        protection = mmap.PROT_READ | (mmap.PROT_WRITE if private else 0)
        kind = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        #: the address, or empty
        self._held: list[int | None] = []
        address = held_by_calling(self._held, _libc.mmap, None, length, protection, kind, fd, 0)
        if address is None or address == _FAILED:
            self._held.clear()
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (length,),
            "data": (address, not private),
        }

    def __del__(self, _munmap: Any = _libc.munmap) -> None:  # at the end there are no globals
        held = getattr(self, "_held", None)  # an interrupt may have come first
        try:
            if held and held[0] not in (None, _FAILED):
                address = held[0]
                del held[0]
                _munmap(address, self._length)
        except BaseException as error:  # an interrupt, which Python would only print here
            postpone(error)


def populate(view: NDArray[np.uint8]) -> bool:
    """Read every page under a C-contiguous array now; False where the system cannot.

    Raises:
        OSError: EIO, some page cannot be read.
    """
    if not view.nbytes:
        return True
    if not sys.platform.startswith("linux"):
        return False
    first = int(view.ctypes.data)
    low = first - first % mmap.PAGESIZE
    while _libc.madvise(low, first + view.nbytes - low, _POPULATE_READ):
        code = ctypes.get_errno()
        if code in (errno.EFAULT, _EHWPOISON):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if code not in (errno.EINTR, errno.EAGAIN):
            return False
    return True


_NO_BYTES: Bytes = np.zeros(0, dtype=np.uint8)
#: what names a file inside the store: no empty part, no "." and no ".."
_NAME = re.compile(r"(?!\.{1,2}(?:/|$))[^/\0]+(?:/(?!\.{1,2}(?:/|$))[^/\0]+)*")


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
            try:
                size = min(require_regular(held, path).st_size, most)
                fd = held.fileno()
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
        """Take all rights to the directory and the files in it from group and others.

        Only files of this user change, and no rights are added.
        """
        open_to_all = False
        for path, status in _everything(self.root):
            if status.st_uid != os.geteuid() or not status.st_mode & _OTHERS:
                continue
            open_to_all |= bool(status.st_mode & stat.S_IWOTH)
            with contextlib.suppress(OSError):
                os.chmod(path, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        if open_to_all:
            warnings.warn(
                f"until now every user of this machine could change the store at {self.root}; "
                "run: spector check PATH",
                UserWarning,
                stacklevel=1,
            )

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
        bad = Unread()
        with (
            contextlib.closing(DiskFile(held, path)) as source,
            contextlib.closing(other.open(name, create=True)) as target,
        ):
            for offset, end in written_ranges(source):
                for block in blocks_of(source, offset, end, bad):
                    target.write_at(offset, block)
                    offset += len(block)
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

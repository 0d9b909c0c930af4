"""Python's side of ``shim.c``: a library in front of libc that counts, breaks and records calls.

It sees every file call below one directory, SQLite's as well as Python's own, so a test needs no
hooks in the product. A parent is started with it preloaded (``in_shimmed_process``), imports
spector once, and forks a child for each case; the child arms it::

    def case() -> None:                       # in a forked child
        shim = Shim()
        shim.arm(directory)                   # absolute, resolved; counts and looks from here on
        shim.fault(KILL, at=17)               # or: shim.fail(errno.EIO, SYNC), shim.quota(10**6)
        work()

Calls are of these classes; ``CHANGING`` are those that change what is on the disk, and are numbered
from 1: the n-th is the n-th kill point.

    OPEN CREATE WRITE SYNC RENAME UNLINK MKDIR RMDIR TRUNCATE ALLOCATE LINK CHMOD READ CLOSE
    MAP (read-only or private)  SHARE (a shared writable map; only SQLite's -shm may have one)

A trace
-------
``shim.record(path)`` appends each call to a file outside the directory, in the order in which they
happened (one lock is held through each), until the process ends; ``read_trace(path)`` reads it
back as ``Call``s. An entry is, little-endian, without padding::

    4s   "CALL"
    12s  name: open create close read pread write pwrite writev pwritev copy fsync fdatasync
         sync_range ftruncate fallocate rename unlink rmdir mkdir link symlink chmod fchmod
         map share mark; padded with NULs
    u64  sequence, from 1
    i64  number: of the kill point, or 0 for a call that changes nothing
    i64  result: what the call returned (for a write the bytes written), or minus errno
    i64  offset: of a write (also of one without: the position, or the end for O_APPEND), of
         fallocate, sync_range or map
    i64  length: asked to write, or the size given to ftruncate; for mkdir and chmod the mode
    u64  inode: of the file, or for mkdir 0; says which file is meant, whatever it is called by now;
         for rename that of what is renamed, for unlink of what is removed
    i32  fd, or -1
    i32  flags: as given to open, or of the descriptor of a write; mode of fallocate
    u32  bytes of path
    u32  bytes of path2
    u64  bytes of data
    path   relative to the armed directory ("" is the directory itself), absolute outside of it
    path2  the new name of a rename; what a link or symlink points to
    data   of a write, exactly the bytes written; of a mark, its text

Directories are opened and synced like files: their ``fsync`` has their path. A ``create`` made a
file that was not there, an ``open`` did not (with O_TRUNC in its flags it emptied it). Failed
calls are in the trace, too. A ``mark`` is what the workload says itself (``shim.mark``), such as
what it has acknowledged. What a shared map changes is not in a trace.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crash.harness import in_fresh_process

SOURCE = Path(__file__).with_name("shim.c")

OPEN, CREATE, WRITE, SYNC, RENAME, UNLINK, MKDIR, RMDIR = (1 << n for n in range(8))
TRUNCATE, ALLOCATE, LINK, CHMOD, MAP, SHARE, READ, CLOSE = (1 << n for n in range(8, 16))
CHANGING = (
    CREATE | WRITE | SYNC | RENAME | UNLINK | MKDIR | RMDIR | TRUNCATE | ALLOCATE | LINK | CHMOD
)

#: what a fault does at its call: die before it; die after it; write half, to the end of a
#: sector of 512 bytes, then die (other calls, and writes within one sector: die before); return an
#: errno; write half and say so
NOTHING, KILL, KILL_AFTER, TORN, FAIL, SHORT = range(6)
FOR_EVER = -1

_ENTRY = struct.Struct("<4s12sQqqqqQiiIIQ")


@dataclass(frozen=True, slots=True)
class Call:
    """One entry of a trace; the fields are explained above."""

    name: str
    sequence: int
    number: int
    result: int
    offset: int
    length: int
    inode: int
    fd: int
    flags: int
    path: str
    path2: str
    data: bytes

    def __str__(self) -> str:
        told = errno.errorcode.get(-self.result, "") if self.result < 0 else str(self.result)
        names = " -> ".join(name for name in (self.path, self.path2) if name) or "."
        return f"{self.name}({names}, {self.offset}, {self.length}) = {told}"


def read_trace(path: str) -> Iterator[Call]:
    """The calls of a trace, in order."""
    with open(path, "rb") as file:
        while head := file.read(_ENTRY.size):
            (
                magic,
                name,
                sequence,
                number,
                result,
                offset,
                length,
                inode,
                fd,
                flags,
                n_path,
                n_path2,
                n_data,
            ) = _ENTRY.unpack(head)
            if magic != b"CALL":
                raise AssertionError(f"{path} is not a trace, or is torn")
            yield Call(
                name.rstrip(b"\0").decode(),
                sequence,
                number,
                result,
                offset,
                length,
                inode,
                fd,
                flags,
                os.fsdecode(file.read(n_path)),
                os.fsdecode(file.read(n_path2)),
                file.read(n_data),
            )


def library() -> str:
    """The path of the compiled shim; compiled once for each version of its source.

    Skips the test that asks where there is no Linux or no C compiler.
    """
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if not sys.platform.startswith("linux"):
        pytest.skip("the shim in front of libc is for Linux")
    if compiler is None:
        pytest.skip("no C compiler for the shim in front of libc; install gcc")
    key = hashlib.sha256(SOURCE.read_bytes() + compiler.encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"spector-shim-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{key}.so"
    if folder.stat().st_uid != os.getuid():
        pytest.skip(f"{folder} belongs to somebody else")
    if not target.exists():
        made = folder / f"{key}.{os.getpid()}.tmp"
        subprocess.run(
            [
                compiler,
                "-std=c11",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-shared",
                "-fPIC",
                "-pthread",
                "-o",
                str(made),
                str(SOURCE),
            ],
            check=True,
        )
        made.replace(target)
    return str(target)


def in_shimmed_process(target: str, **kwargs: Any) -> Any:
    """``in_fresh_process`` with the shim preloaded; skips where it cannot be compiled.

    A sanitizer that is preloaded here stays in front of it.
    """
    preloaded = " ".join(filter(None, (os.environ.get("LD_PRELOAD"), library())))
    return in_fresh_process(target, env={"LD_PRELOAD": preloaded}, **kwargs)


class Shim:
    """The preloaded library of this process.

    Raises:
        RuntimeError: it is not preloaded.
    """

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        if not hasattr(library, "shim_arm"):
            raise RuntimeError("start this process with in_shimmed_process")
        library.shim_bad.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
        library.shim_quota.argtypes = (ctypes.c_int64, ctypes.c_int64)
        library.shim_used.restype = ctypes.c_int64
        library.shim_mark.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
        library.shim_fault.argtypes = (
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_int,
            ctypes.c_char_p,
        )
        for name in (
            "shim_count",
            "shim_seen",
            "shim_hits",
            "shim_retried",
            "shim_retried_folders",
        ):
            getattr(library, name).restype = ctypes.c_long
        library.shim_retried_path.restype = ctypes.c_char_p
        self._library = library
        self._root = ""

    def arm(self, root: str, counted: int = CHANGING) -> None:
        """Look at calls below ``root`` from now on, and count afresh; no fault, no quota."""
        self._root = os.path.realpath(root)
        self._library.shim_arm(os.fsencode(self._root), counted)

    def disarm(self) -> None:
        self._library.shim_disarm()

    def fault(
        self,
        action: int,
        *,
        classes: int = CHANGING,
        at: int = 1,
        times: int = 1,
        error: int = 0,
        only: str = "",
    ) -> None:
        """Do ``action`` at the ``at``-th call from now of these classes, and ``times`` in all.

        ``only`` is a part of the absolute path of the files that are meant.
        """
        self._library.shim_fault(action, classes, at, times, error, os.fsencode(only))

    def fail(self, error: int, classes: int = CHANGING, **more: Any) -> None:
        """Let calls return an errno; ``at``, ``times`` and ``only`` as for ``fault``."""
        self.fault(FAIL, classes=classes, error=error, **more)

    def heal(self) -> None:
        """No fault any more."""
        self.fault(NOTHING)

    def bad(self, only: str, low: int, high: int) -> None:
        """Let the disk be unable to read bytes ``low`` to ``high`` - 1 of files with that in their
        path: a read that begins there fails with EIO, one in front of it ends early.

        Reads through a map, and ``read``, see nothing of it. The same bounds twice: none are bad.
        """
        self._library.shim_bad(os.fsencode(only), low, high)

    def quota(self, bytes_allowed: int) -> None:
        """Let the files below the root grow to this many bytes in all, in whole pages of 4 KiB.

        A write that goes beyond is cut short, as on a full disk; one of which nothing fits, and an
        allocation, get ENOSPC. A file's space is free when its last name goes. -1 is no limit.
        """
        self._library.shim_quota(bytes_allowed, _space_in(self._root))

    def used(self) -> int:
        """Bytes counted against the quota."""
        return int(self._library.shim_used())

    def record(self, path: str) -> None:
        """Append every call from now on to a trace; the file stays open until the process ends."""
        self._library.shim_record(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        )

    def mark(self, text: str) -> None:
        """Put a word of the workload's own into the trace."""
        data = text.encode()
        self._library.shim_mark(data, len(data))

    def count(self) -> int:
        """Calls of the counted classes since ``arm``: the kill points so far."""
        return int(self._library.shim_count())

    def seen(self, classes: int) -> int:
        """Calls of these classes since ``arm``."""
        return int(self._library.shim_seen(classes))

    def hits(self) -> int:
        """Calls that the fault could have struck since it was set."""
        return int(self._library.shim_hits())

    def retried(self) -> tuple[int, str]:
        """How often a file was synced again after its sync had failed, and the last such file.

        A second sync can succeed although what the first should have written is lost.
        """
        return int(self._library.shim_retried()), os.fsdecode(self._library.shim_retried_path())

    def retried_folders(self) -> int:
        """The same for directories. SQLite ignores it when one of those cannot be synced."""
        return int(self._library.shim_retried_folders())

    def reopened(self) -> None:
        """Say that the store has been opened afresh: it may sync what a failed sync left again."""
        self._library.shim_reopened()


def _space_in(root: str) -> int:
    return sum(
        -(-os.lstat(os.path.join(directory, name)).st_size // 4096) * 4096
        for directory, _, names in os.walk(root)
        for name in names
    )

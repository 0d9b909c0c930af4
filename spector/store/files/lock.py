"""One writer per store: ``flock`` on the file LOCK.

``flock`` belongs to the open file, so unrelated closes in this process do not drop it (``lockf``
locks would vanish). This process recognizes its own locks by inode: a link leads to the same file,
and another container has the same process ids. An unlinked lock excludes no one, so the holder
checks the name before each commit (`Watched`).

A dead holder's lock may live on for a moment: a process that it forked has the descriptor until the
hook below or ``exec`` closes it. So an opening that finds the lock of a dead process retries for
``DEAD_HOLDER_WAIT_S``; one that finds a living holder is refused at once.

The first line of the file is the holder's process id, which the lock never depends on. A writer
that shares a store lets go of the lock after each write, and puts a minus sign before its id. Where
that is missing, the last writer closed the store, or was killed: then the partitions may lack what
was committed, and the next one recovers first.

The second line is the durable mark: the change counter of the last commit that the writer knew to
be durable. A catalog with a smaller counter has lost commits, although it looks sound. The line is
never synced: a power cut may leave an older mark, which is still true, a killed process leaves the
newest; without the file, or with a damaged line, nothing is known.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from time import monotonic, sleep
from typing import Final

from spector.errors import StoreError, StoreLockedError
from spector.process import Sole, Turn, WeakList, completed, managed
from spector.store.files.disk import OPEN_FLAGS, Watched, open_descriptor, require_regular
from spector.store.files.protocol import translate_os_errors
from spector.store.files.syncing import fcntl

LOCK_NAME: Final = "LOCK"
#: seconds of sleep to wait for a lock whose holder is dead. A child is between fork and exec for
#: milliseconds, but on a busy machine it may wait much longer for a processor.
DEAD_HOLDER_WAIT_S = 2.0
_STEP_S = 0.01
#: how often the one whose turn it is looks for the lock
_TURN_STEP_S: Final = 0.002
_LOST: Final = (
    "it excluded other writers: close this store, make sure that only one process has it open, then"
    " open it again"
)
#: bytes of the first line, which is the holder's process id, and of both
_FIRST = 16
_BOTH = 96
#: before the process id of a writer that let go of the lock between two writes
_LET_GO: Final = b"-"


@dataclass(frozen=True, slots=True)
class DurableMark:
    """The last change of a store that its writer knew to be durable."""

    uuid: bytes
    change_seq: int

    def line(self) -> bytes:
        body = b"%s %016x" % (self.uuid.hex().encode(), self.change_seq)
        return b"%s %08x\n" % (body, zlib.crc32(body))

    @staticmethod
    def read(raw: bytes) -> DurableMark | None:
        """The mark in the content of a lock file, if it has one."""
        try:
            uuid, seq, _ = raw[_FIRST:].split()
            found = DurableMark(bytes.fromhex(uuid.decode()), int(seq, 16))
        except (ValueError, UnicodeDecodeError):
            return None
        return found if raw[_FIRST:] == found.line() else None


def read_durable_mark(root: str) -> DurableMark | None:
    """The durable mark of the last writer of a store. Read it before the catalog."""
    fd = _lock_file(os.path.join(root, LOCK_NAME))
    if fd is None:
        return None
    try:
        return DurableMark.read(os.pread(fd.fileno(), _BOTH, 0))
    except OSError:
        return None
    finally:
        fd.close()


class WriterLock(Sole):
    """Held from open to close by the one process that may write.

    Args:
        speaks: write the durable mark. Building a copy does not: a mark shows that a store has
            been in use.
        wait_s: seconds to wait for a living holder, in turn with others who wait.

    Raises:
        StoreLockedError: a living process holds it, perhaps this one, or after
            ``DEAD_HOLDER_WAIT_S`` a child of a dead one still does.
    """

    def __init__(self, root: str, *, speaks: bool = True, wait_s: float = 0.0) -> None:
        path = os.path.join(root, LOCK_NAME)
        self._speaks = speaks
        #: the last writer's at first
        self.mark: DurableMark | None = None
        #: the last writer had all of its commits in their partitions when it let go
        self.was_let_go = False
        self.pid = os.getpid()
        self._held: FileIO | None = None
        with translate_os_errors("open", path):
            # a link here would have the file behind it emptied below
            held = self._held = open_descriptor(path, OPEN_FLAGS | os.O_RDWR | os.O_CREAT)
            require_regular(held, path, created=True)
        try:
            self.identity = _identity_of(self._fd)
            self._file = Watched(path, _LOST, _LOST, self.identity)
            with _turn(root, wait_s):
                self._acquire(root, wait_s)
            with contextlib.suppress(OSError):  # the content is only informative
                found = os.pread(self._fd, _BOTH, 0)
                self.mark, self.was_let_go = DurableMark.read(found), found.startswith(_LET_GO)
                os.ftruncate(self._fd, self._write())
        except BaseException:
            self.release()
            raise

    @property
    def _fd(self) -> int:
        held = self._held
        return -1 if held is None or held.closed else held.fileno()

    def _acquire(self, root: str, wait_s: float) -> None:
        if fcntl is None:  # pragma: no cover
            raise StoreLockedError(
                "this platform has no flock, so a second writer could not be excluded",
                hint="use spector on Linux or macOS",
            )
        until, steps = monotonic() + wait_s, round(DEAD_HOLDER_WAIT_S / _STEP_S)
        while steps:
            # together, so that another thread that is refused finds the holder
            with _registering, contextlib.suppress(OSError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _locks.add(self)
                return
            # read anew each time: another process may have been faster
            holder = _holder_in(self._fd)
            if wait_s and monotonic() < until:
                sleep(_TURN_STEP_S)
                continue
            _refuse_own(self._fd, root)
            if not _is_dead(holder):
                waited = f", after {wait_s:g} s" if wait_s else ""
                raise StoreLockedError(
                    f"the store at {root} is being written by process"
                    f" {holder or 'unknown'}{waited}",
                    hint="close it there, pass wait=30 to wait so long for it, or open it here"
                    ' with mode="r"',
                )
            steps -= 1
            sleep(_STEP_S)
        if _is_shared(self._fd):
            raise StoreLockedError(
                f"the store at {root} is being repaired and cannot be written meanwhile",
                hint='wait until the repair has ended, or open it here with mode="r"',
            )
        raise StoreLockedError(
            f"the store at {root} is still locked, although process {holder}, which locked it, is"
            " dead",
            hint="a process that it started has the lock: end that one (`fuser` on the file LOCK"
            ' names it), or open the store here with mode="r"',
        )

    def record_durable(self, uuid: bytes, change_seq: int) -> None:
        """Write the durable mark of a change; a failure does no harm."""
        if self._fd >= 0 and self._speaks:
            self.mark = DurableMark(uuid, change_seq)
            with contextlib.suppress(OSError):
                self._write()

    @property
    def is_held(self) -> bool:
        return self._fd >= 0

    def refuse_removed(self) -> None:
        """Raise when the lock file was unlinked: the next writer would make its own.

        Raises:
            StoreError
        """
        self._file.refuse_changed()

    def let_go(self) -> None:
        """Before the release: note that all commits are in their partitions; it may fail."""
        if self._fd >= 0 and os.getpid() == self.pid:
            with contextlib.suppress(OSError):
                self._write(_LET_GO)

    def _write(self, before: bytes = b"") -> int:
        """Write both lines at once, so that no mark is lost between two writes."""
        mark = b"" if self.mark is None else self.mark.line()
        holder = b"%s%d" % (before, self.pid)
        return os.pwrite(self._fd, b"%-*s\n%s" % (_FIRST - 1, holder, mark), 0)

    def release(self) -> None:
        """Release the lock. Idempotent.

        It is unlocked and not only closed, which frees it even if a child process has the
        descriptor. Such a child only closes the descriptor: the lock is the parent's.
        """
        held = self._held
        if held is None or held.closed:
            return
        try:
            if os.getpid() == self.pid:
                fcntl.flock(held.fileno(), fcntl.LOCK_UN)
        finally:
            held.close()


@managed
def without_writer(root: str) -> Iterator[None]:
    """Exclude writers of a store during the block; leaves no trace in its directory.

    Raises:
        StoreLockedError: the store is being written.
    """
    fd = _lock_file(os.path.join(root, LOCK_NAME))
    if fd is None:
        yield
        return
    try:
        if fcntl is not None and not _is_shared(fd.fileno(), keep=True):
            _refuse_own(fd.fileno(), root)
            raise StoreLockedError(
                f"the store at {root} is being written", hint="close it there first"
            )
        yield
    finally:
        fd.close()


@managed
def _turn(root: str, wait_s: float) -> Iterator[None]:
    """The turn of one who waits for a store; those who do not wait need none."""
    if fcntl is None or not wait_s:
        yield
        return
    turn = Turn(root)
    try:
        with translate_os_errors("open", root):
            turn.come(wait_s)  # if it does not, the lock may still be free by now
        yield
    finally:
        completed(turn.end)


def _lock_file(path: str) -> FileIO | None:
    """A descriptor of the lock file; None when it does not exist or is not a regular file."""
    try:
        held = open_descriptor(path, OPEN_FLAGS | os.O_RDONLY)
        require_regular(held, path)
    except (OSError, StoreError):  # never opened here, or a pipe, which would block
        return None
    return held


def _holder_in(fd: int) -> str:
    """The process id in a lock file: of its holder, or of the last one."""
    return os.pread(fd, _FIRST, 0).lstrip(_LET_GO).decode("ascii", "replace").strip()


def _identity_of(fd: int) -> _Identity:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _refuse_own(fd: int, root: str) -> None:
    """Raise when this process, or one that it was forked from, holds the lock.

    The general message would send the user to another process, where there is nothing to close.
    """
    identity = _identity_of(fd)
    with _registering:
        own = any(lock.identity == identity and lock.is_held for lock in _locks)
    if own:
        raise StoreLockedError(
            f"this process (pid {os.getpid()}) has the store at {root} open for writing already",
            hint="use that Memory, which threads may share, or close() it first (in a notebook: del"
            ' it); mode="r" opens it beside that one, to read',
        )
    parent = _of_parents.get(identity)
    if parent is not None and _holder_in(fd) == str(parent):
        raise StoreLockedError(
            f"process {parent}, which this process (pid {os.getpid()}) was forked from, has the"
            f" store at {root} open for writing",
            hint="close it there before the fork and open it here afterwards, or start this process"
            ' without a fork: multiprocessing.get_context("spawn")',
        )


def _is_shared(fd: int, *, keep: bool = False) -> bool:
    """True when no writer holds the lock: it is free, or shared by ``without_writer``.

    Args:
        keep: take a shared lock as well.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    if not keep:
        fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def _is_dead(holder: str) -> bool:
    """True when ``holder`` is the id of a process that has ended, whether it was reaped or not.

    An id from another container looks dead, too. That only costs a wait: the lock alone decides.
    """
    if not holder.isdigit() or not 0 < int(holder) < 1 << 31:
        return False
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's, so it exists
        pass
    try:
        with open(f"/proc/{holder}/stat", "rb") as file:
            state = file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):  # no /proc here, or it has just ended
        return False
    return state in (b"Z", b"X")


_Identity = tuple[int, int]
_locks: WeakList[WriterLock] = WeakList()
#: held from taking a lock until other threads can see it; reentrant, because a signal handler may
#: open a store
_registering = threading.RLock()
#: inode of a lock -> the process that held it at the fork
_of_parents: dict[_Identity, int] = {}


def _release_in_child() -> None:
    """Release inherited locks: a child that outlives its parent must not keep the store locked."""
    global _locks, _registering
    _registering = threading.RLock()
    inherited, _locks = _locks, WeakList()  # another thread may have been about to change the list
    for lock in inherited:
        if lock.is_held:
            _of_parents[lock.identity] = lock.pid
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)

"""Text files that the user names: written whole or not at all.

Where the system can (Linux, most file systems), a file has no name until it is complete, so a
killed process leaves nothing. It gets a temporary name briefly where the name is taken, and
elsewhere from the beginning. The next write to the same name removes temporary files of killed
processes: a lock on a file shows whether its writer is alive.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from io import FileIO

from spector.process import open_given
from spector.store.files import syncing
from spector.store.files.disk import OPEN_FLAGS, open_descriptor, require_regular
from spector.store.files.protocol import translate_os_errors
from spector.store.files.syncing import fcntl

_END = ".tmp"
#: attempts before giving up because another process keeps removing the file
_ATTEMPTS = 5


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """(line number, line) of a UTF-8 text file."""
    with (
        translate_os_errors("read", path),
        open(open_given(path), encoding="utf-8", errors="strict") as lines,
    ):
        yield from enumerate(lines, start=1)


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write a text file; it appears whole or not at all.

    When this returns, neither the bytes nor the name can be lost in a power cut.
    """
    import secrets

    # no link can be planted: the name is random and must be new
    temporary = f"{path}.{secrets.token_hex(8)}{_END}"
    folder = os.path.dirname(path)
    with translate_os_errors("write", path):
        _remove_left(path)
        held = _nameless(folder or os.curdir)
        named = held is None
        try:
            if held is None:
                held = _named(temporary)
            else:
                require_regular(held, temporary, created=True)
                _lock(held.fileno())
            with os.fdopen(held.fileno(), "w", encoding="utf-8", closefd=False) as out:
                for line in lines:
                    out.write(line)
                    out.write("\n")
                out.flush()
                syncing.sync_all(out.fileno())
                if not named:
                    # the unused directory makes os.link follow the link
                    os.link(_name_of(out.fileno()), temporary, src_dir_fd=out.fileno())
                os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            if held is not None:
                held.close()
        syncing.sync_folder(folder)


def _nameless(folder: str) -> FileIO | None:
    """A new file without a name in a directory; None where the system has none."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None:
        return None
    try:
        held = open_descriptor(folder, flag | os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # a named file is tried next, and its error is raised
        return None
    if not os.path.exists(_name_of(held.fileno())):  # without /proc it could never get a name
        held.close()
        return None
    return held


def _named(path: str) -> FileIO:
    """A new, locked file with a name; made again if another process removed it as a remnant."""
    for attempt in range(_ATTEMPTS):
        held = open_descriptor(path, OPEN_FLAGS | os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        require_regular(held, path, created=True)
        _lock(held.fileno())
        if os.path.exists(path) or attempt == _ATTEMPTS - 1:
            break
        held.close()
    return held


def _name_of(fd: int) -> str:
    return f"/proc/self/fd/{fd}"


def _lock(fd: int) -> None:
    """Lock the file as being written; where the file system cannot, remnants stay."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_left(path: str) -> None:
    """Remove temporary files of this name that killed processes of this user have left."""
    folder, name = os.path.split(path)
    ours = re.compile(re.escape(name) + r"\.[0-9a-f]{16}" + re.escape(_END))
    if fcntl is None:  # pragma: no cover - Windows; what is left there stays
        return
    with contextlib.suppress(OSError), os.scandir(folder or os.curdir) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) is not None:
                with contextlib.suppress(OSError):
                    left = os.path.join(folder, entry.name)
                    with contextlib.closing(
                        open_descriptor(left, OPEN_FLAGS | os.O_RDONLY)
                    ) as held:
                        status = os.fstat(held.fileno())
                        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                            # raises while its writer is there
                            fcntl.flock(held.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                            os.unlink(left)

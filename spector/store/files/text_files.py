"""Text files that the user names: written whole or not at all.

A file has a temporary name until it is complete. The next write to the same name removes temporary
files of killed processes: a lock on a file shows whether its writer is alive.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator

from spector.process import open_given
from spector.store.files import syncing
from spector.store.files.disk import OPEN_FLAGS, open_descriptor, require_regular
from spector.store.files.protocol import translate_os_errors

_END = ".tmp"


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
    with translate_os_errors("write", path):
        _remove_left(path)
        held = open_descriptor(temporary, OPEN_FLAGS | os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            require_regular(held, temporary, created=True)
            with contextlib.suppress(OSError):  # where the file system cannot, remnants stay
                fcntl.flock(held.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            with os.fdopen(held.fileno(), "w", encoding="utf-8", closefd=False) as out:
                for line in lines:
                    out.write(line)
                    out.write("\n")
                out.flush()
                syncing.sync_all(out.fileno())
                os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            held.close()
        syncing.sync_folder(os.path.dirname(path))


def _remove_left(path: str) -> None:
    """Remove temporary files of this name that killed processes of this user have left."""
    folder, name = os.path.split(path)
    ours = re.compile(re.escape(name) + r"\.[0-9a-f]{16}" + re.escape(_END))
    with contextlib.suppress(OSError), os.scandir(folder or os.curdir) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) is not None:
                with contextlib.suppress(OSError):
                    _remove_if_left(os.path.join(folder, entry.name))


def _remove_if_left(path: str) -> None:
    held = open_descriptor(path, OPEN_FLAGS | os.O_RDONLY)
    try:
        status = os.fstat(held.fileno())
        mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if mine:
            # raises while its writer is there
            fcntl.flock(held.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        held.close()

"""What a recorded trace did to the disk: the calls that succeeded, in a few kinds."""

from __future__ import annotations

from dataclasses import dataclass

from tests.crash import shim

__all__ = ["MARK", "Call", "calls_of"]

MARK = "mark"
_KINDS = {
    "open": "open",
    "create": "create",
    "close": "close",
    **dict.fromkeys(("write", "pwrite", "writev", "pwritev", "copy"), "write"),
    "fsync": "sync",
    "fdatasync": "sync",
    "ftruncate": "resize",
    "fallocate": "allocate",
    **{name: name for name in ("rename", "link", "unlink", "mkdir", "rmdir", "share", MARK)},
}
#: what neither changes a file or a name nor makes a change durable; sync_file_range is no barrier
_SILENT = frozenset({"read", "pread", "map", "chmod", "fchmod", "sync_range"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call that succeeded. ``path`` is relative to the directory that was recorded.

    ``kind`` is open, create, close, write, sync, resize (``length`` is the new size), allocate
    (``offset`` and ``length``), rename (to ``path2``), link (of ``path2``), unlink, mkdir, rmdir,
    share (a map that can be stored through) or mark (``data`` is its text).
    """

    kind: str
    path: str = ""
    path2: str = ""
    fd: int = -1
    offset: int = 0
    length: int = 0
    flags: int = 0
    data: bytes = b""


def calls_of(path: str) -> list[Call]:
    """The calls of a trace that matter to a disk; raises for one that no model here knows."""
    return [
        Call(
            _KINDS[each.name],
            each.path,
            each.path2,
            each.fd,
            each.offset,
            each.length,
            each.flags,
            each.data,
        )
        for each in shim.read_trace(path)
        if each.result >= 0 and each.name not in _SILENT
    ]

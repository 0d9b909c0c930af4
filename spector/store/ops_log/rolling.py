"""Log files of JSON lines: appended to, rolled when they are large, rewritten when lines must go.

A line that was cut short, by a full disk or a kill, does not spoil the next one: that begins on a
line of its own.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from spector.clock import Clock, iso_of_ms
from spector.errors import StoreError, StoreNotFoundError
from spector.store.files import Files

__all__ = ["MAX_BYTES", "OPS_LOG_NAME", "RollingLog", "is_ops_log", "scrub_ops_logs"]

OPS_LOG_NAME: Final = "ops-log.jsonl"
#: size from which a file is put aside, and a new one begun
MAX_BYTES: Final = 10_000_000
_END: Final = ".tmp"
#: held while any log of this process is written: its files are opened for each batch of lines
_writing = threading.RLock()

#: whether a line stays
Keep = Callable[[Mapping[str, Any]], bool]


def is_ops_log(name: str, of: str = OPS_LOG_NAME) -> bool:
    """Whether a file is a log or was one: ``ops-log.jsonl``, ``ops-log-2026-11-26-1.jsonl``."""
    stem, dot, end = of.rpartition(".")
    stem, end = (stem, dot + end) if dot else (of, "")
    dated = r"(?:-\d{4}-\d\d-\d\d(?:-\d+)?)?"
    pattern = f"{re.escape(stem)}{dated}{re.escape(end)}(?:{re.escape(_END)})?"
    return re.fullmatch(pattern, name) is not None


class RollingLog:
    """One log in a directory. Thread-safe.

    Args:
        files: of the directory.
        name: of the file that is appended to.
    """

    def __init__(self, files: Files, name: str, clock: Clock) -> None:
        self._files = files
        self._name = name
        self._clock = clock

    def append(self, lines: Sequence[bytes]) -> None:
        """Append lines, each without its line break; a full file is rolled before.

        Raises:
            StoreError: the disk is full, or the file cannot be written.
        """
        with _writing:
            size = self._roll()
            file = self._files.open(self._name, create=size is None)
            with contextlib.closing(file):
                at = size or 0
                torn = at > 0 and file.read_at(at - 1, 1) != b"\n"
                file.write_at(at, b"".join([b"\n" * torn, *(line + b"\n" for line in lines)]))

    def scrub(self, keep: Keep) -> tuple[int, int]:
        """Rewrite the files without the lines that do not stay; (lines, bytes) removed."""
        with _writing:
            return _scrub(self._files, self._name, keep)

    def _roll(self) -> int | None:
        """The size of the file that is appended to, after rolling; None when there is none."""
        if not self._files.exists(self._name):
            return None
        size = self._files.size_of(self._name)
        if size < MAX_BYTES:
            return size
        stem, dot, end = self._name.rpartition(".")
        stem, end = (stem, dot + end) if dot else (self._name, "")
        dated, n = f"{stem}-{iso_of_ms(self._clock.now_ms())[:10]}", 0
        while self._files.exists(target := f"{dated}{f'-{n}' if n else ''}{end}"):
            n += 1
        self._files.replace(self._name, target)
        return None


def scrub_ops_logs(files: Files, keep: Keep) -> tuple[int, int]:
    """Rewrite the logs of a store without the lines that do not stay; (lines, bytes) removed."""
    with _writing:
        return _scrub(files, OPS_LOG_NAME, keep)


def _scrub(files: Files, name: str, keep: Keep) -> tuple[int, int]:
    lines = lost = 0
    for each in files.listing():
        if not is_ops_log(each, name):
            continue
        if each.endswith(_END):  # of a killed process
            files.remove(each)
            continue
        with contextlib.suppress(StoreNotFoundError):
            before = _read(files, each)
            kept = [line for line in before.splitlines() if _stays(line, keep)]
            after = b"".join(line + b"\n" for line in kept)
            if after == before:
                continue
            lines += len(before.splitlines()) - len(kept)
            lost += len(before) - len(after)
            _replace(files, each, after)
    return lines, lost


def _read(files: Files, name: str) -> bytes:
    with contextlib.closing(files.open(name, writable=False)) as file:
        return file.read_at(0, file.size())


def _replace(files: Files, name: str, content: bytes) -> None:
    if not content:
        files.remove(name)
        files.sync_dir(name)
        return
    temporary = name + _END
    with contextlib.suppress(StoreError):
        files.remove(temporary)
    with contextlib.closing(files.open(temporary, create=True)) as file:
        file.write_at(0, content)
        file.sync()
    files.replace(temporary, name)
    files.sync_dir(name)


def _stays(line: bytes, keep: Keep) -> bool:
    """Whether a line stays; one that was cut short never does: what it names is unknown."""
    try:
        read = json.loads(line)
    except ValueError:
        return False
    return isinstance(read, dict) and keep(read)

"""The operations log: one JSON object a line about what the engine did, rolled at 10 MB."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from spector.clock import Clock, iso_of_ms
from spector.errors import StoreError, StoreNotFoundError
from spector.process import SNIPPET, Operation, Operations, Sole
from spector.store.files import DiskFiles, Files

# Log files of JSON lines: appended to, rolled when they are large, rewritten when lines must go.
#
# A line that was cut short, by a full disk or a kill, does not spoil the next one: that begins on a
# line of its own.

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
    stem, end = os.path.splitext(of)
    dated = r"(?:-\d{4}-\d\d-\d\d(?:-\d+)?)?"
    pattern = f"{re.escape(stem)}{dated}{re.escape(end)}(?:{re.escape(_END)})?"
    return re.fullmatch(pattern, name) is not None


def append_lines(files: Files, name: str, clock: Clock, lines: Sequence[bytes]) -> None:
    """Append lines to a log, each without its line break; a full file is rolled before.

    Raises:
        StoreError: the disk is full, or the file cannot be written.
    """
    with _writing:
        size = _roll(files, name, clock)
        with contextlib.closing(files.open(name, create=size is None)) as file:
            at = size or 0
            torn = at > 0 and file.read_at(at - 1, 1) != b"\n"
            file.write_at(at, b"".join([b"\n" * torn, *(line + b"\n" for line in lines)]))


def _roll(files: Files, name: str, clock: Clock) -> int | None:
    """The size of the file that is appended to, after rolling; None when there is none."""
    if not files.exists(name):
        return None
    size = files.size_of(name)
    if size < MAX_BYTES:
        return size
    stem, end = os.path.splitext(name)
    dated, n = f"{stem}-{iso_of_ms(clock.now_ms())[:10]}", 0
    while files.exists(target := f"{dated}{f'-{n}' if n else ''}{end}"):
        n += 1
    files.replace(name, target)
    return None


def scrub_ops_logs(files: Files, keep: Keep, name: str = OPS_LOG_NAME) -> tuple[int, int]:
    """Rewrite the files of a log without lines that do not stay; (lines, bytes) removed."""
    lines = lost = 0
    with _writing:
        for each in files.listing():
            if not is_ops_log(each, name):
                continue
            if each.endswith(_END):  # of a killed process
                files.remove(each)
                continue
            with contextlib.suppress(StoreNotFoundError):
                with contextlib.closing(files.open(each, writable=False)) as file:
                    before = file.read_at(0, file.size())
                kept = [line for line in before.splitlines() if _stays(line, keep)]
                after = b"".join(line + b"\n" for line in kept)
                if after == before:
                    continue
                lines += len(before.splitlines()) - len(kept)
                lost += len(before) - len(after)
                _replace(files, each, after)
    return lines, lost


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


# Writes operations into a log by a thread of its own; no call of the engine waits or fails for it.
#
# The queue between them is bounded: what does not fit is dropped and counted, as are errors of the
# disk. Lines that name a memory which is gone by the time they are written are left out.

#: operations that wait to be written, and lines written at once
_QUEUED: Final = 1000
_BATCH: Final = 200
#: ids and texts of what is gone that are remembered until no line can name them any more
_MOST_GONE: Final = 100_000
#: users, agents and sessions that are gone, until the next scrub
_MOST_WHOLES: Final = 10_000
#: characters from which words within others tell whose they are
_TELLING: Final = 8
#: seconds that closing waits for the last lines
_CLOSE_S: Final = 5.0


class OpsLog(Operations, Sole):
    """A log of operations. Thread-safe; never raises.

    Args:
        path: of the file that is appended to, from the root of the system.
        texts: whether lines have snippets of texts.
    """

    is_kept = True

    def __init__(self, path: str, clock: Clock, *, texts: bool) -> None:
        folder, _, self._name = path.rpartition("/")
        self._files = DiskFiles(folder or "/")
        self._path = path
        self._clock = clock
        self._texts = texts
        #: None ends the thread, an event is set once all before it is written
        self._queue: queue.Queue[Operation | threading.Event | None] = queue.Queue(_QUEUED)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._gone: dict[int | str, None] = {}
        self._gone_wholes: list[Mapping[str, str]] = []
        self.written = self.dropped = self.errors = 0
        self._last_error: str | None = None

    def note(self, operation: Operation) -> None:
        """Have an operation written; dropped and counted when too many wait."""
        if self._closed:
            self.dropped += 1
            return
        operation.at_ms = self._clock.now_ms()
        try:
            self._queue.put_nowait(operation)
        except queue.Full:
            self.dropped += 1
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._closed:
                    made = threading.Thread(target=self._run, name="spector-ops-log", daemon=True)
                    self._thread = made
                    with contextlib.suppress(RuntimeError):  # the interpreter ends
                        made.start()

    def note_gone(self, ids: Collection[int], texts: Collection[str]) -> None:
        """Leave out lines about memories that are gone."""
        with self._lock:
            self._gone.update(dict.fromkeys(ids))
            if self._texts:
                self._gone.update(dict.fromkeys(texts))
            while len(self._gone) > _MOST_GONE:
                del self._gone[next(iter(self._gone))]

    def note_whole_gone(self, labels: Mapping[str, str]) -> None:
        """Leave out lines of a user, agent or session that is gone, until the next scrub."""
        with self._lock:
            self._gone_wholes = [*self._gone_wholes[-_MOST_WHOLES:], labels]

    def scrub(self) -> None:
        """Rewrite the log without lines about what is gone, and forget its words."""
        self._flush()
        with contextlib.suppress(Exception):
            scrub_ops_logs(self._files, self.keeps, self._name)
            with self._lock:
                self._gone = {each: None for each in self._gone if isinstance(each, int)}
                self._gone_wholes = []

    def keeps(self, line: Mapping[str, Any]) -> bool:
        """Whether a line names nothing that is gone."""
        with self._lock:
            gone, given = self._gone, line.get("input") or {}
            if any(each.items() <= given.items() for each in self._gone_wholes):
                return False
            if not gone:
                return True
            if any(each in gone for each in ids_in(line)):
                return False
            said = [part.get("text") for part in (line.get("input"), line.get("output")) if part]
            return not any(_quotes(text, gone) for text in said if text)

    def stats(self) -> Mapping[str, Any]:
        """Figures of the log, JSON-ready."""
        return {
            "path": self._path,
            "written": self.written,
            "dropped": self.dropped,
            "errors": self.errors,
            "last_error": self._last_error,
            "queued": self._queue.qsize(),
        }

    def close(self) -> None:
        """Write what waits, for a few seconds at most, and end the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed, thread = True, self._thread
        if thread is None or not thread.is_alive():
            return
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=_CLOSE_S)
        thread.join(_CLOSE_S)

    def _flush(self) -> None:
        """Wait until what was noted before is written, for a few seconds at most."""
        thread = self._thread
        if thread is not None and thread.is_alive():
            done = threading.Event()
            with contextlib.suppress(queue.Full):
                self._queue.put(done, timeout=_CLOSE_S)
                done.wait(_CLOSE_S)

    def _run(self) -> None:
        while True:
            batch = [self._queue.get()]
            while len(batch) < _BATCH:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            self._write([each for each in batch if isinstance(each, Operation)])
            for each in batch:
                if isinstance(each, threading.Event):
                    each.set()
            del each
            if None in batch:
                return

    def _write(self, operations: Iterable[Operation]) -> None:
        try:
            lines = [line for each in operations if self.keeps(line := self._line(each))]
            if lines:
                texts = (json.dumps(line, ensure_ascii=False, default=str) for line in lines)
                written = [each.encode("utf-8", "backslashreplace") for each in texts]
                append_lines(self._files, self._name, self._clock, written)
                self.written += len(lines)
        except Exception as error:  # there is no caller to raise it to
            self.errors += 1
            self._last_error = f"{type(error).__name__}: {error}"

    def _line(self, operation: Operation) -> dict[str, Any]:
        shown = operation.texts if self._texts else {}
        given, found = dict(operation.input), dict(operation.output)
        for part, name in ((given, "input"), (found, "output")):
            if name in shown:
                part["text"] = shown[name]
        return {
            "ts": iso_of_ms(operation.at_ms),
            "op": operation.op,
            "input": given,
            "output": found,
            "model": operation.model,
            "latency_ms": round(operation.latency_ms, 3),
            "success": operation.success,
            "fallback": operation.fallback,
            **operation.details,
        }


def ids_in(line: Mapping[str, Any]) -> list[int]:
    """Ids of memories that a line names, in its input and its output."""
    out: list[int] = []
    for part in (line.get("input"), line.get("output")):
        if isinstance(part, Mapping):
            for name, value in part.items():
                if name not in ("id", "ids") and not name.endswith(("_id", "_ids")):
                    continue  # a count
                several = value if isinstance(value, list) else [value]
                out += [each for each in several if type(each) is int]
    return out


def _quotes(text: str, gone: Iterable[int | str]) -> bool:
    """Whether a snippet has the words of a text that is gone, or its beginning."""
    starts = (each[:SNIPPET] for each in gone if isinstance(each, str))
    return any(each == text or (len(each) >= _TELLING and each in text) for each in starts)

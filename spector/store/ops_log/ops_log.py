"""Writes operations into a log by a thread of its own; no call of the engine waits or fails for it.

The queue between them is bounded: what does not fit is dropped and counted, as are errors of the
disk. Lines that name a memory which is gone by the time they are written are left out.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from spector.clock import Clock, iso_of_ms
from spector.process import SNIPPET, Operation, Sole
from spector.store.files import DiskFiles
from spector.store.ops_log.rolling import RollingLog

__all__ = ["OpsLog", "ids_in", "ops_log_at"]

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


class OpsLog(Sole):
    """A log of operations. Thread-safe; never raises.

    Args:
        texts: whether lines have snippets of texts.
    """

    def __init__(self, log: RollingLog, path: str, clock: Clock, *, texts: bool) -> None:
        self._log = log
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
            self._log.scrub(self.keeps)
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
                self._log.append([_encoded(line) for line in lines])
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


def ops_log_at(path: str, clock: Clock, *, texts: bool) -> OpsLog:
    """The log at an absolute path."""
    folder, _, name = path.rpartition("/")
    return OpsLog(RollingLog(DiskFiles(folder or "/"), name, clock), path, clock, texts=texts)


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


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")

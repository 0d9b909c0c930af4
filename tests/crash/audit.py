"""Audits recorded traces for the order in which the design says that things reach the disk.

At every commit (a frame of SQLite's log that ends a transaction, whether or not it is synced yet)
the catalog is read as it then is, and each claim of it is looked for in what is durable:

claims      every memory's id and mutable bytes, and every partition's header, are in the synced
            bytes of a file with a synced name, or in the journal of that same commit. This is also
            the rule for removing journal rows: what they held must have been synced before. Only
            at the first commit of an opening, which takes the rows away that it has copied, and
            when a durable note in the catalog says that partitions may know the future, may
            headers and mutable bytes wait: this opening, or the next that finds the note, takes
            them back.
ahead       (strict) nothing is written into a partition while a commit is not synced
unlink      a partition's file goes only when no durable catalog names it
rename      what is renamed into place has been synced, with everything in it if it is a directory,
            unless it is a derived index; what LOCK says is a courtesy, and may be lost

It reads bytes by the numbers of native/FORMAT.md and uses none of the product's code.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.disk import Disk
from tests.crash.harness import scratch
from tests.crash.trace import Call

__all__ = ["Audit"]

_WAL_HEADER, _FRAME_HEADER = 32, 24
_HEADER, _RECORD_ID, _MUTABLE, _MUTABLE_BYTES = 64, 8, 40, 24
_GONE = 4  # the state of a partition without a file
_RECORDS, _CHANGE, _RETIRE = 0, 1, 2  # kinds of journal rows with bytes in them


@dataclass(slots=True)
class _Row:
    path: str
    state: int
    slots: int
    live: int


@dataclass(slots=True)
class _Claims:
    """What a catalog says of its partitions."""

    segments: dict[int, _Row]
    records: list[tuple[int, int, int, bytes]]
    journal: list[tuple[int, int, int, bytes]]
    #: what follows may be ahead of the catalog, says the note
    unsynced: bool = False


@dataclass(slots=True)
class Audit:
    """Counts and violations of one trace."""

    store: str
    strict: bool
    #: calls before this one were audited elsewhere, and neither count nor violate anything
    since: int = 0
    #: an opening is over after so many calls
    opened_at: int = 0
    commits: int = 0
    claims: int = 0
    writes: int = 0
    unlinks: int = 0
    renames: int = 0
    wrong: list[str] = field(default_factory=list)
    #: the log has a commit that no sync has made durable
    _unsafe: bool = False
    _ending: bool = False
    _replayed: bool = False

    def counts(self) -> dict[str, int]:
        names = ("commits", "claims", "writes", "unlinks", "renames")
        return {name: getattr(self, name) for name in names}

    def run(self, steps: Iterator[tuple[int, Call]], disk: Disk) -> None:
        """Look at each call just before it happens, and at each commit just after."""
        before: Call | None = None
        for n, call in steps:
            if before is not None:
                self._after(n, before, disk)
            if n >= self.since:
                self._before(n, call, disk)
            before = call

    def _before(self, n: int, call: Call, disk: Disk) -> None:
        inside = call.path.startswith(self.store + "/")
        if call.kind == "write" and inside and call.path.endswith(".mem"):
            self.writes += 1
            if self.strict and self._unsafe:
                self._say(n, f"{call.path} is written while a commit is not synced")
        elif call.kind == "unlink" and inside and call.path.endswith(".mem"):
            self.unlinks += 1
            name = call.path.removeprefix(self.store + "/")
            safe = self._catalog(disk, durable=True)
            if safe is not None and name in {r.path for r in safe.segments.values()}:
                self._say(n, f"{name} goes, and the durable catalog names it")
        elif call.kind == "rename" and not call.path2.endswith(".idx"):
            self.renames += 1
            if disk.is_dirty(call.path, but="LOCK"):
                self._say(n, f"{call.path} is renamed to {call.path2} and not synced")

    def _after(self, n: int, call: Call, disk: Disk) -> None:
        if call.path != f"{self.store}/catalog.db-wal":
            return
        if call.kind == "sync":
            self._unsafe = False
        elif call.kind == "write":
            at = call.offset - _WAL_HEADER
            if len(call.data) == _FRAME_HEADER and at >= 0:
                self._ending = struct.unpack(">I", call.data[4:8])[0] != 0
            elif self._ending and at >= 0:
                self._ending, self._unsafe = False, True
                if n > self.since:
                    self._commit(n, disk)

    def _commit(self, n: int, disk: Disk) -> None:
        found = self._catalog(disk, durable=False)
        assert found is not None, "a commit has a catalog"
        self.commits += 1
        files: dict[int, bytearray] = {}
        for segment_id, row in found.segments.items():
            data = disk.durable(f"{self.store}/{row.path}")
            if data is None:
                self._say(n, f"{row.path} is named, and no sync of its directory was")
                return
            if len(data) < _HEADER:
                self._say(n, f"{row.path} is named, and its header was not synced")
                return
            files[segment_id] = bytearray(data)
        ahead = (
            n < self.opened_at and not self._replayed and found.unsynced and self._is_noted(disk)
        )
        self._replayed = True
        journaled = set()
        for segment_id, kind, slot, image in found.journal:
            journaled.add(segment_id)
            if segment_id in files and kind in (_RECORDS, _CHANGE, _RETIRE):
                _lay(files[segment_id], kind, slot, image)
        for segment_id, row in found.segments.items():
            self.claims += 1
            live, dead, state = struct.unpack_from("<II4xI", files[segment_id], 8)
            right = (live, dead, state) == (row.live, row.slots - row.live, row.state)
            if not right and segment_id not in journaled and not ahead:
                self._say(n, f"the header of {row.path} is not as committed, nor journaled")
        for record_id, segment_id, slot, mutable in found.records:
            self.claims += 1
            data = files[segment_id]
            at = _at(data, slot)
            if len(data) < at + _HEADER or (
                data[at + _RECORD_ID : at + _RECORD_ID + 8] != record_id.to_bytes(8, "little")
                or (data[at + _MUTABLE : at + _MUTABLE + _MUTABLE_BYTES] != mutable and not ahead)
            ):
                path = found.segments[segment_id].path
                self._say(n, f"{record_id} in slot {slot} of {path} is not synced, nor journaled")

    def _is_noted(self, disk: Disk) -> bool:
        durable = self._catalog(disk, durable=True)
        return durable is not None and durable.unsynced

    def _catalog(self, disk: Disk, *, durable: bool) -> _Claims | None:
        """The catalog as it is in the cache, or as a power cut would surely leave it."""
        read = disk.durable if durable else disk.cached
        main, log = (read(f"{self.store}/catalog.db{end}") for end in ("", "-wal"))
        if not main:
            return None
        with scratch() as root:
            Path(root, "catalog.db").write_bytes(main)
            Path(root, "catalog.db-wal").write_bytes(log or b"")
            db = sqlite3.connect(os.path.join(root, "catalog.db"))
            try:
                if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone():
                    return _Claims({}, [], [])
                return _Claims(
                    {
                        row[0]: _Row(*row[1:])
                        for row in db.execute(
                            "SELECT id, path, state, slots, live FROM segment WHERE state <> ?",
                            (_GONE,),
                        )
                    },
                    db.execute("SELECT id, segment_id, slot, mutable FROM record").fetchall(),
                    db.execute(
                        "SELECT segment_id, kind, slot, image FROM journal ORDER BY seq"
                    ).fetchall(),
                    bool(db.execute("SELECT 1 FROM meta WHERE key = 'unsynced'").fetchone()),
                )
            finally:
                db.close()

    def _say(self, n: int, what: str) -> None:
        self.wrong.append(f"after {n} calls: {what}")


def _at(data: bytearray, slot: int) -> int:
    stride: int = struct.unpack_from("<I", data, 24)[0]
    return _HEADER + slot * stride


def _lay(data: bytearray, kind: int, slot: int, image: bytes) -> None:
    """Do what replaying a journal row would do; moved records die only at a checkpoint, and so
    do not differ from what the catalog says of live ones."""
    at = _at(data, slot) + (0 if kind == _RECORDS else _MUTABLE)
    if len(data) < at + len(image):
        data.extend(bytes(at + len(image) - len(data)))
    data[at : at + len(image)] = image

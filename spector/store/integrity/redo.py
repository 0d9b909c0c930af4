"""Redo images of the journal, applied to records unless they are damaged themselves.

SQLite's pages have no checksums, so an image in the journal may be damaged while the record that it
replaces is whole: the image was copied there right after the commit. A record's image has the
record's checksum; one that fails it never replaces existing bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np

from spector.errors import CatalogCorruptError
from spector.layout import MUTABLE_BYTES, MUTABLE_OFFSET
from spector.store.catalog import JOURNAL_MUTABLE, JOURNAL_RECORDS
from spector.store.files import Bytes, as_bytes
from spector.store.partitions import Segment, wrong_checksums

__all__ = ["Entry", "Replay", "is_entry", "lay_over", "require_entry", "sound_runs"]

#: segment, kind, slot and image, as the journal keeps them
Entry = tuple[int, int, int, bytes]


def is_entry(found: tuple[Any, ...]) -> TypeGuard[Entry]:
    """True when the values of a journal entry have the right types: SQLite stores any."""
    segment_id, kind, slot, image = found
    whole = all(type(each) is int for each in (segment_id, kind, slot))
    return whole and type(image) is bytes and 0 <= slot < 1 << 32


def require_entry(found: tuple[Any, ...], where: str) -> Entry:
    """Raise for an entry with impossible values: what was committed with it is unknown."""
    if not is_entry(found):
        raise CatalogCorruptError(
            f"{where}: an entry of the journal is damaged",
            hint="restore a backup, or salvage what there is: spector check PATH --repair DEST",
        )
    return found


def sound_runs(image: bytes, stride: int, uuid: bytes) -> Iterator[tuple[int, Bytes, bool]]:
    """(first row, (n, stride) u8, sound) for each run of sound or damaged records of an image.

    An image that does not consist of whole records is damaged and has no rows.
    """
    if len(image) % stride:
        return
    rows = np.frombuffer(image, dtype=np.uint8).reshape(-1, stride)
    wrong = wrong_checksums(rows, uuid)
    sound = np.ones(len(rows), dtype=bool)
    sound[wrong] = False
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and sound[end] == sound[start]:
            end += 1
        yield start, rows[start:end], bool(sound[start])
        start = end


def lay_over(images: Bytes, pending: list[tuple[int, int, bytes]], uuid: bytes) -> list[int]:
    """Apply redo images in order to records (slots, stride); what does not fit is skipped.

    Returns the slots whose image is damaged: of these only the mutable half is taken, which the
    catalog's row can prove.
    """
    slots, stride = images.shape
    refused: list[int] = []
    for kind, slot, image in pending:
        if kind == JOURNAL_RECORDS:
            if slot < 0 or slot + len(image) // stride > slots:
                continue
            for first, rows, sound in sound_runs(image, stride, uuid):
                at = slice(slot + first, slot + first + len(rows))
                if sound:
                    images[at] = rows
                else:
                    end = MUTABLE_OFFSET + MUTABLE_BYTES
                    images[at, MUTABLE_OFFSET:end] = rows[:, MUTABLE_OFFSET:end]
                    refused += range(at.start, at.stop)
        elif len(image) == MUTABLE_BYTES and 0 <= slot < slots:
            half = np.frombuffer(image, dtype=np.uint8)
            images[slot, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES] = half
    return refused


class Replay:
    """Writes the journal into one partition; a damaged image does not replace a record."""

    def __init__(self, segment: Segment, stride: int, uuid: bytes) -> None:
        self._segment = segment
        self._stride = stride
        self._uuid = uuid
        #: slots whose image is damaged and which kept their bytes
        self.kept: list[int] = []

    def write(self, db: sqlite3.Connection, kind: int, slot: int, image: bytes) -> None:
        """Apply one entry of the journal; other kinds are applied later."""
        if kind == JOURNAL_MUTABLE and len(image) == MUTABLE_BYTES:
            self._write_half(db, slot, image, self._present(slot, 1))
        elif kind == JOURNAL_RECORDS:
            for first, rows, sound in sound_runs(image, self._stride, self._uuid):
                self._write_rows(db, slot + first, rows, sound)

    def _write_rows(self, db: sqlite3.Connection, slot: int, rows: Bytes, sound: bool) -> None:
        present = self._present(slot, len(rows))
        copied = len(present) == len(rows) and bool((_lasting(present) == _lasting(rows)).all())
        if sound and not copied:
            self._segment.write_records(slot, as_bytes(rows))
            return
        if not sound:
            self.kept += range(slot, slot + len(rows))
        if len(present) < len(rows):  # its room is gone, too: a reader must see the damage
            self._segment.write_records(slot + len(present), as_bytes(rows[len(present) :]))
        for n in range(len(present)):
            half = rows[n, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES]
            self._write_half(db, slot + n, half.tobytes(), present[n : n + 1])

    def _write_half(self, db: sqlite3.Connection, slot: int, half: bytes, present: Bytes) -> None:
        """Apply a mutable half, which has no checksum, unless the file has the newest already."""
        own = present[:, MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES].tobytes()
        if own != half and own != self._newest(db, slot):
            self._segment.write_mutable(slot, half)

    def _newest(self, db: sqlite3.Connection, slot: int) -> object:
        found = db.execute(
            "SELECT mutable FROM record WHERE segment_id = ? AND slot = ?",
            (self._segment.row.id, slot),
        ).fetchone()
        return found and found[0]

    def _present(self, slot: int, count: int) -> Bytes:
        """(n, stride) u8: at most ``count`` records that the file has from ``slot`` on."""
        raw = self._segment.file().read_at(self._segment.bytes_used(slot), count * self._stride)
        whole = len(raw) // self._stride
        found = np.frombuffer(raw, dtype=np.uint8, count=whole * self._stride)
        return found.reshape(whole, self._stride)


def _lasting(rows: Bytes) -> Bytes:
    """(n, stride - 24) u8: what never changes after the append."""
    return np.delete(rows, np.s_[MUTABLE_OFFSET : MUTABLE_OFFSET + MUTABLE_BYTES], axis=1)

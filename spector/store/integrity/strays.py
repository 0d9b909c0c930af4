"""Partition files that the catalog does not name: whose they are, and what becomes of them.

Files are made before the commit that names them, and go after the one that lets them go; a crash in
between leaves them. Anything else with such a name was put there by somebody.
"""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

from spector.errors import ForeignPartitionError, PartitionCorruptError
from spector.layout import PARTITION_HEADER_BYTES, PartitionState
from spector.store.catalog import SegmentRow
from spector.store.files import Files
from spector.store.integrity.lost_commits import NAME, lost_with, stem_of
from spector.store.partitions import unpack_header

__all__ = ["STRANGE", "Stray", "is_replaced", "judge", "look_at"]

#: how tiers name their partitions: by tier, or by day
_GRAMMAR: Final = re.compile(
    r"(?P<tier>[^/]+)/(?:(?P=tier)|(?P<date>\d{4}-\d\d-\d\d))-(?P<sequence>\d{3,})"
    r"(?:\.g(?P<generation>[1-9]\d*))?\.mem"
)
#: a larger file was not cut short while it was made
_MOST_UNBORN: Final = 64 * 1024 * 1024

STRANGE: Final = "a file that does not belong to the store"


class Head(enum.Enum):
    """What a file begins with."""

    OURS = enum.auto()
    #: of another store
    FOREIGN = enum.auto()
    #: zeros, or nothing at all: it may have been cut short before its header was written
    BLANK = enum.auto()
    BROKEN = enum.auto()


@dataclass(frozen=True, slots=True)
class Stray:
    """One such file, read once."""

    name: str
    head: Head
    #: fields of the header of one of ours
    header: dict[str, Any] | None = None

    @property
    def records(self) -> int:
        """How many it counts, dead ones too."""
        return 0 if self.header is None else self.header["count"] + self.header["tombstone_count"]

    def is_uncommitted(
        self, files: Files, stems: Collection[str], *, all_unnamed: bool = False
    ) -> bool:
        """Whether a writer may remove it.

        It is the other generation of one of ``stems``, or has no record yet; or the commits of
        ``all_unnamed`` ones are lost. What says nothing of itself has to have the name of one.
        """
        if self.head is Head.FOREIGN:
            return False
        if stem_of(self.name) in stems:
            return True
        if self.head is Head.OURS:
            return all_unnamed or not self.records
        # cut short while it was made, or while its header was written
        return _is_named_so(self) and _has_no_record(files, self.name)


def look_at(files: Files, name: str, uuid: bytes) -> Stray:
    """The file with that name, which of the store with this ``uuid`` may be a partition.

    Raises:
        StoreError: it is no file, is gone, or cannot be read. FormatVersionError
    """
    file = files.open(name, writable=False)
    try:
        raw = file.read_at(0, PARTITION_HEADER_BYTES)
        if not any(raw) and file.size() <= _MOST_UNBORN:
            return Stray(name, Head.BLANK)
    finally:
        file.close()
    try:
        return Stray(name, Head.OURS, unpack_header(raw, where=name, uuid=uuid))
    except ForeignPartitionError:
        return Stray(name, Head.FOREIGN)
    except PartitionCorruptError:
        return Stray(name, Head.BROKEN)


def judge(
    files: Files, stray: Stray, rows: Iterable[SegmentRow], *, unsynced: bool
) -> tuple[str, str]:
    """What a check says of a file: the code, which is N1 for one that is no damage, and why.

    Args:
        unsynced: a power cut may have taken commits back.
    """
    if stray.head is not Head.FOREIGN and is_replaced(stray.name, rows):
        return "N1", "a partition that was replaced; the next checkpoint removes it"
    if unsynced and stray.head is Head.OURS:
        return "N1", "a partition whose commit a power cut took back; the next writer removes it"
    # A compaction writes the next generation beside the one that is there. Without that one the
    # compaction was committed, and this file may be all that is left of its memories.
    beside = any(
        stem_of(row.path) == stem_of(stray.name) and files.exists(row.path) for row in rows
    )
    if stray.records and not beside:
        return "I18", lost_with(stray.records)
    unborn = stray.head is Head.OURS or (
        stray.head is Head.BLANK and _has_no_record(files, stray.name)
    )
    if unborn and _is_named_so(stray):
        return "N1", (
            "a partition whose commit has not come; a writer beside us commits it, or the next one"
            " removes it"
        )
    return "I14", STRANGE


def is_replaced(name: str, rows: Iterable[SegmentRow]) -> bool:
    """Whether a file is an older generation of a partition, or one that was dropped."""
    match = NAME.fullmatch(name)
    if match is None:
        return False
    stem, generation = match["stem"], int(match["generation"] or 0)
    return any(
        stem_of(row.path) == stem
        and (row.generation > generation or row.state == PartitionState.COMPACTED)
        for row in rows
    )


def _is_named_so(stray: Stray) -> bool:
    """Whether some tier would give it this name, for the numbers that its header has."""
    match = _GRAMMAR.fullmatch(stray.name)
    if match is None:
        return False
    day, numbers = -1, (int(match["sequence"]), int(match["generation"] or 0))
    if match["date"] is not None:
        try:
            day = datetime.date.fromisoformat(match["date"]).toordinal() - _EPOCH
        except ValueError:
            return False
    header = stray.header
    return header is None or (
        header["day"] == day and (header["sequence"], header["generation"]) == numbers
    )


_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


def _has_no_record(files: Files, name: str) -> bool:
    """True for a file in which no record was ever written."""
    if files.size_of(name) > _MOST_UNBORN:
        return False
    _, mapped = files.glance(name, 0, writable=False, most=_MOST_UNBORN)
    return not mapped[PARTITION_HEADER_BYTES:].any()

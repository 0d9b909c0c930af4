"""Partition files that the catalog does not name: where they come from, and what to do with them.

A file is made before the commit that names it and removed after the one that drops it; a crash in
between leaves it. Any other file with such a name was put there by another program.
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

__all__ = ["STRANGE", "Stray", "is_replaced", "judge_stray", "read_stray"]

#: how tiers name their partitions: by tier, or by day
_GRAMMAR: Final = re.compile(
    r"(?P<tier>[^/]+)/(?:(?P=tier)|(?P<date>\d{4}-\d\d-\d\d))-(?P<sequence>\d{3,})"
    r"(?:\.g(?P<generation>[1-9]\d*))?\.mem"
)
#: a larger file was not cut short while it was made
_MOST_UNBORN: Final = 64 * 1024 * 1024

STRANGE: Final = "a file that does not belong to the store"


class StrayHead(enum.Enum):
    """What a file begins with."""

    OURS = enum.auto()
    #: of another store
    FOREIGN = enum.auto()
    #: zeros, or nothing at all: it may have been cut short before its header was written
    BLANK = enum.auto()
    BROKEN = enum.auto()


@dataclass(frozen=True, slots=True)
class Stray:
    """A partition file that the catalog does not name."""

    name: str
    head: StrayHead
    #: fields of the header of one of ours
    header: dict[str, Any] | None = None

    @property
    def records(self) -> int:
        """How many records its header counts, including dead ones."""
        return 0 if self.header is None else self.header["count"] + self.header["tombstone_count"]

    def is_uncommitted(
        self, files: Files, stems: Collection[str], *, all_unnamed: bool = False
    ) -> bool:
        """True when a writer may remove it.

        It is another generation of one of ``stems``, or has no record yet; or, with
        ``all_unnamed``, its commit is lost. A file without a readable header must have the name of
        a partition.
        """
        if self.head is StrayHead.FOREIGN:
            return False
        if stem_of(self.name) in stems:
            return True
        if self.head is StrayHead.OURS:
            return all_unnamed or not self.records
        # cut short while it was made, or while its header was written
        return _is_named_so(self) and _has_no_record(files, self.name)


def read_stray(files: Files, name: str, uuid: bytes) -> Stray:
    """Read a file that may be a partition of the store with this ``uuid``.

    Raises:
        StoreError: it is not a file, is gone, or cannot be read. FormatVersionError
    """
    file = files.open(name, writable=False)
    try:
        raw = file.read_at(0, PARTITION_HEADER_BYTES)
        if not any(raw) and file.size() <= _MOST_UNBORN:
            return Stray(name, StrayHead.BLANK)
    finally:
        file.close()
    try:
        return Stray(name, StrayHead.OURS, unpack_header(raw, where=name, uuid=uuid))
    except ForeignPartitionError:
        return Stray(name, StrayHead.FOREIGN)
    except PartitionCorruptError:
        return Stray(name, StrayHead.BROKEN)


def judge_stray(
    files: Files, stray: Stray, rows: Iterable[SegmentRow], *, unsynced: bool
) -> tuple[str, str]:
    """(code, reason) that a check reports for a file; the code N1 is not damage.

    Args:
        unsynced: a power cut may have undone commits.
    """
    if stray.head is not StrayHead.FOREIGN and is_replaced(stray.name, rows):
        return "N1", "a partition that was replaced; the next checkpoint removes it"
    if unsynced and stray.head is StrayHead.OURS:
        return "N1", "a partition whose commit a power cut has undone; the next writer removes it"
    # A compaction writes the next generation beside the present one. Where that one is missing, the
    # compaction was committed, and this file may be all that is left of its memories.
    beside = any(
        stem_of(row.path) == stem_of(stray.name) and files.exists(row.path) for row in rows
    )
    if stray.records and not beside:
        return "I18", lost_with(stray.records)
    unborn = stray.head is StrayHead.OURS or (
        stray.head is StrayHead.BLANK and _has_no_record(files, stray.name)
    )
    if unborn and _is_named_so(stray):
        return "N1", (
            "a partition that is not committed yet; its writer commits it, or the next writer"
            " removes it"
        )
    return "I14", STRANGE


def is_replaced(name: str, rows: Iterable[SegmentRow]) -> bool:
    """True for an older generation of a partition, and for one that was dropped."""
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
    """True when a tier would give this name to a file with the numbers in its header."""
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
    """True for a file that no record was ever written to."""
    if files.size_of(name) > _MOST_UNBORN:
        return False
    _, mapped = files.glance(name, 0, writable=False, most=_MOST_UNBORN)
    return not mapped[PARTITION_HEADER_BYTES:].any()

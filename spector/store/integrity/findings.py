"""What a check finds, and where: the list that all parts of ``spector check`` add to."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spector.errors import SpectorError
from spector.layout import PARTITION_HEADER_BYTES
from spector.records import MAX_PROBLEMS, Problem
from spector.store.catalog import CATALOG_NAME
from spector.store.files import Stretch, is_io_error

__all__ = ["Findings"]


@dataclass(slots=True)
class Findings:
    """``limit``: so many problems are listed, all of them if it is None."""

    limit: int | None = MAX_PROBLEMS
    problems: list[Problem] = field(default_factory=list)
    #: problems that are not listed
    unlisted: int = 0
    notes: list[Problem] = field(default_factory=list)
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    #: the disk cannot read some of the catalog: that SQLite fails is no further finding
    catalog_unread: bool = False

    def add(
        self, code: str, file: str, message: str, *, offset: int | None = None,
        slot: int | None = None, stride: int = 0, record_id: int | None = None,
        ids: Sequence[int] = (),
    ) -> None:
        """``stride`` turns a slot into its byte; ``offset`` then counts within the record."""
        if self.limit is not None and len(self.problems) >= self.limit:
            self.unlisted += 1
            return
        if slot is not None and stride:
            offset = PARTITION_HEADER_BYTES + slot * stride + (offset or 0)
        self.problems.append(
            Problem(
                code=code, where=file if slot is None else f"{file} slot {slot}", message=message,
                file=file, offset=offset, slot=slot, id=record_id, ids=tuple(ids),
            )
        )

    def unread(self, stretch: Stretch, what: str, ids: Sequence[int] = ()) -> None:
        """I20. ``what`` is in those bytes; ``ids`` are the memories concerned."""
        self.add("I20", stretch.file, f"{stretch}; {what}", offset=stretch.low, ids=ids)

    def catalog(self, code: str, message: str, record_id: int | None = None) -> None:
        self.add(code, CATALOG_NAME, message, record_id=record_id)

    def note(self, where: str, message: str) -> None:
        """Something about a derived file, which costs nothing but making it anew."""
        if self.limit is None or len(self.notes) < self.limit:
            self.notes.append(Problem(code="N1", where=where, message=message, file=where))

    @contextlib.contextmanager
    def as_missing(self, name: str) -> Iterator[None]:
        """An error is a finding about that file: it is not there, or is another one."""
        try:
            yield
        except SpectorError as error:
            self.add("I14", name, error.message)

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """A part of the catalog that cannot be read is a finding; the check goes on without it."""
        try:
            yield
        except (
            SpectorError, sqlite3.Error, ValueError, TypeError, OverflowError, RecursionError,
        ) as error:
            if self.catalog_unread and is_io_error(error):
                return
            message = f"cannot be read: {error}"
            if not any(p.code == "I15" and p.message == message for p in self.problems):
                self.catalog("I15", message)

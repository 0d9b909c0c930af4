"""The findings of a check, which all parts of ``spector check`` add to."""

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
    """Problems and notes; at most ``limit`` problems are listed, None lists all."""

    limit: int | None = MAX_PROBLEMS
    problems: list[Problem] = field(default_factory=list)
    #: how many problems are not listed
    unlisted: int = 0
    notes: list[Problem] = field(default_factory=list)
    records: int = 0
    tombstones: int = 0
    bytes: int = 0
    #: the disk cannot read some of the catalog, so failures of SQLite are not findings of their own
    catalog_unread: bool = False

    def add(
        self,
        code: str,
        file: str,
        message: str,
        *,
        offset: int | None = None,
        slot: int | None = None,
        stride: int = 0,
        record_id: int | None = None,
        ids: Sequence[int] = (),
    ) -> None:
        """Add a problem. With ``stride`` and ``slot``, ``offset`` counts within the record."""
        if self.limit is not None and len(self.problems) >= self.limit:
            self.unlisted += 1
            return
        if slot is not None and stride:
            offset = PARTITION_HEADER_BYTES + slot * stride + (offset or 0)
        self.problems.append(
            Problem(
                code=code,
                where=file if slot is None else f"{file} slot {slot}",
                message=message,
                file=file,
                offset=offset,
                slot=slot,
                id=record_id,
                ids=tuple(ids),
            )
        )

    def unread(self, stretch: Stretch, what: str, ids: Sequence[int] = ()) -> None:
        """Add I20. ``what`` tells what the bytes have; ``ids`` are the memories affected."""
        self.add("I20", stretch.file, f"{stretch}; {what}", offset=stretch.low, ids=ids)

    def catalog(self, code: str, message: str, record_id: int | None = None) -> None:
        self.add(code, CATALOG_NAME, message, record_id=record_id)

    def note(self, where: str, message: str) -> None:
        """Add a note about a derived file, which is rebuilt."""
        if self.limit is None or len(self.notes) < self.limit:
            self.notes.append(Problem(code="N1", where=where, message=message, file=where))

    @contextlib.contextmanager
    def as_missing(self, name: str) -> Iterator[None]:
        """An error becomes a finding about that file: it is missing, or another one."""
        try:
            yield
        except SpectorError as error:
            self.add("I14", name, error.message)

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """An error becomes a finding about the catalog; the check goes on."""
        try:
            yield
        except (
            SpectorError,
            sqlite3.Error,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:
            if self.catalog_unread and is_io_error(error):
                return
            message = f"cannot be read: {error}"
            if not any(p.code == "I15" and p.message == message for p in self.problems):
                self.catalog("I15", message)

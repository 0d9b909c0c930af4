"""What a check finds, and where: the list that all parts of ``spector check`` add to."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from spector.errors import SpectorError
from spector.layout import PARTITION_HEADER_BYTES
from spector.records import Problem
from spector.store.catalog import CATALOG_NAME

__all__ = ["MAX_PROBLEMS", "Findings"]

#: never more than this many problems: a ruined partition has as many as it has records
MAX_PROBLEMS = 1000


@dataclass(slots=True)
class Findings:
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    records: int = 0
    tombstones: int = 0
    bytes: int = 0

    def add(
        self, code: str, file: str, message: str, *, offset: int | None = None,
        slot: int | None = None, stride: int = 0, record_id: int | None = None,
    ) -> None:
        """``stride`` turns a slot into its byte; ``offset`` then counts within the record."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        if slot is not None and stride:
            offset = PARTITION_HEADER_BYTES + slot * stride + (offset or 0)
        self.problems.append(
            Problem(
                code=code, where=file if slot is None else f"{file} slot {slot}", message=message,
                file=file, offset=offset, slot=slot, id=record_id,
            )
        )

    def catalog(self, code: str, message: str, record_id: int | None = None) -> None:
        self.add(code, CATALOG_NAME, message, record_id=record_id)

    def note(self, where: str, message: str) -> None:
        """Something about a derived file, which costs nothing but making it anew."""
        if len(self.notes) < MAX_PROBLEMS:
            self.notes.append(Problem(code="N1", where=where, message=message, file=where))

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """A part of the catalog that cannot be read is a finding; the check goes on without it."""
        try:
            yield
        except (SpectorError, sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            message = f"cannot be read: {error}"
            if not any(p.code == "I15" and p.message == message for p in self.problems):
                self.catalog("I15", message)

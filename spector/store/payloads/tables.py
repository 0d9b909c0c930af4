"""One class for every table of knowledge: its columns, its key, what its rows depend on, its seal.

A table is a value. Creating it, reading and writing its rows, checking them, exporting, erasing and
repairing are written once, over the declaration; so a new sort of knowledge is a line of data, and
every proof about tables runs over the list of them.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["SEAL", "Column", "PayloadTable"]

#: the last column of every table: a checksum of the others
SEAL: Final = "seal"
_SQL_TYPES: Final[Mapping[type, str]] = {
    int: "INTEGER",
    float: "REAL",
    str: "TEXT",
    bytes: "BLOB",
}
_I63: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of knowledge."""

    name: str
    kind: type
    #: it has an index of its own
    indexed: bool = False
    #: it may be NULL
    optional: bool = False
    #: id of a memory or an item; when that goes, the row goes
    owner: bool = False
    #: text that a person could read, as it stands or inside JSON
    words: bool = False
    #: JSON of an object
    json: bool = False


@dataclass(frozen=True, slots=True)
class PayloadTable:
    """A table: everything that creates, reads, proves and erases its rows follows from this."""

    name: str
    columns: tuple[Column, ...]
    #: names of the columns that identify a row, in the order in which they are looked up
    key: tuple[str, ...]
    #: further unique indexes: columns, and the condition of the rows that count
    unique: tuple[tuple[tuple[str, ...], str], ...] = ()
    #: tables of a group are made together, when the first row needs one
    group: str = "knowledge"
    #: of the columns, in their order
    names: tuple[str, ...] = field(init=False)
    #: types that the values of a row may have together, and where among them JSON stands
    types: frozenset[tuple[type, ...]] = field(init=False, repr=False, compare=False)
    json_at: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple([each.name for each in self.columns]))
        kinds = [
            (each.kind, type(None)) if each.optional else (each.kind,) for each in self.columns
        ]
        object.__setattr__(self, "types", frozenset(itertools.product(*kinds)))
        json_at = tuple(n for n, each in enumerate(self.columns) if each.json)
        object.__setattr__(self, "json_at", json_at)

    @property
    def owners(self) -> tuple[str, ...]:
        """Columns that name what a row cannot outlive."""
        return tuple(each.name for each in self.columns if each.owner)

    def statements(self) -> list[str]:
        """SQL that makes the table and its indexes."""
        columns = [
            f"{each.name} {_SQL_TYPES[each.kind]}{'' if each.optional else ' NOT NULL'}"
            for each in self.columns
        ]
        by_rowid = len(self.key) == 1 and self._column(self.key[0]).kind is int
        out = [
            f"CREATE TABLE {self.name}({', '.join(columns)}, {SEAL} INTEGER NOT NULL,"
            f" PRIMARY KEY ({', '.join(self.key)})){'' if by_rowid else ' WITHOUT ROWID'}"
        ]
        out += [
            f"CREATE INDEX {self.name}_{each.name} ON {self.name}({each.name})"
            for each in self.columns
            if each.indexed
        ]
        for n, (names, condition) in enumerate(self.unique):
            out.append(
                f"CREATE UNIQUE INDEX {self.name}_unique{n or ''} ON"
                f" {self.name}({', '.join(names)}) WHERE {condition}"
            )
        return out

    def insert(self) -> str:
        """SQL that puts a row, in place of one with its key; another unique index refuses it."""
        changed = (each for each in (*self.names, SEAL) if each not in self.key)
        return (
            f"INSERT INTO {self.name} VALUES ({', '.join('?' * (len(self.columns) + 1))})"
            f" ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET"
            f" {', '.join(f'{each} = excluded.{each}' for each in changed)}"
        )

    def sealed(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of a row in the order of the columns, and their seal.

        Raises:
            TypeError, ValueError: A value is missing, of another type, or no value at all: our own
                mistake.
        """
        if set(row) - set(self.names):
            raise ValueError(f"{self.name} has no column {sorted(set(row) - set(self.names))}")
        values = tuple(row.get(each.name) for each in self.columns)
        problem = self.problem_of(values)
        if problem:
            raise TypeError(f"{self.name}: {problem}")
        return (*values, self.seal_of(values))

    def seal_of(self, values: Sequence[Any]) -> int:
        """CRC-32 over a row's values as they are stored, each with its length.

        Bytes are read once, and stand there by their own checksum.
        """
        # numbers as Python writes them back exactly
        line = f"{len(self.name)}:{self.name}"
        for each in values:
            if type(each) is bytes:
                line += f"|{len(each)}:{zlib.crc32(each)}"
                continue
            text = each if type(each) is str else repr(each)
            line += f"|{len(text)}:{text}"
        return zlib.crc32(line.encode("utf-8", "surrogatepass"))

    def problem_of(self, values: Sequence[Any]) -> str | None:
        """Why values cannot be a row of this table, even if the seal fits; None when they can."""
        for each, value in zip(self.columns, values, strict=True):
            if value is None:
                if not each.optional:
                    return f"{each.name} is missing"
            elif type(value) is not each.kind:
                return f"{each.name} is of type {type(value).__name__}"
            elif isinstance(value, int) and not -_I63 <= value < _I63:
                return f"{each.name} is too large"
            elif each.json and not _is_object(str(value)):
                return f"{each.name} is not a JSON object"
        return None

    def read(self, stored: Sequence[Any]) -> tuple[dict[str, Any], str | None]:
        """A row as a dictionary, and what is wrong with it (None: nothing).

        Args:
            stored: Values in the order of the columns, seal last.
        """
        values, seal = tuple(stored[:-1]), stored[-1]
        problem = None
        if tuple(map(type, values)) not in self.types or any(
            values[n] is not None and not _is_object(values[n]) for n in self.json_at
        ):
            problem = self.problem_of(values)
        if problem is None and seal != self.seal_of(values):
            problem = "its seal does not match its values"
        return dict(zip(self.names, values, strict=True)), problem

    def _column(self, name: str) -> Column:
        return next(each for each in self.columns if each.name == name)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False

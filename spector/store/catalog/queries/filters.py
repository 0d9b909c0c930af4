"""The user's metadata filter, compiled to a SQLite expression over a column of JSON text.

Grammar::

    filter    := {field: test, ...}                several keys are ANDed; {} matches everything
               | {"and": [filter, ...]} | {"or": [filter, ...]} | {"not": filter}
    test      := scalar                            short for {"eq": scalar}
               | {operator: operand, ...}          several operators are ANDed
    operator  := eq ne in gt gte lt lte contains exists not      ("$gt" is the same as "gt")

A field is a path: ``"a.b"`` is key ``b`` of the object under ``a``. A backslash takes the next
character literally, so ``r"a\\.b"`` is the key ``a.b`` and ``r"\\and"`` a field called ``and``. A tuple is
the path itself: ``("a.b",)`` and ``("and",)`` are the same two.
Paths enter objects only, never lists. ``user_id``, ``agent_id`` and ``session_id`` are the scopes
of a memory, not metadata; ``r"\\user_id"`` is the key of that name.

Meaning, which is two-valued throughout (no SQL NULL escapes from an expression):

- Numbers compare with numbers (1 equals 1.0; a bool is not a number), strings with strings by code
  point, bools with bools. Values of different types are neither equal nor ordered.
- ``None`` equals a JSON null and an absent key. ``exists`` is true for a null.
- ``ne`` is the complement of ``eq``, ``not`` of what it holds: an absent key is ``ne`` to 3, and
  not ``ne`` to ``None``.
- A memory without a user has no ``user_id``: it is an absent key.
- ``contains`` asks whether a list has an equal element, or a string a substring (case-sensitive).
- An aware ``datetime`` compares as an instant, to the millisecond, with strings that hold an
  ISO 8601 date or time; other strings do not match it. A stored time without a zone is UTC.
- JSON integers beyond 64 bits compare as doubles.

No character of the user's filter becomes SQL: keys and values are bound parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.errors import InvalidFilterError
from spector.messages import reading
from spector.store.catalog.queries.filter_values import (
    MAX_DEPTH,
    OPERATORS,
    check_text,
    display_name,
    kind_of,
    make_operand,
    shorten,
    split_path,
    unknown_name,
)

__all__ = [
    "MAX_LIST_ITEMS",
    "MAX_NODES",
    "WITHOUT_USER",
    "SqlFilter",
    "compile_where",
    "told_between",
]

#: tests and combinators in one filter
MAX_NODES: Final = 256
#: values in one ``in``
MAX_LIST_ITEMS: Final = 10_000
COMBINATORS: Final = ("and", "or", "not")

_COMPARISON: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_COLUMN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")

#: columns of ``record`` that a filter may name like metadata
_SCOPES: Final = frozenset({"user_id", "agent_id", "session_id"})

Path = tuple[str, ...]


class _Scope(Path):
    """The path of a scope, which is a column instead of metadata."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SqlFilter:
    """A boolean SQL expression, always 0 or 1, and the parameters it binds in order."""

    sql: str
    params: tuple[str | int, ...]

    def among(self, ids: Sequence[int]) -> SqlFilter:
        """The same of a few records."""
        marks = ", ".join("?" * len(ids))
        return SqlFilter(f"({self.sql}) AND record.id IN ({marks})", (*self.params, *ids))


#: memories without a user
WITHOUT_USER: Final = SqlFilter("record.user_id IS NULL", ())


def told_between(start_ms: int, end_ms: int) -> SqlFilter:
    """What was told from a time to before another: a turn of a talk when it was said, what a caller
    remembered when it was recorded."""
    told = "CASE WHEN content.role IS NULL THEN recorded_ms ELSE record.event_ms END"
    return SqlFilter(f"{told} BETWEEN ? AND ? - 1", (start_ms, end_ms))


def compile_where(
    where: Mapping[str, Any], *, column: str = "content.metadata", scopes: str | None = None
) -> SqlFilter:
    """Compile ``where`` to an expression over ``column``: JSON text of an object, or NULL.

    Args:
        scopes: the table with the columns of the scopes; None treats scopes as metadata.

    Raises:
        InvalidFilterError: names the place within the filter, what was found and what is accepted.
    """
    if not _COLUMN.fullmatch(column):
        raise ValueError(f"column must be a plain or qualified name, got {column!r}")
    if scopes is not None and not scopes.isidentifier():
        raise ValueError(f"scopes must be the name of a table, got {scopes!r}")
    compiler = _Compiler(column, scopes)
    with reading("where", InvalidFilterError):
        sql = compiler.filter(where, "where", 1)
    return SqlFilter(sql, tuple(compiler.params))


def _written(path: Sequence[str]) -> str:
    """A path as a field that names it, and nothing else."""
    field = ".".join(re.sub(r"[.\\]", r"\\\g<0>", each) for each in path)
    return field if field[:1] in ("", ".", "\\") else f"\\{field}"


class _Compiler:
    """One pass over the filter. Parameters are appended in the order their marks appear."""

    def __init__(self, column: str, scopes: str | None = None) -> None:
        self.params: list[str | int] = []
        self._column = column
        self._scopes = scopes
        self._nodes = 0

    def filter(self, where: object, at: str, depth: int) -> str:
        self._enter(at, depth)
        if not isinstance(where, Mapping):
            raise InvalidFilterError(
                f"{at}: expected a dict, got {kind_of(where)}",
                hint='write it like {"project": "atlas"} or {"size": {"gt": 3}}',
            )
        parts = []
        for key, value in where.items():
            if isinstance(key, tuple) and all(isinstance(each, str) for each in key):
                key = _written(key)
            if not isinstance(key, str):
                raise InvalidFilterError(
                    f"{at}: a key must be a string or a tuple of them, got {kind_of(key)}",
                    hint="keys name metadata fields or one of: " + ", ".join(COMBINATORS),
                )
            parts.append(self._entry(key, value, at, depth))
        return _join(parts, "AND")

    def _entry(self, key: str, value: object, at: str, depth: int) -> str:
        combinator = key.removeprefix("$")
        here = f"{at}.{display_name(key)}"
        if combinator == "not":
            return f"(NOT {self.filter(value, here, depth + 1)})"
        if combinator in COMBINATORS:
            if not isinstance(value, list | tuple):
                raise InvalidFilterError(
                    f"{here}: expected a list of filters, got {kind_of(value)}",
                    hint='write it like {"or": [{"a": 1}, {"b": 2}]}',
                )
            parts = [
                self.filter(item, f"{here}[{place}]", depth + 1) for place, item in enumerate(value)
            ]
            return _join(parts, combinator.upper())
        if key.startswith("$"):
            raise unknown_name(key, at, COMBINATORS, "combinator")
        path: Path = split_path(key, here)
        if self._scopes is not None and key in _SCOPES:
            path = _Scope(path)
        return self._test(path, value, here, depth)

    def _test(self, path: Path, test: object, at: str, depth: int) -> str:
        self._enter(at, depth)
        if not isinstance(test, Mapping):
            return self._equal(path, test, at)
        if not test:
            raise InvalidFilterError(
                f"{at}: an empty dict tests nothing", hint="use one of: " + ", ".join(OPERATORS)
            )
        parts = []
        for name, operand in test.items():
            operator = name.removeprefix("$") if isinstance(name, str) else name
            if operator not in OPERATORS:
                raise unknown_name(name, at, OPERATORS, "operator")
            here = f"{at}.{name}"
            self._enter(here, depth)
            parts.append(self._operator(path, operator, operand, here, depth))
        return _join(parts, "AND")

    def _operator(self, path: Path, operator: str, operand: object, at: str, depth: int) -> str:
        if operator == "eq":
            return self._equal(path, operand, at)
        if operator == "ne":
            return f"(NOT {self._equal(path, operand, at)})"
        if operator == "not":
            if not isinstance(operand, Mapping):
                raise InvalidFilterError(
                    f"{at}: expected a dict of operators, got {kind_of(operand)}",
                    hint='write it like {"size": {"not": {"gt": 3}}}, or use ne',
                )
            return f"(NOT {self._test(path, operand, at, depth + 1)})"
        if operator == "in":
            return self._in(path, operand, at)
        if operator == "contains":
            return self._contains(path, operand, at)
        if operator == "exists":
            if not isinstance(operand, bool):
                raise InvalidFilterError(f"{at}: expected True or False, got {kind_of(operand)}")
            found = self._row(path, lambda row: "1")
            return found if operand else f"(NOT {found})"
        return self._ordered(path, operator, operand, at)

    def _equal(self, path: Path, value: object, at: str) -> str:
        if value is None:
            # absent equals null, so ask for a row that is neither
            return f"(NOT {self._row(path, lambda row: f'{row}.type <> {_NULL}')})"
        return self._row(path, lambda row: self._same(row, value, at))

    def _same(self, row: str, value: object, at: str) -> str:
        """Whether a json_each row equals a scalar. NULL here means no: callers sit in EXISTS."""
        if value is None:
            return f"{row}.type = {_NULL}"
        if isinstance(value, bool):
            return f"{row}.type = '{'true' if value else 'false'}'"
        return self._compare(row, "=", value, at)

    def _compare(self, row: str, sign: str, value: object, at: str) -> str:
        kind, left, right, bound = make_operand(value, at)
        self.params.append(bound)
        return f"{kind.format(row=row)} AND {left.format(row=row)} {sign} {right}"

    def _ordered(self, path: Path, operator: str, value: object, at: str) -> str:
        if value is None or isinstance(value, bool):
            raise InvalidFilterError(
                f"{at}: {value} has no order", hint="order numbers, strings or aware datetimes"
            )
        return self._row(path, lambda row: self._compare(row, _COMPARISON[operator], value, at))

    def _in(self, path: Path, values: object, at: str) -> str:
        if not isinstance(values, list | tuple | set | frozenset):
            raise InvalidFilterError(
                f"{at}: expected a list of values, got {kind_of(values)}",
                hint='write it like {"project": {"in": ["atlas", "borealis"]}}',
            )
        if len(values) > MAX_LIST_ITEMS:
            raise InvalidFilterError(f"{at}: {len(values)} values, the limit is {MAX_LIST_ITEMS}")
        # one bound JSON array a kind, so a long list costs no long SQL
        groups: dict[tuple[str, str, str], list[str | int]] = {}
        parts = []
        for place, value in enumerate(values):
            if value is None or isinstance(value, bool):
                parts.append(self._equal(path, value, at))
                continue
            kind, left, right, bound = make_operand(value, f"{at}[{place}]")
            groups.setdefault((kind, left, right), []).append(bound)
        for (kind, left, right), bounds in groups.items():
            choices = f"(SELECT {right.replace('?', 'choice.value')} FROM json_each(?) AS choice)"
            parts.append(self._row(path, _member(kind, left, choices)))
            self.params.append(json.dumps(bounds, ensure_ascii=False))
        return _join(parts, "OR")

    def _contains(self, path: Path, value: object, at: str) -> str:
        def element(row: str) -> str:
            items = f"json_each(CASE {row}.type WHEN 'array' THEN {row}.value ELSE '[]' END)"
            return f"EXISTS (SELECT 1 FROM {items} AS item WHERE {self._same('item', value, at)})"

        found = self._row(path, element)
        if not isinstance(value, str):
            return found

        def substring(row: str) -> str:
            self.params.append(check_text(value, at))
            return f"{row}.type = 'text' AND instr({row}.value, ?) > 0"

        return _join([found, self._row(path, substring)], "OR")

    def _row(self, path: Path, condition: Callable[[str], str]) -> str:
        """EXISTS over the one json_each row that ``path`` leads to, under a condition on it.

        json_each compares decoded keys, whereas a JSON path can express neither a quote in a key
        nor an escaped one. EXISTS is never NULL, which is what keeps the whole filter two-valued.
        """
        if isinstance(path, _Scope):
            return (
                f"EXISTS (SELECT 1 FROM (SELECT {self._scopes}.{path[0]} AS value, 'text' AS type"
                f" WHERE {self._scopes}.{path[0]} IS NOT NULL) AS level0"
                f" WHERE {condition('level0')})"
            )
        sources, conditions = [], []
        json_text = self._column
        for level, key in enumerate(path):
            row = f"level{level}"
            sources.append(f"json_each({json_text}) AS {row}")
            conditions.append(f"{row}.key = ?")
            self.params.append(key)
            # a CASE and not a WHERE term: SQLite may evaluate those in any order
            json_text = f"CASE {row}.type WHEN 'object' THEN {row}.value ELSE '{{}}' END"
        conditions.append(condition(row))
        return f"EXISTS (SELECT 1 FROM {', '.join(sources)} WHERE {' AND '.join(conditions)})"

    def _enter(self, at: str, depth: int) -> None:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise InvalidFilterError(
                f"{shorten(at)}: nested deeper than {MAX_DEPTH} levels",
                hint="flatten the filter: several keys in one dict are already ANDed",
            )
        if self._nodes > MAX_NODES:
            raise InvalidFilterError(
                f"{shorten(at)}: more than {MAX_NODES} tests in one filter",
                hint='replace long chains of "or" by one {"in": [...]}',
            )


_NULL: Final = "'null'"


def _member(kind: str, left: str, choices: str) -> Callable[[str], str]:
    return lambda row: f"{kind.format(row=row)} AND {left.format(row=row)} IN {choices}"


def _join(parts: list[str], word: str) -> str:
    if not parts:
        return "1" if word == "AND" else "0"
    return parts[0] if len(parts) == 1 else f"({f' {word} '.join(parts)})"

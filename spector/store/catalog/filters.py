"""The user's metadata filter, compiled to a SQLite expression over a column of JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from spector.clock import iso_of_ms, to_ms
from spector.errors import InvalidFilterError, InvalidTimeError
from spector.messages import reading

# Values and paths of a metadata filter: checked, and as SQL operands.
#
# A value that cannot be compared is an error that names its place within the filter.

MAX_DEPTH: Final = 16
OPERATORS: Final = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "exists", "not")
_INT64: Final = range(-(2**63), 2**63)

#: the kinds of values that compare with one another, as tests of a json_each row
_NUMBER: Final = "{row}.type IN ('integer', 'real')"
_STRING: Final = "{row}.type = 'text'"
#: julianday() also reads 'now' and bare numbers, so the shape is checked first
_INSTANT: Final = (
    "{row}.type = 'text' AND {row}.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
)


def make_operand(value: object, at: str) -> tuple[str, str, str, str | int]:
    """For a number, string or instant: the test of kind, both sides, and the bound parameter."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in _INT64:
            raise InvalidFilterError(
                f"{at}: the integer does not fit into 64 bits", hint="compare with a float instead"
            )
        return _NUMBER, "{row}.value", "?", int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidFilterError(
                f"{at}: {value} is not a JSON number", hint="use exists to find absent values"
            )
        # parsed by the code that parses the stored digits; other code of SQLite may round otherwise
        return _NUMBER, "{row}.value", "json_extract(?, '$')", float.__repr__(value)
    if isinstance(value, str):
        return _STRING, "{row}.value", "?", check_text(value, at)
    if isinstance(value, datetime):
        try:
            instant = iso_of_ms(to_ms(value))
        except InvalidTimeError as error:
            raise InvalidFilterError(f"{at}: {error.message}", hint=error.hint) from None
        return _INSTANT, "julianday({row}.value)", "julianday(?)", instant
    hint = "use a string, number, bool, None or aware datetime"
    if isinstance(value, list | tuple | set | frozenset):
        hint = "use in to test for one of several values, contains to look into a list"
    elif isinstance(value, Mapping):
        hint = 'reach into an object with a dotted key, like {"author.name": "Maya"}'
    elif isinstance(value, date):
        hint = "use a string like 2026-05-04, or an aware datetime"
    raise InvalidFilterError(f"{at}: cannot compare with {kind_of(value)}", hint=hint)


def check_text(value: str, at: str) -> str:
    """A plain ``str`` that SQLite can hold and that its JSON functions do not cut short."""
    if "\0" in value:
        raise InvalidFilterError(f"{at}: {shorten(ascii(value))} holds a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidFilterError(
            f"{at}: {shorten(ascii(value))} holds half a surrogate pair",
            hint="decode the text properly before filtering by it",
        ) from None
    return str.__str__(value)


def split_path(field: str, at: str) -> tuple[str, ...]:
    """Keys of a dotted path; a backslash takes the next character literally."""
    at = shorten(at)
    keys = [""]
    characters = iter(check_text(field, at))
    for character in characters:
        if character == ".":
            keys.append("")
        elif character == "\\":
            keys[-1] += next(characters, "\\")
        else:
            keys[-1] += character
    if not all(keys):
        raise InvalidFilterError(
            f"{at}: {shorten(ascii(field))} has an empty key",
            hint="separate keys by single dots; a literal dot is written \\.",
        )
    return _bounded(tuple(keys), at)


def _bounded(keys: tuple[str, ...], at: str) -> tuple[str, ...]:
    if len(keys) > MAX_DEPTH:
        raise InvalidFilterError(f"{at}: {len(keys)} nested keys, the limit is {MAX_DEPTH}")
    return keys


def unknown_name(name: object, at: str, accepted: tuple[str, ...], what: str) -> InvalidFilterError:
    import difflib

    bare = str(name).removeprefix("$").lower()
    close = difflib.get_close_matches(bare, accepted, n=1, cutoff=0.5)
    close = close or difflib.get_close_matches(_SYNONYMS.get(bare, ""), accepted, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    hint += f"accepted: {', '.join(accepted)}"
    if what == "operator":
        hint += "; a nested field is written with a dot"
    return InvalidFilterError(f"{shorten(at)}: unknown {what} {shorten(ascii(name))}", hint=hint)


#: operators of other query languages
_SYNONYMS: Final = dict(
    each.split(":")
    for each in "==:eq =:eq equals:eq is:eq !=:ne <>:ne neq:ne >:gt >=:gte ge:gte <:lt <=:lte le:lte"
    " like:contains has:contains any:in &&:and ||:or !:not".split()
)


def kind_of(value: object) -> str:
    return "None" if value is None else type(value).__name__


def display_name(key: str) -> str:
    return shorten(key if key.isprintable() else ascii(key), 60)


def shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


# The user's metadata filter, compiled to a SQLite expression over a column of JSON text.
#
# Grammar::
#
#     filter    := {field: test, ...}                several keys are ANDed; {} matches everything
#                | {"and": [filter, ...]} | {"or": [filter, ...]} | {"not": filter}
#     test      := scalar                            short for {"eq": scalar}
#                | {operator: operand, ...}          several operators are ANDed
#     operator  := eq ne in gt gte lt lte contains exists not      ("$gt" is the same as "gt")
#
# A field is a path: ``"a.b"`` is key ``b`` of the object under ``a``. A backslash takes the next
# character literally, so ``r"a\.b"`` is the key ``a.b`` and ``r"\and"`` a field called ``and``. A tuple is
# the path itself: ``("a.b",)`` and ``("and",)`` are the same two.
# Paths enter objects only, never lists. ``user_id``, ``agent_id`` and ``session_id`` are the scopes
# of a memory, not metadata; ``r"\user_id"`` is the key of that name.
#
# Meaning, which is two-valued throughout (no SQL NULL escapes from an expression):
#
# - Numbers compare with numbers (1 equals 1.0; a bool is not a number), strings with strings by code
#   point, bools with bools. Values of different types are neither equal nor ordered.
# - ``None`` equals a JSON null and an absent key. ``exists`` is true for a null.
# - ``ne`` is the complement of ``eq``, ``not`` of what it holds: an absent key is ``ne`` to 3, and
#   not ``ne`` to ``None``.
# - A memory without a user has no ``user_id``: it is an absent key.
# - ``contains`` asks whether a list has an equal element, or a string a substring (case-sensitive).
# - An aware ``datetime`` compares as an instant, to the millisecond, with strings that hold an
#   ISO 8601 date or time; other strings do not match it. A stored time without a zone is UTC.
# - JSON integers beyond 64 bits compare as doubles.
#
# No character of the user's filter becomes SQL: keys and values are bound parameters.

#: tests and combinators in one filter
MAX_NODES: Final = 256
#: values in one ``in``
MAX_LIST_ITEMS: Final = 10_000
COMBINATORS: Final = ("and", "or", "not")

_COMPARISON: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

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
        return narrowed(self, f"record.id IN ({', '.join('?' * len(ids))})", ids)


def narrowed(known: SqlFilter | None, sql: str, params: Sequence[str | int] = ()) -> SqlFilter:
    """A condition, where there is one, and another."""
    if known is None:
        return SqlFilter(sql, tuple(params))
    return SqlFilter(f"({known.sql}) AND {sql}", (*known.params, *params))


#: memories without a user
WITHOUT_USER: Final = SqlFilter("record.user_id IS NULL", ())


def told_between(start_ms: int, end_ms: int) -> SqlFilter:
    """What was told from a time to before another: a turn of a talk when it was said, what a caller
    remembered when it was recorded."""
    told = "CASE WHEN content.role IS NULL THEN recorded_ms ELSE record.event_ms END"
    return SqlFilter(f"{told} BETWEEN ? AND ? - 1", (start_ms, end_ms))


def compile_where(where: Mapping[str, Any], *, scopes: bool = False) -> SqlFilter:
    """Compile ``where`` to an expression over ``content.metadata``: JSON of an object, or NULL.

    Args:
        scopes: the scopes are columns of ``record``; else they are metadata, too.

    Raises:
        InvalidFilterError: names the place within the filter, what was found and what is accepted.
    """
    compiler = _Compiler(scopes)
    with reading("where", InvalidFilterError):
        sql = compiler.filter(where, "where", 1)
    return SqlFilter(sql, tuple(compiler.params))


class _Compiler:
    """One pass over the filter. Parameters are appended in the order their marks appear."""

    def __init__(self, scopes: bool) -> None:
        self.params: list[str | int] = []
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
            if isinstance(key, tuple) and key and all(isinstance(each, str) for each in key):
                here = f"{at}.{display_name(repr(key))}"
                path = _bounded(tuple([check_text(each, here) for each in key]), here)
                parts.append(self._test(path, value, here, depth))
                continue
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
        if self._scopes and key in _SCOPES:
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
                f"EXISTS (SELECT 1 FROM (SELECT record.{path[0]} AS value, 'text' AS type"
                f" WHERE record.{path[0]} IS NOT NULL) AS level0"
                f" WHERE {condition('level0')})"
            )
        sources, conditions = [], []
        json_text = "content.metadata"
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

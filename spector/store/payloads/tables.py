"""The tables of knowledge, of keys and of attachments, and the fields of each sort of payload."""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spector.errors import InvalidInputError

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
        kinds = {each.name: each.kind for each in self.columns}
        by_rowid = len(self.key) == 1 and kinds[self.key[0]] is int
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


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


# The fields of each sort of payload, as JSON keeps them.
#
# A sort is a list of fields with a type, a bound and a default. Encoding leaves defaults out, so a
# payload is as long as what it says; decoding refuses what no encoder wrote, which the check reports.


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a payload: which values it takes, and the one that is left out."""

    name: str
    accepts: Callable[[Any], bool]
    default: Any = None
    #: text that a person could read
    words: bool = False


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_keyed(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value)


def _is_note(value: Any) -> bool:
    """Start, end, kind and text."""
    types = [type(part) for part in value] if isinstance(value, list) else []
    return types == [int, int, str, str] and 0 <= value[0] <= value[1] < 1 << 53


def _all_of(is_one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(is_one, value))


_ACCEPTS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "texts": _all_of(lambda each: isinstance(each, str)),
    "flag": lambda value: isinstance(value, bool),
    "count": lambda value: type(value) is int and 0 <= value < 1 << 53,
    "number": _is_number,
    "share": lambda value: _is_number(value) and 0.0 <= value <= 1.0,
    "object": _is_keyed,
    "objects": _all_of(_is_keyed),
    "numbers": lambda value: _is_keyed(value) and all(map(_is_number, value.values())),
    "notes": _all_of(_is_note),
    "moment": lambda value: type(value) is int and abs(value) < 1 << 53,
}


def _fields(lines: str) -> tuple[Field, ...]:
    """Fields from name, kind (or names that are all its values), default as JSON, and "words"."""
    out = []
    for line in lines.split(";"):
        name, kind, *marks = line.split()
        accepts = _ACCEPTS.get(kind, tuple(kind.split("|")).__contains__)
        default = next((json.loads(mark[1:]) for mark in marks if mark[0] == "="), None)
        out.append(Field(name, accepts, default, "words" in marks))
    return tuple(out)


#: sort -> its fields
SORTS: Final[Mapping[str, tuple[Field, ...]]] = {
    "procedure": _fields(
        'name text words; description text ="" words; steps objects =[] words;'
        ' status draft|active|deprecated ="draft"; success_rate share =0.0;'
        " execution_count count =0; last_used_ms moment; failed_steps numbers ={} words"
    ),
    "learning": _fields(
        "type text; title text words; confidence share =0.5; impact share =0.5;"
        " validated flag =false; application_count count =0; last_applied_ms moment"
    ),
    "concept": _fields(
        'name text words; category text ="object"; definition text ="" words;'
        ' properties object ={} words; provenance text ="episodic_consolidation";'
        " reinforcement_count count =0; confidence share =0.5"
    ),
    "statistic": _fields(
        'concept_id count; name text words; category summary|pattern ="summary";'
        ' domain concept_grounding|operations ="concept_grounding"; values numbers ={};'
        ' code text =""; confidence share =0.5; computed_ms moment'
    ),
    "episode": _fields(
        "objects texts =[] words; people texts =[] words; goal text words; context object words;"
        " decision text words; decision_confidence share; tool text words; success flag;"
        " salience share; novelty share; run_id text; summary text words; abstracted flag =false"
    ),
    "observed": _fields(
        'write_source manual|observer|formation|dream ="manual"; data_source text; kind text;'
        " emotion text; class_confidence share; novelty share; arousal_channel share;"
        " reward share; attention share; boost number; decision text; likeness number;"
        " nearest_id count; notes notes =[] words; raw text words; reply flag =false;"
        " states flag =true"
    ),
    "rest": _fields("since_ms moment; rule text"),
}


#: sorts that say something of a memory, and make no item of it
DESCRIBING: Final = frozenset({"observed", "episode", "rest"})
#: sorts that make a memory an item of knowledge -> the facet that changes it
PAYLOAD_FACETS: Final[Mapping[str, str]] = {
    "fact": "facts",
    "procedure": "procedures",
    "learning": "learnings",
    "concept": "concepts",
    "statistic": "concepts",
}


def compact_json(value: Any) -> str:
    """JSON as rows of knowledge keep it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def checked_json(value: Any, what: str) -> str:
    """The same of what a caller gave.

    Raises:
        InvalidInputError: It is no JSON, or a text in it is no UTF-8.
    """
    try:
        text = compact_json(value)
        text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(
            f"{what} cannot be written as JSON: {_shown(str(error))}",
            hint="use texts, finite numbers, booleans, lists and dictionaries with text keys",
        ) from error
    return text


def encode(sort: str, values: Mapping[str, Any]) -> str:
    """Compact JSON of a payload, without what is at its default.

    Raises:
        InvalidInputError: A field is unknown, or a value is none of its values.
    """
    fields = {each.name: each for each in SORTS[sort]}
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if name not in fields:
            raise InvalidInputError(
                f"a {sort} has no field {name!r}", hint=f"its fields: {', '.join(fields)}"
            )
        if value is None or value == fields[name].default:
            continue
        if not fields[name].accepts(value):
            raise InvalidInputError(
                f"{name} of a {sort} cannot be {_shown(value)}", hint="pass a value of its type"
            )
        kept[name] = value
    return checked_json(kept, f"this {sort}")


def decode(sort: str, text: str) -> tuple[dict[str, Any], str | None]:
    """All fields of a payload, defaults filled in, and what is wrong with them (None: nothing)."""
    given = json.loads(text)
    out: dict[str, Any] = {}
    for each in SORTS[sort]:
        value = given.pop(each.name, None)
        if value is not None and not each.accepts(value):
            return out, f"{each.name} cannot be {_shown(value)}"
        if value is None:
            value = each.default.copy() if isinstance(each.default, (dict, list)) else each.default
        out[each.name] = value
    return out, f"unknown fields {sorted(given)}" if given else None


def words_in(sort: str, text: str) -> list[str]:
    """Every text in a payload that a person could read, for a search after an erasure."""
    values, _ = decode(sort, text)
    found = (texts_in(values.get(each.name)) for each in SORTS[sort] if each.words)
    return [each for texts in found for each in texts if each]


def texts_in(
    value: Any, *, keys: bool = True, without: Collection[str] = frozenset()
) -> Iterator[str]:
    """The texts in a JSON value, also those that are keys, but not in values of some keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each, keys=keys, without=without)
    elif isinstance(value, dict):
        for key, each in value.items():
            if keys:
                yield key
            if key not in without:
                yield from texts_in(each, keys=keys, without=without)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


# The tables of knowledge, and those of keys and attachments.
#
# ============ ================================================================================
# payload      what a memory is beside its words: its sort, and that sort's fields as JSON
# fact         a triple, its key, and whether it holds
# item         what is no memory but has an id: entities, associations, registered kinds of edges
# name         the folded names by which memories and items are found
# edge         typed, weighted links between memories
# link         counted ties of two ids: mentions, sources, references, evidence, pairs
# sleep_state  the one row of sleep: the cycle, its step and cursor, and when each part last ran
# cycle_change what a cycle changed, with the values before: ids and numbers, never words
# entry        the key of a memory, how often it was replaced, its end, the size of its attachment
# attachment   what was attached to a memory, as bytes
# key_mark     salted hashes of keys that were forgotten
# ============ ================================================================================
#
# Memories and items take their ids from one sequence, so an id alone says what a row depends on.

#: groups of tables: a catalog has all of a group or none
KNOWLEDGE: Final = "knowledge"
KEYS: Final = "keys"
#: key in ``meta``: every record with a key has the bits of its namespace in its Bloom filter
NAMESPACES_TAGGED: Final = "namespaces_tagged"

_KINDS: Final[Mapping[str, type]] = {each.__name__: each for each in _SQL_TYPES}


def _table(
    name: str, columns: str, *, key: str, group: str = KNOWLEDGE, **more: Any
) -> PayloadTable:
    """A table from its columns: name, type and marks of each."""
    made = []
    for each in columns.split(";"):
        column, kind, *marks = each.split()
        made.append(Column(column, _KINDS[kind], **dict.fromkeys(marks, True)))
    return PayloadTable(name, tuple(made), tuple(key.split()), group=group, **more)


#: in the order in which they are made, exported and checked
PAYLOAD_TABLES: Final = (
    _table("payload", "id int owner; sort str; json str json words", key="id sort"),
    _table(
        "fact",
        "id int owner; fact_key str indexed; scope str; subject str indexed words;"
        " predicate str indexed words; object str indexed words; holds int; confidence float;"
        " verified_ms int; json str json words",
        key="id",
        unique=((("scope", "fact_key"), "holds = 1"),),
    ),
    _table(
        "item",
        "item_id int owner; sort str indexed; scope str; json str json words",
        key="item_id",
    ),
    _table(
        "name",
        "scope str; sort str; folded str words; id int indexed owner",
        key="scope sort folded id",
    ),
    _table(
        "edge",
        "source_id int owner; kind str; target_id int indexed owner; weight float;"
        " confidence float; origin str; created_ms int; note str optional json words",
        key="source_id kind target_id",
    ),
    _table(
        "link",
        "a int owner; kind str; b int indexed owner; n int optional; t_ms int optional",
        key="a kind b",
    ),
    _table(
        "sleep_state",
        "one int; cycle int; started_ms int; step str; cursor int; decayed_ms int;"
        " extracted_id int; abstracted_id int; compressed_ms int; tested_ms int; seed int;"
        " recent str json; central str json",
        key="one",
    ),
    _table(
        "cycle_change",
        "cycle int; ordinal int; record_id int indexed optional owner; what str; before str json",
        key="cycle ordinal",
    ),
    _table(
        "entry",
        "id int owner; user_id str words; agent_id str words; namespace str words;"
        " record_key str optional words; revision int; expires_ms int optional indexed;"
        " refresh_ms int optional; attached_bytes int optional",
        key="id",
        unique=((("namespace", "record_key", "user_id", "agent_id"), "record_key IS NOT NULL"),),
        group=KEYS,
    ),
    _table("attachment", "id int owner; form str; data bytes", key="id", group=KEYS),
    _table("key_mark", "owner str; digest str; salt str", key="owner digest", group=KEYS),
)

#: the table of a name
table_named: Final = {each.name: each for each in PAYLOAD_TABLES}.__getitem__

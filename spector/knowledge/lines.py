"""Lines of an export and an import: rows of knowledge written, read, and planned anew.

What belongs to one memory stands on its line: payload, sources, references, mentions, edges that
leave it. What ties several, or has no memory, gets lines of its own with the key ``spector``. A
line names a memory by its id, and an entity by its name and type: ids of entities mean nothing
elsewhere, and an export for one user has no name that only others mention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spector.arguments import parse_choice, parse_enum, parse_integer, parse_number, parse_switch
from spector.clock import iso_of_ms, to_ms
from spector.errors import ImportFormatError, InvalidInputError, UnknownRelationError
from spector.knowledge.changes import Changes, New, is_derived
from spector.knowledge.concepts import (
    PROVENANCES,
    checked_properties,
    concepts_named,
    layer_name,
    names_of_concept,
    plan_concept_met,
    plan_references,
    plan_reinforcement,
)
from spector.knowledge.entities import ENTITY_NAMES, make_entity, plan_alias, plan_merge, spellings
from spector.knowledge.facts import checked_part, confirm_fact, predicate_named
from spector.knowledge.graph import Registry, plan_kind
from spector.knowledge.grounding import statistics_of
from spector.knowledge.procedures import parse_steps, put_triggers
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import concept_key, entity_uri, fact_key, folded
from spector.records import Edge, LearningType, RelationKind
from spector.store.payloads import PAYLOAD_FACETS, SORTS, compact_json, decode, encode

#: key of a line that is no memory; its value says what the line is
ITEM_KEY: Final = "spector"
_REFERENCE: Final = "reference:"
#: sort of a payload -> key of the folded names by which its memory is found beside those in it
_NAMES: Final = {"procedure": "triggers", "learning": "triggers", "concept": "names"}
#: entities, or other things that lines are about, looked up at once
_CHUNK: Final = 500

#: name and type: who is meant
Who = tuple[str, str]


class KnowledgeLines:
    """What one export says of knowledge.

    Args:
        keeps: Which of some memories the export has.
        is_whole: It has every memory, and everything that belongs to none.
    """

    def __init__(
        self, keeps: Callable[[Collection[int]], Collection[int]], *, is_whole: bool
    ) -> None:
        self._keeps = keeps
        self._is_whole = is_whole
        self._written_kinds: set[str] = set()
        self._predicates: set[str] = set()
        #: entity -> who of it was mentioned: itself, and what was merged into it
        self._mentioned: dict[int, set[Who]] = {}

    def of_memories(
        self, reader: KnowledgeReader, ids: Collection[int]
    ) -> dict[int, dict[str, Any]]:
        """Keys that the lines of memories get, by memory; the order of ``ids`` is kept."""
        out: dict[int, dict[str, Any]] = {each: {} for each in ids}
        payloads = self._payloads(reader, ids)
        facts = [each for each, sorts in payloads.items() if "fact" in sorts]
        concepts = [each for each, sorts in payloads.items() if "concept" in sorts]
        edges = reader.edges(ids, direction="out")
        links = {
            "sources": reader.links("source", a=facts) if facts else [],
            "references": [
                row for row in (reader.references(concepts) if concepts else ()) if row["a"] in out
            ],
        }
        others = {edge.target for edge in edges} | {
            row["b"] for rows in links.values() for row in rows
        }
        kept = frozenset(self._keeps(others)) if others else frozenset()
        for each, sorts in payloads.items():
            out[each]["payload"] = sorts
        for name, rows in links.items():
            for row in sorted(rows, key=_order):
                if row["b"] in kept:
                    out[row["a"]].setdefault(name, []).append(_link(name, row))
        for memory, mentions in self._mentions(reader, ids).items():
            out[memory]["mentions"] = mentions
        for edge in edges:
            if edge.target in kept:
                out[edge.source].setdefault("edges", []).append(_edge(edge))
        return out

    def before(
        self, reader: KnowledgeReader, keys: Mapping[int, Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Lines that must stand before memories with these keys: kinds that their edges have."""
        used = {edge["kind"] for each in keys.values() for edge in each.get("edges", ())}
        if used <= self._written_kinds:
            return []
        fresh = [each for each in reader.kinds() if each.name in used - self._written_kinds]
        self._written_kinds |= used
        return [_kind(each) for each in sorted(fresh, key=lambda each: each.name)]

    def after(self, reader: KnowledgeReader) -> Iterator[dict[str, Any]]:
        """Lines that stand behind all memories."""
        if self._is_whole:
            for kind in sorted(reader.kinds(), key=lambda each: each.name):
                if kind.name not in self._written_kinds:
                    yield _kind(kind)
        found = {row["json"]["name"]: row["json"] for row in reader.items_of("predicate").values()}
        for name, said in sorted(found.items()):
            if self._is_whole or {name, said["of"]} & self._predicates:
                yield {
                    ITEM_KEY: "predicate",
                    "name": name,
                    "of": said["of"],
                    "single_valued": said["single"],
                }
        yield from self._pairs(reader)
        yield from self._associations(reader)
        yield from self._names(reader)

    # -- what belongs to memories -------------------------------------------------------------

    def _payloads(self, reader: KnowledgeReader, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """Sort -> its fields, as rows keep them, with the names that a payload is found by."""
        found = {each: dict(sorts) for each, sorts in reader.payload_fields(ids).items()}
        for row in reader.facts(id=ids):
            found.setdefault(row["id"], {})["fact"] = {
                **row["json"],
                "holds": bool(row["holds"]),
                "confidence": row["confidence"],
                "verified_ms": row["verified_ms"],
            }
            self._predicates.add(row["predicate"].replace(" ", "_"))
        names = reader.names_of(found) if found else {}
        for each, sorts in found.items():
            rows = names.get(each, ())
            for sort in sorts.keys() & _NAMES.keys():
                own = concept_key(sorts[sort]["name"]) if sort == "concept" else None
                kind = "trigger" if own is None else "concept"
                others = {row["folded"] for row in rows if row["sort"] == kind} - {own}
                if others:
                    sorts[sort] = {**sorts[sort], _NAMES[sort]: sorted(others)}
        self._without_others(found)
        return dict(sorted(found.items()))

    def _without_others(self, payloads: Mapping[int, dict[str, Any]]) -> None:
        """Take out the fields that name a memory which the export does not have."""
        named = [
            (sorts, sort, field, sorts[sort][field])
            for sorts in payloads.values()
            for sort, field in (("statistic", "concept_id"), ("observed", "nearest_id"))
            if sort in sorts and field in sorts[sort]
        ]
        kept = frozenset(self._keeps({each[3] for each in named})) if named else frozenset()
        for sorts, sort, field, other in named:
            if other not in kept:
                sorts[sort] = {key: value for key, value in sorts[sort].items() if key != field}

    def _mentions(
        self, reader: KnowledgeReader, ids: Collection[int]
    ) -> dict[int, list[dict[str, Any]]]:
        links = reader.links("mention", b=ids)
        items = reader.items({row["a"] for row in links}) if links else {}
        out: dict[int, list[dict[str, Any]]] = {}
        for row in links:
            if row["a"] not in items:
                continue
            for who, count in _who(items[row["a"]]["json"], row["b"], row["n"] or 1):
                self._mentioned.setdefault(row["a"], set()).add(who)
                out.setdefault(row["b"], []).append(
                    {"name": who[0], "type": who[1], "count": count}
                )
        for mentions in out.values():
            mentions.sort(key=lambda each: (each["name"], each["type"]))
        return out

    # -- what belongs to none, or to several --------------------------------------------------

    def _pairs(self, reader: KnowledgeReader) -> Iterator[dict[str, Any]]:
        for row in self._kept(reader.links("pair"), "a", "b"):
            yield {
                ITEM_KEY: "pair",
                "ids": [row["a"], row["b"]],
                "count": row["n"] or 0,
                "at": None if row["t_ms"] is None else iso_of_ms(row["t_ms"]),
            }

    def _associations(self, reader: KnowledgeReader) -> Iterator[dict[str, Any]]:
        items = reader.items_of("association")
        evidence: dict[int, list[dict[str, Any]]] = {}
        for row in self._kept(reader.links("evidence"), "b"):
            evidence.setdefault(row["a"], []).append(_link("evidence", row))
        lines = [
            {
                ITEM_KEY: "association",
                "user_id": row["scope"] or None,
                **row["json"],
                "evidence": evidence[item],
            }
            for item, row in items.items()
            if item in evidence
        ]
        yield from sorted(
            lines,
            key=lambda line: (
                line["user_id"] or "",
                str(line.get("cue")),
                str(line.get("outcome")),
            ),
        )

    def _names(self, reader: KnowledgeReader) -> Iterator[dict[str, Any]]:
        """Other names of entities, and which entities were merged; ids do not matter."""
        aliases: list[tuple[str, Who, str]] = []
        #: user and entity -> merges in their order
        merges: list[tuple[str, Who, list[tuple[Who, Who]]]] = []
        ordered = sorted(self._mentioned)
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            names = reader.names_of(chunk)
            for item, row in reader.items(chunk).items():
                about, scope = row["json"], row["scope"]
                others = [n["folded"] for n in names.get(item, ()) if n["sort"] == "alias"]
                present = self._mentioned[item]
                aliases += [(scope, *each) for each in _aliases(about, others, present)]
                merges.append((scope, _itself(about), _merged(about, present)[1]))
        for scope, who, name in sorted(aliases):
            found = {"user_id": scope or None, "name": name, "of": _named(who)}
            yield {ITEM_KEY: "alias", **found}
        for scope, _, steps in sorted(merges, key=lambda each: each[:2]):
            for kept, gone in steps:
                ends = {"kept": _named(kept), "gone": _named(gone)}
                yield {ITEM_KEY: "merge", "user_id": scope or None, **ends}

    def _kept(self, rows: Collection[dict[str, Any]], *ends: str) -> Iterator[dict[str, Any]]:
        """Rows whose memories are all part of the export, by their key."""
        ordered = sorted(rows, key=lambda row: (row["a"], row["kind"], row["b"]))
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            kept = frozenset(self._keeps({row[end] for row in chunk for end in ends}))
            yield from (row for row in chunk if all(row[end] in kept for end in ends))


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Links in the order in which they came; those that have lost their place are last."""
    return row["a"], row["kind"], row["n"] is None, row["n"] or 0, row["b"]


def _link(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"id": row["b"]}
    if row["t_ms"] is not None:
        out["at"] = iso_of_ms(row["t_ms"])
    if name == "references":
        out["layer"] = row["kind"].removeprefix(_REFERENCE)
        if row["n"] is None:
            out["placed"] = False
    if name == "evidence":
        out["success"] = bool(row["n"])
    return out


def _edge(edge: Edge) -> dict[str, Any]:
    names = "target kind weight confidence origin"
    out: dict[str, Any] = {name: getattr(edge, name) for name in names.split()}
    if edge.created_at is not None:
        out["created_at"] = iso_of_ms(round(edge.created_at.timestamp() * 1000))
    if edge.note is not None:
        out["note"] = dict(edge.note)
    return out


def _kind(kind: RelationKind) -> dict[str, Any]:
    return {ITEM_KEY: "kind", **kind.to_dict()}


def _named(who: Who) -> dict[str, str]:
    return {"name": who[0], "type": who[1]}


def _itself(about: Mapping[str, Any]) -> Who:
    return str(about["name"]), str(about["type"])


def _who(about: Mapping[str, Any], memory: int, count: int) -> Iterator[tuple[Who, int]]:
    """What a memory mentions of an entity, and how often: itself, and what was merged into it."""
    parts = [
        (each["item"], dict(each["mentions"]).get(memory, 0)) for each in about.get("merged", ())
    ]
    own = count - sum(n for _, n in parts)
    if own > 0 or not any(n for _, n in parts):
        yield _itself(about), max(1, own)
    for item, n in parts:
        if n:
            yield from _who(item, memory, n)


def _merged(
    about: Mapping[str, Any], present: Collection[Who]
) -> tuple[Who | None, list[tuple[Who, Who]]]:
    """The entity that others were merged into, and the merges in their order.

    Args:
        present: those that the export mentions; of others it says nothing.
    """
    root = _itself(about) if _itself(about) in present else None
    steps: list[tuple[Who, Who]] = []
    for each in about.get("merged", ()):
        other, inner = _merged(each["item"], present)
        steps += inner
        if other is None or other == root:
            continue
        if root is None:
            root = other
        else:
            steps.append((root, other))
    return root, steps


def _aliases(
    about: Mapping[str, Any], aliases: Collection[str], present: Collection[Who]
) -> Iterator[tuple[Who, str]]:
    """The further names of an entity and of those merged into it, which a merge does not give."""
    given, spelled = {folded(str(about["name"]))}, spellings(about)
    for each in about.get("merged", ()):
        given |= {name for _, name in each["names"]}
    if _itself(about) in present:
        for alias in sorted(set(aliases) - given):
            yield _itself(about), spelled.get(alias, alias)
    for each in about.get("merged", ()):
        own = [name for sort, name in each["names"] if sort == "alias"]
        yield from _aliases(each["item"], own, present)


# Values in a line of an import, each checked once; a fault names the value and what to write.

_MOST_ID: Final = (1 << 63) - 1
MOST_COUNT: Final = (1 << 53) - 1
#: characters of a type, a kind, an origin
MOST_NAME: Final = 64
#: characters of what limits a fact, of a user, of an origin
_MOST_TEXT: Final = 10_000
#: checks a value, which has a name in errors
Parse = Callable[[Any, str], Any]


def object_of(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON object: {...}")
    return value


def list_of(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON list: [...]")
    return list(value)


def text_of(value: Any, name: str, most: int = MOST_NAME) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise InvalidInputError(
            f"{name} is {value!r:.60}", hint=f"write a text of 1..{most} characters"
        )
    return value


def folded_of(value: Any, name: str) -> tuple[str, ...]:
    """Folded names, each once."""
    found = [folded(text_of(each, name, _MOST_TEXT)) for each in list_of(value, name)]
    if not all(found):
        raise InvalidInputError(f"{name} has an empty name", hint="use letters or digits")
    return tuple(dict.fromkeys(found))


def json_of(value: Mapping[str, Any], name: str) -> str:
    try:
        return compact_json(dict(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no JSON: {error}", hint="use finite numbers") from error


def refuse_halves(line: Mapping[str, Any]) -> None:
    """Refuse texts that no encoding has: halves of a surrogate pair."""
    try:
        json_of(line, "the line").encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            "half of a surrogate pair is no character", hint="write it in UTF-8"
        ) from error


def _integer(low: int, high: int) -> Parse:
    return lambda value, name: parse_integer(value, name, low=low, high=high)


def _moment(value: Any, name: str) -> int:
    return to_ms(value, name=name)


def _share(value: Any, name: str) -> float:
    return parse_number(value, name, low=0.0, high=1.0)


def _weight(value: Any, name: str) -> float:
    if value == 0.0:
        raise InvalidInputError(f"{name} is 0", hint="write a weight in (0, 1]")
    return _share(value, name)


def _note(value: Any, name: str) -> str:
    return json_of(object_of(value, name), name)


def _about(value: Any, name: str) -> str:
    return "" if value == "" else checked_part(value, name)


def _window(value: Any, name: str) -> Any:
    return value if isinstance(value, (dict, list)) else text_of(value, name, _MOST_TEXT)


def _spans(value: Any, name: str) -> list[list[int]]:
    pairs = [list_of(each, name) for each in list_of(value, name)]
    if any(len(each) != 2 for each in pairs):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write pairs of numbers")
    return [[_count(n, name) for n in each] for each in pairs]


def _two_ids(value: Any, name: str) -> list[int]:
    ids = [_id(each, name) for each in list_of(value, name)]
    if len(set(ids)) != 2 or len(ids) != 2:
        raise InvalidInputError(f"{name} is {ids!r:.60}", hint="write two ids")
    return ids


def _text(value: Any, name: str) -> str:
    return text_of(value, name, _MOST_TEXT)


def _who_is(value: Any, name: str) -> Who:
    found = read(value, name, _WHO)
    return found["name"], found["type"]


def _evidence(value: Any, name: str) -> list[dict[str, Any]]:
    found = [read(each, name, _EVIDENCE) for each in list_of(value, name)]
    if not found:
        raise InvalidInputError(f"{name} is empty", hint="an association lives by its evidence")
    return found


_id, _count = _integer(0, _MOST_ID), _integer(0, MOST_COUNT)
_NEEDED: Final = object()
#: key of an object -> how its value is read, and what stands for one that is missing
Fields = Mapping[str, tuple[Parse, Any]]
_WHO: Final[Fields] = {"name": (checked_part, _NEEDED), "type": (text_of, "thing")}
_MENTION: Final[Fields] = {**_WHO, "count": (_integer(1, MOST_COUNT), 1)}
_SOURCE: Final[Fields] = {"id": (_id, _NEEDED), "at": (_moment, None)}
_EVIDENCE: Final[Fields] = {**_SOURCE, "success": (parse_switch, False)}
_EDGE: Final[Fields] = {
    "target": (_id, _NEEDED),
    "kind": (text_of, _NEEDED),
    "weight": (_weight, 1.0),
    "confidence": (_share, None),
    "origin": (text_of, "user"),
    "created_at": (_moment, None),
    "note": (_note, None),
}
_FACT: Final[Fields] = {
    **dict.fromkeys(("subject", "predicate", "object"), (checked_part, _NEEDED)),
    "holds": (parse_switch, True),
    "confidence": (_share, 0.5),
    "verified_ms": (_integer(-MOST_COUNT, MOST_COUNT), None),
    **dict.fromkeys(("polarity", "single", "common"), (parse_switch, None)),
    **dict.fromkeys(("kin", "limit"), (_text, None)),
    **dict.fromkeys(("tense", "by"), (text_of, None)),
    "modality": (lambda value, name: parse_choice(value, name, "asserted", "hedged"), None),
    "spans": (_spans, None),
    "window": (_window, None),
}
_REFERENCES: Final[Fields] = {
    **_SOURCE,
    "layer": (lambda value, name: layer_name(value), "episodes"),
    "placed": (parse_switch, True),
}
#: lines that are no memories: kinds, predicates, pairs, associations, names
_ITEMS: Final[Mapping[str, Fields]] = {
    "kind": {
        "name": (text_of, _NEEDED),
        "symmetric": (parse_switch, False),
        "inverse": (text_of, None),
        "prunable": (parse_switch, False),
        "priority": (_integer(0, 1000), 0),
        "origin": (_text, "agent"),
    },
    "predicate": {
        "name": (predicate_named, _NEEDED),
        "of": (predicate_named, None),
        "single_valued": (parse_switch, False),
    },
    "pair": {"ids": (_two_ids, _NEEDED), "count": (_count, _NEEDED), "at": (_moment, None)},
    "association": {
        "evidence": (_evidence, _NEEDED),
        "user_id": (_text, ""),
        "cue": (checked_part, _NEEDED),
        "outcome": (checked_part, _NEEDED),
        "strength": (_share, _NEEDED),
        "observations": (_count, _NEEDED),
        "tool": (checked_part, None),
        "about": (_about, ""),
    },
    "alias": {"name": (checked_part, _NEEDED), "of": (_who_is, _NEEDED), "user_id": (_text, "")},
    "merge": {"kept": (_who_is, _NEEDED), "gone": (_who_is, _NEEDED), "user_id": (_text, "")},
}


def read(given: Any, what: str, fields: Fields) -> dict[str, Any]:
    """The values of an object that has these keys only, each checked; times are in ms.

    Raises:
        InvalidInputError: A key is unknown or missing, or a value is none that an export writes.
    """
    found = object_of(given, what)
    unknown = sorted(set(found) - set(fields))
    missing = [
        name for name, (_, usual) in fields.items() if usual is _NEEDED and found.get(name) is None
    ]
    if unknown or missing:
        fault = f"has the unknown key {unknown[0]!r:.60}" if unknown else f"lacks {missing[0]}"
        raise InvalidInputError(f"{what} {fault}", hint=f"its keys: {', '.join(fields)}")
    return {
        name: usual if found.get(name) is None else parse(found[name], f"{name} of {what}")
        for name, (parse, usual) in fields.items()
    }


def parse_item(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line that is no memory, checked.

    Raises:
        InvalidInputError: It is of no known kind, or a value is none that an export writes.
    """
    what = line[ITEM_KEY]
    if not isinstance(what, str) or what not in _ITEMS:
        raise InvalidInputError(f"{ITEM_KEY} is {what!r:.60}", hint=f"one of: {', '.join(_ITEMS)}")
    refuse_halves(line)
    given = {name: value for name, value in line.items() if name != ITEM_KEY}
    return read(given, f"a line of {what}", _ITEMS[what]) | {ITEM_KEY: what}


# Ties of an import whose ends have their ids: rows of new memories, gains of known ones.

#: applies changes in the transaction; returns the ids of the items that they make
Apply = Callable[[Changes], Sequence[int]]
#: what a source adds to the confidence of a fact that the store has
_STEP: Final = 0.05


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory of the file is in the store."""

    id: int
    scope: str
    #: its user in the file
    given_scope: str
    #: a user said it, so it confirms what users said
    is_user_said: bool = True
    #: it was there before
    is_known: bool = False
    #: of the store on disk: nothing is tied to what the process forgets
    is_lasting: bool = True


@dataclass(frozen=True, slots=True)
class _Commit:
    """What one commit of an import knows, and what adds to it."""

    reader: KnowledgeReader
    registry: Registry
    apply: Apply
    now_ms: int

    def put(self, changes: Changes, place: Place, tie: Tie, other: Place) -> None:
        """The row of a tie whose ends have their ids."""
        if tie.kind != "edge":
            changes.put("link", a=place.id, kind=tie.kind, b=other.id, **tie.row)
            return
        source, target, kind = self._stored(place, tie, other)
        row = {**tie.row, "kind": kind.name}
        if row["created_ms"] is None:
            row["created_ms"] = self.now_ms
        changes.put("edge", source_id=source, target_id=target, **row)

    def _stored(self, place: Place, tie: Tie, other: Place) -> tuple[int, int, RelationKind]:
        """Ends and kind of an edge as it is stored."""
        try:
            return self.registry.stored(place.id, other.id, tie.row["kind"])
        except UnknownRelationError as error:
            raise ImportFormatError(
                f"{tie.where}: {error.message}",
                hint='a line {"spector": "kind", "name": ...} further up registers a kind',
            ) from error

    def meet(self, knowledge: Knowledge, place: Place) -> None:
        """A concept that the store has is met again: its names, properties and provenance."""
        values = knowledge.payloads.get("concept", {})
        automatic = "observed" in knowledge.payloads
        for name in (values["name"], *knowledge.names) if values else ():
            changes, about = Changes(), {**values, "name": name}
            plan_concept_met(
                self.reader, changes, place.id, about, place.scope, is_automatic=automatic
            )
            if changes:
                self.apply(changes)

    def tie_known(self, place: Place, tie: Tie, other: Place) -> None:
        """Tie a memory that was in the store to one of the file, as a call of a facet would."""
        reader, changes, now_ms = self.reader, Changes(), self.now_ms
        if tie.kind == "source":
            (row,) = reader.facts(id=[place.id])
            sources = reader.sources([place.id]).get(place.id, ())
            step = _STEP if other.is_user_said else 0.0
            confirm_fact(changes, row, sources, [other.id], now_ms=now_ms, step=step)
        elif tie.kind == "edge":
            source, target, kind = self._stored(place, tie, other)
            edge = reader.edge(source, kind.name, target)
            if edge is None or edge.weight < tie.row["weight"]:
                self.put(changes, place, tie, other)
        else:
            layer, at = tie.kind.partition(":")[2], tie.row["t_ms"]
            if at is None:
                plan_references(reader, changes, place.id, layer, [other.id])
            else:
                plan_reinforcement(reader, changes, place.id, [other.id], at, layer=layer)
        if changes:
            self.apply(changes)


# From the lines of an import to checked knowledge; nothing of a line is believed.
#
# Every fault raises `InvalidInputError`, which the import turns into an error that names the line.

#: keys of a memory's line that are about knowledge
MEMORY_KEYS: Final = ("payload", "sources", "references", "mentions", "edges")


@dataclass(frozen=True, slots=True)
class Tie:
    """What ties the memory of a line to another one."""

    #: ``edge``, ``source``, ``reference:LAYER``
    kind: str
    #: id of the other memory in the file
    target: int
    #: the columns of its row beside both ends
    row: Mapping[str, Any]
    #: the line that it stands on, for errors
    where: str = ""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the line of a memory says beside its record, checked."""

    #: sort -> fields of a payload
    payloads: Mapping[str, Mapping[str, Any]]
    #: columns of the row of a fact but its id, scope and time
    fact: Mapping[str, Any] | None = None
    #: folded tags by which a procedure or a learning is found, or further names of a concept
    names: tuple[str, ...] = ()
    #: name, type and count of what the memory mentions
    mentions: tuple[tuple[str, str, int], ...] = ()
    ties: tuple[Tie, ...] = ()

    @property
    def sorts(self) -> frozenset[str]:
        """Sorts of its payloads; a fact counts as one."""
        return frozenset(self.payloads) | ({"fact"} if self.fact is not None else frozenset())

    @property
    def is_derived(self) -> bool:
        """Whether the memory repeats others."""
        return is_derived(
            self.sorts,
            any(each.kind == "source" for each in self.ties),
            self.payloads.get("observed", {}).get("write_source") == "dream",
        )

    def identity(self, scope: str) -> tuple[Any, ...] | None:
        """What only one memory of a store may be: a fact that holds, a concept, a statistic."""
        if self.fact is not None:
            return ("fact", scope, self.fact["fact_key"]) if self.fact["holds"] else None
        if "concept" in self.payloads:
            values = self.payloads["concept"]
            return "concept", scope, concept_key(values["name"]), values["category"]
        values = self.payloads.get("statistic", {})
        if values.get("concept_id") is not None and values.get("code"):
            return "statistic", values["concept_id"], values["code"]
        return None


#: of a line that says nothing beside its memory
NO_KNOWLEDGE: Final = Knowledge({})


def parse_memory(line: Mapping[str, Any], where: str = "") -> Knowledge:
    """What a line says beside its memory.

    Args:
        where: the line, for errors that come when it is stored.

    Raises:
        InvalidInputError: A value is none that an export writes.
    """
    given = {name: line[name] for name in MEMORY_KEYS if line.get(name) is not None}
    if not given:
        return NO_KNOWLEDGE
    refuse_halves(given)
    payload = object_of(given.get("payload", {}), "payload")
    found: dict[str, Mapping[str, Any]] = {}
    fact: Mapping[str, Any] | None = None
    names: tuple[str, ...] = ()
    typed = sorted(set(payload) & set(PAYLOAD_FACETS))
    if len(typed) > 1:
        raise InvalidInputError(
            f"payload is of several sorts: {', '.join(typed)}", hint="a memory is of one"
        )
    for sort, fields in payload.items():
        values = dict(object_of(fields, f"payload.{sort:.60}"))
        if sort == "fact":
            fact = _fact(values)
            continue
        if sort not in SORTS:
            raise InvalidInputError(
                f"payload has the unknown sort {sort!r:.60}",
                hint=f"one of: fact, {', '.join(SORTS)}",
            )
        if sort in _NAMES:
            names = folded_of(values.pop(_NAMES[sort], ()), _NAMES[sort])
        found[sort] = _payload(sort, values)
    ties = [
        *_edges(given.get("edges", ())),
        *_links(given.get("sources", ()), "sources", is_allowed=fact is not None),
        *_links(given.get("references", ()), "references", is_allowed="concept" in found),
    ]
    mentions = [
        read(each, "a mention", _MENTION) for each in list_of(given.get("mentions", ()), "mentions")
    ]
    return Knowledge(
        found,
        fact,
        names,
        tuple((each["name"], each["type"], each["count"]) for each in mentions),
        tuple(replace(tie, where=where) for tie in ties),
    )


#: sort of a payload -> its fields that have no default
_MUST_HAVE: Final = {
    "procedure": ("name",),
    "learning": ("type", "title"),
    "concept": ("name",),
    "statistic": ("name",),
}


def _payload(sort: str, values: dict[str, Any]) -> Mapping[str, Any]:
    """The fields of a payload, defaults filled in."""
    text = encode(sort, values)
    fields, problem = decode(sort, text)
    if problem is None:
        missing = [name for name in _MUST_HAVE.get(sort, ()) if not fields[name]]
        problem = f"{missing[0]} is missing" if missing else None
    if problem is not None:
        raise InvalidInputError(f"payload.{sort}: {problem}", hint="see native/FORMAT.md")
    if sort == "procedure":
        parse_steps(fields["steps"])
    elif sort == "learning":
        parse_enum(LearningType, fields["type"], "payload.learning.type")
    elif sort == "concept":
        fields["name"] = checked_part(fields["name"], "payload.concept.name")
        fields["category"] = folded(checked_part(fields["category"], "payload.concept.category"))
        if not concept_key(fields["name"]):
            raise InvalidInputError(
                f"payload.concept.name is {fields['name']!r:.60}", hint="use a letter or digit"
            )
        parse_choice(fields["provenance"], "payload.concept.provenance", *PROVENANCES)
        checked_properties(fields["properties"])
    return fields


def _fact(values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a fact."""
    given = read(values, "payload.fact", _FACT)
    parts = given["subject"], given["predicate"], given["object"]
    columns = {name: given.pop(name) for name in ("holds", "confidence", "verified_ms")}
    said = {name: value for name, value in given.items() if value is not None}
    return {
        "fact_key": fact_key(*parts),
        **{name: folded(given[name]) for name in ("subject", "predicate", "object")},
        **columns,
        "holds": int(columns["holds"]),
        "json": json_of(said, "payload.fact"),
    }


def _edges(given: Any) -> Iterator[Tie]:
    for each in list_of(given, "edges"):
        row = read(each, "an edge", _EDGE)
        row["created_ms"] = row.pop("created_at")
        if row["confidence"] is None:
            row["confidence"] = row["weight"]
        yield Tie("edge", row.pop("target"), row)


def _links(given: Any, name: str, *, is_allowed: bool) -> Iterator[Tie]:
    places: dict[str, int] = {}
    found, owner = list_of(given, name), "fact" if name == "sources" else "concept"
    if found and not is_allowed:
        raise InvalidInputError(
            f"{name} of a memory that is no {owner}", hint=f"only a {owner} has {name}"
        )
    for each in found:
        link = read(each, f"an entry of {name}", _SOURCE if name == "sources" else _REFERENCES)
        kind = "source" if name == "sources" else f"{_REFERENCE}{link['layer']}"
        n: int | None = None
        if link.get("placed", True):
            n = places[kind] = places.get(kind, -1) + 1
        yield Tie(kind, link["id"], {"n": n, "t_ms": link["at"]})


# What an import changes: rows for the memories that a batch stores, and for the lines beside them.
#
# A fact, a concept or a statistic that the store has already is not stored twice: its line stands
# for the one that is there, which gains the sources and references of the line. A tie to a memory
# of a later line waits for it. Nothing is tied across users.

#: what two associations have in common that are one
_SAID: Final = ("cue", "outcome", "tool", "about")


class MetError(Exception):
    """A memory that was to be stored is in the store by now: it came between two looks."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A line whose memory has its id."""

    knowledge: Knowledge
    #: its id in the file
    given_id: int | None
    place: Place


class Arrivals:
    """Which memories and entities the lines of one file have become, so far."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        #: (user in the file, name, type) -> user -> entity
        self._entities: dict[tuple[str, str, str], dict[str, int]] = {}
        #: entities that this import has made
        self._made: set[int] = set()
        #: id in the file that no line has had yet -> (place, tie)
        self._waiting: dict[int, list[tuple[Place, Tie]]] = {}

    def id_of(self, given: int) -> int | None:
        """The id that a memory of the file has got."""
        place = self._places.get(given)
        return None if place is None else place.id

    def note(self, given: int | None, place: Place) -> None:
        """A memory of the file has got its place, and nothing is tied to it."""
        if given is not None:
            self._places[given] = place

    def expects(self, given: Sequence[int | None], says_more: bool) -> bool:
        """Whether lines bring knowledge: they say it, or a tie waits for their memories."""
        return says_more or not self._waiting.keys().isdisjoint(given)

    # -- what is there already ----------------------------------------------------------------

    def known(
        self, reader: KnowledgeReader, lines: Sequence[tuple[Knowledge, int | None, str]]
    ) -> dict[int, int]:
        """Number of a line -> the memory of the store that is what it says.

        Args:
            lines: what each says, its id in the file, its user in the store.
        """
        out: dict[int, int] = {}
        here: dict[int, int] = {}
        for n, (knowledge, given_id, scope) in enumerate(lines):
            found = self._same(reader, knowledge.identity(scope), here)
            if found is not None:
                out[n] = found
                if given_id is not None:
                    here[given_id] = found
        return out

    def _same(
        self, reader: KnowledgeReader, identity: tuple[Any, ...] | None, here: Mapping[int, int]
    ) -> int | None:
        if identity is None:
            return None
        if identity[0] == "fact":
            rows = reader.facts(scope=identity[1], fact_key=identity[2], holds=1)
            return rows[0]["id"] if rows else None
        if identity[0] == "concept":
            scope, key, category = identity[1:]
            found = concepts_named(reader, key, category=category, scope=scope)
            return found[0] if found else None
        concept = here.get(identity[1], self.id_of(identity[1]))
        if concept is None:
            return None
        return next(
            (
                each
                for each, values in sorted(statistics_of(reader, [concept]).items())
                if values["code"] == identity[2] and values["concept_id"] == concept
            ),
            None,
        )

    # -- memories -----------------------------------------------------------------------------

    def plan(
        self, reader: KnowledgeReader, arrived: Sequence[Arrival], apply: Apply, now_ms: int
    ) -> None:
        """Apply what lines say of memories that have just been stored, or were there before.

        Raises:
            MetError: A fact that was to be stored holds already.
            UnknownRelationError: An edge is of a kind that no line before has registered.
        """
        for each in arrived:
            identity = each.knowledge.identity(each.place.scope)
            if not each.place.is_known and self._same(reader, identity, {}) is not None:
                raise MetError
        for each in arrived:
            self.note(each.given_id, each.place)
        changes = Changes()
        for each in arrived:
            if not each.place.is_known:
                self._put_payloads(changes, each.knowledge, each.place, now_ms)
        mentions = self._put_mentions(reader, changes, arrived)
        commit, known = _Commit(reader, Registry(reader.kinds()), apply, now_ms), []
        for place, tie in self._ready(arrived):
            other = self._places[tie.target]
            if other.given_scope != place.given_scope:
                raise ImportFormatError(
                    f"{tie.where}: memory {tie.target} belongs to another user",
                    hint="nothing ties memories of two users: take the tie out",
                )
            if other.scope != place.scope or other.id == place.id or not other.is_lasting:
                continue  # of another user by now, one memory by now, or of a volatile tier
            if place.is_known:
                known.append((place, tie, other))
            else:
                commit.put(changes, place, tie, other)
        if changes:
            self._note_entities(mentions, apply(changes))
        for each in arrived:
            if each.place.is_known:
                commit.meet(each.knowledge, each.place)
        for place, tie, other in known:
            commit.tie_known(place, tie, other)

    def _put_payloads(
        self, changes: Changes, knowledge: Knowledge, place: Place, now_ms: int
    ) -> None:
        """The rows that a memory owns alone."""
        for sort, values in knowledge.payloads.items():
            fields = dict(values)
            for name in ("concept_id", "nearest_id"):
                if fields.get(name) is not None:
                    other = self._places.get(fields[name])
                    fields[name] = None if other is None or other.scope != place.scope else other.id
            changes.payload(place.id, sort, fields)
        if knowledge.fact is not None:
            row = dict(knowledge.fact)
            if row["verified_ms"] is None:
                row["verified_ms"] = now_ms
            changes.put("fact", id=place.id, scope=place.scope, **row)
        concept = knowledge.payloads.get("concept")
        if concept is None:
            put_triggers(changes, place.scope, place.id, knowledge.names)
            return
        for sort, each in names_of_concept(concept, *knowledge.names):
            changes.name(place.scope, sort, each, place.id)

    def _ready(self, arrived: Sequence[Arrival]) -> Iterable[tuple[Place, Tie]]:
        """Ties of these lines, and of lines before them, whose other end is there by now."""
        for each in arrived:
            if each.given_id is not None:
                yield from self._waiting.pop(each.given_id, ())
            for tie in each.knowledge.ties:
                if tie.target in self._places:
                    yield each.place, tie
                else:
                    self._waiting.setdefault(tie.target, []).append((each.place, tie))

    # -- entities -----------------------------------------------------------------------------

    def _put_mentions(
        self, reader: KnowledgeReader, changes: Changes, arrived: Sequence[Arrival]
    ) -> dict[tuple[str, str, str], dict[str, int | New]]:
        """Tie memories to what they mention; returns which entities these are."""
        wanted: dict[str, set[str]] = {}
        for each in arrived:
            for name, _, _ in each.knowledge.mentions:
                wanted.setdefault(each.place.scope, set()).add(folded(name))
        known: dict[tuple[str, str], list[int | New]] = {}
        uris: dict[int | New, str] = {}
        for scope, names in wanted.items():
            rows = reader.named(sorted(names), ENTITY_NAMES, scope)
            items = reader.items({row["id"] for row in rows})
            for row in rows:
                known.setdefault((scope, row["folded"]), []).append(row["id"])
                uris[row["id"]] = items[row["id"]]["json"].get("uri", "")
        out: dict[tuple[str, str, str], dict[str, int | New]] = {}
        counts: dict[tuple[int | New, int], int] = {}
        for each in arrived:
            scope = each.place.scope
            for name, kind, count in each.knowledge.mentions:
                candidates = known.setdefault((scope, folded(name)), [])
                item = self._choose(candidates, uris, entity_uri(name, kind))
                if item is None:
                    item = make_entity(changes, scope, name, kind)
                    candidates.append(item)
                    uris[item] = entity_uri(name, kind)
                out.setdefault((each.place.given_scope, name, kind), {})[scope] = item
                key = item, each.place.id
                counts[key] = counts.get(key, 0) + count
        for (item, memory), count in counts.items():
            changes.link(item, "mention", memory, count)
        return out

    def _choose(
        self, candidates: Sequence[int | New], uris: Mapping[int | New, str], uri: str
    ) -> int | New | None:
        """The entity of a name: of the same type, or one that was there before this import.

        Two of one name that the file has apart stay apart.
        """
        for each in candidates:
            if uris[each] == uri:
                return each
        for each in candidates:
            if not isinstance(each, New) and each not in self._made:
                return each
        return None

    def _note_entities(
        self, found: Mapping[tuple[str, str, str], Mapping[str, int | New]], items: Sequence[int]
    ) -> None:
        self._made.update(items)
        for who, by_scope in found.items():
            self._entities.setdefault(who, {}).update(
                (scope, items[item.n] if isinstance(item, New) else item)
                for scope, item in by_scope.items()
            )

    def _entities_of(
        self, reader: KnowledgeReader, scope: str, who: tuple[str, str]
    ) -> dict[str, int]:
        """User -> the entity that a line means; none when no memory mentions it."""
        found = self._entities.get((scope, *who))
        rows = [] if found else reader.named(folded(who[0]), ENTITY_NAMES, scope)
        return {scope: rows[0]["id"]} if rows else found or {}

    # -- lines beside memories ----------------------------------------------------------------

    def plan_item(self, reader: KnowledgeReader, line: Mapping[str, Any], apply: Apply) -> None:
        """Apply a line that is no memory.

        Raises:
            InvalidInputError: It contradicts what the store has.
        """
        changes = Changes()
        getattr(self, f"_{line[ITEM_KEY]}")(reader, changes, line)
        if changes:
            apply(changes)

    def _kind(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        kind = RelationKind(**{name: line[name] for name in _ITEMS["kind"]})
        plan_kind(reader, changes, kind)

    def _predicate(
        self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]
    ) -> None:
        known = {row["json"]["name"] for row in reader.items_of("predicate").values()}
        if line["name"] not in known:
            about = {"name": line["name"], "of": line["of"], "single": line["single_valued"]}
            changes.item(changes.new_item(), "predicate", "", about)

    def _pair(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        both = [
            each
            for each in map(self._places.get, line["ids"])
            if each is not None and each.is_lasting
        ]
        ids = sorted({each.id for each in both})
        if len(ids) < 2 or len({each.scope for each in both}) > 1:
            return  # one is not part of this import, or they are of two users, or one memory
        known = [row for row in reader.links("pair", a=ids[:1]) if row["b"] == ids[1]]
        count = line["count"] + sum(row["n"] or 0 for row in known)
        times = [each for each in (line["at"], *(row["t_ms"] for row in known)) if each is not None]
        changes.link(ids[0], "pair", ids[1], count, max(times, default=None))

    def _association(
        self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]
    ) -> None:
        by_scope: dict[str, list[tuple[Place, Mapping[str, Any]]]] = {}
        for each in line["evidence"]:
            place = self._places.get(each["id"])
            if place is not None and place.is_lasting:
                by_scope.setdefault(place.scope, []).append((place, each))
        for scope, evidence in by_scope.items():
            about = {name: line[name] for name in (*_SAID, "strength", "observations")}
            about["tool"] = about["tool"] or about["cue"]
            item: int | New | None = None
            for known, row in reader.items_of("association", scope).items():
                had = row["json"]
                if all(had.get(each) == about[each] for each in _SAID):
                    item, about = known, _joined(had, about)
            if item is None:
                item = changes.new_item()
            changes.item(item, "association", scope, about)
            for place, each in evidence:
                changes.link(item, "evidence", place.id, int(each["success"]), each["at"])

    def _alias(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        found = self._entities_of(reader, line["user_id"], line["of"])
        for scope, item in found.items():
            if not reader.named(folded(line["name"]), ENTITY_NAMES, scope):
                plan_alias(reader, changes, scope, line["name"], item)

    def _merge(self, reader: KnowledgeReader, changes: Changes, line: Mapping[str, Any]) -> None:
        kept = self._entities_of(reader, line["user_id"], line["kept"])
        gone = self._entities_of(reader, line["user_id"], line["gone"])
        for scope in sorted(set(kept) & set(gone)):
            one, other = kept[scope], gone[scope]
            if one == other:
                continue
            plan_merge(reader, changes, one, other)
            for by_scope in self._entities.values():
                if by_scope.get(scope) == other:
                    by_scope[scope] = one


def _joined(had: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """One association of two: observations add up, the strength is their mean by observations."""
    counts = int(had.get("observations", 0)), int(given["observations"])
    total = sum(counts)
    strength = float(had.get("strength", 0.0)) * counts[0] + given["strength"] * counts[1]
    return {
        **had,
        "observations": total,
        "strength": min(1.0, strength / total) if total else given["strength"],
    }

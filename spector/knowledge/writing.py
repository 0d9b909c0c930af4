"""From rows of knowledge to the lines of an export.

What belongs to one memory stands on its line: payload, sources, references, mentions, edges that
leave it. What ties several, or has no memory, gets lines of its own with the key ``spector``. A
line names a memory by its id, and an entity by its name and type: ids of entities mean nothing
elsewhere, and an export for one user has no name that only others mention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spector.arguments import parse_integer, parse_number, parse_switch
from spector.clock import iso_of_ms
from spector.errors import ImportFormatError, InvalidInputError, UnknownRelationError
from spector.knowledge.changes import Changes
from spector.knowledge.concepts import plan_concept_met, plan_reference, plan_reinforcement
from spector.knowledge.entities import spellings
from spector.knowledge.facts import checked_part, confirm_fact, predicate_named
from spector.knowledge.graph import Registry
from spector.knowledge.parsing import (
    MOST_COUNT,
    MOST_NAME,
    Knowledge,
    Tie,
    fields_of,
    flag_in,
    id_of,
    list_of,
    moment_of,
    refuse_halves,
    text_of,
)
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import concept_key, folded
from spector.records import Edge, RelationKind

#: key of a line that is no memory; its value says what the line is
ITEM_KEY: Final = "spector"
_REFERENCE: Final = "reference:"
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
                row
                for row in (reader.link_kinds(concepts) if concepts else ())
                if row["kind"].startswith(_REFERENCE) and row["a"] in out
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
            triggers = sorted(row["folded"] for row in rows if row["sort"] == "trigger")
            for sort in ("procedure", "learning"):
                if sort in sorts and triggers:
                    sorts[sort] = {**sorts[sort], "triggers": triggers}
            if "concept" in sorts:
                own = concept_key(sorts["concept"]["name"])
                others = sorted(
                    row["folded"]
                    for row in rows
                    if row["sort"] == "concept" and row["folded"] != own
                )
                if others:
                    sorts["concept"] = {**sorts["concept"], "names": others}
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
        aliases: list[dict[str, Any]] = []
        #: user and entity -> merges in their order
        merges: list[tuple[str, Who, list[dict[str, Any]]]] = []
        ordered = sorted(self._mentioned)
        for start in range(0, len(ordered), _CHUNK):
            chunk = ordered[start : start + _CHUNK]
            names = reader.names_of(chunk)
            for item, row in reader.items(chunk).items():
                about, scope = row["json"], {"user_id": row["scope"] or None}
                others = [n["folded"] for n in names.get(item, ()) if n["sort"] == "alias"]
                present = self._mentioned[item]
                aliases += [
                    {ITEM_KEY: "alias", **scope, "name": alias, "of": _named(who)}
                    for who, alias in _aliases(about, others, present)
                ]
                steps = [
                    {ITEM_KEY: "merge", **scope, "kept": _named(a), "gone": _named(b)}
                    for a, b in _merged(about, present)[1]
                ]
                merges.append((row["scope"], _itself(about), steps))
        yield from sorted(
            aliases,
            key=lambda line: (
                line["user_id"] or "",
                line["of"]["name"],
                line["of"]["type"],
                line["name"],
            ),
        )
        for _, _, steps in sorted(merges, key=lambda each: each[:2]):
            yield from steps

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


# Lines of an import that are no memories: kinds, predicates, pairs, associations, names.

#: item -> its keys; those in brackets may be missing
_ITEMS: Final[Mapping[str, str]] = {
    "kind": "name (symmetric inverse prunable priority origin)",
    "predicate": "name (of single_valued)",
    "pair": "ids count (at)",
    "association": "evidence (user_id cue outcome strength observations tool about)",
    "alias": "name of (user_id)",
    "merge": "kept gone (user_id)",
}


def parse_item(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line that is no memory, checked; times are in ms.

    Raises:
        InvalidInputError: It is of no known kind, or a value is none that an export writes.
    """
    what = line[ITEM_KEY]
    if not isinstance(what, str) or what not in _ITEMS:
        raise InvalidInputError(f"{ITEM_KEY} is {what!r:.60}", hint=f"one of: {', '.join(_ITEMS)}")
    refuse_halves(line)
    needed, _, optional = _ITEMS[what].partition("(")
    keys = {*needed.split(), *optional.rstrip(")").split()}
    unknown = sorted(set(line) - keys - {ITEM_KEY})
    missing = [each for each in needed.split() if line.get(each) is None]
    if unknown or missing:
        fault = f"has the unknown key {unknown[0]!r:.60}" if unknown else f"lacks {missing[0]}"
        raise InvalidInputError(f"a line of {what} {fault}", hint=f"its keys: {_ITEMS[what]}")
    out = {name: line.get(name) for name in keys} | {ITEM_KEY: what}
    if "user_id" in out:
        user = out.pop("user_id")
        out["scope"] = "" if user is None else text_of(user, "user_id", 10_000)
    return out | _PARSERS[what](out)


def _parsed_kind(line: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": text_of(line["name"], "name", MOST_NAME),
        "symmetric": flag_in(line, "symmetric"),
        "prunable": flag_in(line, "prunable"),
        "inverse": None
        if line["inverse"] is None
        else text_of(line["inverse"], "inverse", MOST_NAME),
        "priority": parse_integer(
            0 if line["priority"] is None else line["priority"], "priority", low=0, high=1000
        ),
        "origin": text_of(line["origin"] or "agent", "origin", 10_000),
    }


def _pair(line: Mapping[str, Any]) -> dict[str, Any]:
    ids = [id_of(each, "ids of a pair") for each in list_of(line["ids"], "ids of a pair")]
    if len(set(ids)) != 2 or len(ids) != 2:
        raise InvalidInputError(f"ids of a pair are {ids!r:.60}", hint="write two ids")
    return {
        "ids": ids,
        "count": parse_integer(line["count"], "count", low=0, high=MOST_COUNT),
        "at": moment_of(line["at"], "at"),
    }


def _association(line: Mapping[str, Any]) -> dict[str, Any]:
    evidence = []
    for each in list_of(line["evidence"], "evidence"):
        one = fields_of(each, "evidence", "id at success")
        evidence.append(
            {
                "id": id_of(one.get("id"), "id of evidence"),
                "at": moment_of(one.get("at"), "at"),
                "success": parse_switch(one.get("success", False), "success of evidence"),
            }
        )
    if not evidence:
        raise InvalidInputError("evidence is empty", hint="an association lives by its evidence")
    about = "" if line["about"] in (None, "") else checked_part(line["about"], "about")
    return {
        "evidence": evidence,
        "json": {
            "cue": checked_part(line["cue"], "cue"),
            "outcome": checked_part(line["outcome"], "outcome"),
            "tool": checked_part(line["cue" if line["tool"] is None else "tool"], "tool"),
            "about": about,
            "strength": float(parse_number(line["strength"], "strength", low=0.0, high=1.0)),
            "observations": parse_integer(
                line["observations"], "observations", low=0, high=MOST_COUNT
            ),
        },
    }


def _predicate(line: Mapping[str, Any]) -> dict[str, Any]:
    of = None if line["of"] is None else predicate_named(line["of"], "of")
    single = flag_in(line, "single_valued")
    return {"said": {"name": predicate_named(line["name"], "name"), "of": of, "single": single}}


def _alias(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": checked_part(line["name"], "name"), "of": _parsed_owner(line["of"], "of")}


def _merge(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _parsed_owner(line[name], name) for name in ("kept", "gone")}


_PARSERS: Final = {
    "kind": _parsed_kind,
    "predicate": _predicate,
    "pair": _pair,
    "association": _association,
    "alias": _alias,
    "merge": _merge,
}


def _parsed_owner(given: Any, name: str) -> tuple[str, str]:
    each = fields_of(given, name, "name type")
    return (
        checked_part(each.get("name"), f"name of {name}"),
        text_of(each.get("type", "thing"), f"type of {name}", MOST_NAME),
    )


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


def put_tie(
    changes: Changes, registry: Registry, place: Place, tie: Tie, other: Place, now_ms: int
) -> None:
    """The row of a tie whose ends have their ids."""
    if tie.kind != "edge":
        changes.put("link", a=place.id, kind=tie.kind, b=other.id, **tie.row)
        return
    source, target, kind = _stored(registry, place, tie, other)
    row = {**tie.row, "kind": kind.name}
    if row["created_ms"] is None:
        row["created_ms"] = now_ms
    changes.put("edge", source_id=source, target_id=target, **row)


def _stored(
    registry: Registry, place: Place, tie: Tie, other: Place
) -> tuple[int, int, RelationKind]:
    """Ends and kind of an edge as it is stored."""
    try:
        return registry.stored(place.id, other.id, tie.row["kind"])
    except UnknownRelationError as error:
        raise ImportFormatError(
            f"{tie.where}: {error.message}",
            hint='a line {"spector": "kind", "name": ...} further up registers a kind',
        ) from error


def meet(reader: KnowledgeReader, knowledge: Knowledge, place: Place, apply: Apply) -> None:
    """A concept that the store has is met again: its names, properties and provenance."""
    values = knowledge.payloads.get("concept")
    if values is None:
        return
    for name in (values["name"], *knowledge.names):
        changes = plan_concept_met(
            reader,
            place.id,
            name=name,
            properties=values["properties"],
            provenance=values["provenance"],
            scope=place.scope,
            is_automatic="observed" in knowledge.payloads,
        )
        if changes:
            apply(changes)


def tie_known(
    reader: KnowledgeReader,
    registry: Registry,
    place: Place,
    tie: Tie,
    other: Place,
    apply: Apply,
    now_ms: int,
) -> None:
    """Tie a memory that was in the store to one of the file, as a call of a facet would."""
    changes = Changes()
    if tie.kind == "source":
        (row,) = reader.facts(id=[place.id])
        sources = reader.sources([place.id]).get(place.id, ())
        confirm_fact(
            changes,
            row,
            sources,
            [other.id],
            now_ms=now_ms,
            step=_STEP if other.is_user_said else 0.0,
        )
    elif tie.kind == "edge":
        source, target, kind = _stored(registry, place, tie, other)
        known = [
            each
            for each in reader.edges([source], direction="out", kinds=[kind.name])
            if each.target == target
        ]
        if not known or known[0].weight < tie.row["weight"]:
            put_tie(changes, registry, place, tie, other, now_ms)
    else:
        layer, at = tie.kind.partition(":")[2], tie.row["t_ms"]
        if at is None:
            plan_reference(reader, changes, place.id, layer, other.id)
        else:
            plan_reinforcement(reader, changes, place.id, layer, other.id, at)
    if changes:
        apply(changes)

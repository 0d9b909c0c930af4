"""From the lines of an import to checked knowledge; nothing of a line is believed.

Every fault raises `InvalidInputError`, which the import turns into an error that names the line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from spector.arguments import parse_choice, parse_enum, parse_integer, parse_number, parse_switch
from spector.clock import to_ms
from spector.errors import InvalidInputError
from spector.knowledge.concepts import PROVENANCES, checked_properties, layer_name
from spector.knowledge.facts import checked_part
from spector.knowledge.procedures import parse_steps
from spector.language.words import concept_key, fact_key, folded
from spector.records import LearningType
from spector.store.payloads import PAYLOAD_FACETS, SORTS, compact_json, decode, encode

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
    #: folded tags by which a procedure or a learning is found
    triggers: tuple[str, ...] = ()
    #: further folded names of a concept
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
        """Whether the memory repeats others; see `Changes.is_derived`."""
        if self.fact is not None:
            return any(each.kind == "source" for each in self.ties)
        made = self.payloads.get("observed", {}).get("write_source") == "dream"
        return "statistic" in self.payloads or (
            made and not self.payloads.keys() & {"procedure", "learning"}
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


def parse_memory(line: Mapping[str, Any], where: str = "") -> Knowledge | None:
    """What a line says beside its memory; None when that is nothing.

    Args:
        where: the line, for errors that come when it is stored.

    Raises:
        InvalidInputError: A value is none that an export writes.
    """
    given = {name: line[name] for name in MEMORY_KEYS if line.get(name) is not None}
    if not given:
        return None
    refuse_halves(given)
    payload = object_of(given.get("payload", {}), "payload")
    found: dict[str, Mapping[str, Any]] = {}
    fact: Mapping[str, Any] | None = None
    triggers: tuple[str, ...] = ()
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
        if sort in ("procedure", "learning"):
            triggers = folded_of(values.pop("triggers", ()), "triggers")
        if sort == "concept":
            names = folded_of(values.pop("names", ()), "names")
        found[sort] = _payload(sort, values)
    ties = [
        *_edges(given.get("edges", ())),
        *_links(given.get("sources", ()), "sources", is_allowed=fact is not None),
        *_links(given.get("references", ()), "references", is_allowed="concept" in found),
    ]
    mentions = tuple(_mention(each) for each in list_of(given.get("mentions", ()), "mentions"))
    return Knowledge(
        found, fact, triggers, names, mentions, tuple(replace(tie, where=where) for tie in ties)
    )


# -- payloads ---------------------------------------------------------------------------------


def _payload(sort: str, values: dict[str, Any]) -> Mapping[str, Any]:
    """The fields of a payload, defaults filled in."""
    text = encode(sort, values)
    fields, problem = decode(sort, text)
    if problem is None:
        problem = _missing(sort, fields)
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


def _missing(sort: str, fields: Mapping[str, Any]) -> str | None:
    """Which field that has no default is missing."""
    needed = {
        "procedure": ("name",),
        "learning": ("type", "title"),
        "concept": ("name",),
        "statistic": ("name",),
    }.get(sort, ())
    return next((f"{name} is missing" for name in needed if not fields[name]), None)


#: characters of what limits a fact, which is a part of a sentence
_MOST_LIMIT: Final = 10_000


def _fact(values: dict[str, Any]) -> dict[str, Any]:
    """The columns of a fact."""
    said = {
        name: checked_part(values.pop(name, None), f"payload.fact.{name}")
        for name in ("subject", "predicate", "object")
    }
    holds = parse_switch(values.pop("holds", True), "payload.fact.holds")
    confidence = parse_number(
        values.pop("confidence", 0.5), "payload.fact.confidence", low=0.0, high=1.0
    )
    verified = values.pop("verified_ms", None)
    if verified is not None:
        verified = parse_integer(
            verified, "payload.fact.verified_ms", low=-MOST_COUNT, high=MOST_COUNT
        )
    checks: dict[str, Callable[[Any], bool]] = {
        **dict.fromkeys(("polarity", "single", "common"), lambda v: isinstance(v, bool)),
        **dict.fromkeys(("kin", "limit"), lambda v: isinstance(v, str) and len(v) <= _MOST_LIMIT),
        "tense": lambda v: isinstance(v, str) and len(v) <= MOST_NAME,
        "modality": lambda v: v in ("asserted", "hedged"),
        "spans": _is_spans,
        "window": lambda v: isinstance(v, (str, list, dict)),
    }
    for name, value in values.items():
        if name not in checks:
            raise InvalidInputError(
                f"payload.fact has the unknown field {name!r:.60}",
                hint=f"its fields: subject, predicate, object, {', '.join(checks)}",
            )
        if not checks[name](value):
            raise InvalidInputError(
                f"payload.fact.{name} is {value!r:.60}", hint="see native/FORMAT.md"
            )
    parts = tuple(said.values())
    return {
        "fact_key": fact_key(*parts),
        "subject": folded(parts[0]),
        "predicate": folded(parts[1]),
        "object": folded(parts[2]),
        "holds": int(holds),
        "confidence": float(confidence),
        "verified_ms": verified,
        "json": json_of(said | values, "payload.fact"),
    }


def _is_spans(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, list)
        and len(each) == 2
        and all(type(n) is int and 0 <= n < MOST_COUNT for n in each)
        for each in value
    )


# -- ties and mentions ------------------------------------------------------------------------


def _edges(given: Any) -> list[Tie]:
    out = []
    for each in list_of(given, "edges"):
        edge = fields_of(each, "edges", "target kind weight confidence origin created_at note")
        weight = parse_number(edge.get("weight", 1.0), "weight of an edge", low=0.0, high=1.0)
        if weight == 0.0:
            raise InvalidInputError("weight of an edge is 0", hint="write a weight in (0, 1]")
        sure = edge.get("confidence")
        note = edge.get("note")
        out.append(
            Tie(
                "edge",
                id_of(edge.get("target"), "target of an edge"),
                {
                    "kind": text_of(edge.get("kind"), "kind of an edge", MOST_NAME),
                    "weight": float(weight),
                    "confidence": float(weight)
                    if sure is None
                    else float(parse_number(sure, "confidence of an edge", low=0.0, high=1.0)),
                    "origin": text_of(edge.get("origin", "user"), "origin of an edge", MOST_NAME),
                    "created_ms": moment_of(edge.get("created_at"), "created_at of an edge"),
                    "note": None
                    if note is None
                    else json_of(object_of(note, "note of an edge"), "note of an edge"),
                },
            )
        )
    return out


def _links(given: Any, name: str, *, is_allowed: bool) -> list[Tie]:
    out: list[Tie] = []
    places: dict[str, int] = {}
    found = list_of(given, name)
    if found and not is_allowed:
        owner = "fact" if name == "sources" else "concept"
        raise InvalidInputError(
            f"{name} of a memory that is no {owner}", hint=f"only a {owner} has {name}"
        )
    for each in found:
        link = fields_of(each, name, "id at" if name == "sources" else "id at layer placed")
        at = moment_of(link.get("at"), f"at of {name}")
        kind = "source"
        if name == "references":
            kind = f"reference:{layer_name(link.get('layer', 'episodes'))}"
        n: int | None = places.get(kind, 0)
        if parse_switch(link.get("placed", True), f"placed of {name}"):
            places[kind] = places.get(kind, 0) + 1
        else:
            n = None
        out.append(Tie(kind, id_of(link.get("id"), f"id of {name}"), {"n": n, "t_ms": at}))
    return out


def _mention(given: Any) -> tuple[str, str, int]:
    each = fields_of(given, "mentions", "name type count")
    return (
        checked_part(each.get("name"), "name of a mention"),
        text_of(each.get("type", "thing"), "type of a mention", MOST_NAME),
        parse_integer(each.get("count", 1), "count of a mention", low=1, high=MOST_COUNT),
    )


# Values in a line of an import, each checked once; a fault names the value and what to write.

_MOST_ID: Final = (1 << 63) - 1
MOST_COUNT: Final = (1 << 53) - 1
#: characters of a type, a kind, an origin
MOST_NAME: Final = 64


def refuse_halves(line: Mapping[str, Any]) -> None:
    """Refuse texts that no encoding has: halves of a surrogate pair."""
    try:
        json_of(line, "the line").encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            "half of a surrogate pair is no character", hint="write it in UTF-8"
        ) from error


def flag_in(line: Mapping[str, Any], name: str) -> bool:
    return parse_switch(False if line[name] is None else line[name], name)


def object_of(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON object: {...}")
    return value


def list_of(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidInputError(f"{name} is {value!r:.60}", hint="write a JSON list: [...]")
    return list(value)


def fields_of(value: Any, name: str, keys: str) -> Mapping[str, Any]:
    """An object of a list that has these keys only."""
    found = object_of(value, f"an entry of {name}")
    unknown = sorted(set(found) - set(keys.split()))
    if unknown:
        raise InvalidInputError(
            f"an entry of {name} has the unknown key {unknown[0]!r:.60}",
            hint=f"its keys: {', '.join(keys.split())}",
        )
    return found


def text_of(value: Any, name: str, most: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise InvalidInputError(
            f"{name} is {value!r:.60}", hint=f"write a text of 1..{most} characters"
        )
    return value


def folded_of(value: Any, name: str) -> tuple[str, ...]:
    """Folded names, each once."""
    found = [folded(text_of(each, name, 10_000)) for each in list_of(value, name)]
    if not all(found):
        raise InvalidInputError(f"{name} has an empty name", hint="use letters or digits")
    return tuple(dict.fromkeys(found))


def id_of(value: Any, name: str) -> int:
    return parse_integer(value, name, low=0, high=_MOST_ID)


def moment_of(value: Any, name: str) -> int | None:
    return None if value is None else to_ms(value, name=name)


def json_of(value: Mapping[str, Any], name: str) -> str:
    try:
        return compact_json(dict(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{name} is no JSON: {error}", hint="use finite numbers") from error

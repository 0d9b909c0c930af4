"""Concepts: what several memories have in common, found by folded names, with references in order.

A reference is a link from the concept to a memory, whose ordinal says when it came. At most 200 of
a layer have one: the first to come is the first to lose it, and its link stays until the memory
goes, so that no source reinforces a concept twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from spector.errors import InvalidInputError
from spector.knowledge.changes import Changes, New
from spector.knowledge.facts import checked_part
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import certainty, rhythm
from spector.language.words import concept_key, folded, normalize_tokens

MOST_REFERENCES: Final = 200
PROVENANCES: Final = (
    "episodic_consolidation",
    "agent_inference",
    "direct_ingestion",
    "hybrid",
)
#: names of the seed -> names of layers
LAYER_ALIASES: Final[Mapping[str, str]] = {
    "hippocampus": "episodes",
    "atl": "concepts",
    "angular_gyrus": "statistics",
}
#: sort of a payload -> the layer of the memories that have it; plain memories are episodes
LAYERS: Final[Mapping[str, str]] = {"concept": "concepts", "statistic": "statistics"}
#: sorts whose memories are of no layer
_OTHER: Final = frozenset({"fact", "procedure", "learning"})
_REFERENCE: Final = "reference:"
_MOST_NAME: Final = 64


def property_name(name: str, value: Any) -> str:
    """A property and its value as one name, by which concepts are found."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return folded(f"{name}={text}")


def layer_name(layer: Any) -> str:
    """The name of a layer: ``episodes``, ``concepts``, ``statistics`` or a foreign one.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(layer, str) or not 0 < len(layer.strip()) <= _MOST_NAME:
        raise InvalidInputError(
            f"layer is {layer!r:.60}", hint='pass "episodes", "concepts" or "statistics"'
        )
    name = folded(layer).replace(" ", "_")
    return LAYER_ALIASES.get(name, name)


def layer_of(sorts: Iterable[str]) -> str | None:
    """The layer of a memory with these payloads; None for facts, procedures and learnings."""
    found = set(sorts)
    if found & _OTHER:
        return None
    return next((LAYERS[each] for each in sorted(found) if each in LAYERS), "episodes")


def concepts_named(
    reader: KnowledgeReader, name: str, *, category: str | None = None, scope: str | None = None
) -> list[int]:
    """Concepts with a name, whatever its case, accents and separators; the oldest first."""
    found = sorted({row["id"] for row in reader.named(concept_key(name), ("concept",), scope)})
    if category is None:
        return found
    payloads = reader.payloads(found, "concept")
    return [each for each in found if payloads[each]["category"] == category]


def concepts_with(
    reader: KnowledgeReader, sort: str, folded_name: str, scope: str | None = None
) -> set[int]:
    """Concepts that have a category or a property with its value."""
    return {row["id"] for row in reader.named(folded_name, (sort,), scope)}


def plan_concept(
    changes: Changes, about: Mapping[str, Any], scope: str, *, n: int = 0, count: int = 0
) -> None:
    """A new concept: memory ``n`` gets its payload and its names.

    Args:
        about: Its name, category, properties and provenance.
        count: How many memories have reinforced it.
    """
    made = New(n)
    changes.store.append(n)
    values = {**about, "reinforcement_count": count, "confidence": certainty(count)}
    changes.payload(made, "concept", values)
    for sort, each in names_of_concept(values):
        changes.name(scope, sort, each, made)


def names_of_concept(values: Mapping[str, Any], *others: str) -> list[tuple[str, str]]:
    """Sort and folded name of all by which a concept is found, each once.

    Args:
        others: further folded names of it.
    """
    names = [("concept", each) for each in (concept_key(values["name"]), *others)]
    names.append(("category", folded(values["category"])))
    names += [("property", property_name(*pair)) for pair in values["properties"].items()]
    return list(dict.fromkeys(names))


def plan_concept_met(
    reader: KnowledgeReader,
    changes: Changes,
    concept: int,
    about: Mapping[str, Any],
    scope: str,
    *,
    is_automatic: bool = False,
) -> Mapping[str, Any]:
    """A concept is met again: another name leads to it, what is new about it is noted.

    Another provenance makes it ``hybrid``. One that was extracted stays for itself from when a
    caller asks for it.

    Returns:
        Its fields from now on.
    """
    values = reader.payloads([concept], "concept")[concept]
    if not is_automatic and "observed" in reader.sorts([concept]).get(concept, ()):
        changes.drop("payload", concept, "observed")
    if concept not in concepts_named(reader, about["name"], scope=scope):
        changes.name(scope, "concept", concept_key(about["name"]), concept)
    known: dict[str, Any] = values["properties"]
    given: dict[str, Any] = about["properties"]
    fresh = {key: value for key, value in given.items() if known.get(key, _NONE) != value}
    for key, value in fresh.items():
        if key in known:
            changes.drop("name", scope, "property", property_name(key, known[key]), concept)
        changes.name(scope, "property", property_name(key, value), concept)
    provenance = _provenance(values, about["provenance"])
    now = values | {"properties": known | fresh, "provenance": provenance}
    if now != values:
        changes.payload(concept, "concept", now)
    return now


def _provenance(values: Mapping[str, Any], other: str | None) -> str:
    """The provenance of a concept that something else shows as well."""
    own: str = values["provenance"]
    return own if other in (None, own) else "hybrid"


def references_of(
    reader: KnowledgeReader, concepts: Collection[int]
) -> dict[int, dict[str, tuple[int, ...]]]:
    """Layer -> its memories in the order in which they came, of each concept."""
    found: dict[int, dict[str, list[tuple[int, int]]]] = {}
    for row in reader.references(list(concepts)):
        if row["a"] in concepts and row["n"] is not None:
            layer = row["kind"].removeprefix(_REFERENCE)
            found.setdefault(row["a"], {}).setdefault(layer, []).append((row["n"], row["b"]))
    return {
        concept: {layer: tuple(b for _, b in sorted(ids)) for layer, ids in layers.items()}
        for concept, layers in found.items()
    }


def plan_references(
    reader: KnowledgeReader,
    changes: Changes,
    concept: int,
    layer: str,
    memories: Iterable[int],
    *,
    reinforced_ms: int | None = None,
    most: int = MOST_REFERENCES,
) -> None:
    """Tie a concept to memories; of more than 200 in a layer the first lose their places.

    A reference that has its place keeps it.

    Args:
        reinforced_ms: The time at which the memories reinforced the concept, if they do so now.
    """
    kind = _REFERENCE + layer
    rows = {row["b"]: row for row in reader.links(kind, a=[concept])}
    placed = [(row["n"], each) for each, row in rows.items() if row["n"] is not None]
    places = {each: n for n, each in sorted(placed)}
    after = max(places.values(), default=-1) + 1
    asked = dict.fromkeys(memories)
    entering = [each for each in asked if each not in places]
    places |= {each: after + n for n, each in enumerate(entering)}
    fallen = set(list(places)[: max(0, len(places) - most)])
    for each, n in places.items():
        t_ms = rows[each]["t_ms"] if each in rows else None
        if t_ms is None and each in asked:
            t_ms = reinforced_ms
        row = {"n": None if each in fallen else n, "t_ms": t_ms}
        if each not in rows or any(rows[each][name] != value for name, value in row.items()):
            changes.link(concept, kind, each, **row)


def plan_shown_concept(
    changes: Changes,
    n: int,
    about: Mapping[str, Any],
    scope: str,
    memories: Sequence[int],
    now_ms: int,
    most: int = MOST_REFERENCES,
) -> None:
    """A new concept that memories show: it refers to them, and goes with the last of them."""
    count = len(memories)
    plan_concept(changes, about, scope, n=n, count=count)
    changes.dreamt(New(n))
    for place, memory in enumerate(memories):
        at = None if place < count - most else place
        changes.link(New(n), f"{_REFERENCE}episodes", memory, at, now_ms)


def plan_reinforcement(
    reader: KnowledgeReader,
    changes: Changes,
    concept: int,
    memories: Sequence[int],
    now_ms: int,
    *,
    layer: str = "episodes",
    provenance: str | None = None,
    values: Mapping[str, Any] | None = None,
    most: int = MOST_REFERENCES,
) -> bool:
    """Count memories for a concept, each once; they become its references, in their order.

    Args:
        layer: Of those that are no reference yet.
        provenance: Of the memories; another one than its own makes the concept ``hybrid``.
        values: The fields that the change gives the concept already.
        most: How many references a layer keeps.

    Returns:
        Whether one of them had not been counted before.
    """
    known = {row["b"]: row for row in reader.references(memories) if row["a"] == concept}
    fresh: dict[str, list[int]] = {}
    for each in dict.fromkeys(memories):
        row = known.get(each, {"kind": _REFERENCE + layer, "t_ms": None})
        if row["t_ms"] is None:
            fresh.setdefault(row["kind"].removeprefix(_REFERENCE), []).append(each)
    for name, some in fresh.items():
        plan_references(reader, changes, concept, name, some, reinforced_ms=now_ms, most=most)
    values = values or reader.payloads([concept], "concept")[concept]
    both = _provenance(values, provenance)
    if fresh or both != values["provenance"]:
        count = values["reinforcement_count"] + sum(map(len, fresh.values()))
        changed = {"reinforcement_count": count, "confidence": certainty(count), "provenance": both}
        changes.payload(concept, "concept", {**values, **changed})
    return bool(fresh)


_NONE: Final = object()


def checked_properties(properties: Any) -> dict[str, Any]:
    """Properties that can be kept.

    Raises:
        InvalidInputError: They are no JSON.
    """
    if properties is None:
        return {}
    if not isinstance(properties, Mapping):
        raise InvalidInputError(
            f"properties must be a dictionary, not {type(properties).__name__}",
            hint='write it like properties={"colour": "red"}',
        )
    for pair in properties.items():
        checked_pair(pair)
    return dict(properties)


def checked_pair(pair: Any) -> str:
    """The name under which a property with its value is kept."""
    if not isinstance(pair, Iterable) or isinstance(pair, str) or len(found := tuple(pair)) != 2:
        raise InvalidInputError(
            f"property is {pair!r:.60}", hint='write it like property=("colour", "red")'
        )
    name = checked_part(found[0], "property")
    try:
        return property_name(name, found[1])
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the value of property {name!r:.60} is no JSON: {error}",
            hint="use texts, finite numbers, booleans, lists and dictionaries with text keys",
        ) from error


def elements_of(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and categories of what an episode is about, each once.

    Objects and people as they are, tokens of the goal as objects, tokens of the tool as actions.
    """
    found = [(name, "object") for name in details.get("objects") or ()]
    found += [(name, "person") for name in details.get("people") or ()]
    found += [(each, "object") for each in normalize_tokens(details.get("goal") or "")]
    found += [(each, "action") for each in normalize_tokens(details.get("tool") or "")]
    unique = {(concept_key(name), category): (name, category) for name, category in reversed(found)}
    return [each for (key, _), each in reversed(unique.items()) if key]


# Rhythms: concepts whose episodes keep to an hour of the day.

#: name and category of the concept that rhythmic concepts are tied to
TIME_OF_DAY: Final = ("time of day", "rhythm")
KIND: Final = "phase_locked_to"
_ORIGIN: Final = "rhythm"


def plan_rhythms(
    reader: KnowledgeReader,
    concepts: Collection[int],
    zone: tzinfo,
    now_ms: int,
    scope: str,
) -> Changes:
    """Renew the rhythms of concepts of one scope: ties to the concept "time of day".

    A concept with at least eight episodes, half of whose uses point to one hour (mean
    resultant length >= 0.5), gets an edge whose weight is the coupling and whose note has phase
    and coupling; one that has lost its rhythm loses it.

    Args:
        zone: in which hours are counted. The prepared text "time of day" is stored when a first
            rhythm is found.
    """
    changes = Changes()
    references = references_of(reader, concepts)
    episodes = {each: ids.get("episodes", ()) for each, ids in references.items()}
    times = reader.owners({each for ids in episodes.values() for each in ids})
    old = {each.source: each for each in reader.edges(concepts, direction="out", kinds=[KIND])}
    name, category = TIME_OF_DAY
    known = next(iter(concepts_named(reader, name, category=category, scope=scope)), None)
    for concept in sorted(set(concepts) - {known}):
        hours = [
            float(datetime.fromtimestamp(times[each].event_ms / 1000, UTC).astimezone(zone).hour)
            for each in episodes.get(concept, ())
            if each in times
        ]
        found, before = rhythm(hours), old.get(concept)
        if found is None:
            if before is not None:
                changes.drop("edge", concept, KIND, before.target)
            continue
        phase, coupling = round(found[0], 6) % 24.0, round(found[1], 6)
        note = {"phase": phase, "coupling": coupling}
        if before is not None and before.note == note:
            continue
        target = New(0) if known is None else known
        changes.tie(concept, KIND, target, _ORIGIN, now_ms, coupling, note=note)
    if changes.puts and known is None:
        about = {"name": name, "category": category, "properties": {}}
        plan_shown_concept(changes, 0, about | {"provenance": "agent_inference"}, scope, (), now_ms)
    return changes


def phases_of(reader: KnowledgeReader, concepts: Collection[int]) -> dict[int, float]:
    """The hour of the day of each concept that has one."""
    return {
        each.source: float(each.note["phase"])
        for each in reader.edges(concepts, direction="out", kinds=[KIND])
        if each.note is not None and "phase" in each.note
    }

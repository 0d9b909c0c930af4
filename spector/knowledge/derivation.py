"""What goes when memories go: facts and entities without a source, and other derived memories.

A memory is derived when it is a fact that has sources, or when sleep or formation made it and rows
of knowledge name its sources. It goes with the last of them; one whose words were merged from its
sources goes with any of them, and sleep makes it anew from the rest. What a caller added without a
source stays, and so do learnings, procedures and concepts that a caller made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from spector.knowledge.changes import Changes
from spector.knowledge.concepts import elements_of
from spector.knowledge.entities import entity_of_mention, plan_mentions
from spector.knowledge.reader import KnowledgeReader, ids_in
from spector.language.words import concept_key

#: edges from a derived memory to what it was made of
_FROM: Final = ("derived_from", "computed_from")
#: ties from an item to the memories that it lives by
_LIVES_BY: Final = ("mention", "evidence")
#: who made a memory that goes with its sources
_AUTOMATIC: Final = frozenset({"formation", "dream"})


class Derived(NamedTuple):
    """Memories and items that nothing is left of once others are gone."""

    memories: set[int]
    items: set[int]
    #: derived memories that lose one of their sources and stay
    weaker: set[int]


def derived_of(
    reader: KnowledgeReader, gone: Collection[int], stay: Collection[int] = ()
) -> Derived:
    """What goes with memories that go, however far it is derived.

    Args:
        gone: ids of memories whose rows are about to be deleted, or whose words are replaced.
        stay: derived memories that are kept; what lives by them stays, too.
    """
    memories: set[int] = set()
    items: set[int] = set()
    front = set(gone)
    out = set(gone)
    while front:
        fresh = facts_of_alone(reader, front, out.intersection) | _made_of(reader, front, out)
        fresh |= {
            edge.source for edge in reader.edges(front, direction="in", kinds=["quantifies"])
        }  # a statistic goes with its concept
        fresh -= out
        items |= _items_without(reader, front, out)
        memories |= fresh
        fresh -= set(stay)
        out |= fresh
        front = fresh
    weaker = set(ids_in(reader.links("source", b=out), "a"))
    weaker |= {edge.source for edge in reader.edges(out, direction="in", kinds=_FROM)}
    return Derived(memories, items, weaker - out - memories)


def facts_of_alone(
    reader: KnowledgeReader,
    memories: Collection[int],
    ended: Callable[[Collection[int]], Collection[int]],
) -> set[int]:
    """Facts whose sources are these memories, and others that have ended.

    Args:
        ended: those of some memories that are superseded or gone.
    """
    facts = ids_in(reader.links("source", b=memories), "a") if memories else []
    sources = reader.sources(facts)
    others = {each for some in sources.values() for each in some} - {*memories}
    gone = {*memories, *(ended(others) if others else ())}
    return {fact for fact, each in sources.items() if {*each} <= gone}


def _made_of(reader: KnowledgeReader, front: Collection[int], gone: Collection[int]) -> set[int]:
    """Memories that sleep or formation made of nothing but what is gone."""
    made = {edge.source for edge in reader.edges(front, direction="in", kinds=_FROM)}
    made |= {row["a"] for row in reader.references(front) if row["b"] in front}
    about = reader.payloads(made, "observed")
    automatic = {each for each in made if about.get(each, {}).get("write_source") in _AUTOMATIC}
    edges = reader.edges(automatic, direction="out", kinds=_FROM)
    left = {edge.source for edge in edges if edge.target not in gone}
    left |= {row["a"] for row in reader.references(automatic) if row["b"] not in gone}
    merged = {
        edge.source
        for edge in reader.edges(front, direction="in", kinds=["derived_from"])
        if edge.source in left and edge.origin != "facts"
    }
    return (automatic - left) | merged | _unsaid(reader, left - merged, gone)


def _unsaid(reader: KnowledgeReader, concepts: Collection[int], gone: Collection[int]) -> set[int]:
    """Extracted concepts whose name none of their remaining memories says."""
    names = {
        each: concept_key(values["name"])
        for each, values in reader.payloads(concepts, "concept").items()
    }
    sources: dict[int, set[int]] = {each: set() for each in names}
    for row in reader.link_kinds(names):
        if row["a"] in names and row["kind"] == "reference:episodes" and row["b"] not in gone:
            sources[row["a"]].add(row["b"])
    told = {each for ids in sources.values() for each in ids}
    said: dict[int, set[str]] = {
        memory: {concept_key(name) for name, _ in elements_of(details)}
        for memory, details in reader.payloads(told, "episode").items()
    }
    mentions = reader.links("mention", b=told) if told else []
    entities = reader.items({row["a"] for row in mentions})
    for row in mentions:
        # of a merged entity, the name that this memory says
        about = entity_of_mention(entities[row["a"]]["json"], row["b"], row["n"] or 1)
        said.setdefault(row["b"], set()).add(concept_key(about["name"]))
    return {
        each
        for each, key in names.items()
        if not any(key in said.get(memory, ()) for memory in sources[each])
    }


def _items_without(
    reader: KnowledgeReader, front: Collection[int], gone: Collection[int]
) -> set[int]:
    """Entities and associations that only memories which are gone are tied to."""
    asked = {row["a"] for kind in _LIVES_BY for row in reader.links(kind, b=front)}
    left = {
        row["a"]
        for kind in _LIVES_BY
        for row in reader.links(kind, a=asked)
        if row["b"] not in gone
    }
    return asked - left


def plan_new_words(reader: KnowledgeReader, changes: Changes, memory: int) -> None:
    """The words of a memory are replaced: it states and mentions nothing any more."""
    for kind in ("mention", "source"):
        for row in reader.links(kind, b=[memory]):
            changes.drop("link", row["a"], kind, memory)
    for edge in reader.edges([memory], direction="in", kinds=["derived_from"]):
        if edge.origin == "facts":
            changes.drop("edge", edge.source, edge.kind, edge.target)


def plan_other_user(reader: KnowledgeReader, changes: Changes, memory: int, scope: str) -> None:
    """A memory goes to another user: its ties stay behind, its mentions are entered there anew."""
    for edge in reader.edges([memory]):
        changes.drop("edge", edge.source, edge.kind, edge.target)
    mentioned: dict[tuple[str, str], int] = {}
    for row in reader.link_kinds([memory]):
        changes.drop("link", row["a"], row["kind"], row["b"])
        if row["kind"] == "mention":
            about, count = reader.items([row["a"]])[row["a"]]["json"], row["n"] or 1
            own = entity_of_mention(about, memory, count)
            mentioned[own["name"], own["type"]] = count
    plan_mentions(reader, changes, scope, memory, mentioned)

"""Themes of nights: which there are of an entity or a fact, and what each was made of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from spector.knowledge.association.names import entities_of_cue, facts_of_cue
from spector.knowledge.reader import KnowledgeReader

__all__ = ["MOST_MEMBERS", "themes_about", "themes_among", "themes_named"]

#: what more memories mention or state has no theme: everything is about it
MOST_MEMBERS: Final = 256


def themes_named(
    reader: KnowledgeReader, text: str | None, scope: str | None
) -> dict[int, frozenset[int]]:
    """Themes of the entities that a cue names, and of facts about what it names."""
    entities = reader.mention_counts(entities_of_cue(reader, text, scope))
    few = [each for each, count in entities.items() if count <= MOST_MEMBERS]
    return themes_about(reader, [*few, *facts_of_cue(reader, text, scope)])


def themes_about(reader: KnowledgeReader, subjects: Collection[int]) -> dict[int, frozenset[int]]:
    """Themes of entities and facts, each with what it was made of."""
    found = {row["b"] for row in reader.links("mention", a=subjects)}
    edges = reader.edges(subjects, direction="in", kinds=["derived_from"])
    return themes_among(reader, found | {edge.source for edge in edges})


def themes_among(reader: KnowledgeReader, ids: Collection[int]) -> dict[int, frozenset[int]]:
    """Those of some memories that are themes, each with what it was made of."""
    observed = reader.payloads(ids, "observed") if ids else {}
    sources: dict[int, set[int]] = {
        each: set()
        for each, known in sorted(observed.items())
        if known["write_source"] == "dream" and known["kind"] == "theme"
    }
    for edge in reader.edges(list(sources), direction="out", kinds=["derived_from"]):
        sources[edge.source].add(edge.target)
    return {each: frozenset(found) for each, found in sources.items()}

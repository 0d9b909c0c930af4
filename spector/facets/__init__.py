"""Public nouns of a memory: what it knows, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spector.parts import Parts
from spector.process import Sole

if TYPE_CHECKING:
    from spector.facets.concepts import Concepts
    from spector.facets.entities import Entities
    from spector.facets.facts import Facts
    from spector.facets.graph import Graph
    from spector.facets.layers import Layers, MemoryLayer
    from spector.facets.learnings import Learnings
    from spector.facets.procedures import Procedures

__all__ = [
    "FACETS",
    "Concepts",
    "Entities",
    "Faceted",
    "Facts",
    "Graph",
    "Layers",
    "Learnings",
    "MemoryLayer",
    "Procedures",
]

#: attribute of a memory -> module and class
FACETS = {
    "concepts": "Concepts",
    "entities": "Entities",
    "facts": "Facts",
    "graph": "Graph",
    "layers": "Layers",
    "learnings": "Learnings",
    "procedures": "Procedures",
}


class Faceted(Sole):
    """What has the facets of a memory as attributes, each made at its first use."""

    _parts: Parts

    def _facet(self, name: str) -> Any:
        made: dict[str, Any] = self.__dict__.setdefault("_facets", {})
        found = made.get(name)
        if found is None:
            module = import_module(f"spector.facets.{name}")
            found = made.setdefault(name, getattr(module, FACETS[name])(self._parts))
        return found

    @property
    def concepts(self) -> Concepts:
        """What several memories have in common, and which memories these are."""
        found: Concepts = self._facet("concepts")
        return found

    @property
    def entities(self) -> Entities:
        """Persons, organisations, places and things, and the memories that mention them."""
        found: Entities = self._facet("entities")
        return found

    @property
    def facts(self) -> Facts:
        """Statements as subject, predicate and object."""
        found: Facts = self._facet("facts")
        return found

    @property
    def graph(self) -> Graph:
        """Typed links between memories, and walks over them."""
        found: Graph = self._facet("graph")
        return found

    @property
    def layers(self) -> Layers:
        """Episodes, concepts and statistics behind one protocol, with callbacks."""
        found: Layers = self._facet("layers")
        return found

    @property
    def learnings(self) -> Learnings:
        """Insights with evidence, and whether they proved themselves."""
        found: Learnings = self._facet("learnings")
        return found

    @property
    def procedures(self) -> Procedures:
        """How things are done, and how often that has worked."""
        found: Procedures = self._facet("procedures")
        return found


def __getattr__(name: str) -> Any:
    if name == "MemoryLayer":
        return import_module("spector.facets.layers").MemoryLayer
    for module, each in FACETS.items():
        if each == name:
            return getattr(import_module(f"spector.facets.{module}"), each)
    raise AttributeError(name)

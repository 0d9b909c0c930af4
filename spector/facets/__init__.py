"""Public nouns of a memory: what it knows, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

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
        return cast("Concepts", self._facet("concepts"))

    @property
    def entities(self) -> Entities:
        """Persons, organisations, places and things, and the memories that mention them."""
        return cast("Entities", self._facet("entities"))

    @property
    def facts(self) -> Facts:
        """Statements as subject, predicate and object."""
        return cast("Facts", self._facet("facts"))

    @property
    def graph(self) -> Graph:
        """Typed links between memories, and walks over them."""
        return cast("Graph", self._facet("graph"))

    @property
    def layers(self) -> Layers:
        """Episodes, concepts and statistics behind one protocol, with callbacks."""
        return cast("Layers", self._facet("layers"))

    @property
    def learnings(self) -> Learnings:
        """Insights with evidence, and whether they proved themselves."""
        return cast("Learnings", self._facet("learnings"))

    @property
    def procedures(self) -> Procedures:
        """How things are done, and how often that has worked."""
        return cast("Procedures", self._facet("procedures"))


def __getattr__(name: str) -> Any:
    if name == "MemoryLayer":
        return import_module("spector.facets.layers").MemoryLayer
    for module, each in FACETS.items():
        if each == name:
            return getattr(import_module(f"spector.facets.{module}"), each)
    raise AttributeError(name)

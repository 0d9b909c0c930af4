"""Public nouns of a memory: what it knows, loaded when it is asked for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from spector.faces import on_first_use
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

T = TypeVar("T")
__getattr__ = on_first_use(__name__)


class _Facet(Generic[T]):
    """An attribute whose facet is made at its first use."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, memory: Any, owner: type) -> T:
        if memory is None:
            return cast("T", self)
        made: T = getattr(sys.modules[__name__], self._name.capitalize())(memory._parts)
        return cast("T", memory.__dict__.setdefault(self._name, made))


class Faceted(Sole):
    """What has the facets of a memory as attributes."""

    _parts: Parts
    concepts = _Facet["Concepts"]("What several memories have in common, and which these are.")
    entities = _Facet["Entities"]("Persons, organisations, places, things, and what mentions them.")
    facts = _Facet["Facts"]("Statements as subject, predicate and object.")
    graph = _Facet["Graph"]("Typed links between memories, and walks over them.")
    layers = _Facet["Layers"](
        "Episodes, concepts and statistics behind one protocol, with callbacks."
    )
    learnings = _Facet["Learnings"]("Insights with evidence, and whether they proved themselves.")
    procedures = _Facet["Procedures"]("How things are done, and how often that has worked.")

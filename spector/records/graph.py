"""Knowledge as callers see it: edges, what a walk reaches, kinds of relations, statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

__all__ = ["BUILTIN_KINDS", "Activation", "Assessment", "Edge", "Reached", "RelationKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind:
    """One kind of edge: how it reads from the other end, and whether it may be pruned."""

    name: str
    #: both ends say the same of each other; stored once, from the smaller id
    symmetric: bool = False
    #: its name seen from the target (``causes``: ``caused_by``)
    inverse: str | None = None
    #: weak links of this kind may go when a scope has too many
    prunable: bool = False
    #: of the prunable kinds the lowest goes first
    priority: int = 0
    #: ``builtin``, or who registered it
    origin: str = "builtin"

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {each: getattr(self, each) for each in self.__slots__}


def _kinds() -> tuple[RelationKind, ...]:
    def plain(*names: str) -> Iterable[RelationKind]:
        return (RelationKind(name=each) for each in names)

    return (
        RelationKind(name="related_to", symmetric=True, prunable=True, priority=0),
        RelationKind(name="similar_to", symmetric=True, prunable=True, priority=0),
        RelationKind(name="same_entity", symmetric=True, prunable=True, priority=1),
        RelationKind(name="elaborates", prunable=True, priority=2),
        RelationKind(name="supersedes"),
        RelationKind(name="contradicts", symmetric=True),
        RelationKind(name="may_change", inverse="may_have_changed_to"),
        RelationKind(name="causes", inverse="caused_by"),
        RelationKind(name="followed_by", inverse="preceded_by"),
        RelationKind(name="supports", inverse="supported_by"),
        RelationKind(name="has_part", inverse="part_of"),
        *plain("is_a", "property_of", "predicts", "phase_locked_to"),
        RelationKind(name="trends_with", symmetric=True),
        RelationKind(name="correlates_with", symmetric=True),
        *plain("derived_from", "instance_of", "statistically_confirms", "quantifies"),
        *plain("computed_from", "informs", "associates"),
        RelationKind(name="temporally_correlates", symmetric=True),
    )


#: kinds that every store knows
BUILTIN_KINDS: Final = _kinds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed, weighted link from one memory to another."""

    source: int
    target: int
    kind: str
    #: strength in (0, 1]
    weight: float = 1.0
    #: how sure its maker was, in [0, 1]; the weight where nothing else was said
    confidence: float = 1.0
    #: what made it: ``user``, ``relate``, ``gate``, ``supersedes``, ``parents``, ...
    origin: str = "user"
    created_at: datetime | None = None
    note: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it, the time in ISO 8601."""
        out = {each: getattr(self, each) for each in self.__slots__}
        out["created_at"] = None if self.created_at is None else self.created_at.isoformat()
        out["note"] = None if self.note is None else dict(self.note)
        return out


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory that a walk reached: the greatest product of weights, and that path's edges."""

    id: int
    weight: float
    hops: int


@dataclass(frozen=True, slots=True)
class Activation(Mapping[str, list[tuple[int, float]]]):
    """What spreading activation reached, by layer, strongest first, without the seeds."""

    layers: Mapping[str, list[tuple[int, float]]] = field(default_factory=dict)

    def __getitem__(self, layer: str) -> list[tuple[int, float]]:
        return self.layers[layer]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a series of numbers looks like, and whether it may be chance."""

    n: int
    mean: float
    #: of the sample (n - 1); 0 below two values
    std: float
    min: float
    max: float
    #: least squares over the days that were given, 0 without
    slope_per_day: float
    #: share of the variance that the slope explains, in [0, 1]
    r2: float
    #: the order of the values says nothing (runs test about the median, 5 %)
    is_random: bool
    #: there are enough values to judge; with fewer ``is_random`` is False
    enough: bool

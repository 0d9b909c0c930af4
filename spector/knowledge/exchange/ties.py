"""Ties of an import whose ends have their ids: rows of new memories, gains of known ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from spector.errors import ImportFormatError, UnknownRelationError
from spector.knowledge.changes import Changes
from spector.knowledge.concepts import plan_concept_met, plan_reference, plan_reinforcement
from spector.knowledge.exchange.parsing import Knowledge, Tie
from spector.knowledge.facts import confirm_fact
from spector.knowledge.graph import Registry
from spector.knowledge.reader import KnowledgeReader
from spector.records import RelationKind

__all__ = ["Apply", "Place", "meet", "put_tie", "tie_known"]

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

"""Rhythms: concepts whose episodes keep to an hour of the day."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, tzinfo
from typing import Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.concepts import concepts_named, plan_concept, references_of
from spector.knowledge.reader import KnowledgeReader
from spector.knowledge.statistics import ENOUGH, rhythm
from spector.store.payloads import compact_json

__all__ = ["TIME_OF_DAY", "phases_of", "plan_rhythms"]

#: name and category of the concept that rhythmic concepts are tied to
TIME_OF_DAY: Final = ("time of day", "rhythm")
KIND: Final = "phase_locked_to"
_ORIGIN: Final = "rhythm"


def plan_rhythms(
    reader: KnowledgeReader,
    concepts: Collection[int],
    zone: tzinfo,
    now_ms: int,
    *,
    scope: str,
    n: int = 0,
    enough: int = ENOUGH,
) -> Changes:
    """Renew the rhythms of concepts of one scope: ties to the concept "time of day".

    A concept with at least ``enough`` episodes, half of whose uses point to one hour (mean
    resultant length >= 0.5), gets an edge whose weight is the coupling and whose note has phase
    and coupling; one that has lost its rhythm loses it.

    Args:
        zone: in which hours are counted.
        n: number of the prepared text "time of day", which is stored when a first rhythm is found.
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
        found, before = rhythm(hours, enough=enough), old.get(concept)
        if found is None:
            if before is not None:
                changes.drop("edge", concept, KIND, before.target)
            continue
        phase, coupling = round(found[0], 6) % 24.0, round(found[1], 6)
        note = {"phase": phase, "coupling": coupling}
        if before is not None and before.note == note:
            continue
        target: int | New = New(n) if known is None else known
        changes.put(
            "edge",
            source_id=concept,
            kind=KIND,
            target_id=target,
            weight=coupling,
            confidence=coupling,
            origin=_ORIGIN,
            created_ms=now_ms,
            note=compact_json(note),
        )
    if changes.puts and known is None:
        made = plan_concept(
            name, category, "", {}, "agent_inference", scope, is_automatic=True, n=n
        )
        changes.add(made)
    return changes


def phases_of(reader: KnowledgeReader, concepts: Collection[int]) -> dict[int, float]:
    """The hour of the day of each concept that has one."""
    return {
        each.source: float(each.note["phase"])
        for each in reader.edges(concepts, direction="out", kinds=[KIND])
        if each.note is not None and "phase" in each.note
    }

"""Typed items of memories: the fact, procedure, learning, concept or statistic that each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from spector.clock import from_ms
from spector.knowledge.reader import KnowledgeReader
from spector.records import (
    Concept,
    Details,
    FactRecord,
    Learning,
    LearningType,
    MemoryRecord,
    Procedure,
    Statistic,
    Step,
    details_of,
)

__all__ = ["typed_items"]

_Fields = Mapping[str, Any]


def typed_items(
    reader: KnowledgeReader,
    ids: list[int],
    record_of: Callable[[int], MemoryRecord],
    note: Callable[[int, Details], None],
) -> dict[int, object]:
    """The typed item of each memory that has one.

    Args:
        record_of: makes the record of a memory, which is asked for those only.
        note: called before with each memory that has details.
    """
    facts = {row["id"]: row for row in reader.facts(id=ids)}
    payloads = reader.payloads_of(ids)
    for each in facts:
        payloads.setdefault(each, {})["fact"] = {}
    for each, some in payloads.items():
        details = details_of(some)
        if details is not None:
            note(each, details)
    out: dict[int, object] = dict(_facts(reader, facts, record_of))
    for each, some in payloads.items():
        for sort in some.keys() & _MAKERS.keys():
            out[each] = _MAKERS[sort](reader, record_of(each), some[sort])
    return out


def _facts(
    reader: KnowledgeReader,
    rows: Mapping[int, _Fields],
    record_of: Callable[[int], MemoryRecord],
) -> dict[int, FactRecord]:
    sources = reader.sources(list(rows)) if rows else {}
    out = {}
    for each, row in rows.items():
        record, said = record_of(each), row["json"]
        out[each] = FactRecord(
            id=each,
            key=row["fact_key"],
            subject=said["subject"],
            predicate=said["predicate"],
            object=said["object"],
            text=record.text,
            confidence=row["confidence"],
            sources=sources.get(each, ()),
            created_at=record.recorded_at,
            last_verified=from_ms(row["verified_ms"]),
            holds=bool(row["holds"]),
            record=record,
        )
    return out


def _procedure(reader: KnowledgeReader, record: MemoryRecord, values: _Fields) -> Procedure:
    names = reader.names_of([record.id]).get(record.id, ())
    return Procedure(
        id=record.id,
        name=values["name"],
        description=values["description"],
        steps=tuple(Step(**each) for each in values["steps"]),
        triggers=_of_sort(names, "trigger"),
        status=values["status"],
        success_rate=values["success_rate"],
        executions=values["execution_count"],
        last_used=_moment(values["last_used_ms"]),
        record=record,
    )


def _learning(reader: KnowledgeReader, record: MemoryRecord, values: _Fields) -> Learning:
    names = reader.names_of([record.id]).get(record.id, ())
    return Learning(
        id=record.id,
        insight=record.text,
        title=values["title"],
        type=LearningType(values["type"]),
        confidence=values["confidence"],
        impact=values["impact"],
        applies_to=_of_sort(names, "trigger"),
        validated=values["validated"],
        applications=values["application_count"],
        last_applied=_moment(values["last_applied_ms"]),
        record=record,
    )


def _concept(reader: KnowledgeReader, record: MemoryRecord, values: _Fields) -> Concept:
    refs: dict[str, list[tuple[int, int]]] = {}
    for row in reader.link_kinds([record.id]):
        kind, _, layer = row["kind"].partition(":")
        if kind == "reference" and row["a"] == record.id and row["n"] is not None:
            refs.setdefault(layer, []).append((row["n"], row["b"]))
    return Concept(
        id=record.id,
        name=values["name"],
        category=values["category"],
        definition=values["definition"],
        properties=values["properties"],
        provenance=values["provenance"],
        confidence=values["confidence"],
        reinforcement_count=values["reinforcement_count"],
        memory_refs={
            layer: tuple(each for _, each in sorted(some)) for layer, some in sorted(refs.items())
        },
        record=record,
    )


def _statistic(reader: KnowledgeReader, record: MemoryRecord, values: _Fields) -> Statistic:
    return Statistic(
        id=record.id,
        concept_id=values["concept_id"],
        name=values["name"],
        category=values["category"],
        domain=values["domain"],
        values=values["values"],
        text=record.text,
        code=values["code"],
        confidence=values["confidence"],
        computed_at=_moment(values["computed_ms"]) or record.recorded_at,
        record=record,
    )


def _of_sort(names: Any, sort: str) -> tuple[str, ...]:
    return tuple(sorted(row["folded"] for row in names if row["sort"] == sort))


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else from_ms(ms)


_MAKERS: Final[Mapping[str, Callable[[KnowledgeReader, MemoryRecord, _Fields], object]]] = {
    "procedure": _procedure,
    "learning": _learning,
    "concept": _concept,
    "statistic": _statistic,
}

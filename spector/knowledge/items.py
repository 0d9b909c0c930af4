"""Typed items of memories: the fact, procedure, learning, concept or statistic that each is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from spector.clock import from_ms
from spector.knowledge.concepts import references_of
from spector.knowledge.reader import KnowledgeReader
from spector.language.words import folded
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
from spector.store.payloads import SORTS

#: sort of a payload -> what a memory that has one is
_KINDS: Final[Mapping[str, type]] = {
    "procedure": Procedure,
    "learning": Learning,
    "concept": Concept,
    "statistic": Statistic,
}
#: field of an item -> that of its payload, where they have two names
_STORED: Final[Mapping[str, str]] = {
    "executions": "execution_count",
    "applications": "application_count",
    "last_used": "last_used_ms",
    "last_applied": "last_applied_ms",
    "computed_at": "computed_ms",
}
#: sort -> the fields that its payload has: the name in the item, and that in the payload
_FIELDS: Final = {
    sort: [
        (each.name, stored)
        for each in fields(kind)
        if (stored := _STORED.get(each.name, each.name)) in {field.name for field in SORTS[sort]}
    ]
    for sort, kind in _KINDS.items()
}
_PARSED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "steps": lambda steps: tuple(Step(**each) for each in steps),
    "type": LearningType,
    **dict.fromkeys(("last_used", "last_applied", "computed_at"), from_ms),
}


def items_made(
    reader: KnowledgeReader, sort: str, found: Iterable[tuple[MemoryRecord, Mapping[str, Any]]]
) -> list[Any]:
    """The items of memories, each of the fields of its payload of a sort."""
    known = list(found)
    if not known:
        return []
    ids = [record.id for record, _ in known]
    references = references_of(reader, ids) if sort == "concept" else {}
    triggers = _triggers(reader, known) if sort in ("procedure", "learning") else {}
    out = []
    for record, values in known:
        given: dict[str, Any] = {"id": record.id, "record": record}
        if sort == "procedure":
            given["triggers"] = triggers.get(record.id, ())
        elif sort == "learning":
            given |= {"insight": record.text, "applies_to": triggers.get(record.id, ())}
        elif sort == "concept":
            given["memory_refs"] = references.get(record.id, {})
        else:
            given |= {"text": record.text, "computed_at": record.recorded_at}
        for name, stored in _FIELDS[sort]:
            value = values[stored]
            if value is None:
                given.setdefault(name)
            else:
                given[name] = _PARSED[name](value) if name in _PARSED else value
        out.append(_KINDS[sort](**given))
    return out


def _triggers(
    reader: KnowledgeReader, known: Iterable[tuple[MemoryRecord, Any]]
) -> dict[int, tuple[str, ...]]:
    """The tags by which items are found, as they were spelled."""
    tags = {record.id: record.tags for record, _ in known}
    out: dict[int, tuple[str, ...]] = {}
    for each, rows in reader.names_of(tags).items():
        left = {row["folded"] for row in rows if row["sort"] == "trigger"}
        spelled = [tag for tag in tags[each] if folded(tag) in left]
        left -= set(map(folded, spelled))  # tags of the record may have been changed
        out[each] = (*dict.fromkeys(spelled), *sorted(left))
    return out


def facts_made(
    reader: KnowledgeReader,
    rows: Mapping[int, Mapping[str, Any]],
    records: Mapping[int, MemoryRecord],
) -> list[FactRecord]:
    """The facts of records, each of its row and of the memories that state it."""
    sources = reader.sources(list(rows)) if rows else {}
    return [
        FactRecord(
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
        for each, record in records.items()
        for row in (rows[each],)
        for said in (row["json"],)
    ]


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
    for each, some in payloads.items():
        details = details_of(some)
        if details is not None:
            note(each, details)
    made = facts_made(reader, facts, {each: record_of(each) for each in facts})
    out: dict[int, object] = {each.id: each for each in made}
    for sort in _KINDS:
        found = {each: some[sort] for each, some in payloads.items() if sort in some}
        made = items_made(reader, sort, [(record_of(each), found[each]) for each in found])
        out |= zip(found, made, strict=True)
    return out

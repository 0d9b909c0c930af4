"""What episodes teach: concepts and their figures, facts, procedures, warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from spector.knowledge import DESCRIBING, Changes, KnowledgeReader, New, declared, encode
from spector.knowledge.reading import (
    Reading,
    plan_reading,
    read_statements,
    statements_of,
    with_names,
)
from spector.language.words import folded
from spector.layout import Category, Flag, TierCode
from spector.records import MemoryRecord, is_user_said
from spector.sleep.night import Night, Units, breathe, has_flag
from spector.sleep.steps.concepts import ageing, grounding, naming, patterns, rhythm
from spector.sleep.steps.runs import lessons
from spector.write import Prepared, Unit

__all__ = ["extract"]

#: facts fade half as fast as texts
_GROWTH: Final = 2.0
#: of a text that is read
_MOST_CHARS: Final = 20_000
#: share of the memories of a cycle that facts may take
_SHARE: Final = 0.5


@dataclass(slots=True)
class _Read:
    """An episode and what it states; nothing if it was read when it was observed."""

    record: MemoryRecord
    reading: Reading


@dataclass(slots=True)
class _Batch:
    """Episodes of one commit: no two of them speak of the same subject."""

    read: list[_Read] = field(default_factory=list)
    subjects: set[tuple[str, str]] = field(default_factory=set)
    fallback: bool = False


def extract(night: Night, cursor: int) -> Units:
    """Draw from episodes what they name, state and have in common; retire what nothing uses.

    Patterns and rhythms of what is new come at the end, so that a cycle leaves nothing to the next.
    """
    changes: dict[str, Any] = {}
    for part in (naming, statements, lessons, patterns, grounding, _rhythms, ageing):
        found = yield from part(night)
        night.state.note(found or {})
        changes |= found or {}
    return changes


def _rhythms(night: Night) -> Units:
    return (yield from rhythm(night, 0))


def statements(night: Night) -> Units:
    """Keep what consolidated episodes state as facts, each drawn from its episodes.

    Observed messages were read when they came, and are only marked.
    """
    left = night.sleep.extract_texts - int(night.state.recent.get("read", 0))
    most = int(night.sleep.new_memories * _SHARE)
    due = _due(night)
    done = 0
    for batch in _batches(night, due[: max(0, left)]):
        fitting = _fitting(batch.read, most - night.made)
        if fitting:
            done += len(fitting)
            yield _unit(night, replace(batch, read=fitting))
        if len(fitting) < len(batch.read):
            yield Unit(skipped={"memories of a cycle": len(due) - done})
            return None
    if len(due) > done:
        yield Unit(skipped={"texts of a cycle": len(due) - done})
    return None


def _fitting(read: Sequence[_Read], room: int) -> list[_Read]:
    """The first episodes that make as many facts as there is room for."""
    out: list[_Read] = []
    for each in read:
        room -= len(each.reading.facts)
        if room < 0 and each.reading.facts:
            break
        out.append(each)
    return out


def _due(night: Night) -> list[int]:
    """Consolidated episodes that were not read, from where the last cycle looked.

    What was gathered to a theme within a day is read the day after: a second cycle at once changes
    nothing.
    """
    rows = night.memories.rows
    lately = np.array(night.changed_lately("consolidated"), np.int64)
    ids = rows["id"][
        night.is_active(rows)
        & (rows["tier"] == int(TierCode.EPISODIC))
        & has_flag(rows, Flag.CONSOLIDATED)
        & ~np.isin(rows["id"], lately)
    ]
    at = int(np.searchsorted(ids, night.state.abstracted_id, side="right"))
    looked = np.concatenate([ids[at:], ids[:at]])[: night.sleep.records_per_cycle].tolist()
    with night.survey.knowledge() as reader:
        known = reader.payloads(looked, "episode")
    return [each for each in looked if not known.get(each, {}).get("abstracted")]


def _batches(night: Night, ids: Sequence[int]) -> Iterator[_Batch]:
    size = night.sleep.extract_batch
    for start in range(0, len(ids), size):
        part = ids[start : start + size]
        with night.survey.knowledge() as reader:
            observed = reader.payloads(part, "observed")
            details = reader.payloads(part, "episode")
            derived = reader.sorts(part)
            single = declared(reader).single
        batch = _Batch()
        for record in night.survey.records(part).values():
            breathe(night)
            known = observed.get(record.id, {}).get("write_source") == "observer"
            is_item = bool(derived.get(record.id, set()) - DESCRIBING)
            is_item = is_item or bool(details.get(record.id, {}).get("tool"))  # runs say it better
            reading, fallback = Reading({}, ()), False
            if not is_item and not (known and night.tools.fact_extractor is None):
                reading, fallback = _reading(night, record, single)
            subjects = {
                (record.user_id or "", folded(each.statement.subject)) for each in reading.facts
            }
            if batch.subjects & subjects:
                yield batch
                batch = _Batch()
            batch.read.append(_Read(record, reading))
            batch.subjects |= subjects
            batch.fallback |= fallback
        if batch.read:
            yield batch


def _reading(night: Night, record: MemoryRecord, single: frozenset[str]) -> tuple[Reading, bool]:
    """What an episode states, and whether a model was to read it and did not."""
    text = _whole(record.said)
    found, fallback = night.facts_of(text)
    stated = None if found is None else statements_of(found, text, single)
    fallback = fallback or (found is not None and stated is None)
    reading = read_statements(
        text,
        role=record.role,
        speaker=record.speaker,
        reference_ms=record.event_ms,
        single_valued=single,
        statements=stated,
    )
    with night.survey.knowledge() as reader:
        return with_names(reader, record.user_id or "", reading), fallback


def _whole(text: str) -> str:
    """A text, cut after a sentence where it is very long."""
    if len(text) <= _MOST_CHARS:
        return text
    cut = text[:_MOST_CHARS]
    return cut[: max(cut.rfind(each) for each in ".!?\n") + 1]


def _unit(night: Night, batch: _Batch) -> Unit:
    prepared: list[Prepared] = []
    first: dict[int, int] = {}
    for each in batch.read:
        first[each.record.id] = len(prepared)
        fields = _fields(night, each.record) if each.reading.facts else {}
        prepared += [Prepared(one.text, fields, _GROWTH) for one in each.reading.facts]
    read = int(night.state.recent.get("read", 0)) + len(batch.read)
    return Unit(
        prepared=prepared,
        decide=_decide(night, batch.read, first),
        seen=len(batch.read),
        reason="stated by episodes",
        fallback=batch.fallback,
        state={"abstracted_id": batch.read[-1].record.id, "recent": {"read": read}},
    )


def _fields(night: Night, record: MemoryRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tier": "semantic",
        "category": Category.FACT,
        "user_id": record.user_id,
        "agent_id": record.agent_id,
        "importance": record.importance,
        "confidence": record.confidence,
        "event_time": record.event_time,
        "role": None if is_user_said(record.role) else record.role,
        **night.vector_of([record.id]),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _decide(
    night: Night, read: Sequence[_Read], first: Mapping[int, int]
) -> Callable[[KnowledgeReader, int], Changes]:
    def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
        changes = Changes()
        present = night.survey.records([each.record.id for each in read])
        known = reader.payloads(list(present), "episode")
        for each in read:
            record = present.get(each.record.id)
            if record is None or (record.text, record.user_id) != (
                each.record.text,
                each.record.user_id,
            ):
                continue  # it was forgotten, or says something else by now
            found, _ = plan_reading(
                reader,
                record,
                each.reading,
                night.survey.records,
                now_ms=now_ms,
                config=night.config,
                first=first[record.id],
            )
            for n in found.store:
                found.put(
                    "payload",
                    id=New(n),
                    sort="observed",
                    json=encode("observed", {"write_source": "dream"}),
                )
            changes.add(found)
            fields = {**known.get(record.id, {}), "abstracted": True}
            changes.put("payload", id=record.id, sort="episode", json=encode("episode", fields))
        return changes

    return decide

"""Procedures and warnings from what was done repeatedly: drafts, of which nothing is proved yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.knowledge.induction import (
    Lesson,
    Practice,
    lessons_of,
    plan_lesson,
    plan_practice,
    practice_text,
    practices_of,
    runs_of,
)
from spector.layout import Category
from spector.sleep.night import Night, Units
from spector.write import Prepared, Unit

__all__ = ["lessons"]

#: learnings fade a third as fast as texts
_GROWTH: Final = 3.0


def lessons(night: Night) -> Units:
    """What new runs teach beside the old ones: sequences that worked twice, and what failed."""
    after = int(night.state.recent.get("runs_id", 0))
    with night.survey.knowledge() as reader:
        last_id, fresh = (
            reader.last_id,
            [
                each
                for each, values in reader.payloads_after(
                    "episode", after, night.sleep.records_per_cycle
                ).items()
                if values["tool"]
            ],
        )
        runs = runs_of(reader, reader.all_payloads("episode")) if fresh else []
        practices = practices_of(reader, runs, fresh)
        found = lessons_of(reader, runs, fresh)
    waiting = 0
    for each in practices:
        if night.made >= night.sleep.new_memories and each.known is None:
            waiting += 1
            continue
        yield _practice(night, each)
    for lesson in found:
        if night.made >= night.sleep.new_memories:
            waiting += 1
            continue
        yield _lesson(night, lesson)
    if waiting:  # the next cycle looks at the same runs again
        yield Unit(skipped={"memories of a cycle": waiting})
        return None
    return {"recent": {"runs_id": last_id}} if fresh else None


def _practice(night: Night, practice: Practice) -> Unit:
    fields: dict[str, Any] = {
        "tier": "procedural",
        "category": Category.PROCEDURE,
        "user_id": practice.scope or None,
        "tags": list(practice.draft().triggers) or None,
        **night.vector_of(practice.evidence),
    }
    prepared = (
        [] if practice.known is not None else [Prepared(practice_text(practice), _given(fields))]
    )
    return Unit(
        prepared=prepared,
        seen=len(practice.runs),
        reason="worked repeatedly",
        noted=[] if practice.known is None else [practice.known],
        decide=lambda reader, now_ms: plan_practice(reader, practice, now_ms),
    )


def _lesson(night: Night, lesson: Lesson) -> Unit:
    fields: dict[str, Any] = {
        "tier": "semantic",
        "category": Category.PATTERN,
        "user_id": lesson.scope or None,
        "tags": list(lesson.applies_to) or None,
        "importance": 0.5,
        **night.vector_of(lesson.evidence),
    }
    return Unit(
        prepared=[Prepared(lesson.insight, _given(fields), _GROWTH)],
        seen=len(lesson.evidence),
        reason="failed",
        decide=lambda reader, now_ms: plan_lesson(reader, lesson, now_ms),
    )


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

"""``memory.learnings``: insights with evidence, and whether they proved themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

from spector.arguments import (
    check_text,
    parse_enum,
    parse_integer,
    parse_number,
    parse_switch,
)
from spector.facets.base import Guard, Owner, TriggeredFacet, drawn_from, guarded, owned
from spector.knowledge import learning_title, plan_item
from spector.layout import Category
from spector.records import Learning, LearningType
from spector.write import Memories, Named, Prepared

#: learnings fade a third as fast as texts (UCMA: their first stability is three times as great)
_GROWTH = 3.0


class Learnings(TriggeredFacet[Learning]):
    """Insights of six types, found by the situations that they apply to."""

    sort = "learning"

    @guarded
    def add(
        self,
        insight: str,
        type: LearningType | str,
        *,
        evidence: Memories = (),
        applies_to: Iterable[str] = (),
        confidence: float = 0.5,
        impact: float = 0.5,
        **owner: Unpack[Guard],
    ) -> Learning:
        """Keep an insight.

        Args:
            type: ``failure_analysis``, ``success_pattern``, ``strategy_update``,
                ``self_correction``, ``user_preference`` or ``domain_insight``.
            evidence: The memories that it is drawn from. They give it its user.
            applies_to: Tags of the situations that it is for.
            confidence: 0..1. impact: 0..1, which is its importance too.

        Raises:
            InvalidInputError: The type is none, or the evidence is of several users.
        """
        self._may_write()
        text = check_text(insight, self._parts.config).strip()
        kind = parse_enum(LearningType, type, "type")
        weight = parse_number(impact, "impact", low=0.0, high=1.0)
        tags = self._tags(applies_to, "applies_to")
        session = owner.pop("session_id", None)
        scope = self._scope(**owner)
        records = self._evidence(evidence, scope, "evidence")
        whose = drawn_from(records, scope)
        values = {
            "type": str(kind),
            "title": learning_title(text),
            "impact": weight,
            "confidence": parse_number(confidence, "confidence", low=0.0, high=1.0),
        }
        fields: dict[str, Any] = {
            "tier": "semantic",
            "importance": weight,
            "category": Category.PREFERENCE
            if kind is LearningType.USER_PREFERENCE
            else Category.PATTERN,
            "session_id": session,
            "tags": list(tags) or None,
            **whose,
        }
        ids = [each.id for each in records]
        _, done = self._commit(
            lambda _, changes, now_ms: plan_item(
                changes, "learning", values, whose["user_id"] or "", tags, ids, now_ms
            ),
            [Prepared(text, fields, _GROWTH)],
        )
        return self._get(done.records[0].id)

    @owned
    def relevant(
        self,
        tags: Iterable[str],
        *,
        type: LearningType | str | None = None,
        min_confidence: float = 0.3,
        limit: int = 5,
        **owner: Unpack[Owner],
    ) -> list[Learning]:
        """Learnings that apply to one of these tags, by confidence times impact."""
        kind = None if type is None else parse_enum(LearningType, type, "type")
        least = parse_number(min_confidence, "min_confidence", low=0.0, high=1.0)
        most = parse_integer(limit, "limit", low=1)
        found = [
            (record, values)
            for record, values, _ in self._triggered(self._tags(tags, "tags"), self._scope(**owner))
            if values["confidence"] >= least and kind in (None, values["type"])
        ]
        found.sort(key=lambda each: (-each[1]["confidence"] * each[1]["impact"], -each[0].id))
        return self._made(found[:most])

    @guarded
    def apply(self, id: Named, **guard: Unpack[Guard]) -> Learning:
        """Count that a learning was used now."""

        def plan(values: dict[str, Any], now_ms: int) -> dict[str, Any]:
            return {"application_count": values["application_count"] + 1, "last_applied_ms": now_ms}

        return self._change(id, plan, guard)

    @guarded
    def validate(self, id: Named, success: bool, **guard: Unpack[Guard]) -> Learning:
        """Raise the confidence of a learning that held by 0.10; lower it by 0.15 else."""
        self._may_write()
        held, tuning = parse_switch(success, "success"), self._parts.config.knowledge
        step = tuning.learning_success if held else -tuning.learning_failure

        def plan(values: dict[str, Any], _: int) -> dict[str, Any]:
            confidence = min(1.0, max(0.0, round(values["confidence"] + step, 9)))
            return {"confidence": confidence, "validated": held or values["validated"]}

        return self._change(id, plan, guard)

    @owned
    def all(self, type: LearningType | str | None = None, **owner: Unpack[Owner]) -> list[Learning]:
        """Learnings of a type, or all, oldest first."""
        kind = None if type is None else parse_enum(LearningType, type, "type")
        return self._all("type", kind, self._scope(**owner))

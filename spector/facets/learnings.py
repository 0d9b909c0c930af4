"""``memory.learnings``: insights with evidence, and whether they proved themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from spector.arguments import (
    check_text,
    parse_enum,
    parse_integer,
    parse_number,
    parse_switch,
)
from spector.clock import from_ms
from spector.facets.base import Guard, ItemFacet, guarded
from spector.knowledge import (
    Changes,
    KnowledgeReader,
    learning_title,
    plan_application,
    plan_learning,
    plan_validation,
)
from spector.layout import Category
from spector.process import verb
from spector.records import Learning, LearningType, MemoryRecord
from spector.store.catalog import ANYBODY, Scope
from spector.write import Memories, Named, Prepared

#: learnings fade a third as fast as texts (UCMA: their first stability is three times as great)
_GROWTH = 3.0


class Learnings(ItemFacet):
    """Insights of six types, found by the situations that they apply to."""

    sort = "learning"

    @verb
    def add(
        self,
        insight: str,
        type: LearningType | str,
        *,
        evidence: Memories = (),
        applies_to: Iterable[str] = (),
        confidence: float = 0.5,
        impact: float = 0.5,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
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
        scope = self._parts.listing.scope(user_id, agent_id, None)
        records = self._evidence(evidence, scope, "evidence")
        owner = records[0].user_id if records else scope.user_id
        values = {
            "type": str(kind),
            "title": learning_title(text),
            "impact": weight,
            "confidence": parse_number(confidence, "confidence", low=0.0, high=1.0),
        }
        fields: dict[str, Any] = {
            "tier": "semantic",
            "importance": weight,
            "user_id": owner,
            "category": Category.PREFERENCE
            if kind is LearningType.USER_PREFERENCE
            else Category.PATTERN,
            "agent_id": scope.agent_id if not records else records[0].agent_id,
            "session_id": session_id,
            "tags": list(tags) or None,
            "confidence": min((each.confidence for each in records), default=None),
        }
        given = {name: value for name, value in fields.items() if value is not None}

        def decide(reader: KnowledgeReader, now_ms: int) -> Changes:
            ids = tuple(each.id for each in records)
            return plan_learning(values, tags, ids, owner or "", now_ms)

        done = self._parts.knowledge.commit(decide, [Prepared(text, given, _GROWTH)])
        return self._get(done.records[0].id)

    @verb
    def relevant(
        self,
        tags: Iterable[str],
        *,
        type: LearningType | str | None = None,
        min_confidence: float = 0.3,
        limit: int = 5,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[Learning]:
        """Learnings that apply to one of these tags, by confidence times impact."""
        kind = None if type is None else parse_enum(LearningType, type, "type")
        least = parse_number(min_confidence, "min_confidence", low=0.0, high=1.0)
        most = parse_integer(limit, "limit", low=1)
        found = [
            (record, values)
            for record, values, _ in self._triggered(
                self._tags(tags, "tags"), self._scope(user_id, agent_id)
            )
            if values["confidence"] >= least and kind in (None, values["type"])
        ]
        found.sort(key=lambda each: (-each[1]["confidence"] * each[1]["impact"], -each[0].id))
        return self._made(found[:most])

    @guarded
    def apply(self, id: Named, **guard: Unpack[Guard]) -> Learning:
        """Count that a learning was used now."""
        self._may_write()
        scope = self._scope(**guard)
        memory = self._typed(id, self.sort, scope)
        self._change(
            memory, lambda values, now_ms: plan_application(memory, values, now_ms), scope=scope
        )
        return self._get(memory, scope)

    @guarded
    def validate(self, id: Named, success: bool, **guard: Unpack[Guard]) -> Learning:
        """Raise the confidence of a learning that held by 0.10; lower it by 0.15 else."""
        self._may_write()
        held = parse_switch(success, "success")
        scope, tuning = self._scope(**guard), self._parts.config.knowledge
        memory = self._typed(id, self.sort, scope)
        step = tuning.learning_success if held else tuning.learning_failure
        self._change(
            memory, lambda values, now_ms: plan_validation(memory, values, held, step), scope=scope
        )
        return self._get(memory, scope)

    @guarded
    def get(self, id: Named, **guard: Unpack[Guard]) -> Learning:
        """A learning by its id or record.

        Raises:
            UnknownRecordError: There is none. InvalidInputError: The memory is no learning.
        """
        scope = self._scope(**guard)
        return self._get(self._typed(id, self.sort, scope), scope)

    @verb
    def all(
        self,
        type: LearningType | str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[Learning]:
        """Learnings of a type, or all, oldest first."""
        kind = None if type is None else parse_enum(LearningType, type, "type")
        found = self._every(self._scope(user_id, agent_id))
        return self._made([each for each in found if kind in (None, each[1]["type"])])

    def _get(self, memory: int, scope: Scope = ANYBODY) -> Learning:
        record = self._record(memory, scope)
        return self._made([(record, self._payload(memory))])[0]

    def _made(self, found: Sequence[tuple[MemoryRecord, dict[str, Any]]]) -> list[Learning]:
        triggers = self._triggers(record for record, _ in found)
        return [
            Learning(
                id=record.id,
                insight=record.text,
                title=values["title"],
                type=LearningType(values["type"]),
                confidence=values["confidence"],
                impact=values["impact"],
                applies_to=triggers.get(record.id, ()),
                validated=values["validated"],
                applications=values["application_count"],
                last_applied=None
                if values["last_applied_ms"] is None
                else from_ms(values["last_applied_ms"]),
                record=record,
            )
            for record, values in found
        ]

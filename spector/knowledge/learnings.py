"""Learnings: insights drawn from evidence, how sure they are, and whether they held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spector.knowledge.changes import Changes, New
from spector.knowledge.procedures import put_triggers
from spector.store.payloads import encode

__all__ = ["learning_title", "plan_application", "plan_learning", "plan_validation"]

_TITLE_CHARS: Final = 80
_EVIDENCE: Final = 0.8


def learning_title(insight: str) -> str:
    """The first 80 characters of an insight."""
    return insight[:_TITLE_CHARS]


def plan_learning(
    values: Mapping[str, Any],
    applies_to: tuple[str, ...],
    evidence: tuple[int, ...],
    scope: str,
    now_ms: int,
) -> Changes:
    """What adding a learning changes: memory 0 gets its payload, triggers and edges."""
    changes, made = Changes(store=[0]), New(0)
    changes.put("payload", id=made, sort="learning", json=encode("learning", values))
    put_triggers(changes, scope, made, applies_to)
    for each in evidence:
        changes.put(
            "edge",
            source_id=made,
            kind="derived_from",
            target_id=each,
            weight=_EVIDENCE,
            confidence=_EVIDENCE,
            origin="learnings",
            created_ms=now_ms,
            note=None,
        )
    return changes


def plan_application(memory: int, values: Mapping[str, Any], now_ms: int) -> Changes:
    """One more use of a learning."""
    return _put(
        memory, values, application_count=values["application_count"] + 1, last_applied_ms=now_ms
    )


def plan_validation(memory: int, values: Mapping[str, Any], success: bool, step: float) -> Changes:
    """A learning that helped is surer by a step and validated; one that misled is less sure."""
    confidence = values["confidence"] + (step if success else -step)
    return _put(
        memory,
        values,
        confidence=min(1.0, max(0.0, round(confidence, 9))),
        validated=success or values["validated"],
    )


def _put(memory: int, values: Mapping[str, Any], **changed: Any) -> Changes:
    changes = Changes()
    text = encode("learning", {**values, **changed})
    changes.put("payload", id=memory, sort="learning", json=text)
    return changes

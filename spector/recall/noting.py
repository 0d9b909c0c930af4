"""What the operations log says of a recall, of a context and of an observed message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spector.arguments import SCOPES
from spector.process import Operation
from spector.recall.context import Context
from spector.records import Hit, HitList, ObserveResult

__all__ = ["note_context", "note_observed", "note_recall"]


def note_recall(
    operation: Operation, cue: Any, selecting: Mapping[str, Any], hits: HitList
) -> None:
    """The cue's length and scopes, the ids and the mean score of the hits, and the intent."""
    _note_cue(operation, cue, selecting)
    intent = getattr(hits.request, "intent", None)
    _note_hits(operation, hits, [hit.score for hit in hits])
    operation.details["intent"] = None if intent is None else intent.value
    if hits.abstained:
        operation.output["abstained"] = True


def note_context(operation: Operation, cue: Any, given: Mapping[str, Any], found: Context) -> None:
    """The same of a context: its relevance is 0..1, and its tokens count."""
    _note_cue(operation, cue, given)
    shown = [quote for quote in found.quotes if quote.form != "skipped"]
    _note_hits(operation, found.hits, [quote.relevance for quote in shown])
    operation.output.update(
        tokens=found.tokens,
        standing_ids=[hit.id for hit in found.standing],
        pinned_ids=[hit.id for hit in found.pinned],
        skipped_ids=[quote.hit.id for quote in found.skipped if quote.hit.confidence < 0.3],
    )
    if found.abstained:
        operation.output["abstained"] = True


def note_observed(
    operation: Operation, message: Any, given: Mapping[str, Any], found: ObserveResult
) -> None:
    """What became of a message: its kind, the filter that stopped it, and each statement's fate."""
    _note_cue(operation, None if found.filter == "unwanted" else message, given)
    units = found.units
    operation.found(
        [each.record.id for each in units if each.record is not None],
        actions=[each.action for each in units],
        rules=[each.rule for each in units],
        nearest_ids=[each.nearest for each in units if each.nearest is not None],
        captured_ids=list(found.captured),
        kind=found.kind,
        filter=found.filter,
    )
    operation.fallback = bool(found.fallbacks)


def _note_cue(operation: Operation, cue: Any, given: Mapping[str, Any]) -> None:
    own = cue if isinstance(cue, Mapping) else {}
    scopes = {name: own.get(name) or given.get(name) for name in SCOPES}
    text = cue.get("content") if isinstance(cue, Mapping) else cue
    operation.given(text if isinstance(text, str) else None, **scopes)


def _note_hits(operation: Operation, hits: Sequence[Hit], relevance: Sequence[float]) -> None:
    operation.found([hit.id for hit in hits], hits[0].text if hits else None)
    mean = sum(relevance) / len(relevance) if relevance else None
    operation.details["result_count"] = len(hits)
    operation.details["avg_relevance"] = None if mean is None else round(mean, 4)

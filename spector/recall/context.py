"""The context of a recall: a block of text for a prompt, and what became of each hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spector.arguments import SCOPES
from spector.clock import iso_of_ms
from spector.process import Operation
from spector.records import Hit, HitList, ObserveResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """One hit and what became of it.

    Attributes:
        form: "full": its whole text, time and origin; "abbreviated": the part that the cue is
            about; "skipped".
        relevance: 0..1, how far it stands out from the crowd behind the best hit.
        tokens: of its line, 0 when skipped or quoted in another section.
        reason: why it is not there in full; empty when it is.
    """

    hit: Hit
    form: str
    relevance: float
    tokens: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: id, time and score of the hit, and the fields above."""
        return {
            **_identity(self.hit),
            "form": self.form,
            "relevance": round(self.relevance, 4),
            "tokens": self.tokens,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Recalled memories as a block of text for a prompt; ``str()`` is the text.

    Attributes:
        text: the block, empty when there is nothing to say.
        tokens: of the text, never more than ``max_tokens``.
        tokenizer: who counted: "estimate", an encoding, or "yours".
        exact: False when the count is an estimate.
        quotes: every hit that was considered and what became of it, best first.
        standing: the instructions that hold and are in the text, in a section of their own that
            takes 15 % of ``max_tokens`` at most, or has one: those that fit the cue, then those
            that always hold. One that says more than an instruction may be a hit as well.
        pinned: the pinned memories that are in the text whatever the cue, in a section of their
            own, newest first; of ``always="pinned"``.
        hot: the hot memories that are in the text whatever the cue, in a section "always" that
            takes a quarter of ``max_tokens`` at most; of ``hot=True``.
        known: in a section at the end, at most 8: themes of what the cue names, of which no source
            is quoted; with ``knowledge=True`` concepts and patterns that the quoted memories bring
            to mind.
        reason: why no memory is quoted for the cue.
        notes: how the cue was read, where that is not what was asked; see `HitList.notes`. And how
            many instructions were left out for want of room.
        abstained: none is quoted on purpose: no memory seems to answer, and no instruction is about
            the cue, or the cue is small talk and nothing was looked for; ``reason`` says which.
            There may be ``standing`` and ``pinned`` ones.
    """

    text: str = ""
    tokens: int = 0
    max_tokens: int = 0
    tokenizer: str = "estimate"
    exact: bool = False
    quotes: tuple[Quote, ...] = field(default=(), repr=False)
    reason: str = ""
    abstained: bool = False
    standing: tuple[Hit, ...] = field(default=(), repr=False)
    pinned: tuple[Hit, ...] = field(default=(), repr=False)
    hot: tuple[Hit, ...] = field(default=(), repr=False)
    known: tuple[Hit, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for the cue that are in the text, best first."""
        return tuple(quote.hit for quote in self.quotes if quote.form != "skipped")

    @property
    def skipped(self) -> tuple[Quote, ...]:
        """The hits that are not, and why."""
        return tuple(quote for quote in self.quotes if quote.form == "skipped")

    def to_dict(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        plain = "text tokens max_tokens tokenizer exact reason abstained".split()
        return {
            **{name: getattr(self, name) for name in plain},
            "notes": list(self.notes),
            **{
                name: list(map(_identity, getattr(self, name)))
                for name in ("standing", "pinned", "hot", "known")
            },
            "quotes": [quote.to_dict() for quote in self.quotes],
        }


def _identity(hit: Hit) -> dict[str, Any]:
    """Which memory, JSON-ready."""
    return {
        "id": hit.id,
        "event_time": iso_of_ms(hit.record.event_ms),
        "session_id": hit.session_id,
        "score": round(hit.score, 6),
    }


# What the operations log says of a recall, of a context and of an observed message.


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

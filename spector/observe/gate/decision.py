"""Decides what becomes of a new memory beside those that exist: the prediction-error gate.

Rules in their order: the same words strengthen the old memory; what contradicts it takes its place,
or is kept beside it; what says nothing new strengthens it; a further detail is tied to it; all else
is new. Likeness only fetches candidates, unless the configuration asks for bands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from spector.config import ObserveConfig
from spector.language.worth import is_other_event, same_particulars, same_words
from spector.observe.gate.bands import decide_by_bands
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.changing import changes_perhaps
from spector.observe.gate.contradiction import Contradiction, contradictions
from spector.observe.gate.novelty import is_detail, says_nothing_new
from spector.observe.gate.otherwise import said_otherwise
from spector.observe.gate.vetoes import veto
from spector.records import Decision, PairVerdict, Verdict

__all__ = ["decide", "decide_contradiction"]

_DEFAULT = ObserveConfig()
_UNJUDGED: Final[Mapping[int, PairVerdict]] = MappingProxyType({})
_UNREAD: Final[Mapping[str, float]] = MappingProxyType({})
#: probability from which on a judged statement adds to another
_ADDS: Final = 0.5


def decide(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig = _DEFAULT,
    *,
    sample: Sequence[float] = (),
    verdicts: Mapping[int, PairVerdict] = _UNJUDGED,
    changes: Mapping[str, float] = _UNREAD,
) -> Decision:
    """The action for a new memory; deterministic, and the same in any order of candidates.

    Args:
        candidates: of the same scope: the best of each channel, dormant ones included.
        sample: likeness of the store's texts to their nearest, ascending, for calibrated bands.
        verdicts: memory -> what a judge says of it; rules decide about the others.
        changes: words of an older memory -> probability that the new one changes it, by the model.
    """
    found = sorted(candidates, key=lambda each: (-(each.likeness or 0.0), each.id))
    likeness = max((each.likeness for each in found if each.likeness is not None), default=None)
    nearest = next((each.id for each in found if each.likeness == likeness), None)
    decided = (
        _same_words(new, found)
        or decide_contradiction(new, found, config, verdicts)
        or _by_rest(new, found, config, sample, verdicts)
    )
    decided = replace(
        decided, likeness=likeness, nearest=nearest if decided.nearest is None else decided.nearest
    )
    otherwise = said_otherwise(new, found)
    if otherwise and decided.action in ("create", "supersede"):
        decided = replace(decided, contradicted=tuple(sorted({*decided.contradicted, *otherwise})))
    return _with_order(decided, new, found, config, verdicts, changes)


def _same_words(new: Incoming, candidates: Sequence[Candidate]) -> Decision | None:
    """Rule 1; an event of another day is another event."""
    for each in candidates:
        same = _is_of_same(new, each) and same_words(new.words, each.words)
        if same and not is_other_event(new.words, each.words):
            return _same(each, "same words")
    return None


def _same(old: Candidate, rule: str) -> Decision:
    return Decision(
        action="reinforce", rule=rule, nearest=old.id, reinforced=old.id, verdict="same"
    )


def decide_contradiction(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig = _DEFAULT,
    verdicts: Mapping[int, PairVerdict] = _UNJUDGED,
) -> Decision | None:
    """Rules 2 and 3 alone; None where the new memory contradicts no candidate."""
    found = contradictions(new, candidates, precision=config.hide_at, verdicts=verdicts)
    if not found:
        return None
    gone = [each for each in found if each.supersedes]
    kept = [each for each in found if not each.supersedes]
    first = max(gone or kept, key=lambda each: (each.confidence, each.candidate.id))
    said = max(
        gone or kept,
        key=lambda each: (  # a message rather than a fact that is read from it
            not each.candidate.is_knowledge,
            each.confidence,
            each.candidate.id,
        ),
    )
    return Decision(
        action="supersede" if gone else "create",
        relation=None if gone else "contradicts",
        nearest=said.candidate.id,
        rule=first.rule,
        confidence=first.confidence,
        superseded=_ids(gone),
        contradicted=_ids(kept),
        may_change=_ids(each for each in kept if each.sets_order),
        verdict=_verdict(gone, kept),
        reason="" if gone else first.reason,
    )


def _verdict(gone: Sequence[Contradiction], kept: Sequence[Contradiction]) -> Verdict:
    if gone:
        return "ends" if all(each.ends for each in gone) else "changes"
    return "may change" if any(each.sets_order for each in kept) else "apart"


def _with_order(
    decided: Decision,
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig,
    verdicts: Mapping[int, PairVerdict],
    changes: Mapping[str, float],
) -> Decision:
    """A decision with the older memories that the new one may have changed besides."""
    if decided.action not in ("create", "supersede") or decided.relation == "elaborates":
        return decided
    settled = {*decided.superseded, *decided.may_change}
    found = [
        each
        for each in changes_perhaps(new, candidates, config, verdicts, changes)
        if each[0].id not in settled
    ]
    if not found:
        return decided
    old, sure = found[0]
    order = (*decided.may_change, *(each.id for each, _ in found))
    if decided.superseded or decided.may_change:
        return replace(decided, may_change=order)
    return replace(
        decided,
        may_change=order,
        verdict="may change",
        confidence=sure,
        nearest=old.id,
        rule="change",
    )


def _by_rest(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig,
    sample: Sequence[float],
    verdicts: Mapping[int, PairVerdict],
) -> Decision:
    """Rules 4 to 6, or the bands."""
    if config.gate_by == "bands":
        return decide_by_bands(new, candidates, config, sample)
    near = [each for each in candidates if _is_of_same(new, each) and not each.is_dormant]
    for each in near:
        judged = verdicts.get(each.id)
        if judged is None:
            same, rule = says_nothing_new(new, each), "nothing new"
        else:
            sure = judged.same >= config.hide_at and same_particulars(each.words, new.words)
            same, rule = sure and not (new.words.asks or veto(new, each)), judged.rule or "same"
        if same and not is_other_event(new.words, each.words):
            return _same(each, rule)
    for each in near:
        judged = verdicts.get(each.id)
        if is_detail(new, each) if judged is None else judged.adds >= _ADDS:
            rule = "detail" if judged is None else judged.rule or "adds"
            return Decision(relation="elaborates", rule=rule, nearest=each.id, verdict="adds")
    return Decision()


def _is_of_same(new: Incoming, old: Candidate) -> bool:
    """Whether both are texts of one origin and one speaker, and answer the same if they state
    nothing by themselves; knowledge is confirmed elsewhere."""
    return (
        not old.is_knowledge
        and new.data_source == old.data_source
        and new.speaker == old.speaker
        and (bool(new.statements) or new.turn_before == old.record.turn_before[1])
    )


def _ids(found: Iterable[Contradiction]) -> tuple[int, ...]:
    return tuple(sorted(each.candidate.id for each in found))

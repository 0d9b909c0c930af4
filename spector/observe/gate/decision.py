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
from spector.language.frames import Statement, names_of_predicate
from spector.language.observing import is_hedged, tells_of_change, tells_of_more
from spector.language.statements import value_replaced
from spector.language.words import analyse, plain
from spector.language.worth import Wording, is_other_event, same_particulars, same_words
from spector.observe.gate.bands import decide_by_bands
from spector.observe.gate.candidates import Candidate, Incoming
from spector.observe.gate.contradiction import (
    Contradiction,
    contradictions,
    distrust,
    fills_slot,
    veto,
)
from spector.records import Decision, PairVerdict, Verdict

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
        same = _is_of_one_origin(new, each) and same_words(new.words, each.words)
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
    near = [each for each in candidates if _is_of_one_origin(new, each) and not each.is_dormant]
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


def _is_of_one_origin(new: Incoming, old: Candidate) -> bool:
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


# Whether a new text repeats an old one or says more of the same.

#: tenses of a statement that tell the same of a state
_NOW: Final = "present"


def says_nothing_new(new: Incoming, old: Candidate) -> bool:
    """Whether a text adds neither a content word, a number nor a statement to an old one.

    Other words are allowed where they only say otherwise what both state ("My home is in Kars").
    """
    words, known = new.words, old.words
    if words.asks or (words.denials > 0) != (known.denials > 0):
        return False
    if not words.numbers <= known.numbers or not words.content:
        return False
    if any(each.replaced for each in new.statements) and not _is_within(
        words.content, known.content
    ):
        return False
    if new.statements:
        if not all(_has(old.statements, each) for each in new.statements):
            return False
    elif not (
        _is_within(words.turns, known.turns)
        and words.modals == known.modals
        and words.forms.keys() <= known.forms.keys()
        and _is_within(words.content, known.content)
    ):
        return False
    rest = set(words.content) - set(known.content)
    return not rest or not rest - _wordings(new, words)


def is_detail(new: Incoming, old: Candidate) -> bool:
    """Whether a new text holds all that an old one says, or states one thing of it and adds to it."""
    words, known = new.words, old.words
    if words.asks or (words.denials > 0) != (known.denials > 0) or not known.content:
        return False
    if new.statements and old.statements:
        shared = [each for each in old.statements if _has(new.statements, each, extended=True)]
        return bool(shared) and (
            len(shared) == len(old.statements) or set(known.content) <= set(words.content)
        )
    return (
        known.numbers <= words.numbers
        and known.modals == words.modals
        and known.forms.keys() <= words.forms.keys()
    )


def _has(statements: Iterable[Statement], one: Statement, *, extended: bool = False) -> bool:
    """Whether statements have one: the same subject, predicate, value, polarity, and meant so.

    Args:
        extended: a value that only adds words is the same.
    """
    return any(
        plain(each.subject) == plain(one.subject)
        and each.predicate == one.predicate
        and _is_value(each, one, extended)
        and each.polarity == one.polarity
        and each.modality == one.modality
        and (each.tense == _NOW) == (one.tense == _NOW)
        for each in statements
    )


def _is_value(one: Statement, other: Statement, extended: bool) -> bool:
    first, second = _value(one), _value(other)
    return first == second or (extended and set(second.split()) < set(first.split()))


def _value(one: Statement) -> str:
    return one.value or plain(one.object)


def _wordings(new: Incoming, words: Wording) -> set[str]:
    """Content words that only say how a text states something: those between subject and value,
    and the names of the predicate."""
    found: set[str] = set()
    for each in new.statements:
        names = set(names_of_predicate(each.predicate))
        found |= {term for form, term in words.forms.items() if plain(form) in names}
        places = (each.subject_span, each.object_span)
        spans = [place for place in places if place[1] > place[0]]
        if spans:
            found |= words.between(min(a for a, _ in spans), max(b for _, b in spans))
    return found


def _is_within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether words stand in a text in the same order."""
    ahead = iter(whole)
    return all(each in ahead for each in part)


# Which older memories a new one may have changed.
#
# That decides their order and hides nothing. Where no model reads the two, a word of change beside a
# near memory of the same speaker, or one with a value of the same, is enough; so are the same words
# with another value in one place. What adds to something changes nothing. What a judge or the model
# says of two is not overruled here by rules on their subjects and dates, which cover a fifth of true
# changes.

#: older memories that one message may have changed
_MOST_CHANGED: Final = 2
#: content words in common that stand for likeness where there are no vectors
_SHARED_WORDS: Final = 2
#: share of pairs with another value in one place that were changes, on the hands of development
_IN_PLACE: Final = 0.8


def changes_perhaps(
    new: Incoming,
    candidates: Sequence[Candidate],
    config: ObserveConfig,
    verdicts: Mapping[int, PairVerdict],
    changes: Mapping[str, float],
) -> list[tuple[Candidate, float]]:
    """Older memories that a new one may have changed, the likeliest first, with a confidence.

    Args:
        verdicts: memory -> what a judge says of it. changes: words of an older memory ->
            probability by the model. Verdicts are in place of the cues; the model is in place of
            those that are not about a slot.
    """
    if is_hedged(new.said):
        return []
    adds, has_cue = tells_of_more(new.said), tells_of_change(new.said)

    def confidence(old: Candidate) -> float:
        if old.id in verdicts:
            return verdicts[old.id].replaced
        cues = 0.0 if adds else _confidence(new, old, has_cue, old.said not in changes)
        return max(cues, changes.get(old.said, 0.0))

    found = [
        (each, sure)
        for each in candidates
        if not each.is_knowledge
        and not each.is_dormant
        and each.speaker == new.speaker
        and each.record.event_ms <= new.event_ms
        and (sure := confidence(each)) >= config.order_at
        and not (distrust if each.id in verdicts or each.said in changes else veto)(new, each)
    ]
    return sorted(found, key=lambda each: (-each[1], each[0].id))[:_MOST_CHANGED]


def _confidence(new: Incoming, old: Candidate, has_cue: bool, is_free: bool) -> float:
    """Of the cues; of those about one slot alone where the model has read both texts."""
    if has_cue and fills_slot(new, old):
        return _IN_PLACE
    if is_free and value_replaced(old.said, new.said):
        return _IN_PLACE
    return _likeness(new, old) if is_free and has_cue else 0.0


def _likeness(new: Incoming, old: Candidate) -> float:
    if old.likeness is not None:
        return old.likeness
    words = set(analyse(old.said).content()) & set(analyse(new.said).content())
    return 1.0 - 1.0 / (1 + len(words)) if len(words) >= _SHARED_WORDS else 0.0


# What an assistant, a tool or a document says otherwise than the user said it, or the user later.
#
# Neither takes the place of the other: the tie has the user's word come first.

#: share of the content words beside values that both have
_SHARED_MATTER: Final = 0.6
_USER: Final = "user_message"


def said_otherwise(new: Incoming, candidates: Sequence[Candidate]) -> list[int]:
    """Ids of what gives other values for the same, where one of the two is the user's word."""
    words = new.words
    return [
        old.id
        for old in candidates
        if (old.data_source == _USER) != (new.data_source == _USER)
        and not (old.is_knowledge or old.is_dormant or words.asks or old.words.asks)
        and words.modals == old.words.modals
        and not same_particulars(old.words, words)
        and len((said := _matter(old.words)) & (about := _matter(words)))
        >= _SHARED_MATTER * max(1, len(said | about))
    ]


def _matter(text: Wording) -> set[str]:
    """Its content words without names and numbers."""
    names = {part for name in text.names for part in name.split()}
    return {
        term
        for form, term in text.forms.items()
        if form not in names and not any(map(str.isdigit, form))
    }
